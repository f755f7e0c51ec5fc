"""Write the sections of docs/measures.md from the registered measures: python docs/build_measures.py.

The text above the mark is written by hand and kept.
"""

from __future__ import annotations

from pathlib import Path

from fire_toolkit.measures import Definition, Parameter, list_measures

PAGE = Path(__file__).with_name("measures.md")
MARK = "## One by one\n"


def section(definition: Definition) -> str:
    """Return one measure's section."""
    direction = "larger" if definition.larger_is_better else "smaller"
    also = f" Also called {', '.join(definition.also_called)}." if definition.also_called else ""
    words = " ".join([definition.summary, *map(_range, definition.parameters)])
    return (
        f"\n### `{definition.pattern}`\n\n{words} Example: `{definition.example}`.\n\n"
        f"- conventions: {definition.convention}\n"
        f"- source: {definition.source}\n"
        f"- value: a {definition.unit}; {direction} is better; "
        f"the {definition.aggregate} over queries.{also}\n"
    )


def _range(parameter: Parameter) -> str:
    default = "" if parameter.default is None else f", {parameter.default:g} by default"
    return f"{parameter.name}: a number {parameter.range}{default}."


def page() -> str:
    """Return the whole page."""
    by_hand = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    return by_hand + MARK + "".join(map(section, list_measures()))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
