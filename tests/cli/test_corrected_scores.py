"""Corrected scores in `score`, `score --honest` and `difference`: what comes first, and under which name."""

import json
from pathlib import Path

import numpy as np
import pytest
from command import Copied, Fire, rows, run, write_run

from examples import some_rows

GIVEN = ("one.run", "two.run", "--qrels", "o.txt", "--augmented", "out/qrels.txt")
HONEST = ("score", "--honest", *GIVEN)
N, DOCS = 700, 12


def voted(fire: Fire, folder: Path, *, fourth: str) -> None:
    """Write runs, qrels and labels of 700 queries; fourth: fourth votes on all, on none, or all negative."""
    rng = np.random.default_rng(4)
    queries, docs = [f"q{n:03d}" for n in range(N)], [f"d{n:02d}" for n in range(DOCS)]
    lines = ["query_id,doc_id,label,relevance,n_agree,design_class,design_votes"]
    runs: dict[str, dict[str, list[str]]] = {"one": {}, "two": {}}
    for query in queries:
        relevant = rng.random(DOCS) < 0.15
        for place, doc in enumerate(docs[1:], start=1):
            votes = rng.random(4) < (0.92 if relevant[place] else 0.05)
            first, second, third, last = "".join("01"[int(vote)] for vote in votes)
            text = first if first == "0" else first + second + (third if second == "0" else "")
            if text == "101" and fourth != "none":
                text += last if fourth == "all" else "0"
            label = int(text[:2] == "11" or text[:3] == "101")
            lines.append(f"{query},{doc},x,{label},1,verify,{text}")
        for name, weight in (("one", 1.0), ("two", 0.4)):
            order = np.argsort(-(rng.random(DOCS) + weight * relevant))[:10]
            runs[name][query] = [docs[d] for d in order]
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")
    (folder / "o.txt").write_text("".join(f"{query} 0 d00 1\n" for query in queries))
    for name, ranked in runs.items():
        write_run(folder / f"{name}.run", ranked)
    fire("augment", "--qrels", "o.txt", "--labels", "labels.csv", "--out", "out/qrels.txt")


def all_voted() -> None:
    voted(run, Path(), fourth="all")


@pytest.fixture
def voted_all(copied: Copied, folder: Path) -> Path:
    """The folder, where all pairs have the fourth votes of their design."""
    return copied(all_voted, folder)


@pytest.mark.usefixtures("voted_all")
def test_the_corrected_score_comes_first_where_fourth_votes_show_no_dependence(fire: Fire) -> None:
    measures = ("-m", "C@5", "-m", "AP")
    told = fire("score", *GIVEN, *measures)
    head, _, *lines = told.stdout.splitlines()
    assert head.split() == ["measure", "one", "two"]
    names = [line[: len("C@5 as labelled") + 1].strip() for line in lines]
    assert names == ["C@5", "C@5 as labelled", "AP"]
    scored = rows(fire("score", *GIVEN, *measures, "--format", "csv"))
    found = {(row["run_id"], row["qrels"], row["measure"]): float(row["value"]) for row in scored}
    value, low, high = (found["one", f"corrected{end}", "C@5"] for end in ("", "_low", "_high"))
    assert low < value < high <= 1
    assert f"{100 * value:.1f} ({100 * low:.1f} to {100 * high:.1f})" in lines[0]
    assert f"{100 * found['one', 'augmented', 'C@5']:.1f} (" in lines[1]
    assert ("one", "corrected", "AP") not in found
    assert "note: C@5: corrected for errors of votes, of which one finds" in told.stderr
    assert "as labelled comes first" not in told.stderr

    shown = json.loads(fire(*HONEST, *measures, "--format", "json").stdout)
    honest = {(row["run_id"], row["measure"]): row for row in shown}
    row = honest["one", "C@5"]
    assert (row["estimate"], row["estimate_low"], row["estimate_high"]) == (value, low, high)
    assert row["estimate_method"] == "corrected for label errors"
    assert row["augmented"] == found["one", "augmented", "C@5"]
    lines = fire(*HONEST, *measures).stdout.splitlines()
    assert lines[0].count("95%") == 2  # of the score and of its gain
    cells = " ".join(lines[2].split())
    gain = value - row["original"]
    assert cells.startswith(
        f"C@5 one {100 * value:.1f} ({100 * row['original']:.1f} + {100 * gain:.1f}) {100 * low:.1f} to "
        f"{100 * high:.1f} {100 * row['augmented']:.1f} {100 * row['estimate_delta_low']:.1f} to "
    )
    assert " same " in lines[-1]  # AP has no correction

    table = rows(fire("difference", *GIVEN, *measures, "--format", "csv"))
    first = table[0]
    assert (first["qrels"], first["measure"], first["test"]) == ("corrected", "C@5", "t")
    assert float(first["difference"]) == pytest.approx(value - found["two", "corrected", "C@5"])
    assert float(first["low"]) < float(first["difference"]) < float(first["high"])
    assert (float(first["p"]) < 0.05) == (float(first["low"]) > 0 or float(first["high"]) < 0)
    assert (first["p_holm"], first["n_better"], first["effect"]) == (first["p"], "", "nan")
    drawn = fire("difference", *GIVEN, *measures)
    order = [line.split()[0] for line in drawn.stdout.splitlines()[2:]]
    assert order[:3] == ["corrected", "original", "as"]
    assert "C@5: corrected for errors of votes, of which one finds" in drawn.stderr


@pytest.mark.parametrize(
    ("fourth", "why"),
    some_rows(
        [
            ("no", "fourth votes say that votes err alike on some pairs; `next-round --ask audit`"),
            (
                "none",
                "nobody checked by fourth votes whether votes err independently (`next-round --ask fourth_v",
            ),
        ],
        1,
    ),
)
def test_labels_come_first_where_votes_may_err_alike(fire: Fire, folder: Path, fourth: str, why: str) -> None:
    voted(fire, folder, fourth=fourth)
    told = fire("score", *GIVEN, "-m", "C@5")
    lines = told.stdout.splitlines()[2:]
    assert lines[0].startswith("C@5 as labelled ")
    assert lines[1].startswith("C@5 if errors are independent ")
    assert told.stderr.count(why) == 1
    honest = fire(*HONEST, "-m", "C@5")
    assert "95% as labelled" in honest.stdout.splitlines()[0]
    assert "corrected if errors are independent" in honest.stdout
    assert honest.stderr.count(why) == 1
    table = rows(fire("difference", *GIVEN, "-m", "C@5", "--format", "csv"))
    assert [row["qrels"] for row in table][-1] == "corrected_if_independent"


def test_votes_correct_no_score_beside_other_originals(fire: Fire, voted_all: Path) -> None:
    """What votes tell is of the original qrels that the labels were joined to."""
    other = (voted_all / "o.txt").read_text().replace("q000 0 d00 1", "q000 0 d01 1")
    (voted_all / "o.txt").write_text(other)
    told = fire("score", *GIVEN, "-m", "C@5")
    assert "as labelled" not in told.stdout
    assert "the augmented qrels were made of other original qrels than these" in told.stderr
    refused = fire(*HONEST, "-m", "C@5", code=1)
    assert "error: score --honest needs the evidence that `augment` writes" in refused.stderr


def test_augmented_qrels_of_an_earlier_version_are_refused(fire: Fire, voted_all: Path) -> None:
    """Their manifest names no evidence: scores would lack what votes and samples tell, in silence."""
    at = voted_all / "out/qrels.txt.manifest.json"
    manifest = json.loads(at.read_text())
    del manifest["outputs"]["evidence.csv"]
    at.write_text(json.dumps(manifest))
    told = fire("score", *GIVEN, code=1).stderr
    assert "out/qrels.txt: `augment` of an earlier version wrote it" in told


def test_labels_without_a_design_say_nothing_of_corrections(fire: Fire, voted_all: Path) -> None:
    plain = [line.rsplit(",", 2)[0] for line in (voted_all / "labels.csv").read_text().splitlines()]
    (voted_all / "labels.csv").write_text("\n".join(plain) + "\n")
    fire("augment", "--qrels", "o.txt", "--labels", "labels.csv", "--out", "out/qrels.txt")
    told = fire("score", *GIVEN, "-m", "C@5")
    assert "correct" not in told.stdout + told.stderr
    found = rows(fire("score", *GIVEN, "-m", "C@5", "--format", "csv"))
    assert [row["qrels"] for row in found] == ["original", "augmented", "delta"] * 2


def test_the_grid_has_corrected_differences_and_a_doubting_policy_none(fire: Fire, voted_all: Path) -> None:
    queries = "".join(f"q{n:03d},caption {n}\n" for n in range(N))
    (voted_all / "queries.csv").write_text(f"query_id,text\n{queries}")
    given = (*GIVEN, "-m", "C@5")
    drawing = ("--queries", "queries.csv", "--figure", "differences", "--out", "grid.json")
    fire("report", "figures", *given, *drawing)
    cells = json.loads((voted_all / "grid.json").read_text())["data"]["values"]
    drawn = {(cell["row"], cell["column"]): cell["shown"] for cell in cells}
    found = rows(fire("difference", *given, "--format", "csv"))
    shown = {row["qrels"]: f"{100 * float(row['difference']):+.1f}" for row in found}
    assert drawn["1 one", "2 two"] == shown["corrected"] != shown["augmented"]
    told = fire(*HONEST, "-m", "C@5", "-m", "P@5", "--policy", "override")
    reason = "C@5, P@5: not corrected for errors of votes: the qrels follow policy override"
    assert told.stderr.count(reason) == 1
    assert "est." not in told.stdout
