"""`doctor`: what is wrong around the server, and the command that fixes it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from fire_toolkit.cli.common import current_workspace, json_option, say
from fire_toolkit.cli.server_options import connection_options
from fire_toolkit.labelstudio.doctor import BAD, examine, exit_code

_MARKS = {"good": "ok  ", "note": "note", "bad": "BAD "}


@click.command()
@connection_options
@json_option
@click.pass_context
def doctor(ctx: click.Context, url: str | None, token_file: Path | None, as_json: bool) -> None:
    """Check the SDK, codecs, disk, connection, server, clock, token and projects.

    Each problem is listed with the command that fixes it. Exit code 1 if there is one, 3 if it is the
    server's.
    """
    workspace = current_workspace()
    findings = examine(workspace.root if workspace else None, url=url, token_file=token_file)
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False))
    for finding in [] if as_json else findings:
        click.echo(f"{_MARKS[finding.state]}  {finding.name:<10}  {finding.words}")
        if finding.fix:
            click.echo(f"      {'':<10}  -> {finding.fix}")
    n_bad = sum(finding.state == BAD for finding in findings)
    say(f"{n_bad} of {len(findings)} checks failed" if n_bad else "all is well")
    ctx.exit(exit_code(findings))
