"""How many random examples a property test takes: a few in `make test`, all of them in `make thorough`."""

import os

THOROUGH = "FIRE_THOROUGH" in os.environ


def examples(number: int) -> int:
    """Return the number of examples to draw of the `number` that a thorough run draws."""
    return number if THOROUGH else max(8, number // 5)
