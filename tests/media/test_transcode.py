"""Videos become ones that browsers play; nothing is done twice, and a killed run leaves nothing half."""

import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from media_files import encode, items_of

from fire_toolkit.errors import FireError
from fire_toolkit.media import transcode
from fire_toolkit.media.probe import probe_file
from fire_toolkit.media.transcode import TARGETS, encode_video, transcode_media
from fire_toolkit.tables import Items

av = pytest.importorskip("av")
H264, VP9 = TARGETS["h264"], TARGETS["vp9"]


def pictures(path: Path) -> list[Any]:
    with av.open(str(path)) as container:
        return list(container.decode(video=0))


def states(done: tuple[Items, pd.DataFrame]) -> dict[str, str]:
    return dict(zip(done[1]["media_url"], done[1]["state"], strict=True))


@pytest.mark.parametrize("name", ["mpeg4.avi", "mjpeg.avi", "hevc.mp4", "h264-deep.mp4", "h264.mkv"])
@pytest.mark.parametrize(("target", "codec"), [(H264, "h264"), (VP9, "vp9")])
def test_pictures_keep_their_times(clips: Path, tmp_path: Path, name: str, target: Any, codec: str) -> None:
    if not (clips / name).exists():
        pytest.skip(f"this FFmpeg cannot make {name}")
    out = tmp_path / f"v.{target.container}"
    assert encode_video(clips / name, out, target) == 0
    facts = probe_file(out)
    assert (codec, "yuv420p", "") == (facts.codec, facts.pixel_format, facts.fault)
    before, after = pictures(clips / name), pictures(out)
    assert (after[0].width, after[0].height) == (64, 48)
    assert [number / 25 for number in range(50)] == pytest.approx([frame.time for frame in after], abs=0.002)
    for old, new in zip(before[::10], after[::10], strict=True):
        colours = [frame.to_ndarray(format="rgb24").astype(float) for frame in (old, new)]
        assert np.abs(colours[0] - colours[1]).mean() < 8


def test_the_same_video_gives_the_same_bytes(clips: Path, tmp_path: Path) -> None:
    for target in (H264, VP9):
        made = [tmp_path / f"{number}.{target.container}" for number in (1, 2)]
        for path in made:
            encode_video(clips / "mpeg4.avi", path, target)
        assert made[0].read_bytes() == made[1].read_bytes()


def test_odd_sizes_become_even(tmp_path: Path) -> None:
    source = encode(tmp_path / "odd.avi", "mjpeg", "yuvj444p", frames=3, size=(65, 47))
    encode_video(source, tmp_path / "v.mp4", H264)
    made = pictures(tmp_path / "v.mp4")[0]
    assert (made.width, made.height) == (64, 46)


def test_the_shape_of_pixels_is_kept(tmp_path: Path) -> None:
    def wide(stream: Any) -> None:
        stream.codec_context.sample_aspect_ratio = Fraction(16, 11)

    source = encode(tmp_path / "wide.avi", "mpeg4", frames=3, prepare=wide)
    encode_video(source, tmp_path / "v.mp4", H264)
    with av.open(str(tmp_path / "v.mp4")) as container:
        assert Fraction(16, 11) == container.streams.video[0].sample_aspect_ratio


def test_a_video_taken_upright_stays_upright(tmp_path: Path) -> None:
    if not hasattr(av.video.stream.VideoStream, "set_display_rotation"):
        pytest.skip("this PyAV cannot make turned videos")
    source = encode(tmp_path / "turned.mp4", "mpeg4", frames=3, prepare=lambda s: s.set_display_rotation(90))
    shown = pictures(source)[0]
    assert abs(shown.rotation) == 90
    encode_video(source, tmp_path / "v.mp4", H264)
    made = pictures(tmp_path / "v.mp4")[0]
    assert (made.width, made.height, made.rotation) == (48, 64, 0)
    bright = made.to_ndarray(format="gray") > 128
    # 90 degrees counterclockwise bring the white quarter from the upper to the lower left.
    corner = bright[32:, :24] if shown.rotation == 90 else bright[:32, 24:]
    assert corner.mean() > 0.9
    assert 0.2 < bright.mean() < 0.3


def test_sound_is_left_out(tmp_path: Path) -> None:
    source = tmp_path / "both.mkv"
    with av.open(str(source), "w") as container:
        video = container.add_stream("mpeg4", rate=25)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        sound = container.add_stream("aac", rate=16000, layout="mono")
        for number in range(25):
            picture = av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), format="rgb24")
            container.mux(video.encode(picture))
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 640), np.float32), format="fltp", layout="mono")
            frame.sample_rate, frame.pts = 16000, 640 * number
            container.mux(sound.encode(frame))
        container.mux(video.encode())
        container.mux(sound.encode())
    encode_video(source, tmp_path / "v.mp4", H264)
    with av.open(str(tmp_path / "v.mp4")) as container:
        assert (len(container.streams.video), len(container.streams.audio)) == (1, 0)


def test_damaged_packets_are_left_out_and_counted(tmp_path: Path) -> None:
    source = encode(tmp_path / "v.avi", "mjpeg", "yuvj420p", frames=50)
    content = bytearray(source.read_bytes())
    start = content.find(b"\xff\xd8\xff", len(content) // 2)
    content[start : start + 400] = bytes(400)
    source.write_bytes(bytes(content))
    assert encode_video(source, tmp_path / "v.mp4", H264) >= 1
    assert 45 <= len(pictures(tmp_path / "v.mp4")) < 50


def test_only_what_does_not_play_is_made_anew(clips: Path, tmp_path: Path) -> None:
    items = items_of("h264.mp4", "mpeg4.avi", "a.png", "http://h/v.avi", "text.mp4", "gone.avi", "mpeg4.avi")
    before = items.copy()
    done = transcode_media(items, root=clips, out=tmp_path / "out", target=H264)
    assert states(done) == {
        "h264.mp4": "plays",
        "mpeg4.avi": "transcoded",
        "a.png": "plays",
        "http://h/v.avi": "not a file here",
        "text.mp4": "failed",
        "gone.avi": "failed",
    }
    (made,) = (tmp_path / "out").glob("mpeg4-*.mp4")
    whole = made.resolve().as_posix()
    assert ["h264.mp4", whole, "a.png", "http://h/v.avi", "text.mp4", "gone.avi", whole] == list(
        done[0]["media_url"]
    )
    pd.testing.assert_frame_equal(before, items)


def test_a_changed_output_or_another_target_is_made_again(clips: Path, tmp_path: Path) -> None:
    items = items_of("mpeg4.avi")
    transcode_media(items, root=clips, out=tmp_path, target=H264)
    made = next(tmp_path.glob("*.mp4"))
    whole = made.read_bytes()
    made.write_bytes(whole[: len(whole) // 2])
    again = transcode_media(items, root=clips, out=tmp_path, target=H264)
    assert states(again) == {"mpeg4.avi": "transcoded"}
    assert whole == made.read_bytes()
    assert states(transcode_media(items, root=clips, out=tmp_path, target=VP9)) == {"mpeg4.avi": "transcoded"}
    assert len(list(tmp_path.iterdir())) == 2


def test_a_cut_short_source_is_no_success(clips: Path, tmp_path: Path) -> None:
    done = transcode_media(items_of("cut-fast.mp4"), root=clips, out=tmp_path / "out", target=H264)
    assert done[1]["reason"][0].startswith("cut short")
    assert list((tmp_path / "out").iterdir()) == []


def test_an_interrupted_run_leaves_nothing_half_and_goes_on(
    clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = items_of("mpeg4.avi", "mjpeg.avi", "h264.mkv")
    real, seen = encode_video, []

    def interrupted(source: Path, path: Path, target: Any) -> Any:
        seen.append(source.name)
        encoded = real(source, path, target)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return encoded

    monkeypatch.setattr(transcode, "encode_video", interrupted)
    with pytest.raises(KeyboardInterrupt):
        transcode_media(items, root=clips, out=tmp_path, target=H264)
    assert len(list(tmp_path.glob("*.mp4"))) == 1
    assert list(tmp_path.glob(".*")) == []
    done = transcode_media(items, root=clips, out=tmp_path, target=H264)
    assert list(done[1]["state"]) == ["done before", "transcoded", "transcoded"]
    assert seen == ["mpeg4.avi", "mjpeg.avi", "mjpeg.avi", "h264.mkv"]


@pytest.mark.slow
def test_a_killed_process_goes_on_where_it_stopped(tmp_path: Path) -> None:
    for number in range(6):
        encode(tmp_path / f"v{number}.avi", "mpeg4", frames=20 + number, size=(320, 240))
    rows = "".join(f"v{number}\tv{number}.avi\n" for number in range(6))
    (tmp_path / "items.tsv").write_text("doc_id\tmedia_url\n" + rows)
    command = [sys.executable, "-m", "fire_toolkit", "media", "transcode", "items.tsv", "--out"]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([*command, "killed"], cwd=tmp_path, env=environ, stderr=subprocess.DEVNULL)
    while not list((tmp_path / "killed").glob("*.mp4")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for out in ("killed", "whole"):
        subprocess.run([*command, out], cwd=tmp_path, env=environ, check=True, capture_output=True)
    names = {
        out: {path.name: path.read_bytes() for path in (tmp_path / out).glob("*.mp4")}
        for out in ("killed", "whole")
    }
    assert len(names["whole"]) == 6
    assert names["whole"] == names["killed"]
    assert list((tmp_path / "killed").glob(".*")) == []


def test_a_full_disk_keeps_what_is_done(clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = encode_video

    def full(source: Path, path: Path, target: Any) -> Any:
        if source.name == "mjpeg.avi":
            path.write_bytes(b"half")
            raise av.error.OSError(28, "No space left on device")
        return real(source, path, target)

    monkeypatch.setattr(transcode, "encode_video", full)
    with pytest.raises(FireError, match="free some space and run the same command again"):
        transcode_media(items_of("mpeg4.avi", "mjpeg.avi"), root=clips, out=tmp_path, target=H264)
    assert [path.name[:6] for path in tmp_path.iterdir()] == ["mpeg4-"]


def test_a_missing_encoder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FireError, match="no encoder nothing; choose h264, vp9"):
        transcode_media(items_of(), root=tmp_path, out=tmp_path, target=H264._replace(encoder="nothing"))
