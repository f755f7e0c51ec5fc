"""A matrix is cut by ids, whichever way its file holds it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.runs.matrices import open_matrix

SIMS, NO_PAIRS = np.arange(6.0).reshape(3, 2), pd.DataFrame(columns=["query_id", "doc_id"], dtype="str")


@pytest.mark.parametrize("order", ["C", "F"])
def test_parts_are_cut_in_their_own_order(order: str, tmp_path: Path) -> None:
    ids = {"query_ids": ["t1", "t2", "t3"], "doc_ids": ["a", "b"]}
    np.savez(tmp_path / "m.npz", sims=np.asarray(SIMS, order=order), **ids)  # type: ignore[call-overload]
    both = open_matrix(tmp_path / "m.npz")
    ((forth, back),) = both.both_ways([(["t3", "t1"], ["b"])], [NO_PAIRS], depth=9)
    assert dict(zip(forth["query_id"], forth["score"], strict=True)) == {"t1": 1.0, "t3": 5.0}
    assert back["doc_id"].tolist() == ["t3", "t1"]
    with pytest.raises(FormatError, match=r"m\.npz: 1 texts and 0 items of the qrels are not in it"):
        list(both.both_ways([(["t9"], ["a"])], [NO_PAIRS], depth=9))
