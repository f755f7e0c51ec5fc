"""Arrays in files of other tools (npy, npz, pickle, torch and safetensors), read safely.

Read `containers` first: a tree of names, whose arrays are numpy's own and lie in the file. `pickles` reads a
pickle as data: plain containers and arrays, and nothing that it names is built. `matrix` gives the rows of a
matrix in blocks.
"""
