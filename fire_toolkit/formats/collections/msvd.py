"""MSVD's `raw-captions.pkl`: `{video: [[word, …], …]}`, a pickle, read without running anything in it."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections.entries import Captions, as_list
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.ids import id_text


def recognise(source: Source) -> str | None:
    """Return why a file is MSVD's captions, or None."""
    found = source.pickled
    if isinstance(found, dict) and found and all(isinstance(value, list | tuple) for value in found.values()):
        return "a pickle of lists of captions under video ids"
    return None


def read(source: Source, split: str | None) -> Part:
    """Return the captions, words joined by spaces; ids are `video#n`.

    The list of the test videos, named as a second file, takes the split out of it.
    """
    path = str(source.path)
    found = source.pickled
    captions = Captions()
    for video, sentences in (found if isinstance(found, dict) else {}).items():
        for n, words in enumerate(as_list(sentences, f"{path}: {video!r}")):
            captions.add(id_text(video, path), _sentence(words, f"{path}: caption {n} of {video!r}"))
    return captions.part(path)


def _sentence(words: object, where: str) -> str:
    if isinstance(words, str | bytes):
        words = [words]
    texts = [word.decode("latin-1") if isinstance(word, bytes) else word for word in as_list(words, where)]
    if not all(isinstance(word, str) for word in texts):
        raise FormatError(f"{where}: expected a list of words")
    return " ".join(texts)
