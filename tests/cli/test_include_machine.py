"""`augment --include-machine`: a judge's labels are marked wherever they go, and are nowhere without it."""

import contextlib
import html
import json
import shutil
from pathlib import Path

import pytest
from brought import put
from command import by_pair, manifest_of, rows, run
from reports import section_of

MARK = "2 pairs labelled by the machine judge vlm and by no person, 1 of them positive"
QRELS, JUDGE = Path("augmented/qrels.txt"), Path("machine/vlm/machine.csv")


@pytest.fixture
def judged(here: Path) -> None:
    """Make a workspace of one query: a is its original, people said no to b and differ on c."""
    run("init", ".")
    answers = zip("abcde", (0.1, 0.9, 0.9, 0.8, 0.2), strict=True)
    for path, text in {
        "collection/queries.tsv": "query_id\ttext\nq\ta cat\n",
        "collection/qrels.txt": "q 0 a 1\n",
        "runs/m.run": "".join(f"q Q0 {doc} 1 {9 - n} m\n" for n, doc in enumerate("dbcea")),
        "labels/labels.csv": "query_id,doc_id,label,relevance\nq,b,x,0\n",
        "labels/disputes.csv": "query_id,doc_id,reason\nq,c,tie\n",
        JUDGE: "judge_id,query_id,doc_id,score\n" + "".join(f"vlm,q,{doc},{p}\n" for doc, p in answers),
    }.items():
        put(path, text)


@pytest.mark.usefixtures("judged")
def test_its_labels_are_marked_where_people_said_nothing_and_without_it_they_are_nowhere() -> None:
    run("augment")
    with_judge = {path: path.read_bytes() for path in QRELS.parent.iterdir()}
    said = JUDGE.read_text()
    JUDGE.unlink()
    run("augment")
    assert with_judge == {path: path.read_bytes() for path in QRELS.parent.iterdir()}
    assert QRELS.read_text() == "q 0 a 1\nq 0 b 0\n"
    JUDGE.write_text(said)
    assert MARK in run("augment", "--include-machine", "vlm").output
    # a is an original, b people's, c in dispute between people
    assert QRELS.read_text() == "q 0 a 1\nq 0 b 0\nq 0 d 1\nq 0 e 0\n"
    for name in ("qrels.csv", "changes.csv"):
        sources = {row["doc_id"]: row["source"] for row in rows(QRELS.with_name(name))}
        assert sources == {"a": "original", "b": "irrelevant", "d": "machine:vlm", "e": "machine:vlm"}
    assert manifest_of(QRELS)["counts"]["include_machine"] == "vlm"
    JUDGE.write_text(said.replace("0.9", "3.5"))  # no probabilities
    found = run("augment", "--include-machine", "vlm", code=1)
    assert "scores lie between 0.1 and 3.5, expected labels, or probabilities from 0 to 1" in found.stderr


@pytest.fixture(scope="module")
def released(released_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with its release, whose qrels hold two labels of a judge."""
    root = tmp_path_factory.mktemp("released") / "work"
    shutil.copytree(released_once, root, ignore=shutil.ignore_patterns("releases"))
    with contextlib.chdir(root):
        (root / "said.csv").write_text("query_id,doc_id,score\n1,unpooled,0.9\n2,c,0.2\n")
        run("machine", "import", "said.csv", "--judge", "vlm")
        run("augment", "--include-machine", "vlm")
        run("score")
        run("release", "--version", "1.0", "--date", "2026-11-22")
    return root


IN_WORKSPACE = ("score", "difference", "orders", "coverage", "reuse", "score --honest", "report methods")
OF_FILES = (
    "score runs/clip.run --qrels augmented/qrels.txt",
    "score runs/clip.run --qrels releases/1.0",
    "score runs/clip.run --qrels releases/1.0/qrels/test.tsv",
    "orders --qrels a=collection/qrels.txt --qrels b=releases/1.0/qrels.txt",
)


@pytest.mark.parametrize("words", [*IN_WORKSPACE, *(f"report table{n}" for n in (1, 4)), *OF_FILES])
def test_every_table_says_so(words: str, released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(released)
    assert MARK in " ".join(run(*words.split()).output.split())


def test_so_do_reports_and_releases(released: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(released)
    run("report", "html", "--out", tmp_path / "report.html")
    folder = released / "releases/1.0"
    for path in (tmp_path / "report.html", folder / "README.md", folder / "DATASHEET.md"):
        assert MARK in " ".join(path.read_text().split()), path
    run("report", "html", "--against", "releases/1.0", "--out", tmp_path / "since.html")
    since = section_of((tmp_path / "since.html").read_text(), "since")
    for side in ("release 1.0", "this workspace"):
        assert f"{side}: {MARK}; they count in what is compared here" in since
    croissant = json.loads((folder / "croissant.json").read_text())
    assert croissant["rai:hasSyntheticData"] is True
    assert croissant["rai:machineAnnotationTools"] == f"{MARK}."
    assert croissant["description"].endswith(f"in dispute. {MARK}.")
    sources = by_pair(folder / "changes.csv", "source")
    assert {pair for pair in sources if sources[pair] == "machine:vlm"} == {("1", "unpooled"), ("2", "c")}
    assert "vlm" not in (folder / "labels.csv").read_text() + (folder / "judgments.csv").read_text()


def test_the_gallery_says_that_it_shows_labels_of_people_alone(
    released: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(released)
    run("gallery", "--out", tmp_path / "gallery")
    subtitle = (tmp_path / "gallery/data/index.js").read_text().partition('"subtitle":"')[2].partition('"')[0]
    assert MARK in subtitle
    assert subtitle.endswith("; people's labels alone are shown")
    assert "unpooled" not in (tmp_path / "gallery/data/0000.js").read_text()  # positive by the machine alone


def test_honest_rows_and_all_of_a_report_are_by_people_alone(
    released: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(released)
    told = "scored by people's labels alone; plain `score` also counts those of vlm, a machine"
    assert told in run("score", "--honest").stderr
    places = {"scores": tmp_path / "scores.json", "order": tmp_path / "order.json"}
    alone = "scores are by people's labels alone"
    for name, path in places.items():
        assert alone in run("report", "figures", "--figure", name, "-m", "AP", "--out", path).stderr
    assert alone in run("report", "html", "--out", tmp_path / "report.html").stderr
    assert alone in html.unescape(section_of((tmp_path / "report.html").read_text(), "first"))
    scores, order = (json.loads(path.read_text())["data"]["values"] for path in places.values())
    corrected = {row["run_id"]: row["augmented"] for row in scores}
    assert corrected == {row["run_id"]: row["value"] for row in order if row["labelling"] == "augmented"}
    counted = json.loads(run("score", "-m", "AP", "--format", "json").stdout)
    assert corrected != {row["run_id"]: row["value"] for row in counted if row["qrels"] == "augmented"}
