"""TREC runs: the order of lines, the size of blocks and the space between fields change nothing."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.formats.runs import trec


def lines_of(n_queries: int) -> list[str]:
    rng = np.random.default_rng(n_queries)
    lines = []
    for query in range(n_queries):
        for rank, doc in enumerate(rng.permutation(50)[: rng.integers(1, 20)]):
            lines.append(f"q{query:02d} Q0 d{doc} {rank + 1} {rng.random():.4f} m\n")
    return lines


def test_lines_in_any_order_give_one_run(tmp_path: Path) -> None:
    lines = lines_of(40)
    path, shuffled = tmp_path / "a.trec", tmp_path / "b.trec"
    path.write_text("".join(lines))
    shuffled.write_text("".join(np.random.default_rng(0).permutation(lines)))
    pd.testing.assert_frame_equal(trec.read_trec_run(path), trec.read_trec_run(shuffled))


def test_blocks_within_a_query_give_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.trec"
    path.write_text("".join(lines_of(40)))
    whole = trec.read_trec_run(path)
    monkeypatch.setattr(trec, "_BLOCK_BYTES", 200)
    pd.testing.assert_frame_equal(whole, trec.read_trec_run(path))
    path.write_text("".join(lines_of(40)).replace(" ", "  "))  # Arrow refuses it as it lies
    pd.testing.assert_frame_equal(whole, trec.read_trec_run(path))


def test_a_second_run_id_deep_in_the_file_is_seen(tmp_path: Path) -> None:
    lines = lines_of(40)
    lines[200] = lines[200].replace(" m\n", " other\n")
    path = tmp_path / "a.trec"
    path.write_text("".join(lines))
    with pytest.raises(trec.FormatError, match="2 run ids in one file \\(m, other\\)"):
        trec.read_trec_run(path)


@pytest.mark.parametrize("separator", [" ", "  "])
def test_longer_rows_have_a_rank_in_each(tmp_path: Path, separator: str) -> None:
    rows = "q Q0 a 1 0.9 m x\nq two Q0 b 1 0.8 m\n"
    (tmp_path / "a.trec").write_text(rows.replace(" ", separator))
    with pytest.raises(trec.FormatError, match=r"a\.trec:2: 7 fields, expected 6"):
        trec.read_trec_run(tmp_path / "a.trec")
