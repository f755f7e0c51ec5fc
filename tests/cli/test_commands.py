"""The program: its plain-file forms, its help, what it imports, small commands, and what is named as next.

What the demo makes is held by made_demo.py.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result
from command import Copied, Fire, rows, run

from examples import some
from fire_toolkit.campaign.keys import pair_id
from fire_toolkit.cli import _FILES, NAMES, main
from fire_toolkit.formats.tables.guideline_files import list_guidelines, read_guideline
from fire_toolkit.measures import list_measures

RUNS = ("clip.run", "ssb.run")


def test_a_later_model_is_pooled_with_the_earlier_ones(fire: Fire, folder: Path) -> None:
    fire("pool", "clip.run", "--depth", 1, "--out", "one")
    told = fire("pool", *RUNS, "--depth", 1, "--previous", "one", "--judged", "judgments.csv", "--out", "two")
    fire("pool", *RUNS, "--depth", 1, "--out", "at_once")
    in_turn, at_once = (folder / name / "pool_sources.csv" for name in ("two", "at_once"))
    assert in_turn.read_bytes() == at_once.read_bytes()
    found = {r["doc_id"]: (r["is_judged"], r["round"]) for r in rows(folder / "two/pool.csv")}
    assert found == {"a": ("True", "1"), "b": ("False", "1"), "c": ("False", "2")}
    assert "ssb: new, 2 pairs" in told.stderr
    assert "next: fire-toolkit tasks two --queries queries.tsv --out two/tasks.json" in told.stderr
    tasks = fire("tasks", "two", "--queries", "queries.tsv", "--overlap", 0, "--out", "t.json")
    assert "1 task in t.json; 2 pairs judged or asked before left out" in tasks.stderr
    asked = json.loads((folder / "t.json").read_text())
    assert [(task["data"]["pair_id"], task["meta"]) for task in asked] == [(pair_id("1", "c"), {"round": 2})]


def test_tasks_warn_of_media_that_no_page_can_show(fire: Fire, folder: Path) -> None:
    """Ids and paths are no addresses; those of Label Studio's own storage are."""
    urls = {"a": "a.mp4", "b": "http://m/b.mp4", "c": "s3://m/c.mp4", "NA": "NA", "007": "/data/upload/7.mp4"}
    fire("pool", *RUNS, "--out", "pool")
    ends = ("--queries", "queries.tsv", "--items", "items.csv", "--seed", 1)
    said = []
    for known in (urls, urls | {"NA": "http://m/NA"}, urls | {"NA": "http://m/NA", "a": "http://m/a"}):
        lines = "".join(f"{doc},{url}\n" for doc, url in known.items())
        (folder / "items.csv").write_text("doc_id,media_url\n" + lines)
        said.append(fire("tasks", "pool", *ends, "--out", f"tasks{len(said)}.json").stderr)
    why = "have no URL as media_url"
    assert f"warning: 2 of 5 items {why}" in said[0]
    assert "'a.mp4'" in said[0]
    assert f"warning: 1 of 5 items {why}" in said[1]
    assert "warning" not in said[2]


def test_files_that_share_a_run_id_are_told_apart_by_name(fire: Fire, folder: Path) -> None:
    (folder / "again.run").write_text((folder / "clip.run").read_text())
    result = fire("compare", "clip.run", "again.run", "--format", "csv")
    assert "clip,again,all,overlap@10" in result.stdout
    assert "several files carry the run id 'clip'" in result.stderr
    assert "mine,ssb," in fire("compare", "mine=clip.run", "ssb.run", "--format", "csv").stdout


def test_the_help_of_the_program_fits_one_screen(fire: Fire) -> None:
    lines = fire("--help").stdout.splitlines()
    assert len(lines) <= 40
    assert {name for name in main.commands if any(re.search(rf"\b{name}\b", line) for line in lines)} == set(
        NAMES
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_command_stands_in_the_file_of_its_name_or_of_its_kind(name: str) -> None:
    word = name.replace("-", "_")
    callback = main.commands[name].callback
    assert callback is not None
    files = {each: file for file, names in _FILES.items() for each in names.split()}
    assert callback.__module__.rpartition(".")[2] == files.get(name, "import_" if word == "import" else word)


@pytest.mark.parametrize("calls", ["--help|--version|nothing", "score --help|annotators add -h"])
def test_help_imports_no_command(calls: str) -> None:
    code = (
        f"import sys; from fire_toolkit.cli import main\nfor words in {calls.split('|')}:\n"
        " try: main(words.split())\n except SystemExit: pass\nprint(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    files = {command.callback.__module__ for command in main.commands.values() if command.callback}
    assert "fire_toolkit.cli" in loaded
    assert not loaded & {"numpy", "pandas", "pyarrow", "scipy", "label_studio_sdk"}
    assert " " in calls or not loaded & files


def test_after_the_import_of_a_command_cycles_are_collected_again() -> None:
    code = "import gc; from fire_toolkit.cli import main; main.commands['score']; print(gc.isenabled())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def completed(*words: str) -> list[str]:
    complete = ShellComplete(main, {}, "fire-toolkit", "_FIRE_TOOLKIT_COMPLETE")
    return [item.value for item in complete.get_completions(list(words[:-1]), words[-1])]


def test_a_shell_completes_commands_and_their_options() -> None:
    begun = ["add-collection", "add-run", "audit", "annotators", "agree", "augment"]
    assert completed("a") == begun
    assert completed("--v") == ["--version"]
    assert completed("media", "ser") == ["serve"]
    assert completed("pool", "--dep") == ["--depth"]
    words = {"COMP_WORDS": "fire-toolkit score --ties op", "COMP_CWORD": "3"}
    environ = {**words, "_FIRE_TOOLKIT_COMPLETE": "bash_complete"}
    told = CliRunner().invoke(main, prog_name="fire-toolkit", env=environ)
    assert told.stdout == "plain,optimistic\n"


def every(command: click.Command) -> list[click.Command]:
    members = command.commands.values() if isinstance(command, click.Group) else ()
    return [command, *(each for member in members for each in every(member))]


def test_help_after_two_hyphens_is_no_wish_for_help(fire: Fire) -> None:
    assert "Usage" not in fire("score", "--", "--help", code=1).stdout


def options(command: click.Command) -> set[str]:
    return {option for parameter in command.params for option in parameter.opts}


def test_no_command_has_an_old_spelling_and_every_one_prints_its_form_by_format() -> None:
    commands = [each for each in every(main) if not isinstance(each, click.Group)]
    anywhere = {"--json", "--clusters", "--statistics", "--top", "--k", "--sets"}
    assert [command.name for command in commands if options(command) & anywhere] == []
    without = {command.name for command in commands if "--format" not in options(command)}
    told = "demo init guideline retire refresh snippet start stop serve write gallery doctor add reassign"
    assert without == {*told.split(), "transcode"}


def test_a_name_alone_shows_a_guideline(fire: Fire) -> None:
    assert tuple(fire("guideline").stdout.split()) == list_guidelines()
    rules = read_guideline("graded-relevance-v1")
    assert fire("guideline", rules.name).stdout == rules.text
    assert fire("guideline", "--part", "config", rules.name).stdout == rules.label_config


def test_a_new_guideline_agrees_and_is_never_overwritten(fire: Fire, folder: Path) -> None:
    fire("guideline", "mine-v1", "--like", "graded-relevance-v1")
    told = fire("guideline", "mine-v1").stderr
    assert "mine-v1: its three files agree; mismatch 0, loose 1, close 2, exact 3, ambiguous no vote" in told
    before = {path: path.read_bytes() for path in (folder / "mine-v1").iterdir()}
    assert "already exists" in fire("guideline", "mine-v1", "--like", "graded-relevance-v1", code=1).stderr
    assert {path: path.read_bytes() for path in (folder / "mine-v1").iterdir()} == before


def test_each_mistake_is_a_line(fire: Fire, folder: Path) -> None:
    fire("guideline", "mine-v1", "--like", "caption-relevance-v1")
    labels = folder / "mine-v1/labels.toml"
    text = labels.read_text()
    labels.write_text(text.replace('hotkey = "3"', 'hotkey = "7"').replace("describe this", "show this"))
    lines = fire("guideline", "mine-v1", code=1).stderr.splitlines()
    assert [line.split(":")[0:2] for line in lines] == [["error", " mine-v1"]] * 5
    starts = ("label_config.xml has no Header", "label_config.xml: relevance has choices and hotkeys",
              "guideline.md does not ask", "guideline.md explains answers and hotkeys",
              "guideline.md names 3 in code font")  # fmt: skip
    assert all(start in line for start, line in zip(starts, lines, strict=True))
    labels.write_text(text + "[[")
    assert "labels.toml: not TOML" in fire("guideline", "mine-v1", code=1).stderr


def test_measures_are_listed_and_explained_however_they_are_named(fire: Fire) -> None:
    printed = fire("measures").stdout
    for definition in list_measures():
        assert definition.pattern in printed
        assert definition.summary in printed
    for name in ("AP/min", "AP@k/min", "AP@10/min"):
        printed = fire("measures", name).stdout
        assert "Baldrati et al. 2023" in printed
        assert "mean over queries" in printed
    assert fire("measures", "ndcg_cut_10").stdout == fire("measures", "nDCG@10").stdout


def test_live_demo_needs_pyav_and_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".fire-demo").write_text("")
    result = run("demo", "--live", "--out", tmp_path / "other", code=1)
    assert "is another demo" in result.stderr
    monkeypatch.setitem(sys.modules, "av", None)
    result = run("demo", "--live", "--out", tmp_path / "new", code=1)
    assert "pip install av" in result.stderr
    assert not (tmp_path / "new").exists()


def test_scores_of_a_machine_without_a_row_are_refused(fire: Fire, tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("query_id,doc_id,score\n")
    told = fire("machine", "import", tmp_path / "none.csv", "--out", tmp_path / "m", code=1).stderr
    assert "none.csv: no row below the header; expected a score or a label of each pair" in told


def hints(result: Result) -> list[str]:
    return [line.removeprefix("next: ") for line in result.stderr.splitlines() if line.startswith("next: ")]


def follow(fire: Fire, result: Result) -> Result:
    """Run the one command that a result names as the next, as a shell would, and expect it to work."""
    (line,) = hints(result)
    assert not re.search(r"\b[A-Z]{3,}", line), f"{line}: a name that nobody can paste"
    program, *words = shlex.split(line)
    assert program == "fire-toolkit"
    given = [
        path for word in words for path in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
    ]
    return fire(*given)


def add_runs() -> None:
    run("add-run", "clip.run", "ssb.run", "--qrels", "qrels.txt", "--out", "runs")
    run("resolve", "judgments.csv", "--out", "labels")


@pytest.fixture
def plain(fire: Fire, folder: Path, copied: Copied) -> Fire:
    copied(add_runs, folder)
    return fire


def begin() -> None:
    Path("work").mkdir()
    Path("work/.fire").touch()
    assert "work/.fire/private: Not a directory" in run("init", "work", code=1).stderr
    Path("work/.fire").unlink()
    begun = run("init", "work")  # which had left no fire.toml
    assert "already exists" in run("init", "work", code=1).stderr
    assert hints(begun) == ["cd work && fire-toolkit status"]
    for name in ("qrels.txt", "queries.tsv"):
        Path(name).rename(Path("work/collection", name))
    Path("work/judgments").mkdir()
    Path("judgments.csv").rename("work/judgments/judgments.csv")
    with contextlib.chdir("work"):
        run("add-run", "../clip.run", "../ssb.run")
        run("resolve")


@pytest.fixture
def workspace(fire: Fire, copied: Copied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fire:
    monkeypatch.chdir(copied(begin, tmp_path) / "work")
    return fire


def test_plain_files_lead_from_runs_to_tasks(plain: Fire, folder: Path) -> None:
    pooled = follow(plain, plain("add-run", "clip.run", "ssb.run", "--out", "runs"))
    tasks = follow(plain, pooled)
    assert (folder / "pool/tasks.json").is_file()
    assert "(EXPORT.json: what Label Studio exported as JSON)" in tasks.stderr


def test_plain_files_lead_from_judgments_to_scores(plain: Fire, folder: Path) -> None:
    resolved = follow(plain, plain("agree", "judgments.csv"))
    scored = follow(plain, follow(plain, resolved))
    assert "augmented" in scored.stderr
    assert "clip & ssb" in follow(plain, scored).stdout


FROM_PLAIN = {
    "audit": ("audit", "--queries", "queries.tsv", "--qrels", "qrels.txt", "--out", "audit"),
    "plan": ("next-round", "--judgments", "judgments.csv", "--labels", "labels", "--random-share", 1, "--ask",
             "random", "--out", "plan"),
    "coverage": ("coverage", "runs/clip.parquet", "--qrels", "qrels.txt", "--augmented", "qrels.txt", "--out",
                 "open.csv"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FROM_PLAIN))
def test_plain_files_are_named_in_the_hint(plain: Fire, folder: Path, name: str) -> None:
    follow(plain, plain(*FROM_PLAIN[name]))


def test_what_nobody_can_know_is_said_to_be_missing(fire: Fire, folder: Path) -> None:
    (folder / "queries.tsv").rename(folder / "mine.tsv")
    pooled = fire("pool", "clip.run", "--out", "pool")
    assert hints(pooled) == ["fire-toolkit tasks pool --queries QUERIES --out pool/tasks.json"]
    assert "(QUERIES: your queries, CSV or TSV with query_id and text)" in pooled.stderr


FROM_WORKSPACE = {
    "pool": ("pool",),
    "another folder": ("resolve", "--out", "by-majority", "--rule", "majority"),
    "plan": ("next-round", "--ask", "dispute"),
    "coverage": ("coverage", "--augmented", "collection/qrels.txt", "--out", "open.csv"),
    "labels": ("resolve",),
    "agreement": ("agree",),
    "audit": ("audit", "--out", "audit"),
    "score": ("score",),
}


@pytest.mark.parametrize("name", some(FROM_WORKSPACE, 4))
def test_a_workspace_needs_nothing_to_be_filled_in(workspace: Fire, folder: Path, name: str) -> None:
    follow(workspace, workspace(*FROM_WORKSPACE[name]))
