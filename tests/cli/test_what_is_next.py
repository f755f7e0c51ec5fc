"""What comes next is one table: `status` and the commands of a campaign say the same in each state."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from command import begin_workspace, given

from fire_toolkit.campaign.store import Store

Fire = Callable[..., Result]
N_PAIRS = 6


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(begin_workspace(tmp_path, N_PAIRS))
    (tmp_path / "collection/qrels.txt").write_text("".join(f"q{n} 0 v{n} 1\n" for n in range(N_PAIRS)))
    return tmp_path


def named(result: Result) -> str:
    """Return the command that a command says is next; empty where it names none."""
    lines = [line for line in result.stderr.splitlines() if line.startswith("next: fire-toolkit ")]
    return lines[-1].removeprefix("next: fire-toolkit ") if lines else ""


def fill_in(sheet: str, label: str, n_left: int = 0) -> None:
    """Answer a sheet with one label, but for its first `n_left` rows, and send it back."""
    with (Path("tasks") / sheet).open(newline="") as stream:
        found = list(csv.DictReader(stream))
    for row in found[n_left:]:
        row["label"] = label
    back = Path("exports") / Path(sheet).name
    with back.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(found[0]))
        writer.writeheader()
        writer.writerows(found)


def queries_of(root: Path, name: str, number: int = 1) -> list[str]:
    return [row["pair_id"] for row in given(root, number) if row["annotator_id"] == name]


def test_a_walk_by_hand_names_what_each_state_asks_for(fire: Fire, root: Path) -> None:
    begun = fire("tasks", "--annotator", "A01,A02,A03", "--overlap", 1)
    assert named(begun) == "import"
    status = fire("status")
    assert (named(status), "round 1 is open: A01, A02 and A03 have tasks" in status.stderr) == (
        "import",
        True,
    )
    fill_in("tasks.A01.csv", "relevant")
    fill_in("tasks.A02.csv", "irrelevant", n_left=1)
    came = fire("import", "exports/tasks.A01.csv", "exports/tasks.A02.csv")
    assert named(came) == named(fire("status")) == "import"
    assert "round 1 is open" in came.stderr
    fill_in("tasks.A02.csv", "irrelevant")
    fill_in("tasks.A03.csv", "ambiguous")
    came = fire("import")
    assert named(came) == named(fire("status")) == "agree"
    fire("agree")
    assert named(fire("status")) == "resolve"
    fire("resolve")
    status = fire("status")
    assert named(status) == "next-round"
    assert "to ask again: dispute 2" in status.stderr
    planned = fire("next-round")
    assert named(planned) == named(fire("status")) == "import"
    assert "round 2 is open" in planned.stderr
    for sheet in sorted(Path("tasks/round-2").glob("tasks.*.csv")):
        fill_in(f"round-2/{sheet.name}", "relevant")
    assert named(fire("import")) == named(fire("status")) == "refresh"
    fire("refresh")
    after = named(fire("status"))
    asked = fire("next-round")
    assert named(asked) == named(fire("status")) == after == "augment"
    assert "nothing is to be asked again" in asked.stderr
    assert asked.stdout == ""


def test_who_is_retired_leaves_a_round_that_is_not_open(fire: Fire, root: Path) -> None:
    fire("tasks", "--annotator", "A01,A02", "--overlap", 0)
    fill_in("tasks.A01.csv", "relevant")
    assert named(fire("import")) == "import"
    fire("annotators", "retire", "A02")
    assert named(fire("status")) == "agree"
    fire("agree")
    fire("resolve")
    status = fire("status")
    assert named(status) == "next-round"
    assert "to ask again: unanswered 3" in status.stderr


def test_a_page_is_served_until_it_has_answers_to_pull(fire: Fire, root: Path) -> None:
    fire("tasks", "--overlap", 0)
    pushed = fire("push", "--carrier", "page", "--annotator", "A01")
    assert named(pushed) == named(fire("status")) == "page serve"
    pairs = queries_of(root, "A01")
    record = {"kind": "answer", "annotator": "A01", "round": 1, "label": "relevant", "flags": []}
    record |= {"comment": "", "seconds": 1.0, "page": "1", "position": 1}
    for number, pair in enumerate(pairs, start=1):
        with Store(root / "campaign.sqlite") as store:
            moment = f"2026-11-01T10:00:{number:02d}.000000Z"
            store.add_page_record({**record, "n": number, "pair": pair, "at": moment})
        assert named(fire("status")) == "pull"
        if number < N_PAIRS:
            assert named(fire("pull")) == named(fire("status")) == "page serve"
    assert named(fire("pull")) == named(fire("status")) == "agree"
