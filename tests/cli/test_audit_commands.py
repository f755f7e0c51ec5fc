import json
from pathlib import Path

import pytest
from click.testing import Result
from command import run

from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.table_files import read_judgments, read_labels, read_pool

RELEASE = Path(__file__).parents[1] / "golden" / "fire-release"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels.txt").write_text("ret0 0 v1 1\nret1 0 v2 1\nret2 0 v02 1\n")
    (tmp_path / "items.tsv").write_text("doc_id\tmedia_url\nv1\ta.mp4\nv2\tb.mp4\nv02\tc.mp4\nv3\tnone.mp4\n")
    (tmp_path / "m.run").write_text("ret0 Q0 v1 1 2 m\nret0 Q0 V02 2 1 m\n")
    (tmp_path / "media").mkdir()
    for name, content in (("a.mp4", "x"), ("b.mp4", "yy"), ("c.mp4", "x")):
        (tmp_path / "media" / name).write_text(content)
    return tmp_path


def collection(folder: Path) -> list[object]:
    return ["--queries", RELEASE / "queries.tsv", "--qrels", folder / "qrels.txt"]


def test_the_audit_writes_its_findings_and_a_table_for_each(folder: Path) -> None:
    out = folder / "audit"
    options = ["--items", folder / "items.tsv", "--media", folder / "media", "--out", out, "--format", "json"]
    result = run("audit", folder / "m.run", *collection(folder), *options)
    counts = json.loads(result.stdout)
    assert {name: n for name, n in counts.items() if n} == {
        "duplicate_captions": 1,
        "missing_positives": 2,
        "confusable_ids": 1,
        "duplicate_items": 1,
        "runs_coverage": 1,
        "items_without_query": 1,
        "suggestions": 2,
    }
    assert "note: 1 of 4 items have no file" in result.stderr
    assert read_delimited(out / "duplicate_items.csv")["same_as"].tolist() == ["v02"]
    assert list(counts) == read_delimited(out / "findings.csv")["finding"].tolist()
    assert (out / "manifest.json").is_file()
    assert not (out / "dangling_doc_ids.csv").exists()


def test_media_that_is_not_there_is_an_error_not_an_empty_finding(folder: Path) -> None:
    media = ["--items", folder / "items.tsv", "--media", folder / "nowhere"]
    result = run("audit", *collection(folder), *media, "--out", folder / "a", code=1)
    assert result.stderr == f"error: --media {folder / 'nowhere'}: no such folder\n"


def trained_on(folder: Path, content: object) -> Result:
    (folder / "train.json").write_text(json.dumps(content))
    words = ("--train", folder / "train.json", "--out", folder / "a", "--format", "json")
    return run("audit", *collection(folder), *words)


def test_training_captions_come_from_any_file_and_of_splits_from_that_of_training(folder: Path) -> None:
    captions = [{"video": "t", "caption": "A dog runs over grass"}, {"video": "u", "caption": "x"}]
    assert json.loads(trained_on(folder, captions).stdout)["training_similarity"] == 2
    texts = enumerate([("train", "a cat sleeps"), ("test", "a dog runs over grass")])
    images = [
        {"filename": split, "split": split, "sentences": [{"raw": text, "sentid": n}]}
        for n, (split, text) in texts
    ]
    result = trained_on(folder, {"images": images})
    assert json.loads(result.stdout)["training_similarity"] == 1  # the cat, not the two dogs
    assert "split train read; the file also has test" in result.stderr


def test_suggestions_are_written_as_a_run_that_can_be_pooled(folder: Path) -> None:
    result = run("audit", *collection(folder), "--similarity", "0.99", "--out", folder / "a")
    assert "pairs of 2 queries with an item of another caption, by a cosine of 0.99 or more" in result.stderr
    assert read_delimited(folder / "a" / "suggestions.csv")["via_query_id"].tolist() == ["ret2", "ret0"]
    run("pool", folder / "a" / "suggestions.parquet", *collection(folder), "--out", folder / "p")
    assert read_pool(folder / "p")["query_id"].tolist() == ["ret0", "ret2"]


@pytest.fixture
def workspace(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a workspace of the captions that the release in golden/ judges."""
    monkeypatch.chdir(folder)
    (folder / "queries.tsv").write_text((RELEASE / "queries.tsv").read_text())
    (folder / "fire.toml").write_text('[collection]\nqueries = "queries.tsv"\nqrels = "qrels.txt"\n')
    return folder


def test_a_release_becomes_tables_that_the_other_commands_read(workspace: Path) -> None:
    result = run("import", RELEASE / "release.json", "--out", "release")
    assert "note: licence: the file says 'CC BY 4.0'" in result.stderr
    assert "12 judgments, 6 labels, 1 disputes, 9 provenance, 1 entries outside" in result.stderr
    assert "next: fire-toolkit augment --labels release/labels.csv --out release/aug" in result.stderr
    assert (len(read_judgments("release/judgments.csv")), len(read_labels("release"))) == (12, 6)
    run("agree", "release/judgments.csv", "--format", "csv")
    run("augment", "--labels", "release", "--out", "augmented.txt")
    assert "ret1 0 v9 1" in (workspace / "augmented.txt").read_text()
