"""Small media files of many kinds, made once for all tests of this folder."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))  # media_files, for the tests of this folder

from media_files import VIDEOS, encode, encode_sound


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of videos, of damaged files, and of pictures."""
    from PIL import Image

    av = pytest.importorskip("av")
    folder = tmp_path_factory.mktemp("clips")
    for name, (codec, pixel_format) in VIDEOS.items():
        if codec in av.codecs_available:
            encode(folder / name, codec, pixel_format)
    encode(folder / "fast.mp4", "libx264", container_options={"movflags": "faststart"})
    for name in ("fast.mp4", "h264.mp4", "vp9.webm"):
        whole = (folder / name).read_bytes()
        (folder / f"cut-{name}").write_bytes(whole[: len(whole) * 6 // 10])
    (folder / "unknown.webm").write_bytes((folder / "vp8.webm").read_bytes().replace(b"V_VP8", b"V_XX8"))
    encode_sound(folder / "sound.mp4")
    (folder / "empty.mp4").write_bytes(b"")
    (folder / "text.mp4").write_text("this is no video\n" * 50)
    (folder / "list.mp4").write_text("#EXTM3U\n#EXTINF:2,\nh264.mp4\n#EXT-X-ENDLIST\n")
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 255, (40, 50, 3), dtype=np.uint8))
    for name in ("a.jpg", "a.png", "a.webp", "a.gif", "a.bmp", "a.tiff"):
        picture.save(folder / name)
    (folder / "cut.png").write_bytes((folder / "a.png").read_bytes()[:300])
    return folder
