"""Which runs may be of the same backbone as a machine judge: it then judges its own errors."""

from __future__ import annotations

from collections.abc import Iterable

from fire_toolkit.workspace.config import Workspace


def backbone_of(workspace: Workspace | None, section: str, name: str) -> str:
    """Return the backbone that fire.toml names for a run (`runs`) or a judge (`machines`); empty: unknown."""
    named = workspace.named.get(section, {}) if workspace else {}
    return str(named.get(name, {}).get("backbone", "")).strip()


def shared_backbones(
    workspace: Workspace | None, judge: str, run_ids: Iterable[str], *, known: str = ""
) -> dict[str, str]:
    """Return the runs that share a backbone with a judge, each with the reason in words.

    A backbone that is not named counts as shared. Several are joined by commas; case does not matter.

    Args:
        judge: several are joined by `+`.
        known: the judge's backbone by its own table, where fire.toml names none.

    Examples:
        >>> shared_backbones(None, "vlm", ["clip"])
        {'clip': 'the backbone of judge vlm is not named'}
        >>> shared_backbones(None, "vlm", ["clip"], known="siglip")
        {'clip': 'the backbone of run clip is not named'}
    """
    found = {}
    for run_id in run_ids:
        why = [
            _why_shared(
                each,
                backbone_of(workspace, "machines", each) or known,
                run_id,
                backbone_of(workspace, "runs", run_id),
            )
            for each in judge.split("+")
        ]
        if any(why):
            found[run_id] = next(filter(None, why))
    return found


def _why_shared(judge: str, of_judge: str, run_id: str, of_run: str) -> str:
    for what, backbone in ((f"judge {judge}", of_judge), (f"run {run_id}", of_run)):
        if not backbone:
            return f"the backbone of {what} is not named"
    both = _names(of_judge) & _names(of_run)
    return f"judge {judge} and run {run_id} share the backbone {', '.join(sorted(both))}" if both else ""


def _names(backbone: str) -> set[str]:
    return {name.strip().casefold() for name in backbone.split(",") if name.strip()}
