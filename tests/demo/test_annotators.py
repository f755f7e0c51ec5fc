"""The annotators: their habits show in their answers, and the answers are Label Studio's."""

import json
import uuid
from dataclasses import replace
from datetime import datetime
from statistics import median

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.campaign.answers import read_answers
from fire_toolkit.demo.annotators import ANNOTATORS, answer_tasks

NAMES = ["careful", "hasty", "lenient", "strict"]
N_PAIRS = 2000


RANDOM = np.random.default_rng(0)
PAIRS = pd.DataFrame(
    {
        "query_id": [f"q{number}" for number in range(N_PAIRS)],
        "doc_id": "clip-001",
        "relevance": (RANDOM.random(N_PAIRS) < 0.3).astype(int),
        "difficulty": RANDOM.choice([0.0, 0.9], N_PAIRS),
    }
)
PAIR_IDS = {f"{query}|clip-001": (query, "clip-001") for query in PAIRS["query_id"]}
TASKS = [{"data": {"caption": "a star", "video": "clip-001.webm", "pair_id": key}} for key in PAIR_IDS]
PAIR_OF_QUERY = PAIRS.set_index("query_id")


def answer(tasks=TASKS, **changes):
    usual = {"pair_ids": PAIR_IDS, "pairs": PAIRS, "seen": {}, "batch": 1}
    return answer_tasks(tasks, **(usual | changes))


def annotators_seen(*rounds):
    seen = {}
    for name, export in (both for exports in rounds for both in exports.items()):
        for task in export:
            seen.setdefault(task["data"]["pair_id"], set()).add(name)
    return seen


@pytest.fixture(scope="module")
def exports():
    return answer()


@pytest.fixture(scope="module")
def alone():
    """Each annotator answers every task."""
    return {annotator.name: answer(annotators=[annotator])[annotator.name] for annotator in ANNOTATORS}


def notes_of(*exports):
    return [note for export in exports for task in export for note in task["annotations"]]


def first_labels(export):
    """Return query, label, relevance and difficulty of each task's first answer that is no skip."""
    first = {PAIR_IDS[task["data"]["pair_id"]][0]: task["annotations"][0] for task in export}
    labels = {
        query: note["result"][0]["value"]["choices"][0]
        for query, note in first.items()
        if not note["was_cancelled"]
    }
    return PAIR_OF_QUERY.join(pd.Series(labels, name="label"), how="inner")


def error_rates(export):
    votes = first_labels(export).query("label != 'ambiguous'")
    wrong = (votes["label"] == "relevant") != (votes["relevance"] == 1)
    is_hard, is_positive = votes["difficulty"] > 0, votes["relevance"] == 1
    kinds = {"clear": ~is_hard, "hard": is_hard, "missed": is_positive, "false": ~is_positive}
    return {"all": wrong.mean(), **{name: wrong[kind].mean() for name, kind in kinds.items()}}


def test_habits_show_in_the_error_rates_and_pairs_near_the_border_are_harder(alone):
    rates = pd.DataFrame({name: error_rates(export) for name, export in alone.items()})
    assert rates.loc["all"].idxmin() == "careful"
    assert rates.loc["clear"].idxmax() == "hasty"
    assert rates.loc["false"].idxmax() == "lenient"
    assert rates.loc["missed"].idxmax() == "strict"
    assert rates.loc["missed", "lenient"] < rates.loc["missed", "careful"] < rates.loc["missed", "strict"]
    assert rates.loc["false", "strict"] < rates.loc["false", "careful"] < rates.loc["false", "lenient"]
    assert (rates.loc["hard"] > (2 * rates.loc["clear"]).clip(lower=0.05)).all()
    assert (rates.loc["clear"] < 0.07).all()
    perfect = replace(ANNOTATORS[0], noise=0.0, line=0.0, doubt=0.0, lapses=0.0, skips=0.0)
    [export] = answer(annotators=[perfect]).values()
    assert error_rates(export)["all"] == 0


def test_haste_shows_in_time_and_skips_care_in_escalation(alone):
    times = {name: median(note["lead_time"] for note in notes_of(own)) for name, own in alone.items()}
    skips = {name: sum(task["cancelled_annotations"] for task in export) for name, export in alone.items()}
    doubts = {name: (first_labels(export)["label"] == "ambiguous").mean() for name, export in alone.items()}
    assert "hasty" == min(times, key=times.get) == max(skips, key=skips.get)
    assert 5 < skips["careful"] < 40
    assert doubts["hasty"] == 0 < min(doubts["careful"], doubts["lenient"], doubts["strict"])
    assert max(doubts.values()) < 0.2


def test_numbers_are_unique_and_time_goes_on(exports):
    second = answer(TASKS[:400], seen=annotators_seen(exports), batch=2)
    notes = notes_of(*exports.values(), *second.values())
    assert len(notes) == len({note["id"] for note in notes}) == len({note["unique_id"] for note in notes})
    assert {4} == {uuid.UUID(note["unique_id"]).version for note in notes}
    for name in NAMES:
        times = [note["created_at"] for note in notes_of(exports[name], second[name])]
        assert times == sorted({*times}, key=datetime.fromisoformat)


def test_the_importer_reads_them(exports):
    for annotator in ANNOTATORS:
        answers = read_answers(exports[annotator.name], where="export.json")
        assert len(notes_of(exports[annotator.name])) == len(answers)
        assert {str(annotator.user_id)} == set(answers["annotator_id"])
        assert {True, False} == set(answers["reason"] == "skipped")


def test_batch_one_is_dealt_out_evenly_and_later_labels_go_to_others(exports):
    assert [len(export) for export in exports.values()] == [500] * 4
    keys = [task["data"]["pair_id"] for export in exports.values() for task in export]
    assert sorted(PAIR_IDS) == sorted(keys)
    second = answer(TASKS[:600], seen=annotators_seen(exports), batch=2)
    third = answer(TASKS[:50], seen=annotators_seen(exports, second), batch=3)
    seen = annotators_seen(exports, second, third)
    assert all(len(seen[task["data"]["pair_id"]]) == 3 for task in TASKS[:50])
    assert all(len(seen[task["data"]["pair_id"]]) == 2 for task in TASKS[50:600])
    assert max(map(len, second.values())) - min(map(len, second.values())) <= 20
    assert {2} == {task["project"] // 10 for export in second.values() for task in export}


def test_an_answer_depends_on_the_seed_and_not_on_the_other_tasks(exports, alone):
    before = json.dumps(TASKS)
    assert exports == answer()
    assert exports != answer(seed=1)
    [few] = answer(TASKS[:50], annotators=ANNOTATORS[:1]).values()
    whole, part = (
        {task["data"]["pair_id"]: task["annotations"][0]["result"] for task in export}
        for export in (alone["careful"], few)
    )
    assert part.items() <= whole.items()
    assert {name: [] for name in NAMES} == answer([])
    assert before == json.dumps(TASKS)
