"""Arrays in files of other tools (npy, npz, HDF5, pickle and torch), read safely."""
