"""`score` and its options, corrected scores, and what holds for every command on scores."""

from __future__ import annotations

import json
import shutil
from math import log2
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from command import Copied, Fire, rows, run, write_run

from examples import cases, some

SCORE = ("score", "ssb.run", "--qrels", "qrels.txt")


# Query 1 finds nothing; in query 2 the run ties a, the positive, and b: 2 docs, so that its rank is 1 or 2.
@pytest.mark.parametrize(
    ("rule", "expected"),
    [("doc-desc", 0.25), ("index", 0.5), ("average", 1 / 3), ("optimistic", 0.5), ("pessimistic", 0.25)],
)
def test_each_rule_places_the_tied_positive(fire: Fire, folder: Path, rule: str, expected: float) -> None:
    (folder / "doc_ids.txt").write_text("a\nb\nc\n007\n")
    result = fire(*SCORE, "-m", "RR", "--ties", rule, "--format", "json")
    assert [row["value"] for row in json.loads(result.stdout)] == pytest.approx([expected])


def test_default_measures_without_an_expectation_are_left_out_and_said(fire: Fire) -> None:
    told = fire(*SCORE, "--ties", "expected", "--format", "json")
    assert "note: left out of the default measures: MedR; --ties expected has no closed form" in told.stderr
    usual = {row["measure"] for row in json.loads(fire(*SCORE, "--format", "json").stdout)}
    assert {row["measure"] for row in json.loads(told.stdout)} == usual - {"MedR"}


@pytest.fixture
def composed(folder: Path) -> Path:
    """Two queries of composed retrieval, each with its group; the reference r leads both lists."""
    write_run(folder / "m.run", {"1": "rxbac", "2": "rxbac"})
    (folder / "c.txt").write_text("1 0 a 1\n2 0 b 1\n")
    members = "".join(f"{query}\t{doc}\n" for query in "12" for doc in "rabc")
    (folder / "groups.tsv").write_text("query_id\tdoc_id\n" + members)
    queries = "1\tred\tr\tcolour;shape\n2\tbig\tr\tsize\n"
    (folder / "c.tsv").write_text("query_id\ttext\treference\tkind\n" + queries)
    return folder


GROUPED = ("score", "m.run", "--qrels", "c.txt", "--groups", "groups.tsv", "--queries", "c.tsv")


def values(result: Result, *keys: str) -> dict[tuple[str, ...], float]:
    return {tuple(str(row[key]) for key in keys): row["value"] for row in json.loads(result.stdout)}


@pytest.mark.usefixtures("composed")
def test_recall_subset_ranks_the_group_without_its_reference(fire: Fire) -> None:
    measures = ("-m", "C@1", "-m", "C@2", "-m", "C@3", "--format", "json")
    # Without r and x the lists are b, a, c: a, the positive of query 1, is second, b of query 2 first.
    expected = {("C@1",): 0.5, ("C@2",): 1.0, ("C@3",): 1.0}
    result = fire(*GROUPED, *measures)
    assert expected == values(result, "measure")
    assert "note" not in result.stderr


def test_positives_outside_the_group_are_no_answers_that_a_list_lacks(fire: Fire, composed: Path) -> None:
    (composed / "aug.txt").write_text("1 0 a 1\n1 0 x 1\n1 0 y 1\n1 0 z 0\n2 0 x 1\n")
    # The lists are b, a, c: of query 1 the one positive in its group is second; query 2 has none there.
    expected = {"AP": 1 / 4, "nDCG@5": 1 / log2(3) / 2, "RR": 1 / 4, "bpref": 1 / 2}
    ends = ("--augmented", "aug.txt", "--own-item", "drop", *(f"--measure={name}" for name in expected))
    found = values(fire(*GROUPED, *ends, "--format", "json"), "qrels", "measure")
    assert found == pytest.approx(found | {("augmented", name): value for name, value in expected.items()})
    told = fire(*GROUPED, *ends).stderr
    assert "augmented qrels: 1 of 2 queries without a positive; they score 0" in told


def test_lists_that_lack_members_and_queries_without_reference_are_said(fire: Fire, composed: Path) -> None:
    (composed / "m.run").write_text("1 Q0 a 1 9 m\n2 Q0 b 1 9 m\n2 Q0 a 2 8 m\n2 Q0 c 3 7 m\n")
    assert "m: 1 query whose list lacks a member of the group" in fire(*GROUPED, "-m", "C@1").stderr
    (composed / "c.tsv").write_text("query_id\ttext\n1\tred\n2\tbig\n")
    assert "no column reference; no doc of a group is left out" in fire(*GROUPED, "-m", "C@1").stderr
    (composed / "groups.tsv").write_text("query_id\tdoc_id\n1\ta\n")
    assert "groups: 1 queries of the run have none (2)" in fire(*GROUPED, "-m", "C@1", code=1).stderr


def test_lists_of_groups_alone_are_no_run_of_all_docs(fire: Fire, composed: Path) -> None:
    told = "metric is recall_subset: its lists rank each query's group alone"
    lists = {"version": "rc2", "metric": "recall_subset", "1": ["b", "a", "c"], "2": ["b", "a", "c"]}
    (composed / "sub.json").write_text(json.dumps(lists))
    assert told in fire("add-run", "sub.json", "--out", "runs", code=1).stderr
    result = fire("score", "sub.json", *GROUPED[2:], "-m", "C@1", "--format", "json")
    assert values(result, "measure") == {("C@1",): 0.5}
    assert told in result.stderr
    (composed / "sub.json").write_text(json.dumps(lists | {"metric": "recall"}))
    assert told not in fire("score", "sub.json", *GROUPED[2:]).stderr


@pytest.mark.usefixtures("composed")
def test_a_breakdown_has_a_score_for_each_value(fire: Fire, composed: Path) -> None:
    ends = ("score", "m.run", "--qrels", "c.txt", "--queries", "c.tsv", "-m", "RR", "--by", "kind")
    found = values(fire(*ends, "--format", "json", "--out", "by.csv"), "aspect", "n_queries", "query_id")
    assert found == pytest.approx(
        {("colour", "1", "all"): 1 / 4, ("shape", "1", "all"): 1 / 4, ("size", "1", "all"): 1 / 3}
    )
    header = (composed / "by.csv").read_text().partition("\n")[0]
    assert header == "aspect,n_queries,run_id,qrels,query_id,measure,value"
    lines = [line.split() for line in fire(*ends).stdout.splitlines()]
    assert lines[0] == ["kind", "queries", "measure", "m"]
    assert lines[-1] == ["size", "1", "RR", "33.3"]


def test_only_the_usual_scores_are_kept_in_a_workspace(fire: Fire, folder: Path) -> None:
    (folder / "fire.toml").write_text('[runs]\nfiles = ["*.run"]\n[collection]\nqrels = "qrels.txt"\n')
    for look in (("--ties", "average"), ("-m", "C@1"), ("--curves",), ("ssb.run",)):
        fire("score", *look)
    assert not (folder / "scores").exists()
    fire("score", "--format", "csv")
    assert (folder / "scores" / "scores.csv").is_file()


def test_curves_stand_in_one_file(sample: Fire) -> None:
    fused = ("score", "runs/fused.run", "--qrels", "qrels.txt", "-m", "nDCG@5")
    sample(*fused, "--curves", "--out", "curves.csv")
    drawn = rows(Path("curves.csv"))
    found = {(row["curve"], float(row["at"])): float(row["value"]) for row in drawn}
    assert len(found) == 11 + 8 * 100
    printed = rows(sample(*fused, "-m", "IPrec(recall=0.3)", "-m", "R@100", "--format", "csv"))
    values = [float(row["value"]) for row in printed]
    assert values == [found["nDCG", 5.0], found["IPrec", 0.3], found["R", 100.0]]


QRELS = ("--qrels", "qrels.txt")
BOTH = (*QRELS, "--augmented", "augmented.txt")
SOURCES = ("--pool-sources", "pool_sources.csv")
COMMANDS = {
    "score": ("score", *BOTH, "-m", "C@1"),
    "honest": ("score", "--honest", *BOTH, "-m", "C@1"),
    "difference": ("difference", *BOTH, "-m", "C@1"),
    "orders": ("orders", *QRELS, "--qrels", "augmented.txt", "-m", "C@1"),
    "reuse": ("reuse", *BOTH, *SOURCES, "-m", "C@1"),
    "influence": ("influence", *QRELS, "--judgments", "judgments.csv", "-m", "C@1"),
    "coverage": ("coverage", *BOTH, "-m", "C@1"),
    "table1": ("report", "table1", *BOTH, "-m", "C@1"),
    "table4": ("report", "table4", *BOTH, *SOURCES, "-m", "C@1"),
    "length": ("report", "length", *BOTH, "--queries", "queries.tsv"),
    "saturation": ("report", "saturation", *BOTH, "-m", "C@1"),
    "similarity": ("report", "similarity", *BOTH, "--queries", "queries.tsv", "--train", "queries.tsv"),
}


@pytest.fixture(scope="module")
def pool(corrected: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corrected sample pool; `few.run` has 49 of its 100 queries, `short.run` five docs of each."""
    folder = tmp_path_factory.mktemp("uneven") / "pool"
    shutil.copytree(corrected, folder)
    lines = (folder / "runs/fused.run").read_text().splitlines(keepends=True)
    kept = set(sorted({line.split()[0] for line in lines})[:49])
    for name, chosen in {
        "few": [line for line in lines if line.split()[0] in kept],
        "short": [line for line in lines if int(line.split()[3]) <= 5],
    }.items():
        (folder / f"{name}.run").write_text("".join(chosen).replace(" fused", f" {name}"))
    return folder


@pytest.fixture
def uneven(pool: Path, sample: Fire, monkeypatch: pytest.MonkeyPatch) -> Fire:
    """The commands, in that folder, to which they write nothing."""
    monkeypatch.chdir(pool)
    return sample


def arguments(name: str, *runs: str) -> tuple[str, ...]:
    words = COMMANDS[name]
    n_words = 2 if words[0] == "report" else 1
    return (*words[:n_words], *runs, *words[n_words:])


@pytest.mark.parametrize("name", some(COMMANDS, 5))
def test_a_run_for_another_split_is_refused_in_the_same_words(uneven: Fire, name: str) -> None:
    refused = uneven(*arguments(name, "runs/fused.run", "few.run"), code=1)
    assert "error: run few: has 49 of the 100 queries of the qrels (its first: " in refused.stderr
    assert "expected half or more; is it a run for another split?" in refused.stderr
    assert refused.stdout == ""


def test_runs_for_different_splits_are_not_compared(uneven: Fire) -> None:
    refused = uneven("compare", "runs/fused.run", "few.run", code=1)
    assert "runs 'fused' and 'few' have 49 of 100 queries in common" in refused.stderr


@pytest.mark.parametrize("name", ["difference", "orders", "reuse"])
def test_runs_read_to_different_depths_are_said(uneven: Fire, name: str) -> None:
    words = arguments(name, "runs/motion-track.run", "short.run")
    told = uneven(*words, "-m", "AP").stderr
    assert told.count("note: AP reads the runs to different depths (motion-track 20, short 5)") == 1


@pytest.mark.parametrize("name", some(COMMANDS, 5))
@pytest.mark.parametrize("output_format", some(["latex", "table", "csv", "json", "markdown"], 1))
def test_every_table_says_what_it_rests_on(uneven: Fire, name: str, output_format: str) -> None:
    result = uneven(*arguments(name, "runs/fused.run", "runs/shape-contour.run"), "--format", output_format)
    lines = (result.stdout if output_format in ("latex", "markdown") else result.stderr).splitlines()
    said = next(line for line in lines if "ests on: " in line)
    assert "2 runs" in said
    assert "100 queries" in said
    assert "seed" not in said  # nothing here is drawn
    if output_format == "json":
        assert json.loads(result.stdout)
    if output_format == "latex":
        assert said.startswith("% rests on: ")
        assert "\\toprule" in result.stdout


def test_runs_that_fed_no_pool_are_marked_and_not_compared_in_silence(uneven: Fire) -> None:
    for name in ("honest", "reuse", "table4", "score"):
        words = arguments(name, "runs/fused.run", "short.run")
        assert "note: short: fed no pool" in uneven(*words).stderr, name
    result = uneven(*arguments("difference", "runs/motion-track.run", "short.run"))
    assert "motion-track fed the pool and short did not" in result.stderr


def test_a_measure_without_bounds_says_so_in_words(uneven: Fire) -> None:
    words = arguments("honest", "runs/fused.run")
    result = uneven(*words, "-m", "Judged@5", "-m", "P@5", "-m", "R@5", "-m", "AP")
    line = {line.split()[0]: line for line in result.stdout.splitlines() if line.split()}
    assert "no bound" in line["Judged@5"]
    assert "no bound" not in line["P@5"] + line["R@5"]
    assert "at most" in line["R@5"]
    assert "at most" not in line["P@5"]
    assert "Judged@5: no bounds; it measures how much is judged and is not a score" in result.stderr
    assert "R@5, AP: no lower bound; each relevant doc that nobody judged" in result.stderr


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
    assert drawn.stderr.count(" finds ") == 1


@cases("fourth", "why", few=1)
def test_labels_come_first_where_votes_may_err_alike(fire: Fire, folder: Path, fourth: str, why: str) -> None:
    voted(fire, folder, fourth=fourth)
    told = fire("score", *GIVEN, "-m", "C@5")
    lines = told.stdout.splitlines()[2:]
    assert lines[0].startswith("C@5 as labelled ")
    assert lines[1].startswith("C@5 if errors are independent ")
    assert told.stderr.count(why) == 1
    assert "not corrected for errors of labels" in fire("score", *GIVEN, "-m", "C@5", "--per-query").stderr
    assert "not corrected for errors of labels" in fire("score", *GIVEN, "--curves").stderr
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
    assert "writes beside augmented qrels, of these original ones: run `fire-toolkit" in refused.stderr


def test_augmented_qrels_of_an_earlier_version_are_refused(fire: Fire, voted_all: Path) -> None:
    """Their manifest names no evidence: scores would lack what votes and samples tell, in silence."""
    at = voted_all / "out/qrels.txt.manifest.json"
    manifest = json.loads(at.read_text())
    del manifest["outputs"]["evidence.csv"]
    at.write_text(json.dumps(manifest))
    told = fire("score", *GIVEN, code=1).stderr
    assert "out/qrels.txt: of an earlier version, without evidence" in told


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
