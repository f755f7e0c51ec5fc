"""Media files of a collection: can a browser play them, make those that it cannot, serve them.

An annotation page says nothing when a video does not play: these parts find it out before people do.

Read `places` first (where an item is, and how pages made of files show it), then `links`, which checks items:
what a file is, and whether browsers play it (`probe`), and whether an address answers as a page needs it.
`transcode` makes files that play. `server` serves a collection's files to Label Studio's pages alone, on the
small server of `serving`.
"""
