"""`report plot`: a plot of the report as a file of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from fire_toolkit.cli.common import relative_path, say
from fire_toolkit.cli.options import draw_options, measure_option
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.cli.report_workspace import ReportedWorkspace, workspace_to_report
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.plot_files import check_kind, plot_bytes
from fire_toolkit.reporting.page import Section

# The section that each plot is of, and its place there.
_PLOTS: dict[str, tuple[Callable[[ReportedWorkspace], Section], int]] = {
    "scores": (ReportedWorkspace.scores, 0),
    "differences": (ReportedWorkspace.differences, 0),
    "order": (ReportedWorkspace.order, 0),
    "length": (ReportedWorkspace.length, 0),
    "overlap": (ReportedWorkspace.overlap, 0),
    "rbo": (ReportedWorkspace.overlap, 1),
    "judged": (ReportedWorkspace.judged_share, 0),
    "annotators": (ReportedWorkspace.agreement, 0),
}
_OF_MEASURES = ("scores", "differences", "order", "length")


@click.command("plot")
@click.argument("name", type=click.Choice(list(_PLOTS)))
@click.option("--out", metavar="FILE", help="Ends in .svg, .pdf, .png or .json. [default: NAME.svg]")
@measure_option
@click.option("--width", type=click.IntRange(min=1), default=500, show_default=True, help="In pixels.")
@draw_options
def plot(
    name: str, out: str | None, measures: tuple[str, ...], width: int, resamples: int, seed: int
) -> None:
    """Write one plot of the workspace's report as a picture for a paper, or as its Vega-Lite spec (.json).

    A picture shows the first measure; name another one with -m. Annotators stand in it by pseudonyms.
    Pictures need vl-convert-python; the spec needs nothing.
    """
    workspace = workspace_to_report("report plot")
    path = Path(out or f"{name}.svg")
    check_kind(path)
    if measures and name not in _OF_MEASURES:
        raise click.UsageError(f"-m does not go with {name}; leave one of them out")
    found = ReportedWorkspace(workspace, {"resamples": resamples, "seed": seed}, measures=measures)
    of_section, place = _PLOTS[name]
    with Progress() as tell:
        found.tell = tell
        figures = of_section(found).figures
    if not figures:
        raise UsageError(f"nothing to draw: the workspace holds too little for {name}")
    content = plot_bytes(figures[place].plot, path.suffix, width=width)
    parameters = {"plot": name, "measures": list(measures), "width": width, **found.given.draw_parameters}
    found.given.write(path, {path.name: content}, "report plot", parameters)
    say(f"{relative_path(path)}: {figures[place].text}")
