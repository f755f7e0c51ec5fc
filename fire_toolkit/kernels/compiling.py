"""How loops are compiled: machine code kept from one process to the next, and no lock held while they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compile_loop(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a loop at its first call, with numba's own `options`.

    Machine code is kept beside the module, or in the user's cache; where neither can be written it is
    made anew in each process, and loops are not put into one another.
    """

    def decorate(loop: Callable[..., Any]) -> Any:
        try:
            return njit(cache=True, nogil=True, **options)(loop)
        except RuntimeError:  # no folder in which machine code can be kept
            return njit(nogil=True, **{name: value for name, value in options.items() if name != "inline"})(
                loop
            )

    return decorate
