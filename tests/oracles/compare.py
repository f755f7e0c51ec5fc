"""Hold what one checkout printed and wrote against another's: text and ids to the letter, numbers to 1e-9.

    python compare.py THEN NOW

Prints each difference by world, command, file and cell, those of changes.toml apart with their reasons, and
exits 1 where any other is left, or where a change that must show does not.
"""

import csv
import difflib
import io
import json
import math
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
RELATIVE = 1e-9
SHOWN = 5  # cells of one file
Difference = tuple[str, str, str, str]  # place, cell, then, now


def differences(then: dict[str, Any], now: dict[str, Any], place: str) -> Iterator[Difference]:
    """Yield what differs in one step: exit code, what was printed, and each file."""
    if then["code"] != now["code"]:
        yield place, "exit code", str(then["code"]), str(now["code"])
    sides = [side["files"] | {name: side[name] for name in ("stdout", "stderr")} for side in (then, now)]
    for name in ("stdout", "stderr", *sorted(then["files"].keys() | now["files"].keys())):
        old, new = (side.get(name, "(absent)") for side in sides)
        if old != new:
            yield from _in_text(old, new, f"{place}: {name}")


def _in_text(old: str, new: str, place: str) -> Iterator[Difference]:
    """Yield the cells of tables, or the lines of texts, that differ."""
    tables = _as_table(old), _as_table(new)
    if tables[0] and tables[1]:
        yield from _in_table(*tables, place)
        return
    if place.endswith(".json") and not {old, new} & {"(absent)", "(gone)"}:
        parts = _parts_of(json.loads(old)), _parts_of(json.loads(new))
        for key in dict.fromkeys([*parts[0], *parts[1]]):
            a, b = (part.get(key, "(absent)") for part in parts)
            if not _is_same(a, b):
                yield place, key, a, b
        return
    sides = old.splitlines(), new.splitlines()
    for kind, i, j, k, l in difflib.SequenceMatcher(None, *sides, autojunk=False).get_opcodes():  # noqa: E741
        if kind == "equal":
            continue
        pairs = zip_longest(sides[0][i:j], sides[1][k:l], fillvalue="(absent)")
        for number, (a, b) in enumerate(pairs, i + 1):
            if not _is_same(a, b):
                yield place, f"line {number}", a, b


def _parts_of(content: Any, place: str = "") -> dict[str, str]:
    """Return each value of a JSON text by its place in it; the order of keys says nothing."""
    if not isinstance(content, dict | list) or not content:
        return {place: json.dumps(content)}
    found: dict[str, str] = {}
    for name, value in content.items() if isinstance(content, dict) else enumerate(content):
        found |= _parts_of(value, f"{place}/{name}")
    return found


def _as_table(text: str) -> list[dict[str, str]]:
    """Return the rows of a text that is a table with commas; none of any other."""
    try:
        rows = list(csv.reader(io.StringIO(text)))
    except csv.Error:  # a text with lone carriage returns
        return []
    if len(rows) < 2 or len(rows[0]) < 2 or {len(row) for row in rows} != {len(rows[0])}:
        return []
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def _in_table(old: list[dict[str, str]], new: list[dict[str, str]], place: str) -> Iterator[Difference]:
    for one, other, words in ((old, new, ("there", "(absent)")), (new, old, ("(absent)", "there"))):
        for column in [name for name in one[0] if name not in other[0]]:
            yield place, f"column {column}", *words
    if len(old) != len(new):
        yield place, "rows", str(len(old)), str(len(new))
    for number, (a, b) in enumerate(zip(old, new, strict=False), 1):
        for column in [name for name in a if name in b and not _is_same(a[name], b[name])]:
            cell = f"row {number} ({' '.join(list(a.values())[:3])}), {column}"
            yield place, cell, a[column], b[column]


def _is_same(old: str, new: str) -> bool:
    """Whether two texts are equal but for numbers that are so to a relative 1e-9."""
    if old == new:
        return True
    if NUMBER.split(old) != NUMBER.split(new):
        return False
    pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=RELATIVE) for a, b in pairs)


def all_differences(then: Path, now: Path) -> Iterator[Difference]:
    """Yield the differences of all worlds; a step that only one side has is one."""
    for path in sorted(then.glob("*.json")):
        sides = [json.loads((folder / path.name).read_text()) for folder in (then, now)]
        for old, new in zip_longest(*sides):
            line = (old or new)["line"]
            if old is None or new is None or old["line"] != new["line"]:
                yield f"{path.stem}: {line}", "step", str(old and old["line"]), str(new and new["line"])
            else:
                yield from differences(old, new, f"{path.stem}: {line}")


def main() -> int:
    """Print what differs and return the exit code."""
    changes = tomllib.loads((Path(__file__).parent / "changes.toml").read_text()).get("change", [])
    met, left, shown = Counter[str](), 0, Counter[str]()
    for place, cell, then, now in all_differences(Path(sys.argv[1]), Path(sys.argv[2])):
        text = f"{place}: {cell}: {then} => {now}"
        why = next((each["reason"] for each in changes if re.search(each["where"], text)), "")
        met[why] += 1
        if why:
            continue
        left += 1
        shown[place] += 1
        if shown[place] <= SHOWN:
            print(f"{place}\n    {cell}\n      then: {then[:300]}\n      now:  {now[:300]}")
        elif shown[place] == SHOWN + 1:
            print(f"{place}\n    … more")
    for change in changes:
        print(f"on purpose: {met[change['reason']]:5} cells: {change['reason']}")
    absent = [change["reason"] for change in changes if change.get("must_show") and not met[change["reason"]]]
    for reason in absent:
        print(f"does not show, and must: {reason}")
    print(f"{left} cells differ without a reason" if left else "equal to the oracle")
    return 1 if left or absent else 0


if __name__ == "__main__":
    sys.exit(main())
