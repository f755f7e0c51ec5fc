"""Nobody is asked what lies with somebody or was judged; what came back without a vote is asked again."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import Result
from command import begin_workspace, given, rows

from fire_toolkit.campaign.tasks import pair_id

Fire = Callable[..., Result]
N_PAIRS = 12
READ = ("--columns", "annotator=who,query=q,doc=d,label=said")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(begin_workspace(tmp_path, N_PAIRS))
    return tmp_path


def export(name: str, tasks: list[dict[str, object]], labels: Mapping[int, str | None]) -> Path:
    """Answer tasks with the label of each account, or a skip; as an export."""
    found = []
    for number, task in enumerate(tasks, start=1):
        annotations = [
            {
                "id": 100 * account + number,
                "completed_by": account,
                "was_cancelled": label is None,
                "result": [{"from_name": "relevance", "value": {"choices": [label]}}] if label else [],
                "updated_at": "2026-11-01T10:00:00Z",
            }
            for account, label in labels.items()
        ]
        found.append({"id": number, "project": 1, **task, "annotations": annotations})
    path = Path("exports") / name
    path.write_text(json.dumps(found))
    return path


def tasks_in(path: str) -> list[dict[str, object]]:
    return list(json.loads(Path(path).read_text()))


def pairs_in(path: str) -> set[tuple[str, str]]:
    return {(row["query_id"], row["doc_id"]) for row in rows(Path(path))}


def other_tool(*answers: tuple[str, int, str]) -> str:
    lines = "".join(f"{who},q{n},v{n},{said}\n" for who, n, said in answers)
    Path("other.csv").write_text(f"who,q,d,said\n{lines}")
    return "other.csv"


def test_what_lies_in_files_that_were_handed_out_is_not_asked_again(fire: Fire, root: Path) -> None:
    fire("tasks", "--overlap", 0)
    tasks = tasks_in("tasks/tasks.json")
    export("a.json", tasks[:4], {1: "relevant", 2: "irrelevant"})
    export("b.json", tasks[4:], {1: "relevant"})
    fire("import")
    fire("resolve")
    fire("next-round")
    second = pairs_in("plan/round-2/pool.csv")
    assert len(second) == 4
    fire("tasks", "plan/round-2", "--overlap", 0)
    told = json.loads(fire("next-round", "--budget", 200, "--format", "json").stdout)
    assert (told["round"], told["pairs"], told["waiting"]) == (3, 8, 4)
    assert not second & pairs_in("plan/round-3/pool.csv")


def test_what_somebody_has_in_the_first_round_waits(fire: Fire, root: Path) -> None:
    """The second vote of a doubled pair is not asked of a third person while it lies with the second."""
    fire("tasks", "--overlap", 1, "--annotator", "A02,A03")
    export("tasks.A02.json", tasks_in("tasks/tasks.A02.json"), {2: "relevant"})
    fire("import")
    fire("resolve")
    words = ("next-round", "--budget", 99, "--annotator", "A04", "--format", "json")
    told = json.loads(fire(*words).stdout)
    assert (told["pairs"], told["waiting"]) == (0, N_PAIRS)
    fire("annotators", "retire", "A03")  # who will answer no more
    assert json.loads(fire(*words).stdout)["pairs"] == N_PAIRS


def test_what_came_back_without_a_vote_is_asked_first_and_of_somebody_else(fire: Fire, root: Path) -> None:
    fire("tasks", "--overlap", 0, "--annotator", "A02,A03")
    for name, account in (("A02", 2), ("A03", 3)):
        tasks = tasks_in(f"tasks/tasks.{name}.json")
        export(f"tasks.{name}.json", tasks[:1], {account: None})
        export(f"more.tasks.{name}.json", tasks[1:], {account: "irrelevant"})
    fire("import")
    fire("resolve")
    skipped = {
        (row["query_id"], row["doc_id"]): row["annotator_id"] for row in rows(root / "judgments/dropped.csv")
    }
    assert len(skipped) == 2
    told = json.loads(fire("next-round", "--format", "json").stdout)
    assert (told["plan"][0]["stratum"], told["plan"][0]["n_asked"], told["pairs"]) == ("unanswered", 2, 2)
    again = {row["pair_id"]: row["annotator_id"] for row in given(root, 2)}
    assert again == {pair_id(*pair): {"A02": "A03", "A03": "A02"}[who] for pair, who in skipped.items()}
    for name, account in (("A02", 2), ("A03", 3)):
        export(f"round-2.{name}.json", tasks_in(f"tasks/round-2/tasks.{name}.json"), {account: None})
    fire("import")
    for _, doc in skipped:
        words = f"look at item {doc}: skipped or reported 2 times, by A02, A03"
        assert words in fire("progress").stderr
    fire("next-round")  # both have seen both: after a repair they are asked once more
    assert {row["pair_id"] for row in given(root, 3)} == set(again)


def test_disputes_of_another_tool_find_people(fire: Fire, root: Path) -> None:
    """Their pairs were never tasks here; what the collection shows is asked of the campaign's people."""
    votes = [(who, n, said) for n in range(4) for who, said in (("x", "relevant"), ("y", "irrelevant"))]
    fire("import", other_tool(*votes), *READ)
    fire("tasks", "--overlap", 0, "--annotator", "A02,A03")
    for name, account in (("A02", 2), ("A03", 3)):
        export(f"tasks.{name}.json", tasks_in(f"tasks/tasks.{name}.json"), {account: "relevant"})
    fire("import")
    fire("resolve")
    told = json.loads(fire("next-round", "--format", "json").stdout)
    assert (told["round"], told["pairs"]) == (2, 4)
    assert {row["pair_id"] for row in given(root, 2)} == {pair_id(f"q{n}", f"v{n}") for n in range(4)}
    assert {row["annotator_id"] for row in given(root, 2)} == {"A02", "A03"}


def test_answers_of_another_tool_are_of_the_round_that_asked_them(fire: Fire, root: Path) -> None:
    fire("tasks", "--overlap", 0)
    export("a.json", tasks_in("tasks/tasks.json"), {1: "relevant", 2: "irrelevant"})
    fire("import")
    fire("resolve")
    fire("next-round")
    fire("tasks", "plan/round-2", "--overlap", 0)
    fire("import", other_tool(*(("x", n, "relevant") for n in range(N_PAIRS))), *READ)
    found = rows(root / "judgments/judgments.csv")
    assert {row["round"] for row in found if row["annotator_id"].startswith("worker-")} == {"2"}
    assert {row["round"] for row in found if not row["annotator_id"].startswith("worker-")} == {"1"}


def test_a_comment_is_no_formula_in_the_table_that_people_open(fire: Fire, root: Path) -> None:
    fire("tasks", "--overlap", 0, "--annotator", "A02,A03")
    sheet = rows(root / "tasks/tasks.A02.csv")
    lines = "".join(f"{row['pair_id']},relevant,=cmd|' /C calc'!A0\n" for row in sheet[:1])
    (root / "exports/tasks.A02.csv").write_text(f"pair_id,label,comment\n{lines}")
    for _ in range(2):
        fire("import")
        (row,) = rows(root / "judgments/judgments.csv")
        assert row["comment"] == "'=cmd|' /C calc'!A0"


def test_what_was_judged_meanwhile_is_sent_to_nobody(fire: Fire, root: Path) -> None:
    fire("tasks", "--overlap", 0)
    fire("import", other_tool(*(("x", n, "relevant") for n in range(5))), *READ)
    push = ("push", "--carrier", "page", "--annotator", "A02", "--check-media", 0)
    assert "note: 5 tasks left out: their pairs were judged since the tasks were made" in fire(*push).stderr
    assert len(given(root)) == N_PAIRS - 5
