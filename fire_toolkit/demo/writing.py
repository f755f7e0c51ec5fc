"""The made world as a workspace's files, and its scores as a figure in text."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.demo.film import render_clip, write_clips
from fire_toolkit.demo.models import score_clips
from fire_toolkit.demo.world import World
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.runs.trec import trec_qrels_text
from fire_toolkit.formats.tables.delimited import delimited_text
from fire_toolkit.measures.defaults import DEMO
from fire_toolkit.workspace.config import CONFIG, config_text
from fire_toolkit.workspace.manifests import write_files


def prepare_folder(root: Path, kind: str) -> None:
    """Make the demo's folder; one that is there must hold a demo of the same kind."""
    mark = root / ".fire-demo"
    if root.exists() and not (mark.is_file() and mark.read_text(encoding="utf-8") == kind):
        other = "another demo" if mark.is_file() else "no demo"
        raise UsageError(f"{root}: already exists and is {other}; choose another --out")
    write_files({mark: kind.encode()})


def write_world(
    world: World,
    root: Path,
    *,
    depth: int = 10,
    overlap: float = 0.15,
) -> None:
    """Write clips, collection, runs and fire.toml: what a researcher would bring.

    depth, overlap: deep enough that most positives are pooled, shallow enough that some stay unjudged.
    """
    frames = [render_clip(clip) for clip in world.clips]
    write_clips(world, root / "media", frames)
    settings: dict[str, dict[str, Any]] = {
        "collection": {"items": "collection/items.tsv"},
        "pool": {"depth": depth},
        "tasks": {"overlap": overlap, "seed": 0},
        "score": {"measures": list(DEMO)},
    }
    write_files({root / CONFIG: config_text(settings).encode()})
    paths = world.items.assign(media_url="media/" + world.items["media_url"])
    collection = {
        "queries.tsv": delimited_text(world.queries, delimiter="\t"),
        "items.tsv": delimited_text(paths, delimiter="\t"),
        "qrels.txt": trec_qrels_text(world.original),
    }
    write_files({root / "collection" / name: text.encode() for name, text in collection.items()})
    ids = {"query_ids": list(world.queries["query_id"]), "doc_ids": list(world.items["doc_id"])}
    own = [ids["doc_ids"].index(doc_id) for doc_id in world.original["doc_id"]]
    scored = score_clips(list(world.queries["text"]), frames, own)
    for run_id, sims in scored.items():
        arrays: dict[str, Any] = {"sims": sims, **ids}
        np.savez_compressed(stream := io.BytesIO(), **arrays)
        write_files({root / "runs" / f"{run_id}.npz": stream.getvalue()})
    (root / "exports").mkdir(exist_ok=True)


def figure_in_text(scores: pd.DataFrame, *, width: int = 50) -> list[str]:
    """Return the report's first figure as lines: o is the original score of a run, # the corrected one.

    scores: run_id, original, corrected, as shares; a column is `width` characters.

    Examples:
        >>> scores = pd.DataFrame({"run_id": ["a", "bc"], "original": [.4, .5], "corrected": [.8, .5]})
        >>> print("\\n".join(figure_in_text(scores, width=10)))
            0%    100%
        a       o---#    80.0 (40.0)
        bc       #       50.0 (50.0)
    """
    names = max(map(len, scores["run_id"]))
    lines = [f"{'':{names}}  0%{'100%':>{width - 2}}"]
    for run_id, *values in scores[["run_id", "original", "corrected"]].to_numpy().tolist():
        original, corrected = (round(value * width) for value in values)
        low, high = sorted((original, corrected))
        bar = [" "] * low + ["-"] * (high - low + 1) + [" "] * (width - high)
        bar[original], bar[corrected] = "o", "#"
        lines.append(f"{run_id:{names}}  {''.join(bar)}  {100 * values[1]:.1f} ({100 * values[0]:.1f})")
    return lines
