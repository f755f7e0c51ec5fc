"""What `demo` and `demo --live` share: the world as files, and commands as a person would type them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from fire_toolkit.demo.film import render_clip, write_clips
from fire_toolkit.demo.models import score_clips
from fire_toolkit.demo.world import World
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.runs.trec import trec_qrels_text
from fire_toolkit.formats.tables.delimited import delimited_text
from fire_toolkit.measures.defaults import DEMO
from fire_toolkit.workspace.config import CONFIG, config_text
from fire_toolkit.workspace.manifests import write_files

# Deep enough that most positives are pooled, shallow enough that some stay unjudged.
DEPTH = 10
OVERLAP = 0.15


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
    items: Path = Path("collection/items.tsv"),
    depth: int = DEPTH,
    overlap: float = OVERLAP,
) -> None:
    """Write clips, collection, runs and fire.toml (which names `items`): what a researcher would bring."""
    frames = [render_clip(clip) for clip in world.clips]
    write_clips(world, root / "media", frames)
    settings: dict[str, dict[str, Any]] = {
        "collection": {"items": items.as_posix()},
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
    write_files({root / "runs" / f"{run_id}.npz": _npz(sims=sims, **ids) for run_id, sims in scored.items()})
    (root / "exports").mkdir(exist_ok=True)


def _npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()
