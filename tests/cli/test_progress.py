"""`progress`: how far and how well, on the terminal, as JSON, and as the team's page."""

from pathlib import Path

import pandas as pd
import pytest
from command import StandIn, alter, as_json, begin_workspace, rows, run

from fire_toolkit.campaign.progress import progress_in_words

N_PAIRS = 24


def judge_all() -> None:
    begin_workspace(Path(), N_PAIRS)
    items = "".join(f"v{n}\thttp://media.test/v{n}.mp4\t2\t8\n" for n in range(N_PAIRS))
    Path("collection/items.tsv").write_text("doc_id\tmedia_url\tstart_s\tend_s\n" + items)
    run("tasks", "pool/pool.csv", "--overlap", "1", "--annotator", "A02,A03")
    for name, seconds, labels in (("A02", 3, ("irrelevant",) * 2), ("A03", 9, ("irrelevant", "relevant"))):
        pairs = sorted(row["pair_id"] for row in rows(Path(f"tasks/tasks.{name}.csv")))
        answers = [f"{pair},{labels[place % 2]},{seconds}\n" for place, pair in enumerate(pairs)]
        Path(f"exports/back.{name}.csv").write_text("pair_id,label,duration_s\n" + "".join(answers))
    run("import")


@pytest.fixture
def root(stand_in: StandIn) -> Path:
    """A campaign by hand in which A02 and A03 judged all pairs: A02 in 3 seconds each, always the same."""
    return stand_in(judge_all)


@pytest.mark.usefixtures("root")
def test_alpha_everybody_beside_the_others_and_alarms_are_said_and_are_in_json() -> None:
    told = run("progress")
    assert "alpha so far -0.306" in told.stderr  # 1 - .5 / (2 * 36 * 12 / (48 * 47))
    assert "look into A02: 24 of 24 answers took less time than the item lasts" in told.stderr
    assert "look into A02: all 24 votes are 'irrelevant'; of the others' votes 50% are" in told.stderr
    assert "look into A03: agrees with others on 50% of 24 shared pairs" in told.stderr
    lines = [line.split() for line in told.stdout.splitlines()]
    assert ["A02", "24", "24", "0.50", "0.00", "0.50", "3.0", "9.0"] in lines
    *queues, everybody = as_json("progress")
    by_name = {queue["annotator_id"]: queue for queue in queues}
    assert (by_name["A02"]["n_faster"], by_name["A03"]["n_faster"]) == (24, 0)
    assert (by_name["A02"]["shared_duration_s"], by_name["A02"]["peer_duration_s"]) == (3.0, 9.0)
    assert (everybody["annotator_id"], everybody["n_pairable"], everybody["prevalence"]) == ("all", 24, 0.25)
    assert everybody["alpha_low"] < everybody["alpha"] < everybody["alpha_high"]
    assert {alarm["alarm"] for alarm in everybody["alarms"]} == {"fast", "one_answer", "agreement"}


def test_rounds_are_told_in_their_order() -> None:
    queues = pd.DataFrame({"round": [1, 2, 3], "annotator_id": "A", "n_tasks": 2, "n_left": [1, 0, 0]})
    told = ["A, round 1: 1 of 2 tasks", "round 2: all 2 tasks of 1 annotator", "A, round 3: 2 of 2 tasks"]
    assert list(progress_in_words(queues, {}, ())) == told


def test_before_anybody_has_answered(root: Path) -> None:
    alter(root, "answers")
    told = run("progress")
    assert "no alpha yet: no pair has two judgments" in told.stderr
    assert as_json("progress")[-1]["alpha"] is None
