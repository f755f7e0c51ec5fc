"""Frames and files: what is drawn is what the clip says, and equal frames give equal bytes."""

import dataclasses
import io
import sys

import numpy as np
import pytest
from build_demo_world import SHAPES
from PIL import Image

from fire_toolkit.demo.film import encode_clip, media_suffix, render_clip, write_world
from fire_toolkit.demo.scene import Clip, Thing
from fire_toolkit.demo.world import make_world
from fire_toolkit.errors import FireError

STILL = Thing("circle", 0.0, 20.0, 0.0, 0.0, 0.0, 0.0, 80.0, 60.0)
PLAIN = Clip("clip-001", (STILL,), lightness=0.2, blotches=0.0, grain=0.0, seed=1)


def with_thing(**changes):
    return dataclasses.replace(PLAIN, things=(dataclasses.replace(STILL, **changes),))


def is_red(frame):
    return (frame[..., 0] > 120) & (frame[..., 1] < 100)


def test_frames_are_two_seconds_of_160_by_120_at_12_a_second_and_the_same_each_time(world, frames):
    assert {((24, 120, 160, 3), np.dtype(np.uint8))} == {(clip.shape, clip.dtype) for clip in frames}
    for clip, drawn in zip(world.clips[:5], frames, strict=False):
        assert drawn.tobytes() == render_clip(clip).tobytes()


# In squares of the radius: pi; (2 · .85)²; 3√3/4; ten triangles of .45 sin(36°)/2; 2 · 2 · 2/3 − (2/3)².
AREAS = {"circle": 3.1416, "square": 2.89, "triangle": 1.299, "star": 1.3225, "cross": 2.2222}


@pytest.mark.parametrize(("shape", "area"), AREAS.items())
def test_a_shape_covers_the_area_of_its_form(shape, area):
    red = render_clip(with_thing(shape=shape))[0, ..., 0].astype(float)
    cover = (red - 0.2 * 255) / (0.92 * 255 - 0.2 * 255)  # 0 the wall, 1 the shape, between on the edge
    assert area * 20**2 == pytest.approx(cover.sum(), rel=0.01)
    assert set(SHAPES) == set(AREAS)


@pytest.mark.parametrize(("heading", "step"), [(0, (0, 50)), (90, (-50, 0)), (180, (0, -50)), (270, (50, 0))])
def test_a_shape_goes_where_it_is_headed(heading, step):
    clip = render_clip(with_thing(heading=float(heading), travel=50.0))
    first, last = (np.argwhere(is_red(frame)).mean(axis=0) for frame in (clip[0], clip[-1]))
    assert step == pytest.approx(tuple(last - first), abs=0.5)


def test_shapes_stay_inside_the_frame(world):
    for clip in world.clips:
        for thing in clip.things:
            places = np.array([thing.place(progress) for progress in np.linspace(0, 1, 49)])
            assert (places - thing.radius >= 0).all(), clip
            assert (places + thing.radius <= (160, 120)).all(), clip


def test_grain_and_blotches_disturb_the_background():
    plain, grainy, blotched = (
        render_clip(dataclasses.replace(PLAIN, **changes)).astype(float)
        for changes in ({}, {"grain": 10.0}, {"blotches": 0.5})
    )
    corner = np.s_[:, :30, :30]
    assert plain[corner].std() == 0
    assert grainy[corner].std() == pytest.approx(10, rel=0.1)
    assert np.diff(blotched, axis=0).max() == 0
    assert blotched[0].reshape(-1, 3).std(axis=0).min() > 5


def test_vp9_bytes_are_the_same_each_time_and_play_as_yuv420p(frames):
    av = pytest.importorskip("av")
    content = encode_clip(frames[0])
    assert content == encode_clip(frames[0])
    with av.open(io.BytesIO(content)) as container:
        stream = container.streams.video[0]
        codec = stream.codec_context
        assert (codec.name, codec.pix_fmt) == ("vp9", "yuv420p")
        assert (stream.width, stream.height, stream.average_rate) == (160, 120, 12)
        assert container.duration == 2_000_000
        decoded = np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(stream)])
    assert decoded.shape == frames[0].shape
    assert np.abs(decoded.astype(float) - frames[0]).mean() < 12


def test_webp_without_pyav_holds_every_frame(frames):
    content = encode_clip(frames[0], suffix=".webp")
    assert content == encode_clip(frames[0], suffix=".webp")
    with Image.open(io.BytesIO(content)) as picture:
        assert (picture.format, picture.n_frames, picture.size) == ("WEBP", 24, (160, 120))


@pytest.mark.parametrize("suffix", [".webm", ".webp"])
def test_clips_are_written_under_the_names_of_their_items(tmp_path, suffix):
    if suffix == ".webm":
        pytest.importorskip("av")
    world = make_world(n_clips=3, n_captions=3, media_suffix=suffix)
    write_world(world, tmp_path)
    before = {path.name: path.read_bytes() for path in (tmp_path / "media").iterdir()}
    assert sorted(before) == sorted(world.items["media_url"]) == [f"clip-00{n}{suffix}" for n in (1, 2, 3)]
    write_world(world, tmp_path)
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "media").iterdir()}


def test_an_unwritable_folder_and_no_pyav_are_refused(tmp_path, monkeypatch, frames):
    (tmp_path / "file").write_text("")
    world = make_world(n_clips=1, media_suffix=".webp")
    with pytest.raises(FireError, match="file"):
        write_world(world, tmp_path / "file")
    monkeypatch.setitem(sys.modules, "av", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert media_suffix() == ".webp"
    with pytest.raises(FireError, match="pip install av"):
        encode_clip(frames[0])
