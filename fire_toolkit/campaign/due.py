"""What is due of those who judge, where judgments came from elsewhere too: stages as people are told them."""

from __future__ import annotations

from dataclasses import replace

from fire_toolkit.campaign.asking import never_asked
from fire_toolkit.campaign.keys import pair_ids
from fire_toolkit.campaign.task_files import handed_out_here, keys_among
from fire_toolkit.formats.tables.table_files import judged_pairs, read_pool
from fire_toolkit.tables import ELSEWHERE
from fire_toolkit.workspace.config import Workspace
from fire_toolkit.workspace.manifests import manifest_of
from fire_toolkit.workspace.rounds import handed_out, has_campaign
from fire_toolkit.workspace.stages import StageState


def without_what_is_judged(states: list[StageState], workspace: Workspace) -> list[StageState]:
    """Return the states of stages; of a pool that was judged elsewhere, or asked, no tasks are due."""
    judged, pool = workspace.root / "judgments" / "judgments.csv", workspace.root / "pool" / "pool.csv"
    due = [("tasks", "ready"), ("import", "waiting")][: 1 + judged.is_file()]  # else they are to be brought
    if (states[1].stage.name, states[1].state) != due[0] or not pool.is_file():
        return states
    known, asked = judged_pairs(judged)[0] if judged.is_file() else None, handed_out_here(workspace.root)
    if len(never_asked(read_pool(pool), known, asked)):
        return states
    reason = "every pair of the pool is judged" + ", or asked of somebody" * bool(asked.given)
    return [replace(s, state="done", reason=reason) if (s.stage.name, s.state) in due else s for s in states]


def with_unanswered_tasks(states: list[StageState], workspace: Workspace) -> list[StageState]:
    """Return the states of stages; beside other tools' judgments `import` waits for tasks nobody answered."""
    root, judged = workspace.root, workspace.root / "judgments" / "judgments.csv"
    if has_campaign(root) or not manifest_of(judged).counts.get(ELSEWHERE):
        return states
    for number, file in sorted(handed_out(root).items()) if judged.is_file() else ():
        pairs, _ = judged_pairs(judged, since=number)
        if not keys_among(file, {*pair_ids(pairs["query_id"], pairs["doc_id"])}):
            reason = f"no answer yet to round {number} ({file.relative_to(root)})"
            late = {s.stage.name: replace(s, state="waiting", reason=reason) for s in states}
            return [late["import"] if s.stage.name == "import" else s for s in states]
    return states
