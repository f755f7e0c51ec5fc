"""Judgments that are extended by what new answers change are byte for byte those made anew."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "labelstudio"))

from growing import World

from examples import THOROUGH, seeds
from fire_toolkit.campaign.carrier import fetched
from fire_toolkit.campaign.ledger import STATES, read_ledger
from fire_toolkit.campaign.ledger_judgments import ledger_to_judgments
from fire_toolkit.campaign.records import LEDGER_FOLDER, read_rounds
from fire_toolkit.cli import extending, fetching
from fire_toolkit.formats.tables.delimited import delimited_bytes

NOTHING = fetched(dict.fromkeys(STATES, 0), n_projects=1)
FILES = ("judgments.csv", "dropped.csv")


class Killed(BaseException):
    pass


class Extended(World):
    """A workspace that changes at random, and how often its judgments were extended."""

    def __init__(self, root: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(root, seed, "judgments/judgments.csv", "judgments/dropped.csv", extending.RECORD)
        self.n_extended = 0
        monkeypatch.chdir(root)
        extended = extending.extended

        def counted(*arguments: object) -> extending.Derived | None:
            found = extended(*arguments)
            self.n_extended += found is not None
            return found

        monkeypatch.setattr(fetching, "extended", counted)

    def derive(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make the judgments, or be killed at one of the writes."""
        fsync, at = os.fsync, self.chance.choice([0] * 7 + [1, 2, 3, 4, 5])
        left = [at]

        def flush(handle: int) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            fsync(handle)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", flush)
            try:
                fetching.derive_judgments(self.root, NOTHING, as_json=False)
            except Killed:
                return
        self.check()

    def check(self) -> None:
        rules = fetching.guideline_of(self.root)
        anew = fetching._made_anew(self.root, rules)
        written = {name: (self.root / "judgments" / name).read_bytes() for name in FILES}
        assert written == {name: delimited_bytes(anew.files[name]) for name in FILES}
        manifest = self.root / "judgments" / "judgments.csv.manifest.json"
        there = manifest.read_bytes()
        if self.chance.random() < 0.7:
            return
        copy = shutil.copytree(self.root, self.root.parent / "copy")
        os.chdir(copy)
        fetching.derive_judgments(copy, NOTHING, is_anew=True, as_json=False)
        os.chdir(self.root)
        assert (copy / "judgments" / manifest.name).read_bytes() == there
        shutil.rmtree(copy)


@pytest.mark.parametrize("seed", seeds(15))
def test_extended_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    world = Extended(tmp_path / "work", seed, monkeypatch)
    for _ in range(60):
        world.append()
    fetching.derive_judgments(world.root, NOTHING, as_json=False)
    for _ in range(12 if THOROUGH else 6):
        for _ in range(world.chance.choice([0, 1, 1, 2])):
            world.live()
        world.derive(monkeypatch)
    assert world.n_extended > 0


def test_judgments_that_are_read_are_those_of_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = Extended(tmp_path / "work", 2, monkeypatch)
    world.has_pages = False
    out = world.root / "judgments" / "judgments.csv"
    rules = fetching.guideline_of(world.root)
    n_read = 0
    for _ in range(8):
        world.append()
        assert extending.judgments_now(world.root, out, rules) is None
        fetching.derive_judgments(world.root, NOTHING, as_json=False)
        found = extending.judgments_now(world.root, out, rules)
        ledger, rounds = read_ledger(world.root / LEDGER_FOLDER), read_rounds(world.root)
        made = ledger_to_judgments(ledger, rounds, guideline=rules).judgments
        if found is not None and len(made):
            pd.testing.assert_frame_equal(found, made)
            n_read += 1
            out.unlink()
            assert extending.judgments_now(world.root, out, rules) is None
    assert n_read > 3
