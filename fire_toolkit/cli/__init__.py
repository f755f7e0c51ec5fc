"""The command line: each command reads, calls one pure function, and writes.

Read `frame` first: how a function of `commands` becomes a command, and what it returns is printed and written.
`plain` makes options of a signature, and commands of this room's functions that serve, send or manage
accounts: one file for each, called as its command. `given` knows where each table is and keeps account of the
files; its TABLES say what reads each (`readers`, `run_readers`, `pool_readers`, `asking_readers`,
`report_readers`).

`lazy` imports a command's file only when it is called, and knows every help from `helps.json`, so that
`--help` answers at once.
"""

from __future__ import annotations

import click

from fire_toolkit import __version__
from fire_toolkit.cli.lazy import Group, LazyGroup

# The commands by what people do with them, in the order of the work.
GROUPS = [
    Group(
        "begin",
        "make a workspace, and see what is done in it and what comes next",
        ("demo", "init", "status", "refresh", "doctor"),
    ),
    Group(
        "bring in",
        "read a benchmark's files and the models' predictions",
        ("add-collection", "add-run", "audit", "snippet"),
    ),
    Group(
        "ask",
        "choose the pairs to judge, and have people judge them",
        (
            "plan",
            "pool",
            "tasks",
            "guideline",
            "push",
            "pull",
            "page",
            "progress",
            "annotators",
            "labelstudio",
            "media",
            "import",
            "next-round",
            "machine",
        ),
    ),
    Group(
        "decide",
        "measure agreement, and turn judgments into labels and qrels",
        ("agree", "resolve", "augment"),
    ),
    Group(
        "measure",
        "score runs before and after, and compare them",
        ("score", "compare", "difference", "measures", "tifa"),
    ),
    Group(
        "study",
        "see what the scores rest on, and how far they could move",
        ("own", "reuse", "coverage", "orders", "influence"),
    ),
    Group(
        "show",
        "make tables and a report for readers, and publish the labels",
        ("report", "gallery", "release"),
    ),
]
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


_HELP = """Correct the labels of a retrieval benchmark: pool, judge, resolve, rescore, compare.

Every command works on plain files; inside a workspace (a folder with a fire.toml, see `init`) it
takes what is not given from there. `status` says what is done and what comes next, and
`COMMAND --help` what a command does.
"""
main = LazyGroup(name="main", groups=GROUPS, context_settings=_CONTEXT, help=_HELP)
click.version_option(__version__, prog_name="fire-toolkit")(main)
