"""`report html --against`: two states of the labels, and never a pairing of different things."""

import contextlib
import hashlib
import html
import re
import shutil
import zipfile
from pathlib import Path

import pytest
from command import run
from reports import Cells, data_of_plot, section_of, tables_of
from small_release import ANSWERS, answer, set_in

from examples import some

# The dispute (2, NA) is settled, (1, c) turns relevant and (1, b) not relevant.
LATER = ANSWERS | {
    "ann": ANSWERS["ann"] | {("1", "b"): 0, ("1", "c"): 1},
    "bob": ANSWERS["bob"] | {("2", "NA"): 1},
}


@pytest.fixture(scope="module")
def made(released_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `old`, whose release lies in it too, and `new`, judged anew; not to be written to."""
    root = tmp_path_factory.mktemp("against")
    for name in ("old", "new"):
        shutil.copytree(released_once, root / name)
    with contextlib.chdir(root / "new"):
        answer(root / "new", LATER)
        for command in ("import", "resolve", "augment", "score"):
            run(command)
    return root


@pytest.fixture
def new(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder `new`, beside `old`."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path / "new")
    return tmp_path / "new"


def section(old: str, anchor: str = "since") -> tuple[dict[str, Cells], list[str]]:
    """Return the tables of a section of the report by the start of their captions, and its warnings."""
    run("report", "html", "--against", old)
    page = Path("report.html").read_text(encoding="utf-8")
    own = section_of(page, anchor)
    tables = {caption.split()[0]: table for caption, table in tables_of(own).items()}
    return tables, re.findall(r"</b> (.*?)</p>", html.unescape(own))


@pytest.mark.parametrize("form", some(["zip", "workspace", "release"], 1))
def test_what_changed_since_a_workspace_or_a_release(new: Path, form: str) -> None:
    place = {"workspace": "../old", "release": "../old/releases/1.0", "zip": "../old.zip"}[form]
    if form == "zip":
        shutil.make_archive("../old", "zip", "../old/releases")
    tables, warnings = section(place)
    assert {change: n for change, n in tables["Labels"] if n != "0"} == {
        "newly labelled relevant": "1",
        "turned relevant": "1",
        "turned not relevant": "1",
        "as before": "4",
    }
    # C@1 of clip: (1, a) stands first and (2, b), so 1 of 2 before and after; of ssb (1, c) and (2, b).
    assert [row for row in tables["Scores"] if row[1] == "C@1"] == [
        ["clip", "C@1", "50.0", "50.0", "0.0", "-65.8 to +65.8"],  # no query's value changes: z²/(2 + z²)
        ["ssb", "C@1", "0.0", "50.0", "+50.0", "-48.6 to +90.5"],  # Tango's interval of 1 : 0 of 2
    ]
    assert tables["Agreement"][0][0] == "alpha"
    of_ids = "release 1.0: no texts of queries; those of one id are taken to be the same."
    assert warnings == ([] if form == "workspace" else [of_ids])
    page = Path("report.html").read_text(encoding="utf-8")
    drawn = [row for row in data_of_plot(page, "since-order-1") if row["measure"] == "C@1"]
    before = "old" if form == "workspace" else "release 1.0"
    assert {(row["labelling"], row["run_id"], row["place"]) for row in drawn} == {
        *((before, "clip", 1), (before, "ssb", 2)),
        *(("this workspace", "clip", 1), ("this workspace", "ssb", 1)),
    }


def test_runs_are_paired_by_their_content_and_settings_are_those_of_each_workspace(new: Path) -> None:
    shutil.move("../old/collection/qrels.txt", "../old/collection/all.txt")
    set_in(Path("../old"), qrels="collection/all.txt")
    shutil.copy(new / "runs/clip.run", new / "runs/twin.run")  # stands in old under one name
    (new / "runs/ssb.run").write_text("1 Q0 b 1 9 ssb\n2 Q0 a 1 3 ssb\n")
    (new / "runs/own.run").write_text("1 Q0 b 1 9 own\n2 Q0 b 1 3 own\n")
    tables, warnings = section("../old")
    assert tables["Labels"]
    assert [row for row in tables["What"] if row[0] == "runs"] == [["runs", "2", "4"]]
    assert {row[0] for row in tables["Scores"]} == {"clip", "twin"}
    assert warnings == [
        "ssb is another file in old, and is not compared.",
        "runs only in this workspace, not compared: own.",
    ]


def test_scores_that_the_same_labels_do_not_give_are_not_paired(new: Path) -> None:
    path = Path("../old/scores/scores.csv")
    path.write_text(path.read_text().replace("clip,augmented,all,C@1,0.5", "clip,augmented,all,C@1,0.25"))
    manifest = path.with_name("scores.csv.manifest.json")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    text = re.sub(r'("outputs": \{\s*"scores.csv": ")[0-9a-f]+', rf"\g<1>{sha256}", manifest.read_text())
    manifest.write_text(text)
    tables, warnings = section("../old")
    assert {row[0] for row in tables["Scores"]} == {"ssb"}
    assert [text[:50] for text in warnings] == ["clip: old gives it other scores than its own label"]
    assert 'id="since-order"' not in Path("report.html").read_text(encoding="utf-8")


def test_other_queries_leave_the_scores_alone(new: Path) -> None:
    path = new / "collection/queries.tsv"
    path.write_text(path.read_text().replace("a red circle", "a green circle"))
    tables, warnings = section("../old")
    assert {change: n for change, n in tables["Labels"] if n != "0"} == {
        "newly labelled relevant": "1",
        "as before": "2",
    }
    assert warnings[:2] == [
        "queries of the same id with another text in old: 1 (1).",
        "scores are means over other queries there, and are not compared.",
    ]
    # As old has them. AP of clip: two of three at 1 and 2, and 0; of ssb one of three at 2, and one at 2.
    scores = {"clip C@1": "50.0", "clip AP": "33.3", "ssb C@1": "0.0", "ssb AP": "33.3"}
    assert {" ".join(row[:2]): row[2] for row in tables["Scores"]} == scores


def test_another_guideline_leaves_everything_alone(new: Path) -> None:
    judged = new / "judgments/judgments.csv"
    judged.write_text(judged.read_text().replace("caption-relevance-v1", "another-v1"))
    judged.with_name("judgments.csv.manifest.json").unlink()
    tables, warnings = section("../old")
    assert "Labels" not in tables
    assert warnings[0].startswith("old was judged by the guideline caption-relevance-v1, this workspace by")
    assert "nothing is compared" in warnings[0]
    assert {len(row) for row in tables["Scores"]} == {3}


@pytest.mark.parametrize("name", ["nowhere", "../new/runs", "damaged.zip", "empty.zip"])
def test_what_is_no_state_of_labels_is_refused(new: Path, name: str) -> None:
    Path("damaged.zip").write_bytes(b"PK\x03\x04 and no more")
    Path("empty.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    said = run("report", "html", "--against", name, code=1).stderr
    assert name in said
    assert "release" in said
    assert not Path("report.html").exists()


@pytest.mark.parametrize("declared", some([None, 1000], 1))
def test_a_zip_that_unpacks_to_far_more_than_it_holds_is_refused(new: Path, declared: int | None) -> None:
    """A bomb says how long it is, or lies: then it is read only as far as it says."""
    with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x", "w") as file:
        for _ in range(100):
            file.write(bytes(1_000_000))
    assert Path("bomb.zip").stat().st_size < 200_000
    if declared is not None:
        content, size = Path("bomb.zip").read_bytes(), (100_000_000).to_bytes(4, "little")
        Path("bomb.zip").write_bytes(content.replace(size, declared.to_bytes(4, "little")))
    error = run("report", "html", "--against", "bomb.zip", code=1).stderr
    expected = "unpacks to 100 MB, expected at most 100 times its size" if declared is None else "Bad CRC-32"
    assert "error: bomb.zip: " in error
    assert expected in error
    assert not Path("report.html").exists()
