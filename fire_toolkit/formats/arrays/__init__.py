"""Arrays in files of other tools (npy, npz, pickle, torch and safetensors), read safely.

Read `containers` first: a tree of names whose arrays are not read yet. `matrix` maps them where they lie,
believes no size that a file claims, and gives blocks of rows. `pickles` reads a pickle as data: plain
containers and arrays, and nothing that it names is built.
"""
