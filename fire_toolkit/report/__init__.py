"""What people look at: plots as Vega-Lite specs, and the report of a workspace as one HTML file."""
