"""`report html` on a workspace made of the sample pool."""

import contextlib
import html
import json
import re
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
from command import Fire, rows, run
from reports import data_of_plot, section_of, tables_of

from examples import some

RUNS = ("runs/fused.run", "runs/motion-track.run", "runs/shape-contour.run")
TABLES = ("--qrels", "qrels.txt", "--augmented", "augmented.txt", "--pool-sources")
TABLES += ("pool_sources.csv", "--queries", "queries.tsv")
NAMES = {"1": "ann.weber", "2": "bob", "3": "chen@lab.org", "4": "rule"}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory, corrected: Path) -> Path:
    """A workspace with three runs, judged and augmented."""
    root = tmp_path_factory.mktemp("report") / "study"
    (root / "runs").mkdir(parents=True)
    for name in RUNS:
        shutil.copy(corrected / name, root / name)
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
    with contextlib.chdir(root):
        run("augment")
    judged = pd.read_csv(root / "judgments/judgments.csv", dtype="str", keep_default_na=False)
    judged.replace({"annotator_id": NAMES}).to_csv(root / "judgments/judgments.csv", index=False)
    (root / "notes").mkdir()
    (root / "notes/manifest.json").write_text(f'{{"excluded": "ann.weber", "inputs": "{root}/runs/a.run"}}')
    return root


@pytest.fixture
def study(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the workspace, which is the current folder."""
    root = shutil.copytree(workspace, tmp_path / "study")
    monkeypatch.chdir(root)
    return root


@pytest.fixture(scope="module")
def page(workspace: Path) -> str:
    """The report of the workspace."""
    with contextlib.chdir(workspace):
        run("report", "html")
    return (workspace / "report.html").read_text(encoding="utf-8")


def test_the_numbers_of_the_report_are_those_of_score_and_difference(page: str, study: Path) -> None:
    for words, place, keys, names in (
        (("score", "--honest"), "scores-1", ("run_id", "measure"), ("original", "augmented", "low", "high")),
        (("difference",), "differences-1", ("qrels", "measure"), ("difference", "low", "high", "p_holm")),
    ):
        by_key = {}
        for row in rows(run(*words, "--format", "csv")):
            own = tuple(row[name] for name in keys)
            pair = [row[name] for name in ("run_a", "run_b") if name in row]
            values = by_key[(*own, *pair)] = [float(row[name] or "nan") for name in names]
            if pair:  # the other way round
                difference, low, high, p = values
                by_key[(*own, *pair[::-1])] = [-difference, -high, -low, p]
        for shown in data_of_plot(page, place):
            pair = [shown[name].split(maxsplit=1)[1] for name in ("row", "column") if name in shown]
            values = by_key[(*(shown[name] for name in keys), *pair)]
            found = [float("nan") if shown[name] is None else shown[name] for name in names]
            assert found == pytest.approx(values, rel=1e-4, abs=1e-9, nan_ok=True)


def test_only_what_was_tested_is_counted_and_models_stand_in_one_order(page: str) -> None:
    tested = [row for row in data_of_plot(page, "differences-1") if row["p_holm"] is not None]
    verdicts = [row["verdict"] for row in tested]
    holding, alone = (verdicts.count(f"p < .05 {how}") for how in ("after Holm", "alone"))
    words = section_of(page, "differences")
    assert f"<p>By all measures and both qrels, {holding} of {len(tested)} differences hold" in words
    assert f"at once, {alone} more only without it" in words
    runs = [dict.fromkeys(row[name] for row in data_of_plot(page, place)) for name, place in
            (("run_id", "scores-1"), ("group", "flips-1"))]  # fmt: skip
    assert list(runs[0]) == list(runs[1])[: len(RUNS)]  # others fed the pool too


def test_the_report_says_what_was_found_is_small_and_names_no_annotator(page: str, workspace: Path) -> None:
    """Of 100 queries; `own --show sets` and `score --honest` count the new positives too."""
    (first, second, third) = re.findall(r'<p class="lead">(.*?)</p>', page)
    assert first.startswith("<b>313 right answers counted as wrong</b>, 3.1 a query; how many of these ")
    gains = re.search(r"understated by <b>([\d.]+) to ([\d.]+) points</b>", second)
    assert gains
    assert {f"+ {each})" for each in gains.groups()} <= set(re.findall(r"\+ [\d.]+\)", page))
    assert "no two models change places" in third
    assert len(page.encode()) < 1_200_000
    anchors = re.findall(r'<(?:section|details class="more") id="([^"]+)"', page)
    assert anchors == ["first", "scores", "differences", "order", "flips", "annotators", "more", "agreement",
                       "overlap", "length", "judged-share", "words", "methods", "manifests"]  # fmt: skip
    plots = re.findall(r'<script type="application/json" id="(.*?)-spec">', page)
    assert (page.count("data-spec="), len(plots)) == (10, 10)
    assert all(data_of_plot(page, name) for name in plots)
    text = page.partition("\n<script>")[0]  # before Vega
    assert not [name for name in list(NAMES.values())[:3] if name in text]
    assert '"excluded": "annotator 1", "inputs": "runs/a.run"' in html.unescape(text)
    assert "<dt>C@1, C@5, C@10</dt>" in page
    assert str(workspace) not in page


def test_the_same_workspace_gives_the_same_bytes(page: str, workspace: Path) -> None:
    with contextlib.chdir(workspace):
        run("report", "html", "--out", "again.html")
    assert (workspace / "again.html").read_text(encoding="utf-8") == page


def test_what_is_missing_is_said(fire: Fire, folder: Path) -> None:
    settings = '[collection]\nqueries = "queries.tsv"\nqrels = "qrels.txt"\n[runs]\nfiles = ["*.run"]\n'
    (folder / "fire.toml").write_text(settings)
    assert "augmented/qrels.txt: not made yet; `fire-toolkit status`" in fire("report", "html", code=1).stderr


def test_runs_are_compared_by_what_there_is_where_no_measure_is_a_score(study: Path) -> None:
    settings = (study / "fire.toml").read_text()
    (study / "fire.toml").write_text(f'{settings}\n[score]\nmeasures = ["Judged@2"]\n')
    run("report", "html", "--out", "judged.html")
    assert "Judged@2" in (study / "judged.html").read_text(encoding="utf-8")


def test_a_report_is_of_files_too(sample: Fire) -> None:
    sample("report", "html", *RUNS, *TABLES, "--out", "own.html")
    page = Path("own.html").read_text(encoding="utf-8")
    assert "74.0 (39.0 + 35.0)" in page
    assert "[pay: not stated]" in page
    assert 'id="agreement"' not in page
    sample("report", "html", *RUNS, *TABLES, "--judgments", "judgments.csv", "--out", "own.html")
    page = Path("own.html").read_text(encoding="utf-8")
    alpha = json.loads(sample("agree", "judgments.csv", "--format", "json").stdout)[0]
    values = [f"{alpha[name]:.3f}" for name in ("value", "low", "high")]
    assert "alpha {} {} to {}".format(*values) in " ".join(re.sub("<[^>]*>", " ", page).split())
    assert "[guideline: not stated]" not in page
    assert "Each stage wrote down its parameters" not in page  # no stage made files
    only = pd.read_csv("judgments.csv", dtype="str", keep_default_na=False).query("annotator_id == '3'")
    only.to_csv("only.csv", index=False)
    sample("report", "html", *RUNS, *TABLES, "--judgments", "only.csv", "--out", "own.html")
    said = "alpha of first answers is not known (no pair has two judgments"
    assert said in Path("own.html").read_text(encoding="utf-8")
    sample("report", "figures", *RUNS, *TABLES, "--figure", "judged", "--out", "judged.json")
    assert len(json.loads(Path("judged.json").read_text())["data"]["values"]) == 3 * 10


def test_runs_that_are_not_to_be_compared_are_named_beside_their_scores(sample: Fire) -> None:
    top = [line for line in Path(RUNS[0]).read_text().splitlines() if int(line.split()[3]) <= 5]
    Path("short.run").write_text("\n".join(top) + "\n")
    sample("report", "html", "short.run", *RUNS[1:], *TABLES, "--out", "own.html")
    page = Path("own.html").read_text(encoding="utf-8")
    assert page.count(" the runs to different depths (fused 5, motion-track 20, shape-contour 20)") == 1
    assert " the runs to different depths (" in section_of(page, "scores").partition("<details")[0]


def test_what_is_needed_in_a_workspace_too_is_not_said_to_be_needed_outside_one(sample: Fire) -> None:
    tables = (*TABLES[:4], *TABLES[6:])
    told = sample("report", "similarity", *RUNS, *tables, code=2).output
    assert told.endswith("Error: --train is needed\n")
    Path("train.csv").write_text("text\na red square\n")
    Path("clotho.csv").write_text("file_name,caption_1\nrain.wav,a red square\n")
    asked = ("report", "similarity", *RUNS, *tables, "--format", "csv", "--train")
    assert sample(*asked, "clotho.csv").stdout == sample(*asked, "train.csv").stdout


@pytest.mark.usefixtures("study")
def test_a_plot_is_the_report_s_own(page: str) -> None:
    for name, place in (("scores", "scores-1"), ("judged", "judged-share-1"), ("rbo", "overlap-2")):
        run("report", "figures", "--figure", name, "--out", "plot.json")
        drawn = json.loads(Path("plot.json").read_text())["data"]["values"]
        shown = pd.DataFrame(data_of_plot(page, place))
        pd.testing.assert_frame_equal(pd.DataFrame(drawn), shown, check_dtype=False, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.usefixtures("study")
def test_a_plot_of_a_measure_is_drawn() -> None:
    pytest.importorskip("vl_convert")
    run("report", "figures", "--figure", "length", "-m", "AP")
    assert "gain in AP" in Path("figures/length.svg").read_text()
    run("report", "figures", "--figure", "length", "--out", "one-85mm.svg")
    assert 'width="85.00mm"' in Path("one-85mm.svg").read_text()
    run("report", "figures")
    ends = {f"scores-{width}mm.{kind}" for width in (85, 180) for kind in ("svg", "pdf")}
    assert ends <= {path.name for path in Path("figures").iterdir()}


@pytest.mark.usefixtures("study")
def test_a_plot_that_cannot_be_made_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told = run("report", "figures", "--figure", "overlap", "-m", "AP", code=2)
    assert "-m does not go with overlap" in told.output
    assert "--train is needed\n" in run("report", "similarity", code=2).output
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    for words in ((), ("--figure", "overlap")):
        assert "pictures need vl-convert-python" in run("report", "figures", *words, code=1).output


@pytest.mark.parametrize("policy", some(["override", "union", "drop"], 1))
def test_score_report_and_gallery_go_by_the_policy_of_the_augmented_qrels(study: Path, policy: str) -> None:
    (study / "augmented/qrels.txt").unlink()
    run("augment", "--policy", policy)
    scored = rows(run("score", "-m", "C@1", "--format", "csv"))
    plain = {row["run_id"]: row["value"] for row in scored if row["qrels"] == "augmented"}
    scored = rows(run("score", "-m", "C@1", "--honest", "--format", "csv"))
    assert {row["run_id"]: row["augmented"] for row in scored} == plain
    run("report", "html")
    page = (study / "report.html").read_text(encoding="utf-8")
    (table, *_) = tables_of(section_of(page, "scores")).values()
    shown = {name: first.partition(" ")[0] for name, first, *_ in table}
    assert shown == {name: f"{100 * float(value):.1f}" for name, value in plain.items()}
    assert len(plain) == 3
    assert f"(policy {policy})" in page
    run("gallery")  # not by fire.toml, which `augment --policy` leaves as it is
    text = (study / "gallery/data/0000.js").read_text()
    shard = json.loads(f"[{text[text.index('(') + 1 : text.rindex(')')]}]")[-1]
    of_rejected = {
        right for state, right in zip(shard["state"], shard["relevant"], strict=True) if state == 4
    }
    assert of_rejected == {int(policy == "union")}
