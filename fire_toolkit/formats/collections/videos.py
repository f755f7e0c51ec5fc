"""Benchmarks of captioned videos."""

from __future__ import annotations

import re

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections.entries import ALL, Captions, Entry, as_list, chosen_split, entries_of
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.formats.ids import id_text
from fire_toolkit.formats.tables.delimited import read_delimited

JSFUSION = ("key", "vid_key", "video_id", "sentence")
_OF_VIDEOS = {
    "category": "category",
    "url": "source_url",
    "start time": "source_start_s",
    "end time": "source_end_s",
}
_LSMDC_FIELDS = 6
_TIME = re.compile(r"\s*\d[\d.:]*\s*|")


def read_jsfusion(source: Source, split: str | None) -> Part:
    """Return MSR-VTT's JSFUSION test list, one caption a video: `key,vid_key,video_id,sentence`.

    The query's id is `key` (ret0), the item's `video_id`.
    """
    rows = read_delimited(source.path, required=JSFUSION)
    captions = Captions()
    for key, _, video, sentence in rows[list(JSFUSION)].itertuples(index=False):
        captions.add(video, sentence, query_id=key)
    return captions.part(str(source.path))


def read_msrvtt(source: Source, split: str | None) -> Part:
    """Return the captions of one split of `MSRVTT_data.json`; ids are `sen_id` and `video_id`.

    Items keep category, and where the clip was cut from (source_url, source_start_s, source_end_s).
    """
    whole = Entry(source.json, str(source.path))
    videos = whole.entries("videos")
    splits = {video.id("video_id"): video.split for video in videos}
    chosen, notes = chosen_split(splits.values(), split, whole.where)
    captions = Captions()
    for sentence in whole.entries("sentences"):
        doc_id = sentence.id("video_id")
        if chosen == ALL or splits.get(doc_id) == chosen:
            captions.add(doc_id, sentence.text("caption"), query_id=sentence.id("sen_id"))
    items = [
        {"doc_id": video.id("video_id")}
        | {name: str(video.value(key, "")) for key, name in _OF_VIDEOS.items()}
        for video in videos
        if chosen in (ALL, video.split)
    ]
    return captions.part(whole.where, items=items, notes=notes)


def recognise_msvd(source: Source) -> str | None:
    """Return why a file is MSVD's captions, or None."""
    found = source.pickled
    if isinstance(found, dict) and found and all(isinstance(value, list | tuple) for value in found.values()):
        return "a pickle of lists of captions under video ids"
    return None


def read_msvd(source: Source, split: str | None) -> Part:
    """Return the captions of MSVD's `raw-captions.pkl`: `{video: [[word, …], …]}`, words joined by spaces.

    Nothing in the pickle is run. Ids are `video#n`. The list of test videos, given as a second file, selects
    the split.
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


def recognise_activitynet(source: Source) -> str | None:
    """Return why a file is ActivityNet's, or None."""
    found = source.json
    first = next(iter(found.values()), None) if isinstance(found, dict) else None
    if isinstance(first, dict) and {"sentences", "timestamps"} <= set(first):
        return "JSON objects with sentences and timestamps under video ids"
    return None


def read_activitynet(source: Source, split: str | None) -> Part:
    """Return one paragraph a video of ActivityNet Captions: `{video: {duration, timestamps, sentences}}`.

    Both ids are the video's; items keep duration_s.
    """
    captions, items = Captions(), []
    for video, value in source.json.items():
        entry = Entry.of(value, f"{source.path}: {video!r}")
        id_text(video, entry.where)
        text = " ".join(sentence.strip() for sentence in entry.texts("sentences"))
        captions.add(video, text, query_id=video)
        items.append({"doc_id": video, "duration_s": str(entry.value("duration", ""))})
    return captions.part(str(source.path), items=items)


def read_vatex(source: Source, split: str | None) -> Part:
    """Return VATEX's English captions: `[{videoID, enCap[10], chCap[10]}]`.

    Ids are `videoID`, and `videoID#n`.
    """
    captions, n_chinese = Captions(), 0
    for entry in entries_of(source):
        captions.add_all(entry.id("videoID"), entry.texts("enCap"))
        n_chinese += len(entry.texts("chCap", []))
    notes = [f"{n_chinese:,} Chinese captions left out"] if n_chinese else []
    return captions.part(str(source.path), notes=notes)


def read_didemo(source: Source, split: str | None) -> Part:
    """Return one paragraph a video of DiDeMo: `[{video, description, times}]`.

    Descriptions stand in the order of the file; both ids are the video's.
    """
    sentences: dict[str, list[str]] = {}
    for entry in entries_of(source):
        sentences.setdefault(entry.id("video"), []).append(entry.text("description").strip())
    captions = Captions()
    for video, texts in sentences.items():
        captions.add(video, " ".join(texts), query_id=video)
    return captions.part(str(source.path))


def recognise_lsmdc(source: Source) -> str | None:
    """Return why a file is LSMDC's, or None."""
    fields = source.lines[0].split("\t") if source.lines else []
    if len(fields) == _LSMDC_FIELDS and all(_TIME.fullmatch(field) for field in fields[1:5]):
        return "six fields a line: a clip, four times, a sentence"
    return None


def read_lsmdc(source: Source, split: str | None) -> Part:
    """Return LSMDC's captions, six fields a line without a header: clip, four times, sentence.

    Ids are the clip, and `clip#n`.
    """
    captions = Captions()
    for number, line in source.numbered_lines:
        fields = line.split("\t")
        if len(fields) != _LSMDC_FIELDS:
            found = f"{source.path}:{number}: {len(fields)} fields"
            raise FormatError(f"{found}, expected {_LSMDC_FIELDS} (clip, times, text)")
        captions.add(fields[0].strip(), fields[5])
    return captions.part(str(source.path))
