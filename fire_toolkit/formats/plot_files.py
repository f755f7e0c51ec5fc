"""Plots as pictures for a paper."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fire_toolkit.errors import UsageError
from fire_toolkit.workspace.manifests import write_files

KINDS = (".svg", ".pdf", ".png", ".json")


def save_plot(plot: Mapping[str, Any], path: str | Path, *, width: int = 500) -> None:
    """Write a plot as SVG, PDF, PNG, or as its spec (.json), which the file's name says.

    Where a menu chooses the measure, a picture shows the first one.

    Args:
        plot: what a `plot_…` function returned.
        path: ends in .svg, .pdf, .png or .json.
        width: of the plot without its labels, in pixels.

    Raises:
        UsageError: another kind of file; a picture without vl-convert-python (the extra `figures`).
        FireError: the file cannot be written.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_plot({"mark": "bar"}, Path(folder) / "plot.json")
        ...     print(json.loads((Path(folder) / "plot.json").read_text()))
        {'mark': 'bar', 'width': 500}
    """
    path = Path(path)
    check_kind(path)
    write_files({path: plot_bytes(plot, path.suffix, width=width)})


def check_kind(path: Path) -> None:
    """Raise the UsageError of `save_plot` for a file that cannot be made here."""
    if path.suffix not in KINDS:
        raise UsageError(f"{path}: expected a name that ends in {', '.join(KINDS)}")
    if path.suffix != ".json" and not _has_vl_convert():
        raise UsageError("pictures need vl-convert-python: pip install vl-convert-python")


def _has_vl_convert() -> bool:
    try:
        return find_spec("vl_convert") is not None
    except ValueError:  # a module that was put aside
        return False


def plot_bytes(plot: Mapping[str, Any], kind: str, *, width: int) -> bytes:
    """Return a plot as a file of a kind that `check_kind` lets pass."""
    spec = {**plot, "width": width}
    if kind == ".json":
        return (json.dumps(spec, ensure_ascii=False, indent=1) + "\n").encode()
    import vl_convert

    if kind == ".svg":
        return str(vl_convert.vegalite_to_svg(spec)).encode()
    convert = vl_convert.vegalite_to_pdf if kind == ".pdf" else vl_convert.vegalite_to_png
    return bytes(convert(spec))
