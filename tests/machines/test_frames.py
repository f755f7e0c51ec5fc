"""Frames of a clip: which ones, when, and what a clip that cannot be read says."""

import io
import struct
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from examples import cases
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.machines.pictures import local_part, pictures_of, sample_frames

av = pytest.importorskip("av")
N_FRAMES, RATE = 50, 25


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds whose frames grow brighter: the n-th has a grey of 4 n."""
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=RATE, options={"crf": "1", "g": "12"})
        stream.width, stream.height, stream.pix_fmt = 128, 96, "yuv420p"
        for number in range(N_FRAMES):
            picture = np.full((96, 128, 3), 4 * number, dtype=np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


def greys(frames: list[bytes]) -> list[float]:
    return [float(np.asarray(Image.open(io.BytesIO(frame)).convert("L")).mean()) for frame in frames]


@cases("n_frames", "part", "seconds")
def test_frames_are_the_middles_of_equal_parts(
    clip: Path, n_frames: int, part: dict[str, float], seconds: list[float]
) -> None:
    frames = sample_frames(clip, n_frames=n_frames, longest_px=64, **part)
    assert [seconds for seconds, _ in frames] == pytest.approx(seconds, abs=1e-6)
    expected = [4 * round(second * RATE) for second in seconds]
    assert greys([jpeg for _, jpeg in frames]) == pytest.approx(expected, abs=4)
    assert Image.open(io.BytesIO(frames[0][1])).size == (64, 48)


def test_a_clip_that_is_to_be_played_upright_is_shown_upright(clip: Path, tmp_path: Path) -> None:
    """A phone's clip lies on its side, with a matrix that turns it clockwise by a quarter (ISO 14496-12)."""
    one, unit = 0x10000, 0x40000000
    upright = struct.pack(">9i", one, 0, 0, 0, one, 0, 0, 0, unit)
    turned = struct.pack(">9i", 0, one, 0, -one, 0, 0, 0, 0, unit)
    path = tmp_path / "phone.mp4"
    before, track, after = clip.read_bytes().partition(b"tkhd")
    path.write_bytes(before + track + after.replace(upright, turned, 1))
    ((_, jpeg),) = sample_frames(path, n_frames=1, longest_px=128)
    assert Image.open(io.BytesIO(jpeg)).size == (96, 128)


def test_the_same_clip_gives_the_same_bytes(clip: Path) -> None:
    assert sample_frames(clip, n_frames=3, longest_px=64) == sample_frames(clip, n_frames=3, longest_px=64)


def test_a_clip_of_few_frames_gives_each_once(clip: Path) -> None:
    frames = sample_frames(clip, n_frames=64, longest_px=128, start_s=0.0, end_s=0.2)
    assert [seconds for seconds, _ in frames] == pytest.approx([0.0, 0.04, 0.08, 0.12, 0.16])


def test_what_cannot_be_read_says_so_in_one_line(tmp_path: Path, clip: Path) -> None:
    (tmp_path / "text.mp4").write_text("no video")
    with pytest.raises(FormatError, match=r"text\.mp4: no frames can be read"):
        sample_frames(tmp_path / "text.mp4", n_frames=2, longest_px=64)
    with pytest.raises(FormatError, match="2 s long, no part from 5 to 2 s"):
        sample_frames(clip, n_frames=2, longest_px=64, start_s=5)
    for url, message in (
        ("https://example.org/v.mp4", "an address; machine judges are shown files"),
        ("gone.mp4", "no such file"),
        (f"{clip}#t=1.2.3", "no part in seconds behind #t=; expected one like #t=3,5.5"),
    ):
        with pytest.raises(FireError, match=message):
            local_part(url, tmp_path)


def test_images_are_shown_as_they_are_and_clips_as_frames(tmp_path: Path, clip: Path) -> None:
    image = io.BytesIO()
    Image.new("RGB", (9, 9)).save(image, "PNG")
    (tmp_path / "picture").write_bytes(image.getvalue())
    Image.new("RGB", (9, 9)).save(tmp_path / "old.bmp")
    shown = partial(pictures_of, root=tmp_path, n_frames=2, frame_px=64)
    assert shown("picture") == ((("image/png", image.getvalue()),), "")
    pictures, frames = shown(f"{clip}#t=1,2")
    assert frames == "1.24;1.72"
    assert [kind for kind, _ in pictures] == ["image/jpeg"] * 2
    with pytest.raises(FormatError, match="a picture as BMP, expected jpeg, png, gif, webp; convert it"):
        shown("old.bmp")
