"""Masks that say which rows of a padded matrix are real, in the files that people keep them in."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.runs.readers import read_mask

MASK = np.array([[1, 1], [1, 0], [0, 1]])
FLAGS = [True, True, True, False, False, True]
FORMS = {
    "of numbers": MASK,
    "of booleans": MASK.astype(bool),
    "of floats": MASK.astype(np.float32),
    "of one axis": MASK.ravel(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["npy", "pkl", "named.pkl", "only.pkl", "npz"])
def test_every_form_gives_a_flag_for_each_row(form: str, kind: str, tmp_path: Path) -> None:
    values, path = FORMS[form], tmp_path / f"m.{kind}"
    if kind == "npy":
        np.save(path, values)
    elif kind == "npz":
        np.savez(path, sims=np.ones((6, 2)), query_masks=values)
    else:
        named = {"sims": np.ones((6, 2)), "query_masks": values}
        held = {"pkl": values, "named.pkl": named, "only.pkl": {"which": values, "n": 3}}[kind]
        path.write_bytes(pickle.dumps(held))
    assert read_mask(path).tolist() == FLAGS


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.array([0, 2]), "empty, or has values other than 0 and 1, expected a mask"),
        (np.array(["yes"]), "empty, or has values other than 0 and 1, expected a mask"),
        ([], "empty, or has values other than 0 and 1, expected a mask"),
        (
            {"a": np.ones(2), "b": np.ones(3)},
            "a pickle of arrays without a mask, expected one array of 0 and 1",
        ),
        ("text", "a pickle of arrays without a mask, expected one array of 0 and 1"),
        ([[1, 0], [1]], "rows of different lengths, expected an array of 0 and 1"),
    ],
)
def test_what_is_no_mask_is_told(value: Any, said: str, tmp_path: Path) -> None:
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(value))
    with pytest.raises(FormatError) as caught:
        read_mask(tmp_path / "m.pkl")
    assert str(caught.value) == f"{tmp_path / 'm.pkl'}: {said}"
