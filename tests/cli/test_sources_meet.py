"""Where answers of several sources meet in one workspace: nobody's are lost, moved, voided or asked again."""

import shutil
from collections.abc import Callable
from pathlib import Path

import exports
import pytest
from command import given, named, rows, run, states, write_run, write_table

from fire_toolkit.campaign.keys import split_pair_id

N_PAIRS = 6
YES = {"q0", "q1", "q2"}  # where the two who were asked first differ
Votes = set[tuple[str, str, str, str]]
pytestmark = pytest.mark.usefixtures("root")


def votes() -> Votes:
    """Return who said what of which query, and as what it counts."""
    names = ("annotator_id", "query_id", "label", "kind")
    return {tuple(row[name] for name in names) for row in rows(Path("judgments/judgments.csv"))}  # type: ignore[misc]


def said(label: str) -> Callable[[str, str], str]:
    return lambda query, doc: label


def exported_before() -> Votes:
    """Import two exports of tasks before any campaign, which leave 3 pairs in dispute; return their votes."""
    run("tasks", "--overlap", 1)
    exports.export(
        Path("tasks/tasks.json"),
        Path("exports/one.json"),
        lambda query, doc: "relevant" if query in YES else "irrelevant",
        account=11,
    )
    exports.export(Path("tasks/tasks.overlap.json"), Path("exports/two.json"), said("irrelevant"), account=12)
    assert "12 judgments of 6 pairs" in run("import").stderr
    assert "3 in dispute" in run("resolve").stderr
    run("next-round")
    return {
        (who, f"q{n}", "relevant" if who == "11" and f"q{n}" in YES else "irrelevant", "")
        for n in range(N_PAIRS)
        for who in ("11", "12")
    }


def test_exports_read_before_a_campaign_by_hand_stay_and_their_votes_count() -> None:
    before = exported_before()
    run("tasks", "plan/round-2", "--overlap", 0, "--annotator", "B1")
    exports.fill_in(Path("tasks/round-2/tasks.B1.csv"), Path("exports/round-2.B1.csv"), said("relevant"))
    assert "3 new, 0 edited" in run("import").stderr
    assert votes() == before | {("B1", query, "relevant", "adjudication") for query in YES}
    assert "6 pairs with a label, 0 in dispute" in run("resolve").stderr


def test_exports_read_before_a_campaign_on_our_page_stay() -> None:
    before = exported_before()
    run("tasks", "plan/round-2", "--overlap", 0)
    run("push", "--carrier", "page", "--annotator", "11,12,B1")
    assert "B1, round 2: 0 of 3 tasks" in run("status").stderr  # the others have answered them
    run("pull")
    assert votes() == before


def test_a_pair_skipped_before_a_campaign_is_asked_by_one_of_its_first_two_rounds() -> None:
    run("tasks", "--overlap", 0)
    exports.export(
        Path("tasks/tasks.json"), Path("exports/one.json"), said("relevant"), account=11, was_cancelled=True
    )
    for command in ("import", "resolve", "next-round"):
        run(command)
    run("tasks", "plan/round-2", "--overlap", 0)
    told = run("push", "--carrier", "page", "--annotator", "11,B1").stderr
    assert "note: 6 tasks left out" in told
    assert "B1, round 2: 0 of 6 tasks" in run("status").stderr


def test_a_column_of_a_sheet_says_whose_an_answer_is() -> None:
    run("tasks", "--annotator", "A01,A02", "--overlap", 0.5)
    own = {
        name: {row["pair_id"] for row in given(Path()) if row["annotator_id"] == name}
        for name in ("A01", "A02")
    }
    for_two = own["A01"] & own["A02"]
    of_one = own["A01"] - for_two
    rows_of = [(pair, name) for pair in sorted(for_two) for name in own] + [(min(of_one), "A02")]
    table = [{"pair_id": pair, "annotator_id": name, "label": "relevant"} for pair, name in rows_of]
    write_table(Path("exports/team.csv"), table)
    run("import")
    found = {(who, query): kind for who, query, _, kind in votes()}
    assert found.keys() == {(name, split_pair_id(pair)[0]) for pair, name in rows_of}
    assert found["A02", split_pair_id(min(of_one))[0]] == "unassigned"
    guest = {"pair_id": max(of_one), "annotator_id": "Guest", "label": "irrelevant"}
    write_table(Path("exports/guest.csv"), [guest])
    assert "judgments were not assigned to their annotator" in run("import").stderr
    assert ("Guest", split_pair_id(max(of_one))[0], "irrelevant", "unassigned") in votes()


def test_a_pair_that_was_judged_by_nobody_who_was_asked_is_asked_again() -> None:
    run("tasks", "--annotator", "A01,A02", "--overlap", 0)
    own = {row["pair_id"] for row in given(Path()) if row["annotator_id"] == "A01"}
    exports.fill_in(Path("tasks/tasks.A02.csv"), Path("exports/tasks.A02.csv"), said("relevant"))
    table = [{"pair_id": pair, "annotator_id": "Guest", "label": "relevant"} for pair in sorted(own)]
    write_table(Path("exports/guest.csv"), table)
    run("import")
    run("annotators", "retire", "A01")
    resolved = run("resolve").stderr
    assert f"{len(own)} pairs without another answer (--count-unassigned counts them)" in resolved
    run("resolve", "--count-unassigned")
    assert "nothing is to be asked again" in run("next-round", "--annotator", "A02").stderr
    run("resolve")
    run("next-round", "--annotator", "A02")
    asked = {(row["pair_id"], row["annotator_id"]) for row in given(Path(), 2)}
    assert asked == {(pair, "A02") for pair in own}


def test_push_asks_no_pair_that_a_later_round_has_answered(root: Path) -> None:
    shutil.rmtree("pool")
    write_run(Path("runs/first.run"), {f"q{n}": [f"v{n}"] for n in range(N_PAIRS)})
    run("pool")
    exported_before()
    run("tasks", "plan/round-2", "--overlap", 0)
    exports.export(Path("tasks/round-2/tasks.json"), Path("exports/three.json"), said("relevant"), account=13)
    run("import")
    assert "6 pairs with a label, 0 in dispute" in run("resolve").stderr
    write_run(Path("runs/late.run"), {"q0": ["v5"]})
    run("pool")
    run("tasks")
    run("push", "--carrier", "page", "--annotator", "B1,B2")
    asked = [split_pair_id(row["pair_id"]) for number in (1, 2, 3) for row in given(root, number)]
    assert asked == [("q0", "v5")]


@pytest.mark.parametrize(
    ("query", "doc", "said_of"), [("q0", "v9", "doc_id 'v9'"), ("Q0", "v0", "query_id 'Q0'")]
)
def test_a_sheet_with_an_id_that_the_collection_lacks_is_refused(query: str, doc: str, said_of: str) -> None:
    run("tasks", "--annotator", "A01", "--overlap", 0)
    right = {"query_id": "q1", "doc_id": "v1", "annotator_id": "A01", "label": "relevant"}
    empty = {"query_id": "q8", "doc_id": "v8", "annotator_id": "A01", "label": ""}
    write_table(Path("exports/more.csv"), [right, empty, right | {"query_id": query, "doc_id": doc}])
    assert f"exports/more.csv: row 3: {said_of} is not in collection/" in run("import", code=1).stderr
    columns = ("--columns", "label=label", "--skip-unknown")
    assert "1 new" in run("import", "exports/more.csv", *columns).stderr


def test_tasks_that_nobody_answered_are_waited_for_beside_judgments_of_another_tool() -> None:
    shutil.rmtree("pool")
    write_run(Path("runs/first.run"), {f"q{n}": [f"v{n}"] for n in range(N_PAIRS)})
    run("pool")
    Path("theirs.csv").write_text("query_id,doc_id,annotator_id,label\nq0,v0,w1,relevant\n")
    run("import", "theirs.csv")
    assert named(run("tasks")) == named(run("status")) == "import"
    for stage in ("agree", "resolve", "augment", "score"):
        run(stage)
    status = run("status")
    assert "no answer yet to round 1 (tasks/tasks.json)" in status.stdout
    assert named(status) == "import"
    exports.export(Path("tasks/tasks.json"), Path("exports/one.json"), said("relevant"), account=11)
    run("import")
    assert "no answer yet" not in run("status").stdout


def test_pairs_that_another_tool_left_unjudged_are_new_to_a_later_pool() -> None:
    shutil.rmtree("pool")
    write_run(Path("runs/first.run"), {f"q{n}": [f"v{n}"] for n in range(N_PAIRS)})
    run("pool")
    Path("theirs.csv").write_text(
        "query_id,doc_id,annotator_id,label\nq0,v0,w1,relevant\nq0,v0,w2,irrelevant\n"
    )
    run("import", "theirs.csv")
    run("resolve")
    run("next-round")
    run("tasks", "plan/round-2", "--overlap", 0)
    assert "1 judged before, 5 new, to be asked in round 3" in run("pool").stderr
    assert states()["tasks"] == ("stale", "5 pairs to ask")
    assert "5 tasks in tasks/round-3/tasks.json" in run("tasks", "--overlap", 0).stderr


def test_who_judged_a_caption_of_the_same_text_is_not_asked_again_where_judgments_are_shared() -> None:
    numbers = range(24)  # q0 and q1 are of one text, q2 and q3, ...
    write_table(Path("pool/pool.csv"), [{"query_id": f"q{n}", "doc_id": f"v{n // 2 % 6}"} for n in numbers])
    queries = "".join(f"q{n}\ta dog runs {n // 2}\n" for n in numbers)
    Path("collection/queries.tsv").write_text(f"query_id\ttext\n{queries}")
    run("tasks", "--annotator", "ann,bob,cy", "--overlap", 0)
    given_to: dict[str, str] = {}
    for name in ("ann", "bob", "cy"):
        keys = exports.fill_in(
            Path(f"tasks/tasks.{name}.csv"),
            Path(f"exports/tasks.{name}.csv"),
            lambda query, doc: "relevant" if int(query[1:]) % 2 else "irrelevant",
        )
        given_to |= {split_pair_id(key)[0]: name for key in keys}
    run("import")
    run("resolve", "--share-judgments", "same-text")
    run("next-round")
    asked = [
        (name, int(split_pair_id(row["pair_id"].removeprefix("'"))[0][1:]) // 2 * 2)
        for name in ("ann", "bob", "cy")
        if (sheet := Path(f"tasks/round-2/tasks.{name}.csv")).is_file()
        for row in rows(sheet)
    ]
    assert len(asked) == sum(given_to[f"q{n}"] != given_to[f"q{n + 1}"] for n in numbers[::2]) > 4
    assert not [(name, n) for name, n in asked if name in (given_to[f"q{n}"], given_to[f"q{n + 1}"])]
    run("annotators", "retire", "cy")
    others = {
        n: {"ann", "bob"} - {given_to[f"q{n}"], given_to[f"q{n + 1}"]} for name, n in asked if name == "cy"
    }
    assert others
    told = run("annotators", "reassign", "cy", "--to", "ann,bob").stderr
    assert not any(others.values())
    assert (
        f"0 tasks moved: ann 0, bob 0; {len(others)} stay where they are, as ann, bob saw these pairs" in told
    )
