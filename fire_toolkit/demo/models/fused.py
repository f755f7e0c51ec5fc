"""A model made of others: their similarities added, each brought to one scale within a caption."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fire_toolkit.demo.models.vision import Similarities


def fuse(parts: Sequence[Similarities]) -> Similarities:
    """Return the sum of similarities (captions × clips) of several models, each as standard scores.

    Examples:
        >>> first, second = np.array([[0.0, 2.0]]), np.array([[10.0, 30.0]])
        >>> fuse([first, second]).round(3).tolist()
        [[-2.0, 2.0]]
    """
    return np.asarray(np.sum([_standard(part) for part in parts], axis=0), dtype=np.float32)


def _standard(similarities: Similarities) -> Similarities:
    middle = similarities.mean(axis=1, keepdims=True)
    return np.asarray((similarities - middle) / (similarities.std(axis=1, keepdims=True) + 1e-6), np.float32)
