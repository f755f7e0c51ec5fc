"""`doctor`: what is wrong with the server and the campaign on it, and the command that fixes it."""

from __future__ import annotations

from pathlib import Path

import click

from fire_toolkit.campaign.records import BY_SERVER
from fire_toolkit.campaign.store import check_record
from fire_toolkit.cli.campaigns import begun_here, knows_server, used_connection
from fire_toolkit.cli.common import say
from fire_toolkit.cli.here import current_workspace
from fire_toolkit.errors import FireError, ServerError, UsageError
from fire_toolkit.labelstudio.doctor import BAD, NOTE, START, Finding, examine
from fire_toolkit.workspace.database import STORE

_MARKS = {"good": "ok  ", "note": "note", "bad": "BAD "}


def doctor() -> int:
    """Check server, token, the record of answers, and this workspace's projects: there, and unchanged.

    The first item of each must be seen. Each problem is listed with the command that fixes it. Exit code 1 if
    there is one, 3 if it is the server's.
    """
    workspace, begun = current_workspace(), begun_here()
    try:
        if begun and not knows_server() and BY_SERVER not in begun.carriers:
            words = "no server is configured, and no round of this campaign is on one"
            findings = [Finding("connection", NOTE, words)]
        else:
            own = (begun.root, begun.campaign, begun.guideline) if begun else None
            findings = list(examine(used_connection(), own))
    except FireError as error:
        findings = [Finding("connection", BAD, str(error), START if isinstance(error, UsageError) else "")]
    try:
        check_record((workspace.root if workspace else Path()) / STORE)
    except FireError as error:
        findings.append(Finding("record", BAD, str(error)))
    for finding in findings:
        click.echo(f"{_MARKS[finding.state]}  {finding.name:<10}  {finding.words}")
        if finding.fix:
            click.echo(f"      {'':<10}  -> {finding.fix}")
    bad = [finding for finding in findings if finding.state == BAD]
    say(f"{len(bad)} of {len(findings)} checks failed" if bad else "all is well")
    return max((ServerError if each.is_servers else FireError).exit_code for each in bad) if bad else 0
