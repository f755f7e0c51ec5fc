"""What people look at: plots as Vega-Lite specs, and the report of a workspace as one HTML file."""

from fire_toolkit.report.page import Figure, Section, Table, render_page
from fire_toolkit.report.plots import (
    Plot,
    plot_annotators,
    plot_differences,
    plot_judged,
    plot_lengths,
    plot_orders,
    plot_overlap,
    plot_scores,
)

__all__ = [
    "Figure",
    "Plot",
    "Section",
    "Table",
    "plot_annotators",
    "plot_differences",
    "plot_judged",
    "plot_lengths",
    "plot_orders",
    "plot_overlap",
    "plot_scores",
    "render_page",
]
