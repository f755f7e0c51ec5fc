"""One page of HTML for the team that runs a campaign: how far it is, how well it goes, what to look into.

It stands alone: no script, no font, no image, no request to anywhere. Light or dark as the system is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from fire_toolkit.campaign.progress import QueueProgress


@dataclass(frozen=True)
class PagePerson:
    """What the page says of an annotator beside the queues; nan where nothing is known.

    positive, peer_positive: shares on the pairs that others judged too; seconds, peer_seconds: medians there;
    agreement: the chance that another's vote on such a pair is the same; n_shared: these pairs; state:
    `retired`, `paused` or empty.
    """

    n_votes: int
    positive: float
    peer_positive: float
    seconds: float
    peer_seconds: float
    agreement: float
    n_shared: int
    state: str = ""


@dataclass(frozen=True)
class TeamPage:
    """What the page holds.

    tiles: heading, value and a line below it; alarms: annotator and what to look into; notes: what to know of
    the numbers; reload_s: how often an open page reads itself again, 0 for never.
    """

    title: str
    updated_at: str
    tiles: Sequence[tuple[str, str, str]]
    queues: Sequence[QueueProgress]
    people: Mapping[str, PagePerson]
    alarms: Sequence[tuple[str, str]]
    notes: Sequence[str] = ()
    reload_s: int = 0


def team_page(page: TeamPage) -> str:
    """Return the page as HTML, all texts escaped."""
    reload = f'<meta http-equiv="refresh" content="{page.reload_s}">\n' if page.reload_s else ""
    title = escape(page.title)
    parts = [
        f"<header><h1>{title}</h1><p>As of {escape(page.updated_at)}</p></header>",
        _tiles(page.tiles),
        _alarms(page.alarms),
        _queues(page.queues, page.people),
        _people(page.people),
        "".join(f"<p class=note>{escape(note)}</p>" for note in page.notes),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"{reload}<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body>\n</html>\n"
    )


def _tiles(tiles: Sequence[tuple[str, str, str]]) -> str:
    boxes = (
        f"<div class=tile><h2>{escape(name)}</h2><b>{escape(value)}</b><p>{escape(below)}</p></div>"
        for name, value, below in tiles
    )
    return f"<section class=tiles>{''.join(boxes)}</section>"


def _alarms(alarms: Sequence[tuple[str, str]]) -> str:
    if not alarms:
        return "<section class=well><h2>To look into</h2><p>Nothing.</p></section>"
    rows = "".join(f"<li><b>{escape(name)}</b> {escape(words)}</li>" for name, words in alarms)
    return f"<section class=alarms><h2>To look into</h2><ul>{rows}</ul></section>"


def _queues(queues: Sequence[QueueProgress], people: Mapping[str, PagePerson]) -> str:
    header = (
        "Annotator",
        "Round",
        "Progress",
        "Done",
        "Left",
        "Skipped",
        "Escalated",
        "Seconds",
        "Hours left",
        "Controls",
    )
    rows = [
        (
            _name(queue.annotator_id, people),
            str(queue.round),
            _bar(queue),
            f"{queue.n_done:,}",
            f"{queue.n_left:,}",
            f"{queue.n_skipped:,}",
            f"{queue.n_escalated:,}",
            _number(queue.seconds, 1),
            _number(queue.hours_left, 1),
            f"{queue.n_right} of {queue.n_controls}" if queue.n_controls else "",
        )
        for queue in queues
    ]
    return _table("How far everybody is", header, rows, raw=(0, 2))


def _people(people: Mapping[str, PagePerson]) -> str:
    header = (
        "Annotator",
        "Votes",
        "Shared pairs",
        "Agreement",
        "Positive",
        "Others' positive",
        "Seconds",
        "Others' seconds",
    )
    rows = [
        (
            _name(name, people),
            f"{one.n_votes:,}",
            f"{one.n_shared:,}",
            _share(one.agreement),
            _share(one.positive),
            _share(one.peer_positive),
            _number(one.seconds, 1),
            _number(one.peer_seconds, 1),
        )
        for name, one in sorted(people.items())
        if one.n_votes
    ]
    return _table("Beside others on the same pairs", header, rows, raw=(0,)) if rows else ""


def _name(name: str, people: Mapping[str, PagePerson]) -> str:
    state = people[name].state if name in people else ""
    return escape(name) + (f" <small>{escape(state)}</small>" if state else "")


def _bar(queue: QueueProgress) -> str:
    done = (queue.n_done + queue.n_skipped) / queue.n_tasks if queue.n_tasks else 1.0
    label = f"{100 * done:.0f}%"
    inner = f'<i style="width:{100 * done:.1f}%"></i>'
    return f'<span class=bar role=img aria-label="{label}">{inner}</span> <span class=share>{label}</span>'


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, raw: Sequence[int]) -> str:
    """Return a table; the cells of columns `raw` are HTML already."""
    heads = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines = "".join(
        "<tr>"
        + "".join(f"<td>{cell if at in raw else escape(cell)}</td>" for at, cell in enumerate(row))
        + "</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
    return f"<section><h2>{escape(title)}</h2><div class=wide>{table}</div></section>"


def _number(value: float, digits: int) -> str:
    return "" if math.isnan(value) else f"{value:,.{digits}f}"


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:.0f}%"


_STYLE = """
:root{color-scheme:light dark;--ink:#1c2024;--dim:#60646c;--line:#d9dbe0;--back:#fcfcfd;--box:#f2f3f5;
--fill:#2f6fb3;--warn:#a33c00;--warnbox:#fff1e7}
@media (prefers-color-scheme:dark){:root{--ink:#edeef0;--dim:#a9adb5;--line:#3a3e45;--back:#16181b;
--box:#22252a;--fill:#5b9be0;--warn:#ffb38a;--warnbox:#3a2618}}
body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--back);margin:0 auto;
max-width:68rem;padding:1.2rem}
h1{font-size:1.35rem;margin:0}h2{font-size:1rem;margin:0 0 .4rem}
header p,.tile p,.note,small{color:var(--dim);margin:.1rem 0}
section{margin:1.2rem 0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(10.5rem,1fr));gap:.7rem}
.tile,.well,.alarms{background:var(--box);border-radius:.5rem;padding:.7rem .9rem}
.tile h2{font-size:.85rem;font-weight:500;color:var(--dim);margin:0}.tile b{font-size:1.5rem}
.tile p,small{font-size:.8rem}
.well p{margin:0}
.alarms{background:var(--warnbox)}.alarms h2,.alarms b{color:var(--warn)}
.alarms ul{margin:0;padding-left:1.2rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.3rem .6rem;border-bottom:1px solid var(--line);white-space:nowrap}
th{font-weight:500;color:var(--dim);font-size:.85rem;vertical-align:bottom}
th:first-child,td:first-child{text-align:left}
.bar{display:inline-block;width:7rem;height:.55rem;border-radius:.3rem;background:var(--line);overflow:hidden}
.share{display:inline-block;min-width:2.8rem}
.bar i{display:block;height:100%;background:var(--fill)}
"""
