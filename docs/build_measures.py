"""Write the sections of docs/measures.md from the registered measures: python docs/build_measures.py.

The text above the mark is written by hand and kept.
"""

from __future__ import annotations

from pathlib import Path

from fire_toolkit.measures import Definition, Parameter, list_measures

PAGE = Path(__file__).with_name("measures.md")
MARK = "## One by one\n"
SAID_ABOVE = (
    "0 for a query without a positive, or missing from the run.",
    "0 where nothing was retrieved, and for a query without a positive.",
    "Papers on video and image retrieval call it R@K, which it equals where each query has one positive.",
    "Papers on video and image retrieval call C@k by this name; the two are equal where each query has "
    "one positive.",
    "; 0 for a query without a positive",
    "0 for a query without a positive.",
    "0 where nothing was retrieved.",
    "Summed over queries.",
)


def section(definition: Definition) -> str:
    """Return one measure's section; what most measures share stands above them all."""
    words = [definition.summary, *map(_range, definition.parameters), _own(definition.convention)]
    if (definition.unit, definition.aggregate) != ("share", "mean"):
        words.append(f"A {definition.unit}, the {definition.aggregate} over queries.")
    if not definition.larger_is_better:
        words.append("Smaller is better.")
    if definition.also_called:
        words.append(f"Also called {', '.join(definition.also_called)}.")
    return f"\n### `{definition.pattern}`\n\n{' '.join(filter(None, words))}\n\n*{definition.source}*\n"


def _own(convention: str) -> str:
    """Return a convention without the sentences that the rules for all measures hold already."""
    for sentence in SAID_ABOVE:
        convention = convention.replace(sentence, "")
    return " ".join(convention.split())


def _range(parameter: Parameter) -> str:
    default = "" if parameter.default is None else f", {parameter.default:g} by default"
    return f"{parameter.name}: a number {parameter.range}{default}."


def page() -> str:
    """Return the whole page."""
    by_hand = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    return by_hand + MARK + "".join(map(section, list_measures()))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
