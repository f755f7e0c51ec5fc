"""What a file is comes from its content, and whether a browser plays it from what it is."""

import sys
from pathlib import Path

import pytest

from examples import cases
from fire_toolkit.errors import FireError
from fire_toolkit.media.probe import MediaFacts, image_format, judge_media, probe_file


# States as seen in Chromium 156: the files marked "some browsers" play there too, but not everywhere.
@cases("name", "container", "codec", "state")
def test_videos_are_known_by_content(clips: Path, name: str, container: str, codec: str, state: str) -> None:
    if not (clips / name).exists():
        pytest.skip(f"this FFmpeg cannot make {name}")
    facts = probe_file(clips / name)
    assert ("video", container, codec, "") == (facts.kind, facts.container, facts.codec, facts.fault)
    assert facts.duration_s == pytest.approx(2.0, abs=0.1)
    assert state == judge_media(facts)[0]


def test_the_name_says_nothing(clips: Path, tmp_path: Path) -> None:
    (tmp_path / "video.mp4").write_bytes((clips / "mpeg4.avi").read_bytes())
    assert probe_file(tmp_path / "video.mp4").container == "avi"


@cases("name", "fault")
def test_what_is_no_video_is_told_apart(clips: Path, name: str, fault: str) -> None:
    facts = probe_file(clips / name)
    assert facts.fault.startswith(fault)
    assert judge_media(facts)[0] == "no"


@pytest.mark.parametrize("name", ["cut-fast.mp4", "cut-vp9.webm"])
def test_a_file_cut_short_is_noticed_though_it_begins_well(clips: Path, name: str) -> None:
    assert "of 2.0 s" in probe_file(clips / name).fault
    assert probe_file(clips / name).fault.startswith("cut short: ends after 1.")


def test_every_cut_of_a_file_is_a_fault_and_never_an_error(clips: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.mp4"
    whole = (clips / "fast.mp4").read_bytes()
    for percent in range(0, 75, 5):
        path.write_bytes(whole[: len(whole) * percent // 100])
        assert probe_file(path).fault, percent
    path.write_bytes(whole)
    assert probe_file(path).fault == ""


def test_noise_after_a_good_start_is_a_fault_and_never_an_error(tmp_path: Path) -> None:
    import random

    noise = random.Random(3)
    starts = [b"\0\0\0\x18ftypisom", b"\x1aE\xdf\xa3\x9fB\x86\x81\x01", b"RIFF\0\x01\0\0AVI LIST", b""]
    for number in range(40):
        path = tmp_path / f"{number}.bin"
        path.write_bytes(starts[number % 4] + noise.randbytes(noise.randrange(2000)))
        assert probe_file(path).fault, number


def test_pictures_are_known_and_which_of_them_every_browser_shows(clips: Path) -> None:
    states = dict.fromkeys(("jpg", "png", "webp", "gif"), "plays") | dict.fromkeys(("bmp", "tiff"), "no")
    for ending, state in states.items():
        facts = probe_file(clips / f"a.{ending}")
        assert (facts.kind, judge_media(facts)[0]) == ("image", state), ending


def test_image_formats_by_their_first_bytes() -> None:
    starts = {b"\xff\xd8\xff\xe0": "jpeg", b"\0\0\0 ftypavif": "avif", b"\0\0\0 ftypheic": "heic", b"": ""}
    assert starts == {start: image_format(start) for start in starts}


def test_other_pixel_formats_and_codecs() -> None:
    def state(container: str, codec: str, pixel_format: str = "yuv420p") -> str:
        return judge_media(MediaFacts("video", container, codec, pixel_format))[0]

    assert state("mp4", "av1", "yuv420p10le") == "plays"
    assert state("webm", "vp9", "yuv444p") == "some browsers"
    assert state("ogg", "theora") == "no"
    assert state("flv", "h264") == "no"


def test_without_pyav_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "v.mp4").write_bytes(b"\0\0\0\x18ftypisom")
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(FireError, match=r"pip install av"):
        probe_file(tmp_path / "v.mp4")


def test_sounds_are_items_of_their_own_kind(clips: Path) -> None:
    facts = probe_file(clips / "sound.mp4")
    assert (facts.kind, facts.container, facts.codec, facts.fault) == ("audio", "mp4", "aac", "")
    played = {"mp3": "mp3", "pcm_s16le": "wav", "flac": "flac", "aac": "mp4"}
    assert {judge_media(MediaFacts("audio", box, codec))[0] for codec, box in played.items()} == {"plays"}
    assert judge_media(MediaFacts("audio", "ogg", "vorbis"))[0] == "some browsers"
    silent = {"asf": "wmav2", "mp4": "ac3", "wav": "adpcm_ms", "avi": "pcm_s16le"}  # as Chromium 156 has it
    assert {judge_media(MediaFacts("audio", *each))[0] for each in silent.items()} == {"no"}
