"""What is wrong with a release, anybody's: its files as a loader, a reviewer and an annotator see them."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from typing import Any

from fire_toolkit.release.layout import CROISSANT
from fire_toolkit.release.people import Finding, find_private

Files = Mapping[str, bytes]

# What a release has, under any of these names.
_EXPECTED = {
    "README.md": ("README.md",),
    "LICENSE": ("LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE"),
    "CITATION.cff": ("CITATION.cff",),
    "croissant.json": ("croissant.json", "croissant.jsonld", "metadata.json"),
    "a datasheet": ("DATASHEET.md", "datasheet.md"),
}
_OPEN = re.compile(r"\b(?:TODO|FIXME|TBD|XXX|lorem ipsum|placeholder)\b", re.IGNORECASE)
_MOMENT = re.compile(r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}")
_TEXTS = (
    ".md",
    ".json",
    ".jsonld",
    ".jsonl",
    ".csv",
    ".tsv",
    ".txt",
    ".cff",
    ".toml",
    ".py",
    ".xml",
    "LICENSE",
)
_DOCUMENTS = (".md", ".cff", "LICENSE", "croissant.json", ".toml")
_NEEDED_KEYS = ("@context", "conformsTo", "name", "description", "license", "url", "creator", "datePublished")
_DATE = re.compile(r"\d{4}-(0[1-9]|1[012])-(0[1-9]|[12]\d|3[01])")
_CONFIGS = ("corpus", "queries", "qrels")


def check_release(files: Files) -> list[Finding]:
    """Return what is wrong with a release, by file; empty where nothing is.

    Files that must be there; the card's configs and their files; Croissant's fields, those on responsible AI
    among them, and its hashes; the citation; the qrels in all their forms; ids that no table has; e-mails,
    tokens, absolute paths and times of day; words left open; hashes that differ from the manifest.

    Args:
        files: path in the release → bytes, of every file.

    Examples:
        >>> [str(found) for found in check_release({"qrels.txt": b"q 0 d 1\\n"})][:2]
        ['CITATION.cff: missing', 'LICENSE: missing']
    """
    texts = {name: _decoded(raw) for name, raw in files.items() if name.endswith(_TEXTS)}
    found = [Finding(name, 0, "missing") for name, known in _EXPECTED.items() if not set(known) & set(files)]
    if not any("qrels" in name or name.startswith("default/") for name in files):
        found.append(Finding("qrels", 0, "missing"))
    for checks in (_card, _croissant, _citation, _qrels, _privacy, _left_open):
        found += checks(files, texts)
    found += _manifest(files)
    return sorted(set(found))


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")


def _card(files: Files, texts: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what is wrong with the header of README.md, which loaders read."""
    text = texts.get("README.md")
    if text is None:
        return
    parts = text.split("---\n", 2)
    header = _yaml(parts[1]) if text.startswith("---\n") and len(parts) == 3 else None
    if not isinstance(header, dict):
        yield Finding(
            "README.md", 1, "no YAML header between lines of ---, which names configs and the licence"
        )
        return
    if not header.get("license"):
        yield Finding("README.md", 1, "the header names no license")
    configs = header.get("configs")
    configs = [each for each in configs if isinstance(each, dict)] if isinstance(configs, list) else []
    names = {str(config.get("config_name")) for config in configs}
    for name in _CONFIGS:
        if name not in names and not (name == "qrels" and "default" in names):
            yield Finding("README.md", 1, f"no config {name}, which loaders of retrieval benchmarks ask for")
    for config in configs:
        for path in _data_files(config.get("data_files")):
            if not any(fnmatch(name, path) for name in files):
                yield Finding("README.md", 1, f"config {config.get('config_name')}: no file {path}")


def _yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _data_files(value: Any) -> Iterator[str]:
    """Yield the paths that a config names: a text, a list, or splits with a path each."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _data_files(each)
    elif isinstance(value, dict):
        yield from _data_files(value.get("path"))


def _croissant(files: Files, texts: Mapping[str, str]) -> Iterator[Finding]:
    name = next((each for each in _EXPECTED["croissant.json"] if each in texts), None)
    if name is None:
        return
    try:
        found = json.loads(texts[name])
    except (ValueError, RecursionError) as error:
        yield Finding(name, 0, f"not JSON: {error}")
        return
    if not isinstance(found, dict):
        yield Finding(name, 0, "not a JSON object")
        return
    yield from (Finding(name, 0, f"no {key}") for key in _NEEDED_KEYS if not found.get(key))
    for key in CROISSANT["looked_for"]:
        if found.get(key) in (None, "", [], {}):
            yield Finding(name, 0, f"no {key}, which checkers of submissions look for")
    if not isinstance(found.get("rai:hasSyntheticData"), bool | None):
        yield Finding(name, 0, "rai:hasSyntheticData is neither true nor false")
    for wrong, right in CROISSANT["misnamed"].items():
        if wrong in found:
            yield Finding(name, 0, f"{wrong} is not read by anybody; it is called {right}")
    context = found.get("@context")
    absent = CROISSANT["context"].keys() - context.keys() if isinstance(context, dict) else set()
    if absent:
        yield Finding(name, 0, f"@context lacks {', '.join(sorted(absent))}")
    yield from _distribution(name, found, files)


def _distribution(name: str, found: Mapping[str, Any], files: Files) -> Iterator[Finding]:
    """Yield what is wrong with the files that the metadata name, where they lie in the release."""
    entries = found.get("distribution")
    for entry in entries if isinstance(entries, list) else []:
        address = entry.get("contentUrl") if isinstance(entry, dict) else None
        if not isinstance(address, str):
            continue
        path = (
            address
            if "://" not in address
            else next((each for each in files if address.endswith("/" + each)), "")
        )
        if "://" not in address and path not in files:
            yield Finding(name, 0, f"contentUrl {address}: no such file")
        elif path and entry.get("sha256") != _hash(files[path]):
            yield Finding(name, 0, f"contentUrl {address}: its sha256 is not that of the file")


def _hash(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _citation(files: Files, texts: Mapping[str, str]) -> Iterator[Finding]:
    text = texts.get("CITATION.cff")
    if text is None:
        return
    found = _yaml(text)
    if not isinstance(found, dict):
        yield Finding("CITATION.cff", 0, "not YAML with keys")
        return
    for key in ("cff-version", "message", "title", "authors"):
        if not found.get(key):
            yield Finding("CITATION.cff", 0, f"no {key}")
    date = found.get("date-released")
    if date is not None and not _DATE.fullmatch(str(date)):
        yield Finding("CITATION.cff", 0, f"date-released is {str(date)[:40]!r}, expected YYYY-MM-DD")


def _qrels(files: Files, texts: Mapping[str, str]) -> Iterator[Finding]:
    """Yield where the qrels cannot be read, differ from form to form, or have ids that no table has."""
    read = {"qrels.txt": _trec, "qrels/test.tsv": _beir, "qrels.json": _by_query}
    known: dict[str, dict[tuple[str, str], int]] = {}
    for name, reader in read.items():
        if name in texts:
            try:
                known[name] = reader(texts[name])
            except (ValueError, IndexError, AttributeError, RecursionError):
                yield Finding(name, 0, "not qrels in the form that its name says")
    first = next(iter(known), None)
    for name, pairs in known.items():
        if first and pairs != known[first]:
            yield Finding(name, 0, f"not the same pairs as {first}")
    for place, name in ((0, "queries.jsonl"), (1, "corpus.jsonl")):
        if first and name in texts:
            absent = {pair[place] for pair in known[first]} - _ids(texts[name])
            if absent:
                yield Finding(name, 0, f"lacks {len(absent):,} ids of {first}, such as {min(absent)}")


def _trec(text: str) -> dict[tuple[str, str], int]:
    rows = [line.split() for line in text.splitlines() if line.strip()]
    if any(len(row) not in (4, 5) for row in rows):
        raise ValueError
    return {(row[0], row[2]): int(row[-1]) for row in rows}


def _beir(text: str) -> dict[tuple[str, str], int]:
    header, *rows = csv.reader(text.splitlines(), delimiter="\t")
    if header != ["query-id", "corpus-id", "score"]:
        raise ValueError
    return {(query, doc): int(score) for query, doc, score in rows}


def _by_query(text: str) -> dict[tuple[str, str], int]:
    return {
        (query, doc): int(grade) for query, docs in json.loads(text).items() for doc, grade in docs.items()
    }


def _ids(text: str) -> set[str]:
    try:
        return {str(json.loads(line)["_id"]) for line in text.splitlines() if line.strip()}
    except (ValueError, KeyError, TypeError, RecursionError):
        return set()


def _privacy(files: Files, texts: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what says more of people than it must; documents may have the creators' own e-mail."""
    for found in find_private(texts):
        if found.what != "an e-mail address" or not found.file.endswith(_DOCUMENTS):
            yield found
    for name, text in texts.items():
        if name.endswith(("judgments.csv", "judgments.tsv")):
            n = sum(1 for line in text.splitlines() if _MOMENT.search(line))
            if n:
                yield Finding(name, 0, f"{n:,} rows with a time of day; a date is enough")


def _left_open(files: Files, texts: Mapping[str, str]) -> Iterator[Finding]:
    for name, text in texts.items():
        if name.endswith(_DOCUMENTS):
            for number, line in enumerate(text.splitlines(), start=1):
                if match := _OPEN.search(line):
                    yield Finding(name, number, f"{match[0]}: left open")


def _manifest(files: Files) -> Iterator[Finding]:
    """Yield the files that are not what manifest.json says was written."""
    try:
        outputs = json.loads(files["manifest.json"])["outputs"]
        items = list(outputs.items())
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        return
    for name, sha256 in items:
        if name not in files:
            yield Finding(name, 0, "is gone; manifest.json names it")
        elif _hash(files[name]) != sha256:
            yield Finding(name, 0, "changed since it was written; manifest.json has another hash")
