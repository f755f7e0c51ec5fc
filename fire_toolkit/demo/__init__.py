"""A small real world: clips whose truth is known, models that rank them, annotators who judge them.

`world` makes the clips, captions and the truth of every pair; `render` and `encode` make the videos;
`models` rank clips from pixels and words alone; `annotators` answer Label Studio tasks. Everything
follows from a seed. Only `encode.write_clips` touches files.
"""
