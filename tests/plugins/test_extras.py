"""The example package, installed as anybody would install it, and each thing in it run by the command line.

What is found of the package is found by its entry points alone.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from command import begin_workspace, pairs_in, rows, write_table

from fire_toolkit.campaign.carrier import CARRIERS, Fetched
from fire_toolkit.campaign.ledger import ANSWERED
from fire_toolkit.cli import main

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "pools" / "sample"
RUNS = ("runs/fused.run", "runs/motion-track.run", "runs/shape-contour.run")
AUGMENTED = ("--qrels", "qrels.txt", "--augmented", "augmented.txt")
CSV, JSON = ("--format", "csv"), ("--format", "json")
Commands = Callable[..., list[Result]]


@pytest.fixture
def commands(extras: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Run commands one after the other in a copy of the sample pool; none may end in a traceback."""
    monkeypatch.chdir(shutil.copytree(SAMPLE, tmp_path / "pool"))

    def run(words: Sequence[Sequence[str]]) -> list[Result]:
        found = [CliRunner().invoke(main, list(each)) for each in words]
        assert all(isinstance(each.exception, (SystemExit, type(None))) for each in found), found
        return found

    return run


def corrected(*rule: str) -> list[list[str]]:
    """Return the commands that make labels and augmented qrels."""
    resolve = ["resolve", "judgments.csv", "--out", "labels", *rule]
    return [resolve, ["augment", "--qrels", "qrels.txt", "--labels", "labels", "--out", "augmented.txt"]]


ASKED = {"BOTH": [*RUNS, *AUGMENTED], "RUNS": RUNS, "QRELS": ["--qrels", "qrels.txt"]}
TAKES_MEASURES = Path(__file__).with_name("takes_measures.txt").read_text().splitlines()


def spelled(line: str) -> list[str]:
    words = [word for each in line.split() for word in ASKED.get(each, [each])]
    return words if "--format" in words else [*words, *CSV]


@pytest.mark.slow
def test_a_measure_from_outside_is_as_good_as_its_twin_in_the_package(commands: Commands) -> None:
    """Screen is P@5 and ScreenHit C@5, read to rank 5 by what they say of themselves: so is each number."""
    asked = [(line, pair) for line in TAKES_MEASURES for pair in (("Screen", "P@5"), ("ScreenHit", "C@5"))]
    words = ([*spelled(line), "-m", name] for line, pair in asked for name in pair)
    done = commands([*corrected(), *words])[2:]
    for (line, (own, built_in)), made, expected in zip(asked, done[::2], done[1::2], strict=True):
        assert (made.exit_code, expected.exit_code) == (0, 0), (line, made.stderr, expected.stderr)
        assert own in made.stdout, line
        assert made.stdout.replace(own, built_in).split() == expected.stdout.split(), line


def test_a_share_of_the_top_from_outside_is_estimated_from_a_sample(commands: Commands) -> None:
    """Screen calls itself a precision, so that pairs drawn with a probability estimate it as they do P@5."""
    strata = ["pool", *RUNS, "--depth", "10", "--strategy", "strata(1:2:1,3:10:.6)", "--out", "drawn"]
    commands([strata])
    drawn, judged = pairs_in(Path("drawn/pool.csv")), rows(Path("judgments.csv"))
    write_table(Path("own.csv"), [row for row in judged if (row["query_id"], row["doc_id"]) in drawn])
    resolve = ["resolve", "own.csv", "--out", "labels"]
    augment = ["augment", "--qrels", "qrels.txt", "--labels", "labels", "--pool", "drawn"]
    honest = ["score", "--honest", *RUNS, *AUGMENTED, "-m", "P@5", "-m", "Screen", *CSV]
    done = commands([resolve, [*augment, "--out", "augmented.txt"], honest])
    found = {(row["run_id"], row["measure"]): row for row in rows(done[-1])}
    assert len(found) == 2 * len(RUNS), done
    for (run_id, _), row in list(found.items())[::2]:
        assert float(row["estimate"]) > float(row["augmented"])
        assert row == found[run_id, "Screen"] | {"measure": "P@5"}


def test_every_command_that_takes_measures_is_among_these() -> None:
    def taking(group: click.Group, *path: str) -> Iterator[str]:
        for name, command in group.commands.items():
            if isinstance(command, click.Group):
                yield from taking(command, *path, name)
            elif any(option.name == "measures" for option in command.params):
                yield " ".join((*path, name))

    assert set(taking(main)) == {line.split()[0] for line in TAKES_MEASURES}


def test_the_measures_stand_in_the_list_and_are_explained(commands: Commands) -> None:
    score = ["score", *RUNS, "--qrels", "qrels.txt", "-m", "Screan"]
    listed, explained, refused = commands([["measures"], ["measures", "Screen"], score])
    assert [line.split()[0] for line in listed.stdout.splitlines()[-2:]] == ["Screen", "ScreenHit"]
    assert "The share of the first screen, five docs, that is relevant." in explained.stdout
    assert refused.exit_code == 1
    assert refused.stderr == "error: no measure 'Screan'; did you mean Screen?\n"


def test_a_run_format_is_ranked_and_checked_as_any_other(commands: Commands, tmp_path: Path) -> None:
    good, twice, odd = (tmp_path / name for name in ("good.txt", "twice.txt", "odd.txt"))
    good.write_text("%scored-lines\nq1\td2=0.5 d1=0.75\nq2\td1=1\n")
    twice.write_text("%scored-lines\nq1\td1=0.5 d1=0.75\n")
    odd.write_text("%scored-lines\nq1\td1=0.5 d2=much\n")
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d1 1\n")
    qrels = ("-m", "C@1", "--qrels", str(tmp_path / "qrels.txt"), *CSV)
    scored = [["score", str(run), *qrels] for run in (good, twice, odd)]
    add = ["add-run", str(good), "--out", str(tmp_path / "good.run")]
    added, read, refused, damaged = commands([add, *scored])
    assert added.exit_code == 0, added.stderr
    assert "lines of doc=score" in added.stderr
    assert read.stdout.splitlines()[1:] == ["good,original,all,C@1,1.0"]
    assert refused.exit_code == 1
    assert "twice" in refused.stderr.partition("twice.txt: ")[2]
    assert damaged.stderr == f"error: {odd}:2: 'd2=much', expected query_id, a tab, doc_id=score …\n"


def test_a_collection_format_makes_a_collection(commands: Commands, tmp_path: Path) -> None:
    (tmp_path / "captions.txt").write_text("%caption-lines\nv1 | a dog runs\nv2 | a cat sleeps\n")
    (done,) = commands([["add-collection", str(tmp_path / "captions.txt"), "--out", str(tmp_path / "made")]])
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "made" / "qrels.txt").read_text() == "c1 0 v1 1\nc2 0 v2 1\n"
    assert "caption-lines" in done.stderr


def test_a_pooling_strategy_pools_what_it_chooses(commands: Commands, tmp_path: Path) -> None:
    asked = {"whole": "--depth 5", "chosen": "--depth 5 --strategy twice"}
    asked |= {"thrice": "--strategy twice(runs=3)", "none": "--strategy twice --budget 100"}
    pools = [["pool", *RUNS, *words.split(), "--out", str(tmp_path / out)] for out, words in asked.items()]
    *made, refused = commands(pools)
    assert [each.exit_code for each in made] == [0, 0, 0], made
    assert refused.stderr == "error: strategy twice: takes no budget: it pools what the runs agree on\n"
    assert not (tmp_path / "none").exists()
    assert "at depth 5, chosen by twice" in made[1].stderr
    whole, chosen = (rows(tmp_path / f"{name}/pool.csv") for name in ("whole", "chosen"))
    assert chosen == [row | {"runs_wanted": "2"} for row in whole if int(row["n_runs"]) >= 2]
    assert json.loads((tmp_path / "chosen/manifest.json").read_text())["parameters"]["strategy"] == "twice"


@pytest.fixture
def carried(commands: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a pool of six pairs, to stand in."""
    monkeypatch.chdir(begin_workspace(tmp_path / "carried", 6))
    return tmp_path / "carried"


def test_a_carrier_takes_tasks_out_and_brings_answers_back(commands: Commands, carried: Path) -> None:
    people = ("--annotator", "ann", "--annotator", "bob")
    pushed = commands([["tasks"], ["push", "--carrier", "shared-disk", *people]])[-1]
    assert pushed.exit_code == 0, pushed.stderr
    sheets = sorted((carried / "shared").glob("*.csv"))
    assert [sheet.name for sheet in sheets] == ["round-1.ann.csv", "round-1.bob.csv"]
    assert f"for ann, by shared-disk: {sheets[0]}, " in pushed.stderr
    for sheet in sheets:
        header, *lines = sheet.read_text().splitlines()
        assert header.endswith(",label,comment")
        assert all(line.endswith(",,") for line in lines)  # to be filled in
        sheet.write_text("\n".join([header, *(line[:-1] + "relevant," for line in lines)]) + "\n")
    then = [["push"], ["pull", *JSON], ["pull", *JSON], ["progress", *JSON], ["status"], ["resolve"]]
    again, pulled, twice, seen, state, resolved = commands(then)
    assert "3 tasks there\n" in again.stderr
    counts = json.loads(pulled.stdout)
    assert (counts["new"], counts["judgments"]) == (7, 7)  # six pairs, one of them for both
    assert json.loads(twice.stdout)["new"] == 0
    assert json.loads(seen.stdout)[-1]["n_done"] == 7
    assert "7 judgments" in state.stdout + state.stderr or "judgments 7" in state.stdout + state.stderr
    assert "6 pairs with a label, 0 in dispute" in resolved.stderr


@pytest.mark.parametrize("made", [None, {"new": 1}, Fetched({ANSWERED: "1"}, ()), Fetched({}, None)], ids=str)  # type: ignore[arg-type, dict-item]
def test_what_a_carrier_fetched_that_is_no_number_of_rows_is_one_line(
    commands: Commands, carried: Path, monkeypatch: pytest.MonkeyPatch, made: object
) -> None:
    pushed = commands(
        [["tasks"], ["push", "--carrier", "shared-disk", "--annotator", "ann", "--annotator", "bob"]]
    )[-1]
    assert pushed.exit_code == 0, pushed.stderr
    monkeypatch.setattr(CARRIERS["shared-disk"], "fetch", lambda *given, **named: made)
    (pulled,) = commands([["pull"]])
    assert pulled.stderr == "error: carrier shared-disk fetched no Fetched with counts and notes\n"


def test_the_built_in_carriers_are_not_taken_and_an_unknown_one_is_refused(
    commands: Commands, carried: Path
) -> None:
    pushes = [["push", "--carrier", name, "--annotator", "ann"] for name in ("mail", "folder")]
    _, *refused = commands([["tasks"], *pushes])
    assert [(each.exit_code, each.stderr) for each in refused] == [
        (1, "error: carrier 'mail' is unknown; expected one of labelstudio, page, shared-disk\n"),
        (1, "error: files are handed out by `fire-toolkit tasks --annotator A,B`\n"),
    ]
    assert not (carried / "campaign").exists()


def test_a_rule_decides_and_a_statistic_is_measured(commands: Commands) -> None:
    agree = ["agree", "judgments.csv", "--measure", "grade_gap", "--intervals", *CSV]
    strict = ["resolve", "judgments.csv", "--rule", "strict", "--out", "other"]
    resolved, _, measured, refused = commands([*corrected("--rule", "lenient"), agree, strict])
    assert "by rule lenient" in resolved.stderr
    (value,) = rows(measured)
    assert value["statistic"] == "grade_gap"
    assert 0 <= float(value["low"]) <= float(value["value"]) <= float(value["high"])
    assert refused.stderr.endswith("adjudicator, dawid-skene, lenient\n")
    assert refused.exit_code == 1
