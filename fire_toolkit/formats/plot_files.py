"""Plots as pictures for a paper."""

import json
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fire_toolkit.errors import UsageError
from fire_toolkit.workspace.manifests import write_files

KINDS = (".svg", ".pdf", ".png", ".json")
_PAGE = 180  # millimetres
_PER_MM = 96 / 25.4  # pixels
_LITTLE = 110  # millimetres, below which a plot has the form for little room


def save_plot(plot: Mapping[str, Any], path: str | Path, *, width: float = _PAGE) -> None:
    """Write a plot as SVG, PDF, PNG, or as its spec (.json), which the file's name says.

    A picture is as wide as a column or a page of a paper, with texts of 7 to 9 points. Where a menu chooses
    the measure, it shows the first one.

    Args:
        plot: what a `plot_…` function returned.
        path: ends in .svg, .pdf, .png or .json.
        width: of the whole picture, in millimetres; below 110, long names are broken into lines.

    Raises:
        UsageError: another kind of file; a picture without vl-convert-python (the extra `figures`).
        FireError: the file cannot be written.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_plot({"mark": "bar"}, Path(folder) / "plot.json")
        ...     print(json.loads((Path(folder) / "plot.json").read_text()))
        {'mark': 'bar'}
    """
    path = Path(path)
    check_kind(path)
    write_files({path: plot_bytes(plot, path.suffix, width=width)})


def check_kind(path: Path) -> None:
    """Raise the UsageError of `save_plot` for a file that cannot be made here."""
    if path.suffix not in KINDS:
        raise UsageError(f"{path}: expected a name that ends in {', '.join(KINDS)}")
    try:
        has_converter = find_spec("vl_convert") is not None
    except ValueError:  # a module that was put aside
        has_converter = False
    if path.suffix != ".json" and not has_converter:
        raise UsageError("pictures need vl-convert-python: pip install vl-convert-python")


def width_of(name: str) -> int:
    """Return the millimetres that a file's name ends in; without any, those of a page.

    Examples:
        >>> width_of("scores-85mm.svg"), width_of("scores.svg")
        (85, 180)
    """
    found = re.search(r"-(\d{2,3})mm$", Path(name).stem)
    return int(found[1]) if found else _PAGE


def plot_bytes(plot: Mapping[str, Any], kind: str, *, width: float) -> bytes:
    """Return a plot as a file of a kind that `check_kind` lets pass; width: see `save_plot`."""
    if kind == ".json":
        return (json.dumps(plot, ensure_ascii=False, indent=1) + "\n").encode()
    import vl_convert

    form = plot.get("usermeta", {}).get("narrow", {}) if width < _LITTLE else {}
    size = {"width": width * _PER_MM, "autosize": {"type": "fit-x", "contains": "padding"}, "padding": 2}
    spec = _joined(plot, form | size)
    if kind == ".png":
        return bytes(vl_convert.vegalite_to_png(spec, scale=3))
    svg = str(vl_convert.vegalite_to_svg(spec))
    if kind == ".pdf":  # whose unit is the point
        return bytes(vl_convert.svg_to_pdf(_in_unit(svg, 0.75, "")))
    return _in_unit(svg, 1 / _PER_MM, "mm").encode()


def _in_unit(svg: str, scale: float, unit: str) -> str:
    """Return a picture whose size is said in another unit."""
    head, end, rest = svg.partition(">")
    size = re.sub(
        r'\b(width|height)="([\d.]+)"', lambda each: f'{each[1]}="{scale * float(each[2]):.2f}{unit}"', head
    )
    return size + end + rest


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec with what another says in its place, part by part."""
    both = {name: _joined(one[name], part) for name, part in other.items()
            if isinstance(part, Mapping) and isinstance(one.get(name), Mapping)}  # fmt: skip
    return {**one, **other, **both}
