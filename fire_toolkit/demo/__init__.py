"""A small real world: clips whose truth is known, models that rank them, annotators who judge them.

`scene` makes the clips and captions, `world` the truth of every pair; `models` rank clips from pixels and
words; `annotators` answer Label Studio tasks; `film` makes the videos, and all files. Everything follows from
a seed. Only `film` touches files.
"""
