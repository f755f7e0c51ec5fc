"""`report html`: all that a workspace knows, as one file that a reviewer opens."""

from __future__ import annotations

from pathlib import Path

import click

from fire_toolkit.cli.common import n_of, relative_path, say
from fire_toolkit.cli.options import draw_options
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.cli.report_workspace import ReportedWorkspace, workspace_to_report
from fire_toolkit.reporting.page import render_page


@click.command("html")
@click.option("--out", metavar="FILE", help="Where it is written. [default: report.html in the workspace]")
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="OLD",
    help="Also what changed since another workspace, or a release (a folder or a zip).",
)
@draw_options
def html(out: str | None, against: Path | None, resamples: int, seed: int) -> None:
    """Write the workspace's report: one HTML file with plots, tables, methods and manifests.

    It asks for nothing from anywhere and opens from the disk. Annotators stand in it by pseudonyms, the
    busiest first, and no folder of this machine is named.

    --against compares labels, scores and the order of runs only where both sides have the same queries, the
    same guideline and runs of the same bytes, and says what else there is.
    """
    workspace = workspace_to_report("report html")
    path = Path(out) if out else workspace.root / "report.html"
    found = ReportedWorkspace(workspace, {"resamples": resamples, "seed": seed}, old=against)
    with Progress() as tell:
        found.tell = tell
        parts = [found.without_names(section) for section in found.sections()]
    title, age = f"Corrected labels: {workspace.root.name}", found.given.age
    text = render_page(title, found.given.basis(), parts, warning=age)
    parameters = found.given.draw_parameters | ({"against": str(against)} if against else {})
    found.given.write(path, {path.name: text}, "report html", parameters)
    size = f"{len(text.encode()) / 1000:,.0f} kB, {n_of(len(parts), 'section')}"
    say(f"{relative_path(path)}: {size}; open it in a browser")
