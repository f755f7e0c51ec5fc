"""Sounds in a real browser: they play on our own page, on the page from a file, and in the gallery."""

import io
import math
import struct
import wave
from pathlib import Path

import pytest
from live_browser import Browser, open_browser
from page_site import run, serving
from test_live_page import begin, is_ready, press

PLAYER = """
let player = document.getElementById('video'), box = player.getBoundingClientRect();
let isLarge = box.width > 200 && box.height > 30;
let isOn = !player.muted && document.getElementById('sound').getAttribute('aria-pressed') === 'true';
return [player.controls, isOn, player.error === null, player.duration, isLarge];
"""
LARGE = """
let player = document.querySelector('#stage audio'), box = player.getBoundingClientRect();
return [player.controls, player.muted, player.readyState > 2, box.width > 200, box.height > 30];
"""
SIGN = """
let sign = document.querySelector('.screen .sound'), box = sign.getBoundingClientRect();
let style = getComputedStyle(sign), screen = sign.parentNode.getBoundingClientRect();
return [style.color, parseFloat(style.fontSize) >= 32,
        Math.abs(box.top + box.height / 2 - screen.top - screen.height / 2) < 2];
"""


def tone(hertz: int, seconds: int = 3, rate: int = 8_000) -> bytes:
    """Return a tone as WAV."""
    held = io.BytesIO()
    with wave.open(held, "wb") as sound:
        sound.setparams((1, 2, rate, 0, "NONE", ""))
        values = (round(9_000 * math.sin(2 * math.pi * hertz * n / rate)) for n in range(rate * seconds))
        sound.writeframes(b"".join(struct.pack("<h", value) for value in values))
    return held.getvalue()


@pytest.fixture
def sounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of AudioCaps' layout with two sounds and the tasks for them."""
    root = tmp_path / "study"
    root.mkdir()
    monkeypatch.chdir(root)
    run("init", ".", "--guideline", "caption-sound-relevance-v1")
    (root / "media").mkdir()
    for n, hertz in enumerate((440, 880)):
        (root / f"media/s{n}.wav").write_bytes(tone(hertz))
    rows = "".join(f"{n},s{n},0,a tone of {hertz} hertz\n" for n, hertz in enumerate((440, 880)))
    (root / "captions.csv").write_text("audiocap_id,youtube_id,start_time,caption\n" + rows)
    (root / "media.csv").write_text("doc_id,media_url\ns0,media/s0.wav\ns1,media/s1.wav\n")
    run("add-collection", "captions.csv", "media.csv")
    scores = "".join(f"{q},s{d},{0.9 - 0.5 * (q != d)}\n" for q in (0, 1) for d in (0, 1))
    (root / "runs/model.csv").write_text("query_id,doc_id,score\n" + scores)
    run("pool")
    run("tasks")
    return root


def has_player(browser: Browser, picture: Path) -> None:
    has_controls, is_on, is_sound, seconds, is_large = browser.run(PLAYER)
    assert (has_controls, is_on, is_sound, is_large) == (True, True, True, True)
    assert seconds == pytest.approx(3, abs=0.1)
    browser.screenshot(picture)


def test_a_sound_has_its_player_on_page_and_in_file(sounds: Path, artefacts: Path, tmp_path: Path) -> None:
    run("push", "--carrier", "page", "--annotator", "A01")
    run("page", "write")
    with serving(sounds) as served, open_browser(tmp_path) as browser:
        begin(browser, served.links["A01"])
        has_player(browser, artefacts / "sound-page.png")
        press(browser, "1", is_ready(browser))
        begin(browser, (sounds / "pages/A01/judge.html").as_uri())
        has_player(browser, artefacts / "sound-file-page.png")


def test_the_gallery_has_a_sign_and_player_of_a_sound(sounds: Path, artefacts: Path, tmp_path: Path) -> None:
    votes = "query_id,doc_id,annotator_id,label\n0,s0,ann,relevant\n"
    (sounds / "judgments").mkdir(exist_ok=True)
    (sounds / "judgments/judgments.csv").write_text(votes)
    run("resolve")
    run("gallery")
    with open_browser(tmp_path) as browser:
        browser.resize(1400, 900)
        browser.open((sounds / "gallery/index.html").as_uri())
        browser.wait_for_element(".screen .sound")
        assert browser.run(SIGN) == ["rgb(255, 255, 255)", True, True]
        browser.screenshot(artefacts / "sound-gallery.png")
        browser.click(".screen")
        browser.wait_for("the sound", lambda: browser.run(LARGE)[2])
        assert browser.run(LARGE) == [True, False, True, True, True]
        browser.screenshot(artefacts / "sound-gallery-large.png")
