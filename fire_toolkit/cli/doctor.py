"""`doctor`: what is wrong with the server and the campaign on it, and the command that fixes it."""

from __future__ import annotations

from pathlib import Path

import click

from fire_toolkit.campaign.records import BY_SERVER, Rounds, read_campaign
from fire_toolkit.campaign.store import check_record
from fire_toolkit.cli.campaigns import guideline_of_campaign
from fire_toolkit.cli.common import current_workspace, say
from fire_toolkit.cli.server_options import knows_server, used_connection
from fire_toolkit.errors import FireError, ServerError, UsageError
from fire_toolkit.workspace.database import STORE

_MARKS = {"good": "ok  ", "note": "note", "bad": "BAD "}


def doctor() -> int:
    """Check server, token, the record of answers, and this workspace's projects: there, and unchanged.

    The first item of each must be seen. Each problem is listed with the command that fixes it. Exit code 1 if
    there is one, 3 if it is the server's.
    """
    from fire_toolkit.labelstudio.doctor import BAD, NOTE, START, Finding, examine

    workspace = current_workspace()
    campaign = read_campaign(workspace.root) if workspace else None
    begun = None
    if workspace and campaign:
        begun = (workspace.root, campaign, guideline_of_campaign(workspace.root, campaign))
    try:
        if workspace and campaign and not knows_server() and not Rounds(workspace.root, BY_SERVER):
            words = "no server is configured, and no round of this campaign is on one"
            findings = [Finding("connection", NOTE, words)]
        else:
            findings = list(examine(used_connection(), begun))
    except FireError as error:
        fix = START if isinstance(error, UsageError) else ""
        findings = [Finding("connection", BAD, str(error), fix)]
    try:
        check_record((workspace.root if workspace else Path()) / STORE)
    except FireError as error:
        findings.append(Finding("record", BAD, str(error), ""))
    for finding in findings:
        click.echo(f"{_MARKS[finding.state]}  {finding.name:<10}  {finding.words}")
        if finding.fix:
            click.echo(f"      {'':<10}  -> {finding.fix}")
    bad = [finding for finding in findings if finding.state == BAD]
    say(f"{len(bad)} of {len(findings)} checks failed" if bad else "all is well")
    return max((ServerError if each.is_servers else FireError).exit_code for each in bad) if bad else 0
