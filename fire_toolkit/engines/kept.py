"""Shards: one part of a command's work, written into a folder with a record, and all of them read back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fire_toolkit.engines.engine import AnyPart
from fire_toolkit.errors import FireError, FormatError, StaleError
from fire_toolkit.files import read_bytes, read_text
from fire_toolkit.syntax import parse_json
from fire_toolkit.workspace.manifests import finish_interrupted, write_files

_RECORD = ".done.json"
MOST_SHARDS = 100_000


@dataclass(frozen=True)
class Key:
    """What a shard was made by: the toolkit's version, the command's words, the sha256 of its inputs."""

    version: str
    command: tuple[str, ...]
    inputs: Mapping[str, str]

    def refuse_other(self, folder: Path, found: Key) -> None:
        """Raise StaleError where a shard was made by something else."""
        if found.version != self.version:
            raise StaleError(
                f"{folder}: shards of fire-toolkit {found.version}, this is {self.version}; run them again"
            )
        if found.command != self.command:
            words, own = (" ".join(each.command) for each in (found, self))
            raise StaleError(f"{folder}: shards of `{words}`, not of `{own}`; give each a folder of its own")
        names = {*self.inputs, *found.inputs}
        odd = next((n for n in sorted(names) if self.inputs.get(n) != found.inputs.get(n)), None)
        if odd is not None:
            raise StaleError(
                f"{odd}: not the file that the shards in {folder} were made from; run the shards again"
            )


@dataclass(frozen=True)
class Record:
    """A shard that is done: its number from 1, of how many, its key, and its bytes by size and sha256."""

    number: int
    n_shards: int
    key: Key
    size: int
    sha256: str

    def is_whole(self, path: Path) -> bool:
        """Return whether a file has the recorded bytes."""
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        return hashlib.sha256(path.read_bytes()).hexdigest() == self.sha256

    def text(self) -> str:
        """Return it as JSON."""
        about = {"version": self.key.version, "command": list(self.key.command)}
        own = {"shard": self.number, "of": self.n_shards, "size": self.size, "sha256": self.sha256}
        inputs = dict(sorted(self.key.inputs.items()))
        return json.dumps(own | about | {"inputs": inputs}, indent=1, ensure_ascii=False) + "\n"


def read_record(path: Path) -> Record:
    """Return a record.

    Raises:
        FormatError: it is not there, or is not one.
    """
    found: Any = parse_json(read_text(path), str(path))
    try:
        numbers = [found[name] for name in ("shard", "of", "size")]
        texts = [*found["command"], *found["inputs"], *found["inputs"].values()]
        texts += [found[name] for name in ("version", "sha256")]
        if not all(type(n) is int for n in numbers) or not all(isinstance(text, str) for text in texts):
            raise ValueError("a value of another kind")
        number, n_shards, size = numbers
        if not 1 <= number <= n_shards <= MOST_SHARDS:
            raise ValueError(f"shard {number} of {n_shards}")
        key = Key(found["version"], tuple(found["command"]), dict(found["inputs"]))
        return Record(number, n_shards, key, size, found["sha256"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(
            f"{path}: not a record of a shard ({error}); delete it and run the shard again"
        ) from None


def shard_path(folder: Path, number: int, n_shards: int) -> Path:
    """Return where a shard lies."""
    return folder / f"{number}-of-{n_shards}.npz"


def _record_of(path: Path) -> Path:
    return path.with_name(path.name + _RECORD)


@dataclass(frozen=True)
class OneShard:
    """Does one of `n_shards` parts, and writes it unless it is there.

    key: called when the inputs are known. end: called with the file and whether it was there already; it
    does not return.
    """

    folder: Path
    number: int
    n_shards: int
    key: Callable[[], Key]
    end: Callable[[Path, bool], None]
    takes_whole: bool = True

    def ranges(self, n_units: int) -> int:
        """Return the number of shards."""
        return self.n_shards

    def map(self, function: Callable[[AnyPart], bytes], parts: Sequence[AnyPart]) -> list[bytes]:
        """Write the part's result and its record, and end.

        Raises:
            FireError: the shard cannot be written.
        """
        path, key = shard_path(self.folder, self.number, self.n_shards), self.key()
        is_there = self._is_done(path, key)
        if not is_there:
            content = function(parts[self.number - 1])
            sha256 = hashlib.sha256(content).hexdigest()
            record = Record(self.number, self.n_shards, key, len(content), sha256)
            write_files({path: content, _record_of(path): record.text().encode()})
        self.end(path, is_there)
        raise AssertionError("a shard ends its command")

    def _is_done(self, path: Path, key: Key) -> bool:
        at = _record_of(path)
        if self.folder.is_dir():
            finish_interrupted(self.folder)
        try:
            record = read_record(at) if at.is_file() else None
        except FormatError:
            return False  # damaged, and written anew
        return record is not None and record.key == key and record.is_whole(path)


@dataclass(frozen=True)
class Gathered:
    """Reads all shards in the place of doing their work.

    command: by the records; n_shards: how many there are. key: as the command that gathers finds it.
    """

    folder: Path
    command: tuple[str, ...]
    n_shards: int
    records: Mapping[int, Record]
    key: Callable[[], Key] | None = None
    takes_whole: bool = True

    def ranges(self, n_units: int) -> int:
        """Return the number of shards."""
        return self.n_shards

    def map(self, function: Callable[[AnyPart], bytes], parts: Sequence[AnyPart]) -> list[bytes]:
        """Return the shards' results.

        Raises:
            StaleError: a shard is of other inputs, another version or another command, or damaged.
        """
        contents = []
        for number, record in sorted(self.records.items()):
            if self.key is not None:
                self.key().refuse_other(self.folder, record.key)
            contents.append(read_bytes(shard_path(self.folder, number, self.n_shards)))
        return contents


def open_shards(folder: Path) -> Gathered:
    """Return the shards in a folder, all of which must be there, of one command and undamaged.

    Raises:
        FireError: there is none, or of several commands or numbers; some are missing or damaged.
    """
    if not folder.is_dir():
        raise FormatError(f"{folder}: no such folder of shards; give the one that --shards named")
    finish_interrupted(folder)
    records = [read_record(path) for path in sorted(folder.glob(f"*.npz{_RECORD}"))]
    if not records:
        raise FormatError(f"{folder}: holds no shard; run the command with --shard 1/N --shards {folder}")
    kinds = sorted({record.n_shards for record in records})
    if len(kinds) > 1:
        raise FireError(f"{folder}: shards of {' and of '.join(map(str, kinds))}; delete those of one number")
    n_shards, first = kinds[0], records[0]
    for record in records:
        first.key.refuse_other(folder, record.key)
    by_number = {record.number: record for record in records}
    missing = [number for number in range(1, n_shards + 1) if number not in by_number]
    damaged = [
        number
        for number, record in sorted(by_number.items())
        if not record.is_whole(shard_path(folder, number, n_shards))
    ]
    if missing or damaged:
        counts = {"missing": missing, "damaged": damaged}
        words = " and ".join(f"{_some(found)} {kind}" for kind, found in counts.items() if found)
        again = (missing + damaged)[0]
        raise FireError(
            f"{folder}: of {n_shards} shards {words}; run again, such as: fire-toolkit "
            f"{' '.join(first.key.command)} --shard {again}/{n_shards} --shards {folder}"
        )
    return Gathered(folder, first.key.command, n_shards, by_number)


def _some(numbers: list[int]) -> str:
    more = f" and {len(numbers) - 10:,} more" if len(numbers) > 10 else ""
    return f"{', '.join(map(str, numbers[:10]))}{more} {'is' if len(numbers) == 1 else 'are'}"
