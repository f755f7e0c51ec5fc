"""How runs compare with one another."""

from fire_toolkit.comparison.compare import compare_runs

__all__ = ["compare_runs"]
