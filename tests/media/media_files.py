"""Small media files made by PyAV."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.tables import Items, check_items

# name: codec, pixel format
VIDEOS = {
    "h264.mp4": ("libx264", "yuv420p"),
    "h264-deep.mp4": ("libx264", "yuv420p10le"),
    "h264.mkv": ("libx264", "yuv420p"),
    "h264.mov": ("libx264", "yuv420p"),
    "vp9.webm": ("libvpx-vp9", "yuv420p"),
    "vp8.webm": ("libvpx", "yuv420p"),
    "mpeg4.avi": ("mpeg4", "yuv420p"),
    "mpeg4.mp4": ("mpeg4", "yuv420p"),
    "mjpeg.avi": ("mjpeg", "yuvj420p"),
    "hevc.mp4": ("libx265", "yuv420p"),
}
QUIET = {"libx265": {"x265-params": "log-level=none:pools=1"}}
FRAMES, RATE, WIDTH, HEIGHT = 50, 25, 64, 48


def encode(
    path: Path,
    codec: str,
    pixel_format: str = "yuv420p",
    *,
    frames: int = FRAMES,
    size: tuple[int, int] = (WIDTH, HEIGHT),
    rate: int = RATE,
    prepare: Callable[[Any], None] = lambda stream: None,
    container_options: dict[str, str] | None = None,
) -> Path:
    """Write noisy pictures whose upper left quarter is white."""
    av = pytest.importorskip("av")
    noise = np.random.default_rng(0)
    width, height = size
    with av.open(str(path), "w", options=container_options or {}) as container:
        stream = container.add_stream(codec, rate=rate, options=QUIET.get(codec, {}))
        stream.width, stream.height, stream.pix_fmt = width, height, pixel_format
        stream.thread_count = 1
        prepare(stream)
        for _ in range(frames):
            picture = noise.integers(0, 60, (height, width, 3), dtype=np.uint8)
            picture[: height // 2, : width // 2] = 230
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


def encode_sound(path: Path) -> Path:
    av = pytest.importorskip("av")
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=16000, layout="mono")
        for number in range(10):
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
            frame.sample_rate, frame.pts = 16000, 1024 * number
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def items_of(*urls: str) -> Items:
    """Return items v0, v1 … at these addresses."""
    ids = [f"v{number}" for number in range(len(urls))]
    return check_items(pd.DataFrame({"doc_id": ids, "media_url": list(urls)}))
