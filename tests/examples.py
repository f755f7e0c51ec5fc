"""How many random cases a test takes: a few in `make test`, all of them in `make thorough`."""

import os
from typing import Any

import pytest

THOROUGH = "FIRE_THOROUGH" in os.environ


def examples(number: int) -> int:
    """Return the number of examples to draw of the `number` that a thorough run draws."""
    return number if THOROUGH else max(8, number // 10)


def seeds(number: int) -> list[Any]:
    """Return the values of a parameter `seed` from 0: the first few are of `make test`, the rest slow."""
    few = max(1, number // 5)
    return [*range(few), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(few, number))]
