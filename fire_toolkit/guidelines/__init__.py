"""What annotators are asked: guidelines, their labels and grades, and the labeling page.

Read `model` first: the question, its labels and grades in one object, whether its files agree, and the grades
of labels. `label_config` reads Label Studio's XML and makes of it the page of several captions, and
`instructions` the HTML that annotators read first. The guidelines themselves are folders at the top of the
repository, read by `formats.tables.guideline_files`.
"""
