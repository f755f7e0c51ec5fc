"""Media files of a collection: can a browser play them, make those that it cannot, serve them.

An annotation page says nothing when a video does not play: these parts find it out before people do.
"""
