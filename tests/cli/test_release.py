"""`release`: a workspace's labels as a folder that others load, and what it must not say of people."""

import contextlib
import json
import re
import runpy
import shutil
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pandas as pd
import pytest
from command import rows, run
from small_release import ANSWERS, CORRECTED, ORIGINAL, STATED, answer, set_in

from examples import cases, load_script
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.tables.table_files import read_judgments
from fire_toolkit.labelstudio.accounts import Annotator, write_register
from fire_toolkit.labelstudio.connection import prepare_folder

DATE = ("--date", "2026-11-22")
RELEASE = ("release", "--version", "1.0", *DATE)
CHAIN = ("resolve", "augment", "score")


@pytest.fixture
def workspace(released_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "work"
    shutil.copytree(released_once, root, ignore=shutil.ignore_patterns("releases"))
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def released(released_once: Path, workspace: Path) -> Path:
    shutil.copytree(released_once / "releases", workspace / "releases")
    return workspace / "releases" / "1.0"


def pairs_of(path: Path) -> dict[tuple[str, str], int]:
    found = read_qrels(path)
    keys = zip(found["query_id"], found["doc_id"], strict=True)
    return dict(zip(keys, map(int, found["relevance"]), strict=True))


def follow(*commands: str) -> None:
    for command in commands:
        run(command)


def texts_of(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".parquet"]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def refused(workspace: Path, *arguments: str) -> str:
    """Return why a release is refused; nothing of it may be left."""
    said = run(*RELEASE, *arguments, code=1).stderr
    assert not list((workspace / "releases").glob("*"))
    assert len(said.splitlines()) <= 2, said  # the note on comments may come first
    return said


def test_what_no_file_knows_is_asked_for_by_name_in_one_message(workspace: Path) -> None:
    set_in(workspace, creators=[], **dict.fromkeys(STATED, ""))
    said = refused(workspace)
    assert "17 things that a release says: [release] name, title" in said
    assert "; [study] recruitment" in said
    lines = run("release", "--draft").stdout
    for section, asked in tomllib.loads(lines).items():
        assert not any(asked.values()), section
    assert lines.count("  # ") == len(STATED) + 1
    text = (workspace / "fire.toml").read_text()
    for line in lines.splitlines():  # as somebody who takes every example
        name, _, example = line.partition(" = ")[0], *line.partition(", e.g. ")[1:]
        text = re.sub(rf"(?m)^{name} = .*$", f"{name} = {example}", text) if example else text
    (workspace / "fire.toml").write_text(text)
    run(*RELEASE)
    assert not run("release", "--draft").stdout


def test_dropped_captions_are_in_neither_qrels_of_a_release(workspace: Path) -> None:
    """By its two qrels the scores are those of the caption that counts; of both they would be half of it."""
    validity = "query_id,label,is_usable,n_votes,n_agree\n1,usable,True,1,1\n2,unusable,False,1,1\n"
    Path("query_labels.csv").write_text(validity)
    run("augment", "--unusable", "drop", "--validity", "query_labels.csv")
    scored = rows(run("score", "--format", "csv"))
    run(*RELEASE, "--include-runs", 5)
    qrels = ("--qrels", "releases/1.0/qrels.original.txt", "--augmented", "releases/1.0")
    assert rows(run("score", *qrels, "--format", "csv")) == scored
    assert {float(row["value"]) for row in scored if row["qrels"] == "augmented"} >= {1.0}
    assert "; nothing found" in run("release", "check", "releases/1.0").stderr


@cases("values", "words")
def test_an_answer_that_is_wrong_is_named(workspace: Path, values: dict[str, str], words: str) -> None:
    set_in(workspace, **values)
    assert words in refused(workspace)


def test_judgments_of_somebody_s_own_need_a_platform_and_excluded_people_a_pseudonym(workspace: Path) -> None:
    path = workspace / "judgments/judgments.csv"
    judged = pd.read_csv(path, dtype=str, keep_default_na=False).replace({"annotator_id": {"2": "mallory"}})
    judged.assign(duration_s=["", *judged["duration_s"][1:]]).to_csv(path, index=False)
    path.with_name("judgments.csv.manifest.json").unlink()
    run("resolve", "--exclude", "mallory", "--reason", "failed the controls")
    run("augment")
    run("score")
    assert "write into fire.toml, [release] platform" in refused(workspace)
    assert 'platform = ""  # where people judged' in run("release", "--draft").stdout
    set_in(workspace, platform="A form on paper")
    assert not run("release", "--draft").stdout
    run(*RELEASE)
    texts = texts_of(workspace / "releases/1.0")
    assert not [name for name, text in texts.items() if "mallory" in text]
    assert re.search(r"answers of annotator-[12] enter neither agreement nor labels", texts["README.md"])
    push = "AP: relevant items that nobody judged push it up, wrong new positives push it down."
    assert push in texts["README.md"]
    assert json.loads(texts["croissant.json"])["rai:dataAnnotationPlatform"] == "A form on paper"
    found = read_judgments(Path("releases/1.0/judgments.csv"))
    assert (len(found), found["duration_s"].isna().sum()) == (len(judged), 1)


@cases("other", "undone", "by_hand", few=1)
def test_ids_with_blanks_are_the_benchmark_s_own_but_in_trec_s_files(
    other: str, undone: bool, by_hand: bool, here: Path
) -> None:
    """None is undone where an id has a % too: a table of such ids would not be told from an encoded one."""
    docs = ["rain on roof.wav", other]
    captions = "".join(f"{doc},It rains\n" for doc in docs)
    (here / "captions.csv").write_text(f"file_name,caption_1\n{captions}")
    run("init", ".", "--guideline", "caption-sound-relevance-v1")
    run("add-collection", "captions.csv")
    if by_hand:
        for path in (here / "collection").glob("*.tsv"):
            path.write_text(unquote(path.read_text()))
        (here / "collection/manifest.json").unlink()
    set_in(here, creators=["Curie, Marie"], platform="A form on paper", captions="CC0-1.0", **STATED)
    np.save("clap.npy", np.eye(2))
    run("add-run", "clap.npy", "--orientation", "queries-rows")
    run("pool")
    run("tasks")
    judged = "".join(f"ann,{query}#0,{doc},{query == docs[0]}\n" for query in docs for doc in docs)
    (here / "judged.csv").write_text(f"who,caption,sound,fits\n{judged}")
    columns = ("--columns", "annotator=who,query=caption,doc=sound,label=fits")
    run("import", "judged.csv", *columns, "--label", "True=relevant", "--label", "False=irrelevant")
    for version in ("1.0", "1.1"):
        follow(*CHAIN)
        run("release", "--version", version, "--include-runs", "2", *DATE)
    released = here / "releases/1.1"
    assert not run("release", "check", released).stdout
    assert "Since 1.0: nothing changed" in (released / "CHANGELOG.md").read_text()
    own = [*map(quote, docs)] if not undone else docs
    assert [json.loads(line)["_id"] for line in (released / "corpus.jsonl").read_text().splitlines()] == own
    for name in ("judgments", "labels", "pool", "pool_sources"):
        assert {row["doc_id"] for row in rows(released / f"{name}.csv")} == {*own}, name
    assert {doc for docs in json.loads((released / "qrels.json").read_text()).values() for doc in docs} == {
        *own
    }
    assert {*pd.read_parquet(released / "data/ranks.parquet")["doc_id"]} == {*own}
    for name in ("qrels.txt", "qrels.original.txt", "runs/clap.run"):
        assert {line.split()[2] for line in (released / name).read_text().splitlines()} == {
            *map(quote, docs)
        }, name
    where = "in `qrels*.txt` and `runs/` all" if undone else "in every file all"
    assert f"{where} are percent-encoded" in (released / "README.md").read_text()
    run("gallery")
    assert own[0] in (here / "gallery/data/index.js").read_text()
    for judged_before in (released, released / "labels.csv", released / "qrels/test.tsv"):
        words = run("pool", "--judged", judged_before, "--out", here / "again").stderr
        assert "4 judged before, none new" in words, words


def test_every_form_holds_corrected_pairs_text_ids_nothing_private(released: Path, workspace: Path) -> None:
    for name in ("qrels.txt", "qrels/test.tsv", "qrels.json"):
        assert pairs_of(released / name) == CORRECTED, name
    assert pairs_of(released / "qrels.original.txt") == ORIGINAL
    table = pd.read_parquet(released / "data/qrels.parquet")
    keys = zip(table["query-id"], table["corpus-id"], strict=True)
    assert dict(zip(keys, table["score"], strict=True)) == CORRECTED
    corpus = pd.read_parquet(released / "data/corpus.parquet")["_id"].tolist()
    assert corpus == ["a", "b", "c", "007", "NA", "unpooled"]
    assert (released / "queries.jsonl").read_text() == '{"_id": "1"}\n{"_id": "2"}\n'
    judged = rows(released / "judgments.csv")
    assert len(judged) == sum(map(len, ANSWERS.values()))
    assert {row["annotator_id"] for row in judged} == {"annotator-1", "annotator-2"}
    assert {row["label"] for row in judged if row["doc_id"] == "NA"} == {"relevant", "irrelevant"}
    assert {row["created_at"] for row in judged} <= {f"2026-03-0{n}" for n in range(1, 5)}
    assert "comment" not in judged[0]
    assert json.loads((released / "croissant.json").read_text())["rai:hasSyntheticData"] is False
    assert "no_majority" in (released / "disputes.csv").read_text()
    for name, text in texts_of(released).items():
        for secret in (str(workspace.parent), "T09:23", "red circle", "TODO", "not stated"):
            assert secret not in text, name
    module = load_script(released / "small_labels/__init__.py")
    found = module.load_qrels()
    assert {(q, d): r for q, docs in found.items() for d, r in docs.items()} == CORRECTED
    assert module.load_qrels("original") == {"1": {"a": 1}, "2": {"a": 1}}
    assert module.__version__ == "1.0"
    with pytest.raises(ValueError, match="expected corrected or original"):
        module.load_qrels("new")


@pytest.mark.parametrize("media", ["", "CC-BY-4.0"])
def test_addresses_of_queries_that_are_media_go_by_the_licence_of_media(workspace: Path, media: str) -> None:
    queries = "1\ta red circle\t/data/ann/1.jpg\n2\t\thttps://example.org/2.jpg\n"
    (workspace / "collection/queries.tsv").write_text("query_id\ttext\tmedia_url\n" + queries)
    set_in(workspace, captions="CC-BY-4.0", media=media)
    run(*RELEASE)
    lines = (workspace / "releases/1.0/queries.jsonl").read_text().splitlines()
    urls = [json.loads(line).get("media_url") for line in lines]
    assert urls == (["", "https://example.org/2.jpg"] if media else [None, None])


def test_which_queries_were_judged_deep_is_published_and_said(workspace: Path) -> None:
    set_in(workspace, depth=1, deep_queries=0.5, deep_depth=2, seed=3)
    follow("pool", *CHAIN)
    run("release", "--version", "1.1", *DATE)
    released = workspace / "releases/1.1"
    table = pd.read_parquet(released / "data/query_design.parquet")
    assert table[["query_id", "depth", "seed"]].values.tolist() == [["1", 2, 3], ["2", 2, 3]]
    assert (released / "query_design.csv").read_text() == (workspace / "pool/query_design.csv").read_text()
    words = "For 2 queries, drawn at random (seed 3), the top 2 of each run were pooled."
    assert all(words in (released / name).read_text() for name in ("README.md", "DATASHEET.md"))
    assert "nothing found" in run("release", "check", released).stderr
    four, five = (
        [line.split() for line in (released / name).read_text().splitlines()]
        for name in ("qrels.txt", "qrels.sampled.txt")
    )
    assert {len(fields) for fields in four} == {4}  # as trec_eval and others demand it
    assert [[*fields[:3], fields[4]] for fields in five] == four
    assert {fields[3] for fields in five} == {"shallow", "deep"}


def test_a_release_passes_its_own_check_and_a_changed_file_does_not(released: Path) -> None:
    run("release", "check", released)
    (released / "qrels.txt").write_text("1 0 a 0\n")
    said = run("release", "check", released, code=1)
    assert "qrels.txt: changed since it was written" in said.stdout
    assert "not the same pairs as qrels.txt" in said.stdout
    listed = json.loads(run("release", "check", released, "--format", "json", code=1).stdout)
    what = "changed since it was written; manifest.json has another hash"
    assert {"file": "qrels.txt", "level": "must", "line": 0, "what": what} in listed
    refused = run("score", "--qrels", released, "-m", "C@1", code=1).stderr
    assert "changed since `fire-toolkit release` wrote it" in refused


@pytest.mark.slow
def test_the_same_workspace_gives_the_same_bytes_another_version_other_names(workspace: Path) -> None:
    for out in ("one", "two"):
        run(*RELEASE, "--include-runs", 1, "--out", out)
    one, two = (
        [(path.name, path.read_bytes()) for path in sorted((workspace / out).rglob("*.*"))]
        for out in ("one", "two")
    )
    assert one == two
    drawn = set()
    for n in range(8):
        run("release", "--version", f"2.{n}", *DATE, "--out", f"v{n}")
        drawn.add((workspace / f"v{n}/judgments.csv").read_text())
    assert len(drawn) == 2  # two people have two orders; eight draws of one order only are one in 128


@pytest.mark.usefixtures("released")
def test_what_is_there_is_not_overwritten_and_what_is_stale_not_released(workspace: Path) -> None:
    assert "already exists" in run(*RELEASE, code=1).stderr
    set_in(workspace, measures=["C@5"])
    said = run("release", "--version", "1.1", *DATE, code=1).stderr
    assert "score is stale" in said
    assert "run `fire-toolkit score`" in said
    run("augment", "--policy", "override")
    (workspace / "augmented/changes.csv").unlink()
    said = run(
        "release", "--version", "1.1", *DATE, code=1
    ).stderr  # plain `augment` would be of another policy
    assert "augment is stale (augmented/changes.csv is gone); run `fire-toolkit refresh` first" in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Marta judged most of it", "a person's name"),
        pytest.param("the word is hunter2hunter2", "a secret of the workspace", marks=pytest.mark.slow),
    ],
)
def test_names_and_secrets_of_the_register_are_refused(workspace: Path, text: str, words: str) -> None:
    """What is private whoever wrote it is held in tests/release/test_people.py."""
    folder = workspace / ".fire/private"
    prepare_folder(folder)
    row = Annotator("marta", user_id="1", email="marta@example.org", password="hunter2hunter2")
    write_register(folder, [row])
    set_in(workspace, uses=text)
    said = refused(workspace)
    assert words in said
    assert "marta" not in said.lower()
    assert "hunter2" not in said


def test_comments_come_by_consent_and_an_e_mail_in_one_is_refused(workspace: Path) -> None:
    set_in(workspace, comments_consent="They agreed in writing")
    assert "judgments.csv:2: an e-mail address" in refused(workspace)


@pytest.mark.slow
def test_the_creators_may_give_their_contact_and_nobody_is_named_for_a_blind_review(workspace: Path) -> None:
    contact = "Marie Curie <marie@example.org>"
    set_in(workspace, contact=contact, url="", files_url="https://example.org/data/")
    run(*RELEASE, "--anonymous", "--out", "blind")
    for name, text in texts_of(workspace / "blind").items():
        assert not re.search("(?i)curie|radium|example[.]org", text), name
    run("release", "check", "blind")
    # With captions and addresses, by the licence that they are declared to have.
    set_in(workspace, captions="CC-BY-4.0", media="CC-BY-4.0")
    run(*RELEASE)
    folder = workspace / "releases/1.0"
    named = texts_of(folder)
    assert "marie@example.org" in named["DATASHEET.md"]
    assert "https://example.org/data/data/qrels.parquet" in named["croissant.json"]
    assert 'family-names: "Curie"' in named["CITATION.cff"]
    queries, corpus = (
        [json.loads(line) for line in named[name].splitlines()] for name in ("queries.jsonl", "corpus.jsonl")
    )
    assert queries[1] == {"_id": "2", "text": "bob@example.org moves"}
    assert corpus[3] == {"_id": "007", "media_url": "https://example.org/007.mp4"}
    assert "under CC-BY-4.0, the licence of their source" in named["LICENSE"]
    run("release", "check", folder)
    run("add-collection", folder, "--out", "again")
    for name in ("queries.tsv", "items.tsv"):
        found, was = ((workspace / path / name).read_text() for path in ("again", "collection"))
        first, second = ([line.split("\t")[:2] for line in text.splitlines()] for text in (found, was))
        assert first == second
    set_in(workspace, uses="To rank models as Curie does")
    assert "a person's name" in run(*RELEASE[:2], "1.1", *DATE, "--anonymous", code=1).stderr


def test_scores_say_that_the_qrels_of_a_release_are_corrected(released: Path, workspace: Path) -> None:
    n, by_release = len(CORRECTED), "corrected qrels of small-labels 1.0"
    original = f"{len(ORIGINAL)} pairs in the original qrels"
    for qrels, words in {
        released: f"{n} pairs in the {by_release}",
        released / "qrels.json": f"{n} pairs in the {by_release}",
        released / "qrels/test.tsv": f"{n} pairs in the {by_release}",
        released / "qrels.original.txt": original,
        workspace / "augmented/qrels.txt": f"{n} pairs in the corrected qrels",
        workspace / "collection/qrels.txt": original,
    }.items():
        said = run("score", "runs/clip.run", "--qrels", qrels, "-m", "AP").stderr
        assert f"rests on: 1 run; 2 queries; {words}\n" in said, qrels
        assert "machine judge" not in said
    both = ("runs/clip.run", "runs/ssb.run", "--qrels", released)
    for command in (("score",), ("score", "--per-query"), ("score", "--curves"), ("difference",)):
        long = run(*command, *both, "--format", "csv")
        assert {row["qrels"] for row in rows(long.stdout)} == {"augmented"}, command
    for options in ((), ("--ties", "average"), ("-m", "MedR")):
        shown = run("score", *both, *options)
        assert "original" not in shown.stdout + shown.stderr, options
    assert "augmented" in run("difference", *both).stdout


def test_the_next_group_reads_it_back(released: Path, tmp_path: Path) -> None:
    by_file = run("score", "--format", "csv").stdout
    measures = ("-m", "C@1", "-m", "AP", "--format", "csv", "runs/clip.run", "runs/ssb.run")
    both = ("--qrels", released / "qrels.original.txt", "--augmented", released)
    by_release = run("score", *both, *measures).stdout
    assert sorted(by_file.splitlines()) == sorted(by_release.splitlines())
    corrected = [line for line in by_file.splitlines() if ",augmented," in line]
    alone = run("score", "--qrels", released, *measures).stdout.splitlines()[1:]
    assert sorted(alone) == sorted(corrected)

    work = tmp_path / "next"
    run("init", work)
    with contextlib.chdir(work):
        run("add-collection", released)
        assert pairs_of(work / "collection/qrels.txt") == CORRECTED
        (work / "runs/new.run").write_text("1 Q0 b 1 9 new\n1 Q0 unpooled 2 8 new\n2 Q0 NA 1 9 new\n")
        said = run("pool", "--judged", released).stderr
        assert "2 judged before, 1 new, to be asked in round 2" in said
        assert run("pool", "--judged", work, "--out", "p", code=1).stderr.startswith("error: ")


@pytest.mark.slow
def test_changes_since_the_version_before_tell_of_relevance_labels_and_disputes(workspace: Path) -> None:
    run(*RELEASE)
    # ann now says that c is relevant; bob disagrees with her on a, an original positive that stays relevant.
    ann, bob = (ANSWERS[name] for name in ("ann", "bob"))
    answer(workspace, {"ann": ann | {("1", "c"): 1, ("2", "NA"): 0}, "bob": bob | {("1", "a"): 1}})
    follow("import", *CHAIN)
    run("release", "--version", "1.1", "--date", "2026-12-01")
    folder = workspace / "releases/1.1"
    said = (folder / "CHANGELOG.md").read_text()
    assert "## 1.1 (2026-12-01)\n\nSince 1.0: 1 pair added, 0 removed, 1 with a higher relevance, 0" in said
    assert "1 label moved, 1 became a dispute, 1 settled, 0 new, 0 gone; " in said
    assert "| ssb | C@1 | 0.0000 | 0.5000 |" in said  # c stands first, and b for the other query
    assert said.endswith("## 1.0 (2026-11-22)\n\nThe first version.\n")
    listed = pd.read_csv(folder / "changed_pairs.csv", dtype=str, keep_default_na=False)
    assert listed.values.tolist() == [
        ["1", "a", "1", "1", "disputed", "irrelevant", "dispute"],
        ["1", "c", "0", "1", "raised", "irrelevant", "relevant"],
        ["2", "NA", "", "0", "added", "dispute", "irrelevant"],
    ]
    assert states_of(folder).items() - states_of(workspace / "releases/1.0").items() == {
        ((row["query_id"], row["doc_id"]), row["label_after"]) for row in listed.to_dict("records")
    }
    run("release", "check", folder)


def states_of(folder: Path) -> dict[tuple[str, str], str]:
    """The label of each pair, or that it is in dispute, from a release's files."""
    found = {(row["query_id"], row["doc_id"]): row["label"] for row in rows(folder / "labels.csv")}
    return found | {(row["query_id"], row["doc_id"]): "dispute" for row in rows(folder / "disputes.csv")}


class FakeTable(list[dict[str, Any]]):
    """What `datasets` gives of a table, as far as the script of a release asks."""

    def __init__(self, folder: str, name: str, *, split: str) -> None:
        table = pd.read_parquet(Path(folder) / f"data/{name}.parquet")
        super().__init__(table.to_dict("records"))
        self.num_rows, self.column_names = len(table), [*table.columns]
        assert split == "test"

    def __getitem__(self, name: Any) -> Any:
        return [row[name] for row in self]


@pytest.fixture
def datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the package `datasets`, and no arguments of this program."""
    fake = ModuleType("datasets")
    vars(fake).update(
        Dataset=FakeTable,
        load_dataset=FakeTable,
        get_dataset_config_names=lambda place: sorted(path.stem for path in Path(place).glob("data/*")),
    )
    monkeypatch.setitem(sys.modules, "datasets", fake)
    monkeypatch.setattr(sys, "argv", ["load_release.py"])


@pytest.mark.usefixtures("datasets")
def test_ap_follows_from_the_runs_by_the_script(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(*RELEASE, "--include-runs", 1)
    folder = workspace / "releases/1.0"
    # Of equal scores the greater id stands first: b before a.
    assert (folder / "runs/clip.run").read_text() == "1 Q0 a 1 9.0 clip\n2 Q0 b 1 9.0 clip\n"
    assert (folder / "runs/ssb.run").read_text() == "1 Q0 c 1 9.0 ssb\n2 Q0 b 1 3.0 ssb\n"
    runpy.run_path(str(folder / "load_release.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert f"qrels: {len(CORRECTED)} rows; query-id, corpus-id, score\n" in said
    scores = rows(folder / "leaderboard.csv")
    board = {(row["run_id"], row["qrels"]): row["value"] for row in scores if row["measure"] == "AP"}
    # clip lists a and b of three, and no a for the other query; ssb 007 second of three, and a second.
    for run_id, which, title, ap in (
        ("clip", "original", "original", 1 / 2),
        ("ssb", "original", "original", 1 / 4),
        ("clip", "augmented", "corrected", (1 / 1 + 2 / 2) / 3 / 2),
        ("ssb", "augmented", "corrected", (1 / 2 / 3 + 1 / 2) / 2),
    ):
        assert float(board[run_id, which]) == pytest.approx(ap)
        assert f"AP of {run_id} by the {title} qrels: {ap:.6f}\n" in said
    task = (folder / "mteb_task.py").read_text()
    compile(task, "mteb_task.py", "exec")
    assert "class SmallLabels(AbsTaskRetrieval):" in task
    assert 'category="t2v"' in task
    assert "`ranks` has the rank of every labelled pair" in (folder / "README.md").read_text()
    run("release", "check", folder)

    ap = "clip,original,all,AP,"
    for path, old, new, words in (
        ("runs/ssb.run", "1 Q0 c 1 9.0", "1 Q0 007 1 9.0", "must:   leaderboard.csv: AP of ssb by the"),
        ("runs/clip.run", "1 Q0 a 1 9.0", "1 Q0 a 2 9.0", "query 1: rank 2 is not that of its score"),
        ("leaderboard.csv", f"{ap}0.5", f"{ap}0.6", "is 0.6; by the runs it is 0.5"),
    ):
        text = (folder / path).read_text()
        (folder / path).write_text(text.replace(old, new))
        assert words in run("release", "check", folder, code=1).stdout
        (folder / path).write_text(text)
    (folder / "CITATION.cff").unlink()
    (folder / "manifest.json").unlink()
    said = run("release", "check", folder)
    assert said.stdout == "should: CITATION.cff: missing\n"
    assert "0 that must and 1 that should be mended" in said.stderr


def test_two_releases_are_compared(released: Path, tmp_path: Path) -> None:
    newer = tmp_path / "newer"
    shutil.copytree(released, newer)
    pairs = {**CORRECTED, ("1", "c"): 1, ("2", "unpooled"): 0}
    del pairs["2", "b"]
    (newer / "manifest.json").unlink()
    (newer / "qrels.txt").write_text("".join(f"{q} 0 {d} {r}\n" for (q, d), r in pairs.items()))
    labels = (newer / "labels.csv").read_text().splitlines(keepends=True)
    (newer / "labels.csv").write_text("".join(line for line in labels if not line.startswith("2,a,")))
    scores, hits = (newer / "leaderboard.csv").read_text(), "clip,augmented,all,C@1,0."
    (newer / "leaderboard.csv").write_text(scores.replace(f"{hits}5", f"{hits}25"))
    found = run("release", "check", newer, "--against", released, "--format", "csv")
    assert found.stdout.splitlines() == [
        "kind,query_id,doc_id,run_id,measure,before,after,label_before,label_after",
        "pair,1,c,,,0.0,1.0,irrelevant,irrelevant",
        "pair,2,a,,,1.0,1.0,relevant,",
        "pair,2,b,,,0.0,,irrelevant,irrelevant",
        "pair,2,unpooled,,,,0.0,,",
        "score,,,clip,C@1,0.5,0.25,,",
    ]
    assert (
        "1 pair added, 1 removed, 1 with a higher relevance, 0 with a lower one; 0 labels moved, "
        "0 became a dispute, 0 settled, 0 new, 1 gone; 1 score changed"
    ) in found.stderr
    assert "clip" in run("release", "check", newer, "--against", released).stdout
    runs = re.sub(r"(?m)^(clip.run),.*$", r"\1,0123", (newer / "runs.csv").read_text())
    (newer / "runs.csv").write_text(runs)  # whose scores say nothing of the labels
    other = run("release", "check", newer, "--against", released)
    assert "0 scores changed; 1 run of the same name with another file, not compared" in other.stderr
    assert "clip" not in other.stdout


def test_what_a_command_line_cannot_mean_is_said(workspace: Path) -> None:
    assert "expected numbers and dots" in run("release", "--version", "v1", code=1).stderr
    assert "expected a day" in run("release", "--version", "1.0", "--date", "today", code=1).stderr
    assert "expected a release" in run("release", "check", "runs", "--against", "runs", code=1).stderr


def test_augment_takes_the_original_qrels_of_a_release_and_names_them(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(released, elsewhere / "releases/1.0")
    monkeypatch.chdir(elsewhere)
    said = run("resolve", "releases/1.0/judgments.csv", "--out", "labels").stderr
    assert "augment --qrels releases/1.0/qrels.original.txt --labels labels/labels.csv" in said
    options = ["augment", "--labels", "labels", "--out", "again/qrels.txt", "--qrels"]
    for corrected in ("releases/1.0", "releases/1.0/qrels.txt", "releases/1.0/qrels/test.tsv"):
        refused = run(*options, corrected, code=1).stderr
        assert "expected the original ones: releases/1.0/qrels.original.txt" in refused
    run(*options, "releases/1.0/qrels.original.txt")
    assert pairs_of(Path("again/qrels.txt")) == CORRECTED
    refused = run(*options[:4], "third/qrels.txt", "--qrels", "again/qrels.txt", code=1).stderr
    assert "which `fire-toolkit augment` wrote; expected the original ones" in refused


@cases("header", "more", "platform", few=1)
def test_platforms_are_where_answers_are_from(workspace: Path, header: str, more: str, platform: str) -> None:
    Path("theirs.csv").write_text(f"{header},q,d,said\n{more},1,c,relevant\n")
    run("import", "theirs.csv", "--columns", "query=q,doc=d,label=said")
    follow("import", *CHAIN)
    if not platform:
        said = "from a table that names no tool; write into fire.toml, [release] platform"
        assert said in refused(workspace)
        return
    run(*RELEASE)
    found = json.loads(Path("releases/1.0/croissant.json").read_text())
    assert found["rai:dataAnnotationPlatform"] == platform


def test_of_a_campaign_by_hand_the_platform_is_the_filled_in_sheets(workspace: Path) -> None:
    for place in ("exports", "judgments", "tasks"):
        shutil.rmtree(workspace / place)
    (workspace / "exports").mkdir()
    run("tasks", "--annotator", "A01,A02", "--overlap", 1.0)
    for sheet in workspace.glob("tasks/**/*.csv"):
        table = pd.read_csv(sheet, dtype=str, keep_default_na=False)
        if {"label", "pair_id"} <= set(table.columns):
            table.assign(label="relevant").to_csv(workspace / "exports" / sheet.name, index=False)
    follow("import", *CHAIN)
    run(*RELEASE)
    found = json.loads(Path("releases/1.0/croissant.json").read_text())
    assert found["rai:dataAnnotationPlatform"] == "sheets (CSV)"
