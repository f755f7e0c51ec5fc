"""Clips as files that people can play: VP9 with PyAV, animated WebP without it."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Sequence
from pathlib import Path

from fire_toolkit.demo.render import FRAMES_PER_S, Frames, render_clip
from fire_toolkit.demo.world import World
from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.workspace.manifests import write_files

_VP9 = {"deadline": "realtime", "cpu-used": "8", "crf": "40", "b": "0", "threads": "1"}
_ENCODERS = (".webm", ".webp")


def media_suffix() -> str:
    """Return `.webm` (VP9) where PyAV is installed, else `.webp` (an animated picture)."""
    return ".webm" if importlib.util.find_spec("av") else ".webp"


def write_clips(world: World, folder: Path, *, frames: Sequence[Frames] | None = None) -> list[str]:
    """Write each clip of `world` into `folder` under the name its item has; return the names.

    Args:
        world: its items' media_url names the files; the suffix chooses how they are encoded.
        folder: made if it is not there. Files of the same names are replaced.
        frames: of each clip, in the order of `world.clips`, where they were drawn already.

    All files are replaced as one change (see `workspace.manifests.write_files`). The same frames give the
    same bytes with the same encoder.

    Raises:
        UsageError: a suffix other than .webm and .webp.
        FireError: PyAV is not installed and a .webm is asked for; the folder cannot be written.
    """
    names = [str(name) for name in world.items["media_url"]]
    drawn = frames if frames is not None else map(render_clip, world.clips)
    write_files(
        {
            folder / name: encode_clip(clip_frames, suffix=Path(name).suffix)
            for name, clip_frames in zip(names, drawn, strict=True)
        }
    )
    return names


def encode_clip(frames: Frames, *, suffix: str = ".webm") -> bytes:
    """Return `frames` (frame × height × width × RGB) as the bytes of a file a browser shows.

    Args:
        frames: 12 a second; height and width are even.
        suffix: `.webm` for VP9 in yuv420p by PyAV, `.webp` for an animated picture by Pillow.

    Raises:
        UsageError: any other suffix.
        FireError: PyAV is not installed and `.webm` is asked for.
    """
    if suffix not in _ENCODERS:
        raise UsageError(f"clips as {suffix!r}: expected one of {', '.join(_ENCODERS)}")
    return _encode_vp9(frames) if suffix == ".webm" else _encode_webp(frames)


def _encode_vp9(frames: Frames) -> bytes:
    """Return a WebM; one thread and no random segment id, so that equal frames give equal bytes."""
    try:
        import av
    except ImportError:
        raise FireError("PyAV is not installed: `pip install av`, or ask for .webp clips") from None
    height, width = frames.shape[1:3]
    target = io.BytesIO()
    with av.open(target, "w", format="webm", options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream("libvpx-vp9", rate=FRAMES_PER_S, options=_VP9)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.thread_count = 1
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
    return target.getvalue()


def _encode_webp(frames: Frames) -> bytes:
    from PIL import Image  # comes with label-studio-sdk

    first, *rest = [Image.fromarray(frame) for frame in frames]
    target = io.BytesIO()
    first.save(
        target,
        "WEBP",
        save_all=True,
        append_images=rest,
        duration=round(1000 / FRAMES_PER_S),
        loop=0,
        quality=60,
        method=0,
    )
    return target.getvalue()
