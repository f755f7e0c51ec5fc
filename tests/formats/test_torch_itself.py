"""What torch saves is read as torch reads it; skipped where torch is not installed."""

import argparse
from pathlib import Path

import numpy as np
import pytest
from brought import refused

from fire_toolkit.formats.arrays.matrix import as_floats
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.reader import read_vectors as read_torch

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int64", "int8"])
@pytest.mark.parametrize("is_zip", [True, False])
@pytest.mark.parametrize("form", ["plain", "transposed", "slice", "parameter", "expanded"])
def test_a_saved_tensor_reads_equal(dtype: str, form: str, is_zip: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    tensor = (torch.randn(5, 7) * 20).to(getattr(torch, dtype))
    if form == "transposed":
        tensor = tensor.T
    elif form == "slice":
        tensor = tensor[1:4, 2:6]
    elif form == "expanded":
        tensor = tensor[:1].expand(4, 7)
    elif form == "parameter" and dtype.startswith(("float", "bfloat")):
        tensor = torch.nn.Parameter(tensor)
    held = {"epoch": 1, "other": torch.ones(3), "result": {"sims": tensor}, "on": torch.device("cpu")}
    torch.save(held, tmp_path / "m.pt", _use_new_zipfile_serialization=is_zip)
    matrix = read_torch(tmp_path / "m.pt").matrices["result/sims"]
    expected = tensor.detach().to(torch.float64).numpy()
    assert np.array_equal(expected, as_floats(matrix.values, "m"))


def test_a_negative_view_is_refused_not_read_without_its_sign(tmp_path: Path) -> None:
    torch.save({"sims": torch._neg_view(torch.ones(2, 3))}, tmp_path / "m.pt")
    refused("m.pt: a tensor that is a negative or conjugate view; save", read_torch, tmp_path / "m.pt")


def test_settings_saved_beside_are_left_out(tmp_path: Path) -> None:
    settings = argparse.Namespace(lr=1e-4, model="clip", nested=argparse.Namespace(a=[1]))
    torch.save({"args": settings, "sims": torch.ones(2, 3)}, tmp_path / "m.pt")
    assert list(read_torch(tmp_path / "m.pt").matrices) == ["sims"]


def test_bfloat16_gives_the_lists_of_its_float32(tmp_path: Path) -> None:
    torch.manual_seed(1)
    sims = torch.randn(6, 40).to(torch.bfloat16)
    ids = {"query_ids": [f"q{n}" for n in range(6)], "doc_ids": [f"d{n}" for n in range(40)]}
    torch.save({"sims": sims, **ids}, tmp_path / "half.pt")
    torch.save({"sims": sims.float(), **ids}, tmp_path / "single.pt")
    runs = [ingest(tmp_path / name, Request(run_id="m")).run for name in ("half.pt", "single.pt")]
    assert runs[0].equals(runs[1])
