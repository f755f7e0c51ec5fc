"""What tables of other tools always call their columns, and what their words for a state mean."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

# Why an answer of this status is not a vote; a status that is not here is one that counts.
COUNTS = (
    "",
    "approved",
    "submitted",
    "accept",
    "accepted",
    "completed",
    "awaiting review",
    "partially approved",
    "awaiting_review",
)
SKIPS = {
    **dict.fromkeys(("ignore", "ignored", "discarded", "skipped", "cancelled", "reject"), "skipped"),
    **dict.fromkeys(("rejected", "returned", "screened out"), "left out"),
    **dict.fromkeys(("timed-out", "timed out", "timed_out"), "left out"),
}
NOT_YET = ("draft", "pending", "active", "reserved")


@dataclass(frozen=True)
class Tool:
    """A tool: the columns by which its tables are known, and which of them is what.

    roles: role → columns of which the first that is there has it; labels: what its own words mean; note: what
    it loses; rejected: the column in which a reviewer writes why work is rejected; origin: the one that says
    whether a person answered, or a machine.
    """

    name: str
    signs: tuple[str, ...]
    roles: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    rejected: str = ""
    origin: str = ""


TOOLS = (
    Tool(
        "MTurk",
        ("WorkerId", "AssignmentStatus"),
        {
            "annotator": ("WorkerId",),
            "time": ("SubmitTime",),
            "seconds": ("WorkTimeInSeconds",),
            "status": ("AssignmentStatus",),
        },
        rejected="Reject",
    ),
    Tool(
        "Prodigy",
        ("_task_hash", "answer"),
        {
            "annotator": ("_annotator_id", "_session_id"),
            "label": ("accept", "answer"),
            "time": ("_timestamp",),
            "status": ("answer",),
        },
        labels={"ignore": "-"},
    ),
    Tool("Argilla", ("_server_id",), {}),
    Tool("Potato", ("instance_id", "user"), {"annotator": ("user",)}),
    Tool("Potato", ("instance_id", "user_id"), {"annotator": ("user_id",)}, origin="annotator_origin"),
    Tool("Potato", ("displayed_text", "label_annotations"), {}),
    Tool("doccano", ("id", "label", "Comments"), {"label": ("label",)}),
    Tool(
        "Label Studio (CSV or JSON_MIN)",
        ("annotation_id", "annotator", "lead_time"),
        {"annotator": ("annotator",), "time": ("updated_at",), "seconds": ("lead_time",)},
        note="such an export leaves out skips; export as JSON where you still can",
    ),
)
_PAIR = {"query": ("query_id", "qid"), "doc": ("doc_id", "docid", "docno")}
_PLAIN = Tool(
    "a table",
    (),
    {
        "annotator": ("annotator_id",),
        "label": ("label",),
        "time": ("created_at",),
        "seconds": ("duration_s",),
        "round": ("round",),
        "comment": ("comment",),
    },
)


def tool_of(columns: Collection[str]) -> Tool:
    """Return the tool whose columns these are, else one that knows nothing."""
    return next((tool for tool in TOOLS if set(tool.signs) <= set(columns)), _PLAIN)


def own_roles(tool: Tool, columns: Collection[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return role → column: those given, and those that the tool always has or that have our own names.

    A column that was given a role has no other, and a column with pairs takes the place of query and doc.
    """
    free = {*columns} - {*given.values()}
    usual = {**({} if "pair" in given else _PAIR), **tool.roles}
    known = {role: next((name for name in names if name in free), "") for role, names in usual.items()}
    roles = {role: name for role, name in {**known, **given}.items() if name}
    if "status" not in given and roles.get("status") == roles.get("label"):
        roles.pop("status", None)  # Prodigy's yes or no is an answer there, not the state of one
    label = roles.get("label", "")
    if tool.name == "Argilla" or f"{label}.users" in columns:
        responses = {"annotator": f"{label}.users", "status": f"{label}.status"}
        roles = {role: name for role, name in responses.items() if name in columns} | roles
    return roles
