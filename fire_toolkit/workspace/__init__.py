"""A workspace: its settings, its stages, and the manifests beside what they wrote."""
