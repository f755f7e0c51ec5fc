"""A small real world: clips whose truth is known, models that rank them, annotators who judge them.

`world` makes the clips, captions and the truth of every pair; `film` makes the videos; `models` rank clips
from pixels and words; `annotators` answer Label Studio tasks. Everything follows from a seed. Only
`film.write_clips` touches files.
"""
