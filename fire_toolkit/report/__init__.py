"""What people look at: plots as Vega-Lite specs, and the report of a workspace as one HTML file."""

from fire_toolkit.report.page import Figure as Figure
from fire_toolkit.report.page import Section as Section
from fire_toolkit.report.page import Table as Table
from fire_toolkit.report.page import render_page as render_page
from fire_toolkit.report.plots import Plot as Plot
from fire_toolkit.report.plots import plot_annotators as plot_annotators
from fire_toolkit.report.plots import plot_differences as plot_differences
from fire_toolkit.report.plots import plot_judged as plot_judged
from fire_toolkit.report.plots import plot_lengths as plot_lengths
from fire_toolkit.report.plots import plot_orders as plot_orders
from fire_toolkit.report.plots import plot_overlap as plot_overlap
from fire_toolkit.report.plots import plot_scores as plot_scores
