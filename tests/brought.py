"""Files as people bring them, and what is said where something is refused."""

import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from fire_toolkit.errors import FireError, FormatError


def put(path: Path | str, content: Any) -> Path:
    """Write content as the ending of the path tells (text and bytes as they are), and return the path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str | bytes):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    elif path.suffix == ".npy":
        np.save(path, content)
    elif path.suffix == ".npz":
        np.savez(path, **content)
    elif path.suffix == ".pkl":
        path.write_bytes(pickle.dumps(content))
    elif path.suffix == ".parquet":
        table = pa.Table.from_pandas(content) if isinstance(content, pd.DataFrame) else pa.table(content)
        parquet.write_table(table, path)
    else:
        path.write_text(json.dumps(content))
    return path


def refused(
    said: str, call: Callable[..., object], *given: Any, by: type[FireError] = FormatError, **named: Any
) -> str:
    """Check that a call is refused in these words; ` ... ` stands for any others. Return all of it."""
    with pytest.raises(by) as caught:
        call(*given, **named)
    told = str(caught.value)
    places = [told.find(part) for part in said.split(" ... ")]
    assert places == sorted(places), told
    assert places[0] >= 0, told
    return told


def npy(values: Any) -> bytes:
    """Return what numpy.save writes."""
    stream = io.BytesIO()
    np.save(stream, values, allow_pickle=True)
    return stream.getvalue()
