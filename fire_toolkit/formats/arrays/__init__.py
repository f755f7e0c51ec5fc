"""Arrays in files of other tools (npy, npz, pickle and torch), read safely."""
