"""`pull`: answers from a server, or from its exports, to the ledger and to judgments."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fire_toolkit.cli.common import (
    Inputs,
    chosen,
    json_option,
    say,
    say_next,
    shown,
    summarise,
    write_outputs,
)
from fire_toolkit.cli.judged_files import latest_round
from fire_toolkit.cli.meter import Meter, workspace_root
from fire_toolkit.cli.server_options import connection_from, connection_options, private_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fire_toolkit.labelstudio.pull import Pulled


@click.command()
@click.option("--full", "is_full", is_flag=True, help="Read all again, and notice deleted tasks and answers.")
@click.option(
    "--from-export",
    "exports",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take answers from a JSON export instead of the server (may be repeated).",
)
@click.option(
    "--listen",
    "listens",
    is_flag=True,
    help="Go on until Ctrl-C: pull at each hint of the server (webhooks), and every --every seconds.",
)
@click.option("--every", type=click.FloatRange(min=1), default=60.0, show_default=True, metavar="SECONDS")
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where --listen takes hints."
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="[default: any free one]")
@click.option(
    "--hook-url", metavar="URL", help="How the server reaches ADDRESS:PORT. [default: http://ADDRESS:PORT]"
)
@connection_options
@json_option
def pull(
    is_full: bool,
    exports: tuple[Path, ...],
    listens: bool,
    every: float,
    host: str,
    port: int,
    hook_url: str | None,
    url: str | None,
    token_file: Path | None,
    as_json: bool,
) -> None:
    """Fetch new and changed answers into the ledger, then write judgments.csv and dropped.csv from it.

    The ledger (ledger/) keeps every version of every answer; what was edited or deleted on the server
    is recorded as such. Judgments say in which round they were given, and what for (column kind).
    """
    root = workspace_root()
    if listens:
        from fire_toolkit.cli.listening import listen

        if is_full or exports:
            raise click.UsageError("--listen goes without --full and --from-export")
        listen(root, url, token_file, host=host, port=port, hook_url=hook_url, every=every, as_json=as_json)
        return
    pulled = _add_exports(root, exports) if exports else pull_once(root, url, token_file, is_full=is_full)
    derive_judgments(root, pulled, as_json=as_json)
    say_next("progress")
    say("when all is judged: fire-toolkit agree")


def pull_once(root: Path, url: str | None, token_file: Path | None, *, is_full: bool = False) -> Pulled:
    """Bring the ledger up to what the server has."""
    from fire_toolkit.campaign.records import LEDGER_FOLDER, read_campaign, read_marks, write_marks
    from fire_toolkit.errors import UsageError
    from fire_toolkit.labelstudio.accounts import Accounts
    from fire_toolkit.labelstudio.annotators import pseudonyms
    from fire_toolkit.labelstudio.api import Api
    from fire_toolkit.labelstudio.pull import pull_answers

    campaign = read_campaign(root)
    if campaign is None:
        raise UsageError("nothing was pushed from this workspace; push first, or give --from-export")
    connection = connection_from(url, token_file)
    names = pseudonyms(Accounts(connection, private_folder()).refresh())
    with Api(connection) as api, Meter("tasks read", None) as meter:
        return pull_answers(
            api,
            campaign,
            root / LEDGER_FOLDER,
            names=names,
            marks=read_marks(root),
            now=_now,
            is_full=is_full,
            report=meter,
            keep=lambda marks: write_marks(root, marks),
        )


def _now() -> str:
    return datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _add_exports(root: Path, exports: Sequence[Path]) -> Pulled:
    from fire_toolkit.campaign.records import LEDGER_FOLDER
    from fire_toolkit.campaign.votes import parse_export
    from fire_toolkit.formats.files import read_text
    from fire_toolkit.labelstudio.annotators import pseudonyms, read_register
    from fire_toolkit.labelstudio.pull import Pulled, add_export

    names = pseudonyms(read_register(private_folder()))
    totals = Pulled()
    for path in exports:
        content = parse_export(read_text(path), where=str(path))
        added = add_export(
            content, root / LEDGER_FOLDER, source=f"file:{path.name}", names=names, seen_at=_now()
        )
        totals = totals.plus(added)
    return totals


def derive_judgments(root: Path, pulled: Pulled, *, as_json: bool) -> None:
    """Write judgments.csv and dropped.csv from the ledger, and say what was pulled."""
    from fire_toolkit.campaign.ledger import read_ledger
    from fire_toolkit.campaign.ledger_judgments import ledger_to_judgments
    from fire_toolkit.campaign.records import LEDGER_FOLDER, read_campaign, read_rounds
    from fire_toolkit.formats.delimited import delimited_text
    from fire_toolkit.formats.guideline_files import read_guideline

    inputs = Inputs()
    for segment in sorted((root / LEDGER_FOLDER).glob("*.parquet")):
        inputs.use(shown(segment))
    campaign = read_campaign(root)
    rules = read_guideline(campaign.guideline if campaign else chosen(None, "tasks", "guideline"))
    result = ledger_to_judgments(read_ledger(root / LEDGER_FOLDER), read_rounds(root), guideline=rules)
    reasons = result.dropped["reason"].value_counts().sort_index()
    counts: dict[str, Any] = {
        "judgments": len(result.judgments),
        "dropped": {str(reason): int(n) for reason, n in reasons.items()},
    }
    counts |= latest_round(result.judgments)
    texts = {
        "judgments.csv": delimited_text(result.judgments),
        "dropped.csv": delimited_text(result.dropped),
    }
    out = shown(root / "judgments" / "judgments.csv")
    parameters = {"guideline": rules.name, "guideline_sha256": rules.sha256}
    write_outputs(out, texts, stage="pull", parameters=parameters, inputs=inputs, counts=counts)
    changes = pulled.counts
    words = ", ".join(f"{n:,} {what}" for what, n in changes.items()) + f"; {counts['judgments']:,} judgments"
    if counts["dropped"]:
        words += "; dropped: " + ", ".join(f"{n:,} {reason}" for reason, n in counts["dropped"].items())
    summarise({**changes, **counts}, words, as_json=as_json)
    for note in result.notes:
        say(f"note: {note}")
