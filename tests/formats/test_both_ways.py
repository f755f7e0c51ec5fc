"""A matrix is cut by ids, whichever way its file holds it."""

import numpy as np
import pytest

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import HeldMatrix
from fire_toolkit.formats.runs.bidirectional import cut_matrix

AXES = (["t1", "t2", "t3"], ["a", "b"])
SIMS = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("is_flipped", [False, True])
def test_parts_are_cut_in_their_own_order(is_flipped: bool) -> None:
    matrix = HeldMatrix("m", SIMS.T if is_flipped else SIMS, is_flipped=is_flipped)
    (part,) = cut_matrix(matrix, AXES, [(["t3", "t1"], ["b"])])
    assert np.concatenate(list(part.blocks(1))).tolist() == [[5.0], [1.0]]


def test_what_the_matrix_lacks_is_refused() -> None:
    with pytest.raises(FormatError, match="m: 1 texts and 0 items of the qrels are not in it"):
        list(cut_matrix(HeldMatrix("m", SIMS), AXES, [(["t9"], ["a"])]))
