"""The options that several commands share, and the decorator that hands a command what it was given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import click

from fire_toolkit.cli.common import together
from fire_toolkit.cli.given import Given
from fire_toolkit.matching.own_items import RULES

Command = Callable[..., Any]

_FILES = {
    "query_ids": "Ids of a matrix's rows.",
    "doc_ids": "Ids of a matrix's columns.",
    "qrels": "The original qrels; their queries count.",
    "augmented": "The augmented qrels, as `augment` writes them.",
    "labels": "The labels: labels.csv, or its folder.",
    "validity": "Which queries are usable: query_labels.csv, or its folder.",
    "judgments": "The judgments (judgments.csv).",
    "queries": "The queries: query_id, text and, of composed ones, reference.",
    "items": "The items: a table with doc_id and media_url.",
    "guideline": "The guideline judged by. Without it: the default's labels, or numbers as their own grades.",
}
# What goes into `Given`, whichever decorator declares it; a command is handed the rest by name.
_OF_GIVEN = {"runs", "pool_sources", "own_item", "clusters", "resamples", "seed", "pool", "controls"}
_OF_GIVEN |= {"machine", "as_json", "output_format", "out", "exclude", "reasons", *_FILES}


def reads(*names: str, **texts: str) -> Callable[[Command], Command]:
    """Add the options named, in that order, and hand the command one `Given` in the place of all it reads.

    texts: further options, each with a help text of its own. `own_item` adds --queries too, which name the
    own items.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_tables(**values: Any) -> Any:
            rest = {name: value for name, value in values.items() if name not in _OF_GIVEN}
            return command(Given({name: values[name] for name in _OF_GIVEN & set(values)}), **rest)

        decorated: Command = with_tables
        known = {param.name for param in getattr(command, "__click_params__", [])}
        wanted = [*names, *texts]
        if "own_item" in wanted and "queries" not in {*wanted, *known}:
            wanted.append("queries")
        for name in reversed(wanted):
            decorated = shared_option(name, texts.get(name))(decorated)
        return decorated

    return decorate


def shared_option(name: str, text: str | None = None) -> Callable[[Command], Command]:
    """Return the option of a file, or of how files are read, that several commands have."""
    if name == "runs":
        return run_arguments
    if name == "own_item":
        return own_item_option
    if name == "exclude":
        return exclude_options
    if name == "accept_unpooled":
        return accept_unpooled_option
    if name == "pool_sources":
        return _pool_sources_option(text or "Which run pooled which pair: pool_sources.csv, or its folder.")
    metavar = "NAME" if name == "guideline" else "FILE"
    return click.option(f"--{name.replace('_', '-')}", metavar=metavar, help=text or _FILES[name])


run_arguments = click.argument("runs", nargs=-1, metavar="RUN...")
own_item_option = click.option(
    "--own-item",
    type=click.Choice(RULES),
    help="Drop or keep each query's own item. [default: the collection's protocol]",
)


def _only_one(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> str | None:
    """Return the value given; a usage error for a second one, which would take the place of the first."""
    if len(values) > 1:
        raise click.BadParameter(
            f"given {len(values)} times; pool all runs together (`fire-toolkit pool`): one file then has the "
            "sources of all"
        )
    return values[0] if values else None


def _pool_sources_option(text: str) -> Callable[[Command], Command]:
    """Add `--pool-sources`, which can be given once."""
    return click.option("--pool-sources", multiple=True, callback=_only_one, metavar="FILE", help=text)


accept_unpooled_option = click.option(
    "--accept-unpooled",
    is_flag=True,
    help="Accept runs that settled qrels were not made for (`pool --strategy 'settle(C@10)'`), with a note.",
)


exclude_options = together(
    click.option(
        "--exclude",
        multiple=True,
        metavar="NAME",
        help="Leave out the judgments of an annotator (may be repeated); needs --reason.",
    ),
    click.option(
        "--reason",
        "reasons",
        multiple=True,
        metavar="TEXT",
        help="Why; kept in the manifest. One for all --exclude, or one for each.",
    ),
)
