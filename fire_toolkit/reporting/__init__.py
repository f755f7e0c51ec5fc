"""What a paper, a reviewer and a reader are shown: tables, methods, plots, and the page with all of it.

Read `study` first: the tables of a study, and the facts measured from them. `page` says what each figure
draws and puts all into one HTML file by a template; `plots` fills the Vega-Lite specs in data/. `paper` has
the tables of the FIRE paper, `methods` the paragraphs of a data paper, `honest` the rows of `score --honest`,
`voted` what people and the benchmark differ on, and `against` what changed since an earlier state. Words
stand in templates, which `templates` fills.
"""
