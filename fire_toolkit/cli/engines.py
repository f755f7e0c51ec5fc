"""--engine, --shard and what belongs to them: where the parts of a command's work are done."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fire_toolkit import __version__
from fire_toolkit.cli.common import WORDS, say, together
from fire_toolkit.errors import UsageError

if TYPE_CHECKING:
    from fire_toolkit.engines.engine import Engine
    from fire_toolkit.engines.kept import Gathered, Key

ENGINES = ("local", "dask")
GATHERED = f"{__name__}.gathered"
_OF_SHARDS = ("--shard", "--shards")


engine_options = together(
    click.option("--engine", type=click.Choice(ENGINES), help="Read runs in parts, by processes of this "
                 "machine or by a Dask cluster; see docs/scale.md. [default: one process]"),
    click.option("--workers", type=click.IntRange(min=1), metavar="N", help="For --engine local: "
                 "how many processes. [default: one for each core]"),
    click.option("--scheduler", metavar="ADDRESS", help="For --engine dask: tls://HOST:PORT, or tcp:// "
                 "on this machine."),
)  # fmt: skip
shard_options = together(
    engine_options,
    click.option("--shard", metavar="I/N", help="Do part I of N alone and write it to --shards, "
                 "unless it is there; `gather` then writes what the whole command writes."),
    click.option("--shards", metavar="DIR", help="The folder of the shards."),
)  # fmt: skip


def engine_of(values: Mapping[str, Any], inputs: Callable[[], Mapping[str, str]]) -> Engine | None:
    """Return what was chosen; None for this process alone.

    inputs: called when they are known; returns the sha256 of the files read.

    Raises:
        UsageError: the options do not go together.
    """
    chosen, workers, scheduler = (values.get(name) for name in ("engine", "workers", "scheduler"))
    shard, shards = values.get("shard"), values.get("shards")
    if (shard is None) != (shards is None):
        raise click.UsageError("--shard I/N and --shards DIR go together")
    if shard is not None and chosen is not None:
        raise click.UsageError("--shard is done by one process; leave --engine out")
    if workers is not None and chosen != "local":
        raise click.UsageError("--workers goes with --engine local")
    if (scheduler is None) == (chosen == "dask"):
        raise click.UsageError("--engine dask and --scheduler ADDRESS go together")
    context = click.get_current_context()
    gathered = context.meta.get(GATHERED)
    if gathered is not None:
        return _checked(gathered, inputs)
    if shard is not None and shards is not None:
        return _one_shard(shard, Path(shards), inputs)
    if chosen == "local":
        from fire_toolkit.engines.local import Local

        return Local(workers or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
    if scheduler is not None:
        from fire_toolkit.engines.cluster import Cluster

        return Cluster(scheduler)
    return None


def _one_shard(shard: str, folder: Path, inputs: Callable[[], Mapping[str, str]]) -> Engine:
    from fire_toolkit.engines.kept import MOST_SHARDS, OneShard

    number, _, n_shards = shard.partition("/")
    if not (number.isdecimal() and n_shards.isdecimal() and 1 <= int(number) <= int(n_shards) <= MOST_SHARDS):
        raise UsageError(f"--shard {shard!r}: expected I/N, such as 1/8, I from 1 to N")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is a file, expected a folder for shards")

    def end(path: Path, was_there: bool) -> None:
        say(f"{path}: {'there already, nothing to do' if was_there else 'written'}; once all are there: "
            f"fire-toolkit gather {shlex.quote(str(folder))}")  # fmt: skip
        click.get_current_context().exit(0)

    return OneShard(folder, int(number), int(n_shards), lambda: _key(inputs()), end)


def _checked(gathered: Gathered, inputs: Callable[[], Mapping[str, str]]) -> Engine:
    from dataclasses import replace

    return replace(gathered, key=lambda: _key(inputs()))


def _key(inputs: Mapping[str, str]) -> Key:
    from fire_toolkit.engines.kept import Key

    return Key(__version__, without_shard(click.get_current_context().meta[WORDS]), dict(inputs))


def without_shard(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a command without --shard and --shards.

    Examples:
        >>> without_shard(("pool", "a.run", "--shard", "1/2", "--shards=parts"))
        ('pool', 'a.run')
    """
    kept: list[str] = []
    is_value = False
    for word in words:
        if not is_value and word.partition("=")[0] not in _OF_SHARDS:
            kept.append(word)
        is_value = not is_value and word in _OF_SHARDS
    return tuple(kept)
