"""The record beside a plain model of its rules, over random histories.

The rules: a version is known by its time and what it says; one that changed under the same time is kept as a
version of its own and reported; versions are ordered by time, and by arrival where their source shows them
now; an answer that is gone from its server counts no more until its server shows it again.
"""

import json
import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fire_toolkit.campaign.ledger import ANSWERED
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.views import record_to_judgments
from fire_toolkit.formats.tables.guideline_files import read_guideline

LABELS = ["relevant", "irrelevant", "ambiguous", ""]
RULES = read_guideline("caption-relevance-v1")


def day(number: int) -> str:
    return f"2026-01-{number:02d}T00:00:00.000000Z"


@dataclass
class History:
    """Of one answer: its versions (time of the source, label), the last one last, and whether it is gone."""

    versions: list[tuple[str, str]] = field(default_factory=list)
    is_gone: bool = False
    n_edits: int = 0

    def add(self, moment: str, label: str, *, shows_now: bool) -> str:
        """Return what became of a version that came in; empty: nothing new."""
        of_time = [each for each in self.versions if each[0] == moment]
        is_back = self.is_gone and shows_now and bool(of_time) and self.versions[-1][0] == moment
        if is_back and self.versions[-1] == (moment, label):
            self.is_gone = False
            return "restored"
        if (moment, label) in of_time and not is_back:
            return ""
        is_earlier = bool(self.versions) and moment < max(time for time, _ in self.versions)
        if is_earlier and not of_time and not shows_now:
            self.versions.insert(0, (moment, label))
            return "earlier"
        self.versions.append((moment, label))
        self.is_gone = False
        return "contradicting" if of_time else "earlier" if is_earlier else "new"


def row(number: int, moment: str, label: str, seen_at: str) -> dict[str, str]:
    result = [{"from_name": "relevance", "value": {"choices": [label]}}] if label else []
    answer = {"id": number, "updated_at": moment, "result": result, "was_cancelled": not label}
    return {
        "source": "http://server",
        "project": "1",
        "annotation": f"a{number}",
        "updated_at": moment,
        "state": ANSWERED,
        "seen_at": seen_at,
        "pair_id": f"q{number}|d",
        "task": str(number),
        "queue": "",
        "annotator_id": "ann",
        "answer": json.dumps(answer),
    }


@pytest.mark.parametrize("seed", range(40))
def test_what_counts_is_what_the_rules_say(tmp_path: Path, seed: int) -> None:
    chance, path = random.Random(seed), tmp_path / "campaign.sqlite"
    histories = {number: History() for number in range(4)}
    for _ in range(25):
        shows_now = chance.random() < 0.6
        with Store(path, shows_now=shows_now) as store:
            if chance.random() < 0.2:
                number = chance.choice(list(histories))
                gone = store.missing("http://server", "1", seen=[f"a{n}" for n in histories if n != number])
                store.add_deleted(gone, store.now())
                histories[number].is_gone = histories[number].is_gone or bool(gone)
                continue
            told = {"contradicting": 0, "earlier": 0}
            rows = []
            for _ in range(chance.randint(1, 3)):
                number, moment, label = chance.randrange(4), day(chance.randint(1, 6)), chance.choice(LABELS)
                became = histories[number].add(moment, label, shows_now=shows_now)
                told |= {became: told[became] + 1} if became in told else {}
                rows.append(row(number, moment, label, store.now()))
            store.add_answers(rows)
            assert sum("same time and another content" in note for note in store.notes) == bool(
                told["contradicting"]
            )
            assert sum("time before the version" in note for note in store.notes) == bool(told["earlier"])
    with Store(path) as store:
        found = record_to_judgments(store, guideline=RULES)
        n_versions = sum(len(each.versions) for each in histories.values())
        kept = store.rows()
    assert (kept["state"].isin(["answered", "edited"])).sum() == n_versions
    counts = {
        f"q{n}": each.versions[-1][1] for n, each in histories.items() if each.versions and not each.is_gone
    }
    votes = {query: label for query, label in counts.items() if label}
    assert dict(zip(found.judgments["query_id"], found.judgments["label"], strict=True)) == votes
    reasons = found.dropped["reason"].value_counts().to_dict()
    assert reasons.get("skipped", 0) == len(counts) - len(votes)
    assert reasons.get("deleted", 0) == sum(each.is_gone for each in histories.values())
