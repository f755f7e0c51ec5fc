"""Releases as files: their tables in every form, and read back, which files of a folder hold what."""

from __future__ import annotations

import json
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.evidence.facts import words_of_machine
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.written import delimited_bytes, trec_qrels_text
from fire_toolkit.tables import Qrels
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.workspace.manifests import MANIFEST, checked, manifest_at, writer_of

STAGE = "release"
# What a release written here is as a collection: BEIR's files.
_COLLECTION = ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv")
_SAMPLED = "qrels.sampled.txt"  # five columns, which readers of TREC's four refuse
_QRELS = (_SAMPLED, "qrels.txt", "qrels/test.tsv", "qrels.json")
_ORIGINAL, ORIGINAL = "qrels.original.txt", "original qrels"

_MOST_TIMES = 100  # of its own size: what a zip may unpack to; tables of ids and labels shrink by 5 to 30
_ALWAYS_BYTES = 64_000_000


def is_release(folder: Path) -> bool:
    """Whether a folder is a release that `fire-toolkit release` wrote."""
    return (folder / "qrels").is_dir() and manifest_at(folder / MANIFEST).stage == STAGE


def collection_files(folder: Path) -> list[Path]:
    """Return the files of a release that make a collection."""
    return [folder / name for name in _COLLECTION]


def machine_labels_in(file: Path) -> list[str]:
    """Return what no person labelled of a file of qrels, in words, by its manifest or that of its release."""
    writer = writer_of(file)
    return words_of_machine({**writer.parameters, **writer.counts})


def said_at(folder: Path, name: str) -> str:
    """Return what the manifest of a release says, as its `version` or `own_item`; empty where none does."""
    return str(manifest_at(folder / MANIFEST).parameters.get(name, ""))


def qrels_file(folder: Path) -> Path:
    """Return the file of a release, or of a folder of BEIR's, that holds the qrels.

    Raises:
        FormatError: the folder has none where these have them.
    """
    found = next((folder / name for name in _QRELS if (folder / name).is_file()), None)
    if found is None:
        raise FormatError(f"{folder}: a folder without {', '.join(_QRELS)}; expected a release, or a file")
    return found


def kind_of_qrels(file: Path) -> str:
    """Return what qrels are, by the manifest beside them: original, or corrected, and by which release."""
    writer = writer_of(file)
    if writer.stage == STAGE and file.name != _ORIGINAL:
        folder = file.absolute().parent
        name = (folder.parent if folder.name == "qrels" else folder).name
        about = writer.parameters
        return f"corrected qrels of {about.get('name', name)} {about.get('version', '')}"
    return "corrected qrels" if writer.stage == "augment" else ORIGINAL


def read_original_qrels(file: Path) -> Qrels:
    """Return qrels; raise `UsageError` for corrected ones, by a manifest: a release's, or `augment`'s."""
    from fire_toolkit.formats.collections.qrels import read_qrels  # which reads releases by this module

    writer = writer_of(file)
    if writer.stage == STAGE and file.name != _ORIGINAL:
        at = next(folder for folder in file.parents if is_release(folder)) / _ORIGINAL
        raise UsageError(f"{file}: the corrected qrels of a release, expected the original ones: {at}")
    if writer.stage == "augment":
        raise UsageError(
            f"{file}: corrected qrels, which `fire-toolkit augment` wrote; expected the original ones, from "
            f"which it made them ({', '.join(writer.inputs)})"
        )
    return read_qrels(file)


def judged_file(path: Path) -> Path:
    """Return the file of judged pairs: the judgments of a release, or the path itself where it is a file."""
    if not path.is_dir():
        return path
    own = path / "judgments.csv"
    return own if own.is_file() else qrels_file(path)


def scores_of_release(folder: Path) -> pd.DataFrame | None:
    """Return the scores of a release; None where it has none."""
    path = folder / "leaderboard.csv"
    return scores_in(checked(path)) if path.is_file() else None


def tables_of_release(folder: Path) -> dict[str, Any]:
    """Return what is compared of a release, as `release.changes` takes it."""
    from fire_toolkit.formats.collections.qrels import read_qrels  # which reads releases by this module

    tables = {
        name: read_delimited(checked(path), required=columns)
        for name, columns in (("labels", [*PAIR, "label"]), ("disputes", PAIR), ("runs", ["file", "sha256"]))
        if (path := folder / f"{name}.csv").is_file()
    }
    return tables | {"qrels": read_qrels(checked(qrels_file(folder))), "scores": scores_of_release(folder)}


def scores_in(path: Path) -> pd.DataFrame:
    """Return scores in their long form as `score` writes them; value: nan where there is none."""
    table = read_delimited(path, required=["run_id", "qrels", "query_id", "measure", "value"])
    return table.assign(value=pd.to_numeric(table["value"], errors="coerce"))


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Give the folder of a zipped release, which is unpacked until the end of the block.

    Raises:
        FormatError: no zip, a damaged or encrypted one, one that unpacks to more than a release could, or no
            release in it.
    """
    with tempfile.TemporaryDirectory() as place:
        try:
            with zipfile.ZipFile(path) as archive:
                n_bytes, size = sum(each.file_size for each in archive.infolist()), path.stat().st_size
                if n_bytes > max(_MOST_TIMES * size, _ALWAYS_BYTES):  # as no tables do
                    raise FormatError(
                        f"{path}: a zip of {size / 1e6:,.1f} MB that unpacks to {n_bytes / 1e6:,.0f} MB, "
                        f"expected at most {_MOST_TIMES} times its size; if you trust it, unpack it and name "
                        "the folder"
                    )
                archive.extractall(place)  # which ends where a file is longer than the archive says
        except (zipfile.BadZipFile, OSError, ValueError, RuntimeError, EOFError, zlib.error) as error:
            raise FormatError(f"{path}: {error}; expected a release, as a folder or a zip") from None
        found = [file.parent for file in sorted(Path(place).rglob(MANIFEST)) if is_release(file.parent)]
        if not found:
            raise FormatError(f"{path}: no release of `fire-toolkit release` in this zip")
        yield found[0]


def release_files(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file of a release by its path in it; hidden files are left out.

    Raises:
        FormatError: no such folder, or nothing in it.
    """
    if not folder.is_dir():
        raise FormatError(f"{folder}: no such folder; expected a release")
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    found = {name: path.read_bytes() for name, path in names.items() if "/." not in f"/{name}"}
    if not found:
        raise FormatError(f"{folder}: an empty folder; expected a release")
    return found


# Which have files of their own, or are too long for people.
_NO_CSV = {"corpus", "queries", "qrels", "original", "ranks"}


def text_files(tables: Mapping[str, pd.DataFrame], original: Qrels, corrected: Qrels) -> dict[str, bytes]:
    """Return the same tables as text, and the qrels in every form; original, corrected: as TREC has them."""
    found = {
        # As readers of judgments have a missing number.
        f"{name}.csv": delimited_bytes(table, nan="" if name == "judgments" else "nan")
        for name, table in tables.items()
        if name not in _NO_CSV
    }
    for name in ("corpus", "queries"):
        rows = tables[name].fillna("").astype("str").to_dict("records")
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        found[f"{name}.jsonl"] = "".join(lines).encode()
    found["qrels/test.tsv"] = delimited_bytes(tables["qrels"], delimiter="\t")
    by_query: dict[str, dict[str, int]] = {}
    for query, doc, grade in tables["qrels"][["query-id", "corpus-id", "score"]].itertuples(index=False):
        by_query.setdefault(query, {})[doc] = int(grade)
    texts = {_SAMPLED: trec_qrels_text(corrected)} if "stratum" in corrected else {}
    for name, qrels in (("qrels.txt", corrected), (_ORIGINAL, original)):
        texts[name] = trec_qrels_text(Qrels(qrels.drop(columns="stratum", errors="ignore")))
    texts["qrels.json"] = json.dumps(by_query, ensure_ascii=False) + "\n"
    return found | {name: text.encode() for name, text in texts.items()}
