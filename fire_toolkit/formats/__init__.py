"""Outside formats, read into tables and written from them; errors name the path and the place.

`runs` holds predictions (read `runs.reader`, which finds the reader of a file), `collections` benchmarks'
own files, `tables` our own tables as files, and `arrays` the arrays in npy, npz, torch and pickle files.
`ids` is the one place where an id becomes text. `releases` writes a release's files and reads them back, and
`sides` reads the labels of another workspace or release to compare with.
"""
