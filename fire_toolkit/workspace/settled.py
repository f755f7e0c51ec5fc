"""Qrels that are settled for some runs: only what could change a measure of those runs was asked."""

from pathlib import Path

from fire_toolkit.errors import FormatError
from fire_toolkit.evidence.facts import Settled
from fire_toolkit.workspace.manifests import writer_of


def settled_by(path: Path) -> Settled | None:
    """Return what a pool or augmented qrels are settled for; None where all that was pooled was asked.

    Whoever corrects labels for errors asks this first: in settled qrels the answers decided what was asked.

    Args:
        path: a file that `pool` or `augment` wrote; a file of somebody's own is settled for nothing.

    Raises:
        FormatError: its manifest is damaged.
    """
    if (found := writer_of(path).parameters.get("settled")) is None:
        return None
    try:
        runs = {str(run_id): str(sha256) for run_id, sha256 in found["runs"].items()}
        return Settled(str(found["measure"]), runs, int(found["open_queries"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise FormatError(f"{path}: damaged manifest (settled); delete it and run the stage again") from None
