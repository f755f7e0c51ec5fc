"""A file of no known format is refused with what it seems to be, and what was expected."""

from pathlib import Path

import pytest

from examples import cases
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections import read_collection
from fire_toolkit.formats.runs.readers import recognise

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
PAGE = b"<!DOCTYPE html>\n<html><body>404: Not Found</body></html>"
HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(32)
UTF16 = "query_id,doc_id,score\n".encode("utf-16")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (POINTER, "a pointer of Git LFS, not the file itself; fetch it with git lfs pull"),
        (PAGE, "a web page, not the file itself; download it again"),
        (UTF16, "text in UTF-16; save it as UTF-8"),
        (
            HDF5,
            "an HDF5 file, which is not read; save what it holds as .npy: "
            "numpy.save('sims.npy', h5py.File('sims.h5')['sims'])",
        ),
    ],
)
def test_what_is_not_the_file_is_told_by_both_commands(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(content)
    for reading in (lambda: recognise(tmp_path / "f"), lambda: read_collection([tmp_path / "f"])):
        with pytest.raises(FormatError) as caught:
            reading()
        assert str(caught.value) == f"{tmp_path / 'f'}: {said}"


@cases("line", "said")
def test_a_first_line_tells_what_was_expected(line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(line)
    with pytest.raises(FormatError) as caught:
        recognise(tmp_path / "f")
    assert said in str(caught.value)
