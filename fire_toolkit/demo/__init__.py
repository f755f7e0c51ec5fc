"""A small real world: clips whose truth is known, models that rank them, annotators who judge them.

`scene` says what is in a clip, `world` has the captions and the truth of every pair; `models` rank clips from
pixels and words; `annotators` answer Label Studio tasks; `film` makes the videos, and all files. The world is
that of `things.csv` and `captions.csv`. Only `film` touches files.
"""
