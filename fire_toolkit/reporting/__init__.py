"""What a paper, a reviewer and a reader are shown: tables, methods, plots, and the page with all of it.

Read `study` first: the tables of a study, and the facts measured from them. `figures` says what each figure
draws, `plots` fills the Vega-Lite specs in data/, and `page` puts all into one HTML file by a template.
`paper` has the tables of the FIRE paper, `methods` the paragraphs of a data paper, `honest` the rows of
`score --honest`, `voted` what people and the benchmark differ on, and `against` what changed since an earlier
state. Words stand in templates, which `templates` fills.
"""
