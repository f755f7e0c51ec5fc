"""Nobody is asked what lies with somebody or was judged; what came back without a vote is asked again."""

import contextlib
import json
from pathlib import Path

import pytest
from command import (
    Pair,
    StandIn,
    answer_on_page,
    as_json,
    begin_workspace,
    by_pair,
    given,
    pairs_in,
    rows,
    run,
)
from exports import answered

from fire_toolkit.campaign.keys import pair_id

N_PAIRS = 12
SKIPPED = ""
ALL, FIRST, REST, FOUR = slice(None), slice(1), slice(1, None), slice(4)


def export(name: str, tasks: str, account: int, label: str = "relevant", part: slice = ALL) -> None:
    """Answer a part of a file of tasks with one label, or skip them; as an account's export."""
    skip = {"was_cancelled": True, "result": []} if label == SKIPPED else {}
    at = "2026-11-01T10:00:00Z"
    found = answered(Path("tasks", tasks), lambda *pair: label, account=account, at=at, **skip)[part]
    for task in found:
        task["project"] = 1
        task["annotations"][0]["id"] += 100 * account
    Path("exports", name).write_text(json.dumps(found))


def import_other_tool(*answers: tuple[str, int, str] | tuple[str, int, int, str]) -> None:
    """Read the answers of another tool: who, the numbers of query and doc, or one of both, and the label."""
    lines = "".join(f"{who},q{n[0]},v{n[-1]},{said}\n" for who, *n, said in answers)
    Path("other.csv").write_text(f"who,q,d,said\n{lines}")
    run("import", "other.csv", "--columns", "annotator=who,query=q,doc=d,label=said")


def asked(root: Path, number: int) -> dict[str, str]:
    """Return the person who has each pair of a round."""
    return {row["pair_id"]: row["annotator_id"] for row in given(root, number)}


def test_of_an_empty_pool_nobody_is_asked_and_no_campaign_begins(root: Path) -> None:
    Path("pool/pool.csv").write_text("query_id,doc_id\n")
    for people in ((), ("--annotator", "A02,A03")):
        assert run("tasks", *people).stderr == "nothing to ask: the pool has no pairs\n"
    assert not any(Path(name).exists() for name in ("campaign.sqlite", "tasks/tasks.json"))


def test_a_round_without_tasks_has_none_to_give_to_others(root: Path) -> None:
    Path("tasks.json").write_text("[]")
    run("push", "tasks.json", "--annotator", "A02,A03", "--carrier", "page")
    assert "0 tasks moved: A04 0\n" in run("annotators", "reassign", "--to", "A04").stderr


def dispute_four() -> None:
    with contextlib.chdir(begin_workspace(Path("work"), N_PAIRS)):
        run("tasks", "--overlap", 0)
        export("a.json", "tasks.json", 1)
        export("b.json", "tasks.json", 2, "irrelevant", FOUR)
        run("import")
        run("resolve")
        run("next-round")
        run("tasks", "plan/round-2", "--overlap", 0)


@pytest.fixture
def disputed(stand_in: StandIn) -> set[Pair]:
    """Two people differ on the first four pairs of a file that was handed out, and one judges the rest."""
    return pairs_in(stand_in(dispute_four, "work") / "plan/round-2/pool.csv")


def test_what_lies_in_files_that_were_handed_out_is_not_asked_again(disputed: set[Pair]) -> None:
    assert len(disputed) == 4
    told = as_json("next-round", "--budget", 200)
    assert (told["round"], told["pairs"], told["waiting"]) == (3, 8, 4)
    assert not disputed & pairs_in(Path("plan/round-3/pool.csv"))


def test_answers_of_another_tool_are_of_the_round_that_asked_them(disputed: set[Pair]) -> None:
    import_other_tool(*(("x", int(query[1:]), "relevant") for query, _ in disputed))
    found = rows(Path("judgments/judgments.csv"))
    assert {row["round"] for row in found if row["annotator_id"].startswith("worker-")} == {"2"}
    assert {row["round"] for row in found if not row["annotator_id"].startswith("worker-")} == {"1"}


@pytest.mark.usefixtures("root")
def test_what_somebody_has_in_the_first_round_waits() -> None:
    """The second vote of a doubled pair is not asked of a third person while it lies with the second."""
    run("tasks", "--overlap", 1, "--annotator", "A02,A03")
    export("tasks.A02.json", "tasks.A02.json", 2)
    run("import")
    run("resolve")
    words = ("next-round", "--budget", 99, "--annotator", "A04")
    told = as_json(*words)
    assert (told["pairs"], told["waiting"]) == (0, N_PAIRS)
    run("annotators", "retire", "A03")  # who will answer no more
    assert as_json(*words)["pairs"] == N_PAIRS


def test_what_came_back_without_a_vote_is_asked_first_and_of_somebody_else(root: Path) -> None:
    run("tasks", "--overlap", 0, "--annotator", "A02,A03")
    people = {"A02": 2, "A03": 3}
    for name, account in people.items():
        export(f"tasks.{name}.json", f"tasks.{name}.json", account, SKIPPED, FIRST)
        export(f"more.tasks.{name}.json", f"tasks.{name}.json", account, "irrelevant", REST)
    run("import")
    run("resolve")
    skipped = by_pair(root / "judgments/dropped.csv", "annotator_id")
    assert len(skipped) == 2
    told = as_json("next-round")
    assert (told["plan"][0]["stratum"], told["plan"][0]["n_asked"], told["pairs"]) == ("unanswered", 2, 2)
    again = asked(root, 2)
    assert again == {pair_id(*pair): {"A02": "A03", "A03": "A02"}[who] for pair, who in skipped.items()}
    for name, account in people.items():
        export(f"round-2.{name}.json", f"round-2/tasks.{name}.json", account, SKIPPED)
    run("import")
    for _, doc in skipped:
        words = f"look at item {doc}: skipped or reported 2 times, by A02, A03"
        assert words in run("progress").stderr
    items = root / "collection/items.tsv"
    items.write_text(items.read_text().replace(".mp4", ".webm"))  # transcoded
    run("next-round")  # both have seen both: after a repair they are asked once more
    assert set(asked(root, 3)) == set(again)
    tasks = [task for path in root.glob("tasks/round-3/*.json") for task in json.loads(path.read_text())]
    shown = {task["data"]["video"] for task in tasks}
    assert shown == {f"http://media.test/{doc}.webm" for _, doc in skipped}


def test_disputes_of_another_tool_find_people(root: Path) -> None:
    """Their pairs were never tasks here; what the collection shows is asked of the campaign's people."""
    import_other_tool(
        *((who, n, said) for n in range(4) for who, said in (("x", "relevant"), ("y", "irrelevant")))
    )
    run("tasks", "--overlap", 0, "--annotator", "A02,A03")
    for name, account in (("A02", 2), ("A03", 3)):
        export(f"tasks.{name}.json", f"tasks.{name}.json", account)
    run("import")
    run("resolve")
    told = as_json("next-round")
    assert (told["round"], told["pairs"]) == (2, 4)
    assert set(asked(root, 2)) == {pair_id(f"q{n}", f"v{n}") for n in range(4)}
    assert {*asked(root, 2).values()} == {"A02", "A03"}


def test_no_tasks_are_made_by_another_guideline_than_the_campaign_is_judged_by(root: Path) -> None:
    run("tasks", "--overlap", 0)
    run("push", "--carrier", "page", "--check-media", 0, "--annotator", "A02")
    run("guideline", "other-v1", "--like", "caption-relevance-v1")
    Path("pool/pool.csv").write_text("query_id,doc_id,round\nq0,v1,2\n")
    told = run("tasks", "--guideline", "other-v1", code=1).stderr
    assert "(guideline caption-relevance-v1, now other-v1); answers to two pages cannot be mixed" in told
    assert not Path("tasks/round-2").exists()


def test_what_all_had_as_a_control_is_asked_of_somebody_new(root: Path) -> None:
    Path("controls.txt").write_text("".join(f"q{n} 0 v{n + 1} 1\n" for n in range(3)))
    pool, both = Path("pool/pool.csv"), ("--annotator", "A02,A03", "--controls", "controls.txt")
    run("tasks", "--overlap", 0)
    run("push", "--carrier", "page", "--check-media", 0, *both)
    early = "".join(f"q{n},v{n},1\n" for n in range(N_PAIRS))
    pool.write_text("query_id,doc_id,round\n" + early + "".join(f"q{n},v{n + 1},2\n" for n in range(6)))
    run("tasks", "--overlap", 0)
    told = run("push", "--check-media", 0, *both).stderr
    assert "6 control or training tasks that people had before, 3 votes on pairs that all" in told
    run("push", "--check-media", 0, *both)  # draws the same
    queues = [(number, row) for number in (1, 2) for row in given(root, number)]
    assert len({(row["annotator_id"], row["pair_id"]) for _, row in queues}) == len(queues)
    for n, (number, row) in enumerate(queues):
        answer_on_page(root, row, "relevant", n, number)
    run("pull")
    run("resolve")
    run("agree")
    assert "next-round" not in run("status").stderr
    assert "3 of 3 pairs have been seen by every annotator" in run("next-round", code=1).stderr
    run("next-round", "--annotator", "A04")
    assert set(asked(root, 3)) == {pair_id(f"q{n}", f"v{n + 1}") for n in range(3)}


def test_a_comment_is_no_formula_in_the_table_that_people_open(root: Path) -> None:
    run("tasks", "--overlap", 0, "--annotator", "A02,A03")
    key = rows(root / "tasks/tasks.A02.csv")[0]["pair_id"]
    sheet = f"pair_id,label,comment\n{key},relevant,=cmd|' /C calc'!A0\n"
    (root / "exports/tasks.A02.csv").write_text(sheet)
    for _ in range(2):
        run("import")
        (row,) = rows(root / "judgments/judgments.csv")
        assert row["comment"] == "'=cmd|' /C calc'!A0"


def test_what_was_judged_meanwhile_is_sent_to_nobody(root: Path) -> None:
    run("tasks", "--overlap", 0)
    import_other_tool(*(("x", n, "relevant") for n in range(5)))
    told = run("push", "--carrier", "page", "--annotator", "A02", "--check-media", 0).stderr
    assert "note: 5 tasks left out: their pairs were judged since the tasks were made" in told
    assert len(given(root)) == N_PAIRS - 5
    later = "".join(f"q{n},v{n + 1},2\n" for n in range(6))
    (root / "pool/pool.csv").write_text("query_id,doc_id,round\n" + later)
    run("tasks", "--overlap", 0)
    judged_since = "judged since then, which push leaves out"
    assert judged_since not in run("status").stdout
    import_other_tool(*(("x", n, n + 1, "relevant") for n in range(2)))
    assert f"2 pairs {judged_since}" in run("status").stdout
