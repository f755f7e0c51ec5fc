"""What `pull`, `pull --listen` and `progress` share: answers into the ledger, judgments out of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fire_toolkit.cli.common import Inputs, chosen, say, shown, summarise, write_outputs
from fire_toolkit.cli.judged_files import latest_round
from fire_toolkit.cli.meter import Meter
from fire_toolkit.cli.server_options import connection_from, private_folder

if TYPE_CHECKING:
    from fire_toolkit.labelstudio.pull import Pulled


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
            now=now,
            is_full=is_full,
            report=meter,
            keep=lambda marks: write_marks(root, marks),
        )


def derive_judgments(root: Path, pulled: Pulled, *, as_json: bool) -> None:
    """Write judgments.csv and dropped.csv from the ledger, and say what was pulled."""
    from fire_toolkit.campaign.ledger import read_ledger
    from fire_toolkit.campaign.ledger_judgments import ledger_to_judgments
    from fire_toolkit.campaign.records import LEDGER_FOLDER, read_campaign, read_rounds
    from fire_toolkit.formats.tables.delimited import delimited_text
    from fire_toolkit.formats.tables.guideline_files import read_guideline

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


def now() -> str:
    """Return the time in UTC, to the microsecond."""
    return datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
