"""`report html` on a workspace made of the sample pool."""

import csv
import html
import io
import json
import re
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
from command import Fire, run
from reports import data_of_plot, section_of, tables_of

from examples import some

RUNS = ("runs/fused.run", "runs/motion-track.run", "runs/shape-contour.run")
TABLES = ("--qrels", "qrels.txt", "--augmented", "augmented.txt", "--pool-sources")
TABLES += ("pool_sources.csv", "--queries", "queries.tsv")
NAMES = {"1": "ann.weber", "2": "bob", "3": "chen@lab.org", "4": "rule"}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory, corrected: Path) -> Path:
    """A workspace with five runs, judged and augmented."""
    root = tmp_path_factory.mktemp("report") / "study"
    shutil.copytree(corrected / "runs", root / "runs")
    (root / "fire.toml").write_text('[runs]\nfiles = ["runs/*.run"]\n')
    for source, place in {
        "queries.tsv": "collection/queries.tsv",
        "qrels.txt": "collection/qrels.txt",
        "judgments.csv": "judgments/judgments.csv",
        "labels/labels.csv": "labels/labels.csv",
        "labels/disputes.csv": "labels/disputes.csv",
        "pool_sources.csv": "pool/pool_sources.csv",
        "pool.csv": "pool/pool.csv",
    }.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(corrected / source, root / place)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        run("augment")
    _name_annotators(root / "judgments/judgments.csv")
    (root / "notes").mkdir()
    (root / "notes/manifest.json").write_text(f'{{"excluded": "ann.weber", "inputs": "{root}/runs/a.run"}}')
    return root


def _name_annotators(path: Path) -> None:
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"annotator_id": NAMES[row["annotator_id"]]} for row in rows)


@pytest.fixture(scope="module")
def page(workspace: Path) -> str:
    """The report of the workspace."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(workspace)
        run("report", "html")
    return (workspace / "report.html").read_text(encoding="utf-8")


def test_the_report_holds_the_scores_of_table_1(page: str) -> None:
    assert "74.0 (39.0 + 35.0)" in page  # tests/cli/test_report.py has the same of `report table1`


def test_the_numbers_of_the_report_are_those_of_score_and_difference(
    page: str, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shutil.copytree(workspace, tmp_path / "study"))
    for words, place, keys, names in (
        (("score", "--honest"), "scores-1", ("run_id", "measure"), ("original", "augmented", "low", "high")),
        (("difference",), "differences-1", ("qrels", "measure"), ("difference", "low", "high", "p_holm")),
    ):
        told = run(*words, "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(told.stdout)))
        by_key = {tuple(row[name] for name in (*keys, "run_a", "run_b") if name in row): row for row in rows}
        for row in data_of_plot(page, place):
            key, sign = tuple(row[name] for name in keys), 1
            if place == "differences-1":
                pair = [row[name].split(maxsplit=1)[1] for name in ("row", "column")]
                sign = 1 if (*key, *pair) in by_key else -1
                key = (*key, *pair[::sign])
            values = {name: float(by_key[key][name] or "nan") for name in names}
            if sign < 0:
                values |= {
                    "difference": -values["difference"],
                    "low": -values["high"],
                    "high": -values["low"],
                }
            shown = {name: float("nan") if row[name] is None else row[name] for name in names}
            assert shown == pytest.approx(values, rel=1e-4, abs=1e-9, nan_ok=True)


def test_the_first_screen_says_what_was_found(page: str, workspace: Path) -> None:
    labels = pd.read_csv(workspace / "labels/labels.csv", dtype={"query_id": "str"})
    original = pd.read_csv(workspace / "collection/qrels.txt", sep=" ", header=None, dtype="str")
    known = set(zip(original[0], original[2], strict=True))
    positive = labels[labels["relevance"] >= 1]
    n_new = len(set(zip(positive["query_id"], positive["doc_id"], strict=True)) - known)
    (first, second, third) = re.findall(r'<p class="lead">(.*?)</p>', page)
    assert first == f"<b>{n_new} right answers counted as wrong</b>, 3.1 a query."
    assert "understated by <b>20 to 35 points</b>" in second
    assert "no two models change places" in third


def test_the_report_is_small_and_whole(page: str) -> None:
    assert len(page.encode()) < 1_200_000
    anchors = re.findall(r'<(?:section|details class="more") id="([^"]+)"', page)
    assert anchors == ["first", "scores", "differences", "order", "flips", "annotators", "more", "agreement",
                       "overlap", "length", "judged-share", "words", "methods", "manifests"]  # fmt: skip
    assert page.count("data-spec=") == 10


def test_no_annotator_and_no_folder_is_named(page: str, workspace: Path) -> None:
    text = page.partition("\n<script>")[0]  # before Vega
    assert not [name for name in list(NAMES.values())[:3] if name in text]
    assert '"excluded": "annotator 1", "inputs": "runs/a.run"' in html.unescape(text)
    assert "annotator 1" in page
    assert str(workspace) not in page


def test_every_plot_holds_numbers(page: str) -> None:
    for name in re.findall(r'<script type="application/json" id="(.*?)-spec">', page):
        assert data_of_plot(page, name)


def test_the_same_workspace_gives_the_same_bytes(
    page: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    run("report", "html", "--out", "again.html")
    assert Path("again.html").read_text(encoding="utf-8") == page


def test_what_is_missing_is_said(fire: Fire, folder: Path) -> None:
    settings = '[collection]\nqueries = "queries.tsv"\nqrels = "qrels.txt"\n[runs]\nfiles = ["*.run"]\n'
    (folder / "fire.toml").write_text(settings)
    assert (
        "augmented/qrels.txt: not made yet; `fire-toolkit status` says what"
        in fire("report", "html", code=1).output
    )


def test_a_report_is_of_files_too(sample: Fire) -> None:
    sample("report", "html", *RUNS, *TABLES, "--out", "own.html")
    page = Path("own.html").read_text(encoding="utf-8")
    assert "74.0 (39.0 + 35.0)" in page
    assert "[pay: not stated]" in page
    sample("report", "figures", *RUNS, *TABLES, "--figure", "judged", "--out", "judged.json")
    assert len(json.loads(Path("judged.json").read_text())["data"]["values"]) == 3 * 10


def test_a_plot_is_the_report_s_own(page: str, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)
    for name, place in (("scores", "scores-1"), ("judged", "judged-share-1"), ("rbo", "overlap-2")):
        words = ["report", "figures", "--figure", name, "--out", "plot.json"]
        run(*words)
        rows = json.loads(Path("plot.json").read_text())["data"]["values"]
        shown = pd.DataFrame(data_of_plot(page, place))
        pd.testing.assert_frame_equal(pd.DataFrame(rows), shown, check_dtype=False, rtol=1e-4)


@pytest.mark.slow
def test_a_plot_of_a_measure_is_drawn(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.chdir(workspace)
    words = ["report", "figures", "--figure", "length", "-m", "AP"]
    run(*words)
    assert "gain in AP" in Path("figures/length.svg").read_text()
    run("report", "figures", "--figure", "length", "--out", "one-85mm.svg")
    assert 'width="85.00mm"' in Path("one-85mm.svg").read_text()
    run("report", "figures")
    ends = {f"scores-{width}mm.{kind}" for width in (85, 180) for kind in ("svg", "pdf")}
    assert ends <= {path.name for path in Path("figures").iterdir()}


def test_a_plot_that_cannot_be_made_is_refused_at_once(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    told = run("report", "figures", "--figure", "overlap", "-m", "AP", code=2)
    assert "-m does not go with overlap" in told.output
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    told = run("report", "figures", "--figure", "overlap", code=1)
    assert "pictures need vl-convert-python" in told.output
    told = run("report", "figures", code=1)
    assert "pictures need vl-convert-python" in told.output


def _c1_by_command(fire: Fire, root: Path) -> tuple[list[str], list[str], list[str]]:
    """Return C@1 of each run by `score`, by `score --honest` and in the report, as printed."""
    rows = json.loads(fire("score", "-m", "C@1", "--format", "json").stdout)
    plain = [f"{100 * row['value']:.1f}" for row in rows if row["qrels"] == "augmented"]
    rows = json.loads(fire("score", "-m", "C@1", "--honest", "--format", "json").stdout)
    honest = [f"{100 * row['augmented']:.1f}" for row in rows]
    fire("report", "html")
    (table, *_) = tables_of(section_of((root / "report.html").read_text(encoding="utf-8"), "scores")).values()
    shown = {run: first.partition(" ")[0] for run, first, *_ in table}
    return plain, honest, [shown[row["run_id"]] for row in rows]


@pytest.mark.parametrize("policy", some(["override", "union", "drop"], 1))
def test_score_and_the_report_go_by_the_policy_of_the_augmented_qrels(
    fire: Fire, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    root = shutil.copytree(workspace, tmp_path / "study")
    monkeypatch.chdir(root)
    (root / "augmented/qrels.txt").unlink()
    fire("augment", "--policy", policy)
    plain, honest, shown = _c1_by_command(fire, root)
    assert len(plain) == 5
    assert honest == shown == plain
    assert f"(policy {policy})" in (root / "report.html").read_text(encoding="utf-8")
