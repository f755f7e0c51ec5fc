"""The command line: each command reads, calls one pure function, and writes.

Nothing heavy is imported before a command runs, so that `--help` answers at once.
"""

from __future__ import annotations

import click

from fire_toolkit import __version__
from fire_toolkit.cli.agreement import agree
from fire_toolkit.cli.annotation import guideline, import_, tasks
from fire_toolkit.cli.annotators import annotators
from fire_toolkit.cli.auditing import audit, suggest
from fire_toolkit.cli.bidirectional import bidirectional
from fire_toolkit.cli.collection import add_collection
from fire_toolkit.cli.common import FireGroup
from fire_toolkit.cli.demo import demo
from fire_toolkit.cli.difference import difference
from fire_toolkit.cli.doctor import doctor
from fire_toolkit.cli.ingest import add_run, snippet
from fire_toolkit.cli.judging import augment, resolve
from fire_toolkit.cli.labelstudio import labelstudio
from fire_toolkit.cli.measures import measures
from fire_toolkit.cli.media_serving import media
from fire_toolkit.cli.next_round import next_round
from fire_toolkit.cli.orders import contributions, orders
from fire_toolkit.cli.pooling import pool
from fire_toolkit.cli.progress import progress
from fire_toolkit.cli.project import init, status
from fire_toolkit.cli.pull import pull
from fire_toolkit.cli.push import push
from fire_toolkit.cli.released import export_fire_release, fire_release
from fire_toolkit.cli.report import report
from fire_toolkit.cli.reusability import coverage, reusability
from fire_toolkit.cli.score import score
from fire_toolkit.cli.scoring import compare
from fire_toolkit.cli.tifa import tifa

context = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=FireGroup, context_settings=context)
@click.version_option(__version__, prog_name="fire-toolkit")
def main() -> None:
    """Correct the labels of a retrieval benchmark: pool, judge, resolve, rescore, compare.

    Every command works on plain files; inside a workspace (a folder with a fire.toml, see `init`) it
    takes what is not given from there. `status` says what is done and what comes next.
    """


SECTIONS: dict[str, tuple[click.Command, ...]] = {
    "Begin": (demo, init, status, doctor),
    "Bring in": (add_collection, add_run, snippet, audit, suggest, fire_release, export_fire_release),
    "Ask": (pool, tasks, guideline, next_round),
    "Label Studio": (labelstudio, annotators, media, push, progress, pull, import_),
    "Judgments to qrels": (agree, resolve, augment),
    "Measure": (
        score,
        bidirectional,
        measures,
        compare,
        difference,
        orders,
        contributions,
        reusability,
        coverage,
        tifa,
        report,
    ),
}
main.add_sections(SECTIONS)
