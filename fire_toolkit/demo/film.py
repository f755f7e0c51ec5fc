"""The made world as files: clips, drawn with NumPy, that people can play, and what a researcher would bring.

Clips are VP9 with PyAV, else animated WebP.
"""

import colorsys
import importlib.util
import io
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import Floats32
from fire_toolkit.demo.models import score_clips
from fire_toolkit.demo.scene import DURATION_S, HEIGHT, WIDTH, Clip, Thing
from fire_toolkit.demo.world import World
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.written import delimited_text, trec_qrels_text
from fire_toolkit.measures.defaults import DEMO
from fire_toolkit.media.probe import load_pyav
from fire_toolkit.workspace.config import CONFIG, config_text
from fire_toolkit.workspace.manifests import write_files

FRAMES_PER_S = 12
N_FRAMES = int(DURATION_S * FRAMES_PER_S)
_VP9 = {"deadline": "realtime", "cpu-used": "8", "crf": "40", "b": "0", "threads": "1"}

Frames: TypeAlias = npt.NDArray[np.uint8]


def render_clip(clip: Clip) -> Frames:
    """Return the frames of a clip: 24 × 120 × 160 × RGB, the same bytes each time.

    Shapes with smoothed edges stand before a plain wall with soft coloured patches; each frame has grain.
    """
    coarse = np.random.default_rng([clip.seed, N_FRAMES]).normal(0, 1, (5, 6, 3))
    patches = _between(_between(coarse, HEIGHT).swapaxes(0, 1), WIDTH).swapaxes(0, 1)
    background = (255 * clip.lightness + 70 * clip.blotches * patches).astype(np.float32)
    frames = []
    for number in range(N_FRAMES):
        image = background.copy()
        for thing in clip.things:
            _draw(image, thing, number / (N_FRAMES - 1))
        rng = np.random.default_rng([clip.seed, number])
        image += rng.standard_normal((HEIGHT, WIDTH, 1), dtype=np.float32) * np.float32(clip.grain)
        frames.append(np.clip(np.rint(image), 0, 255).astype(np.uint8))
    return np.stack(frames)


def _between(values: npt.NDArray[np.float64], length: int) -> npt.NDArray[np.float64]:
    """Return `values` stretched to `length` along the first axis, linearly."""
    places = np.linspace(0, len(values) - 1, length, dtype=np.float64)
    low = np.minimum(places.astype(np.int64), len(values) - 2)
    share = (places - low)[:, None, None]
    return np.asarray(values[low] * (1 - share) + values[low + 1] * share, dtype=np.float64)


def _draw(image: Floats32, thing: Thing, progress: float) -> None:
    centre_x, centre_y = thing.place(progress)
    reach = thing.radius + 2
    left, right = max(0, int(centre_x - reach)), min(WIDTH, int(centre_x + reach) + 2)
    upper, lower = max(0, int(centre_y - reach)), min(HEIGHT, int(centre_y + reach) + 2)
    y, x = np.mgrid[upper:lower, left:right].astype(np.float32)
    x, y = x - np.float32(centre_x), y - np.float32(centre_y)
    cosine, sine = np.float32(np.cos(thing.tilt)), np.float32(np.sin(thing.tilt))
    outside = _outside(thing.shape, cosine * x + sine * y, cosine * y - sine * x, np.float32(thing.radius))
    cover = np.clip(0.5 - outside, 0, 1)[..., None]
    colour = 255 * np.array(colorsys.hsv_to_rgb(thing.hue / 360 % 1, 0.82, 0.92), dtype=np.float32)
    patch = image[upper:lower, left:right]
    patch += cover * (colour - patch)


def _outside(shape: str, x: Floats32, y: Floats32, radius: np.float32) -> Floats32:
    """Return how far points lie outside a shape around the origin."""
    if shape == "circle":
        found = np.hypot(x, y) - radius
    elif shape == "square":
        found = np.maximum(abs(x), abs(y)) - np.float32(0.85) * radius
    elif shape == "triangle":
        found = np.maximum(y, np.float32(np.sqrt(0.75)) * abs(x) - y / 2) - radius / 2
    elif shape == "cross":
        wide = np.maximum(abs(x) - radius, abs(y) - radius / 3)
        tall = np.maximum(abs(y) - radius, abs(x) - radius / 3)
        found = np.minimum(wide, tall)
    else:  # a star of five points, folded into one half of one point
        tenth = np.pi / 5
        angle = abs((np.arctan2(x, -y) + tenth) % (2 * tenth) - tenth)
        inner_x, inner_y = 0.45 * np.cos(tenth), 0.45 * np.sin(tenth)
        length = np.hypot(1 - inner_x, inner_y)
        normal_x, normal_y = inner_y / length, (1 - inner_x) / length
        found = np.hypot(x, y) * (np.cos(angle) * normal_x + np.sin(angle) * normal_y) - radius * normal_x
    return np.asarray(found, dtype=np.float32)


def media_suffix() -> str:
    """Return `.webm` (VP9) where PyAV is installed, else `.webp` (an animated picture)."""
    return ".webm" if importlib.util.find_spec("av") else ".webp"


def encode_clip(frames: Frames, *, suffix: str = ".webm") -> bytes:
    """Return `frames` (frame × height × width × RGB) as the bytes of a file a browser shows.

    Args:
        frames: 12 a second; height and width are even.
        suffix: `.webm` for VP9 in yuv420p by PyAV, `.webp` for an animated picture by Pillow.

    Raises:
        FireError: PyAV is not installed and `.webm` is asked for.
    """
    target = io.BytesIO()
    if suffix == ".webp":
        from PIL import Image  # comes with label-studio-sdk

        first, *rest = [Image.fromarray(frame) for frame in frames]
        options = {"duration": round(1000 / FRAMES_PER_S), "loop": 0, "quality": 60, "method": 0}
        first.save(target, "WEBP", save_all=True, append_images=rest, **options)
        return target.getvalue()
    av = load_pyav()
    # One thread and no random segment id, so that equal frames give equal bytes.
    with av.open(target, "w", format="webm", options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream("libvpx-vp9", rate=FRAMES_PER_S, options=_VP9)
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt, stream.thread_count = "yuv420p", 1
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
    return target.getvalue()


def prepare_folder(root: Path, kind: str) -> None:
    """Make the demo's folder; one that is there must hold a demo of the same kind."""
    mark = root / ".fire-demo"
    if root.exists() and not (mark.is_file() and mark.read_text(encoding="utf-8") == kind):
        other = "another demo" if mark.is_file() else "no demo"
        raise UsageError(f"{root}: already exists and is {other}; choose another --out")
    write_files({mark: kind.encode()})


def write_world(world: World, root: Path, *, depth: int = 10, overlap: float = 0.15) -> None:
    """Write clips, collection, runs and fire.toml: what a researcher would bring.

    depth, overlap: deep enough that most positives are pooled, shallow enough that some stay unjudged.
    """
    frames = [render_clip(clip) for clip in world.clips]
    clips = {}
    for name, own_frames in zip(world.items["media_url"], frames, strict=True):
        clips[root / "media" / name] = encode_clip(own_frames, suffix=Path(name).suffix)
    write_files(clips)
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
