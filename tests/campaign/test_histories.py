"""The record beside a plain model of its rules, over random histories.

The rules: a version is known by its time and what it says; one that changed under the same time is kept as a
version of its own and reported; versions are ordered by time, and by arrival where their source shows them
now; an answer that is gone from its server counts no more until its server shows it again.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from records import answer_row, day, read_ledger

from examples import some
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.views import record_to_judgments
from fire_toolkit.formats.tables.guideline_files import read_guideline

LABELS = ["relevant", "irrelevant", "ambiguous", ""]


@dataclass
class History:
    """Of one answer: its versions (time of the source, label), the last one last, and whether it is gone."""

    versions: list[tuple[str, str]] = field(default_factory=list)
    is_gone: bool = False

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


@pytest.mark.parametrize("seed", some(range(40), 2))
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
                if histories[number].is_gone and chance.random() < 0.5:
                    moment, label = histories[number].versions[-1]  # it is there again as it was
                became = histories[number].add(moment, label, shows_now=shows_now)
                told |= {became: told[became] + 1} if became in told else {}
                pair = {"pair_id": f"q{number}|d", "seen_at": store.now()}
                rows.append(answer_row(f"a{number}", moment, label=label, **pair))
            store.add_answers(rows)
            said = {"same time and another content": "contradicting", "time before the version": "earlier"}
            for words, what in said.items():
                assert sum(words in note for note in store.notes) == bool(told[what])
    with Store(path) as store:
        found = record_to_judgments(store, guideline=read_guideline("caption-relevance-v1"))
        n_versions = sum(len(each.versions) for each in histories.values())
    assert read_ledger(path)["state"].isin(["answered", "edited"]).sum() == n_versions
    counts = {
        f"q{n}": each.versions[-1][1] for n, each in histories.items() if each.versions and not each.is_gone
    }
    votes = {query: label for query, label in counts.items() if label}
    assert dict(zip(found.judgments["query_id"], found.judgments["label"], strict=True)) == votes
    reasons = found.dropped["reason"].value_counts().to_dict()
    assert reasons.get("skipped", 0) == len(counts) - len(votes)
    assert reasons.get("deleted", 0) == sum(each.is_gone for each in histories.values())
