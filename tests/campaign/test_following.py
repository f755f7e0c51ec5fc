"""What comes next follows from how a workspace stands, and from nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fire_toolkit.campaign.following import Standing, Step, what_follows
from fire_toolkit.workspace.stages import STAGES, StageState

DISPUTED = "still in dispute (`next-round` asks again)"


def standing(states: Mapping[str, str] | None = None, **facts: Any) -> Standing:
    """A workspace in which all is done, but for some stages."""
    stages = [StageState(each, (states or {}).get(each.name, "done"), "") for each in STAGES]
    usual: dict[str, Any] = {"to_ask": dict, "n_disputes": lambda: 0}
    return Standing(stages, lambda state: state.stage.name, **{**usual, **facts})


def asking(
    open_people: Mapping[int, Sequence[str]], carrier: str = "page", **facts: bool | str
) -> dict[str, Any]:
    """A campaign of two rounds that has begun."""
    return {"carriers": {1: carrier, 2: carrier}, "open": open_people, "is_read": True} | facts


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (standing(), Step("", "all is done")),
        (standing(n_disputes=lambda: 2), Step("", f"all is done; 2 pairs {DISPUTED}")),
        (standing({"score": "stale"}), Step("score")),
        (standing({"score": "waiting"}), Step("")),
        (standing({"pool": "stale"}, **asking({}, has_unread=True)), Step("pool")),
        (standing(**asking({}, has_unread=True)), Step("pull", "answers from the page are not read yet")),
        (standing({"import": "ready"}, **asking({}, is_read=False), to_ask=dict), Step("import")),
        (standing({"tasks": "stale"}, **asking({1: ["A"]}, page_changed="no")), Step("", "no; all is done")),
        (
            standing({"score": "stale"}, **asking({}), to_ask=lambda: {"dispute": 3}),
            Step("next-round", "to ask again: dispute 3 (or go on: score)"),
        ),
    ],
)  # fmt: skip
def test_the_first_row_that_holds_is_next(found: Standing, expected: Step) -> None:
    assert what_follows(found) == expected


@pytest.mark.parametrize(
    ("carrier", "command"), [("page", "page serve"), ("folder", "import"), ("labelstudio", "pull")]
)
def test_everybody_with_an_open_task_is_named(carrier: str, command: str) -> None:
    one, both = {2: ["A01"]}, {1: ["A02", "A03"], 2: ["A01"]}
    words = "round 2 is open: A01 has tasks to answer (`annotators retire A01` where nobody answers any more)"
    assert what_follows(standing(**asking(one, carrier))) == (command, words)
    words = (
        "round 1 is open: A02 and A03 have tasks to answer; round 2 is open: A01 has tasks to answer "
        "(`annotators retire NAME` where nobody answers any more)"
    )
    assert what_follows(standing(**asking(both, carrier))) == (command, words)
