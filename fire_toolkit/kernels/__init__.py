"""Whether the compiled loops are worth loading for a piece of work.

Loading numba costs about a second, compiling for the first time a few; NumPy does small work in less. The
results are the same to the bit.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

_COLD_STEPS = 2_000_000
_WARM_STEPS = 10_000
LIGHT_STEPS = 20_000_000  # where NumPy takes some 50 ns a step
_Kind = TypeVar("_Kind", bound=np.generic)
_loops: ModuleType | None = None
_is_absent = False


def load_loops() -> bool:
    """Load the compiled loops now, for work of any size from here on; return whether numba is installed.

    Worth it in a program that scores many runs of less than two million rows.
    """
    global _loops, _is_absent
    if _loops is None and not _is_absent:
        try:
            from fire_toolkit.kernels import loops
        except ImportError:
            _is_absent = True
        else:
            _loops = loops
    return _loops is not None


def compiled(n_steps: int, *, cold: int = _COLD_STEPS) -> ModuleType | None:
    """Return the compiled loops, or None where plain NumPy should do the work.

    Args:
        n_steps: how many rows or cells the work visits.
        cold: from how many steps on it pays to load the loops for this work alone.
    """
    if n_steps >= cold:
        load_loops()
    return _loops if n_steps >= _WARM_STEPS else None


def as_input(array: npt.NDArray[Any], dtype: type[_Kind]) -> npt.NDArray[_Kind]:
    """Return `array` as the one form that loops are compiled for: contiguous, of `dtype`, not locked.

    It shares memory with `array` where that has the form; loops do not write to their input.
    """
    view = np.ascontiguousarray(array, dtype=dtype).view()
    if not view.flags.writeable:
        try:
            view.flags.writeable = True
        except ValueError:
            return view.copy()
    return view
