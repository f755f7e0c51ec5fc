"""Measures by name: `C@10`, `AP_fire@20`, `AP@10/min`, `RBP(p=0.8)`, `P@10:rel=2`, `C@10:condensed`."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fire_toolkit.errors import UsageError
from fire_toolkit.measures.definition import Definition, Measure, Parameter
from fire_toolkit.measures.registry import MEASURES

_NAME = re.compile(
    r"(?P<name>[^()@/:]+)(\((?P<arguments>[^()]*)\))?(?P<cutoff>@(?P<k>[^()@/:]*))?"
    r"(/(?P<variant>[^()@/:]*))?(?P<modifiers>(:[^:]*)*)"
)
_LARGEST_K = 10**9


def list_measures() -> tuple[Definition, ...]:
    """Return the definition of every measure, in the order of registration, those of plug-ins last.

    Examples:
        >>> [definition.pattern for definition in list_measures()][:3]
        ['C@k', 'hit@k', 'Success@k']
    """
    return tuple(MEASURES.values())


def parse_measure(name: str) -> Measure:
    """Return the measure of that name.

    Args:
        name: `NAME`, then where the measure takes them `(parameter=value)`, `@k` (1 or more) and
            `/variant`, then any of `:rel=2` (a doc is a positive from grade 2) and `:condensed`
            (unjudged docs are left out of the ranking first). Names that other programs use mean ours:
            `map`, `Recall@10`, `ndcg_cut_10`.

    Raises:
        UsageError: the name is unknown (with the nearest known), the cutoff is missing, not taken or
            below 1, a parameter is unknown, missing or outside its range.

    Examples:
        >>> parse_measure("C@10").name, parse_measure("AP_fire@20").definition.cutoff
        ('C@10', 'required')
        >>> parse_measure("ndcg_cut_10").name, parse_measure("Recall@5").name
        ('nDCG@10', 'R@5')
        >>> parse_measure("ndgc@10")
        Traceback (most recent call last):
        fire_toolkit.errors.UsageError: no measure 'ndgc@10'; did you mean nDCG@10?
    """
    match = _NAME.fullmatch(name)
    several = re.split(r"\s*[,;]\s*(?![^(]*\))", name.strip(" ,;"))
    if len(several) > 1:
        raise UsageError(f"no measure {name!r}; give each by itself: -m {' -m '.join(several)}")
    if match is None:
        raise UsageError(f"no measure {name!r}; expected a name such as {_examples()}")
    at_r = "" if match["k"] is None or re.fullmatch(r"[0-9]*", match["k"]) else match["cutoff"]  # as in mAP@R
    variant = "" if match["variant"] is None else f"/{match['variant']}"
    key = match["name"] + variant
    definition = MEASURES.get(match["name"] + at_r + variant) or MEASURES.get(key)
    if definition is None and (own := _own_name(name, match)):
        return parse_measure(own)
    if definition is None:
        raise UsageError(f"no measure {name!r}; {_nearest(match['name'] + at_r + variant, match)}")
    k = None if definition.name != match["name"] else _cutoff(name, definition, match)
    measure = Measure(definition, k, _arguments(name, definition, match))
    for modifier in match["modifiers"].split(":")[1:]:
        measure = _modified(name, measure, modifier)
    return measure


def parse_measures(measures: Sequence[Any]) -> list[Measure]:
    """Return measures, each once: by name, as ir_measures has them, or as they are.

    Raises:
        UsageError: there is none, or one of them is no measure.
    """
    if isinstance(measures, str) or not isinstance(measures, Sequence) or not measures:
        raise UsageError(f"measures: found {measures!r}, expected a list of names such as ['C@1', 'AP']")
    return list(dict.fromkeys(map(_parsed, measures)))


def _parsed(measure: Any) -> Measure:
    if isinstance(measure, Measure):
        return measure
    if type(measure).__module__.partition(".")[0] == "ir_measures":
        return parse_measure(re.sub(r"\(rel=(\d+)\)(.*)", r"\2:rel=\1", str(measure)))
    if not isinstance(measure, str):
        raise UsageError(f"measures: found {measure!r}, expected a name such as 'C@1'")
    return parse_measure(measure)


def _own_name(name: str, match: re.Match[str]) -> str | None:
    """Return what is called `name` elsewhere under our name: in other letters, or trec_eval's `NAME_10`."""
    known = _spellings()
    if own := known.get(match["name"].lower()):
        return None if own == match["name"] else own + name[len(match["name"]) :]
    base, _, k = match["name"].rpartition("_")
    if k.isdecimal() and match["k"] is None and (own := known.get(base.lower())):
        return f"{own}@{k}{name[len(match['name']) :]}"
    return None


def _spellings() -> dict[str, str]:
    """Return our name of each spelling in lower case, of those that can mean one measure alone."""
    named = [(each.lower(), own) for own, item in MEASURES.items() for each in (own, *item.also_called)]
    times = Counter(spelling for spelling, _ in named)
    return {spelling: own for spelling, own in named if times[spelling] == 1}


def _cutoff(name: str, definition: Definition, match: re.Match[str]) -> int | None:
    if match["cutoff"] is None:
        if definition.cutoff == "required":
            raise UsageError(f"measure {name!r} has no cutoff; expected one, such as {definition.example}")
        return None
    if definition.cutoff == "none":
        raise UsageError(f"measure {name!r} has a cutoff, but {definition.name} takes none; "
                         f"write {definition.example}")  # fmt: skip
    if not re.fullmatch(r"[0-9]{1,10}", match["k"]) or not 1 <= int(match["k"]) <= _LARGEST_K:
        raise UsageError(f"measure {name!r} has the cutoff {match['k']!r}; expected a whole number from 1, "
                         f"such as {definition.example}")  # fmt: skip
    return int(match["k"])


def _arguments(name: str, definition: Definition, match: re.Match[str]) -> tuple[float, ...]:
    given: dict[str, str] = {}
    for part in (match["arguments"] or "").split(",") if match["arguments"] is not None else []:
        key, _, value = part.partition("=")
        if key in given or key not in [p.name for p in definition.parameters]:
            known = ", ".join(p.name for p in definition.parameters) or "none"
            raise UsageError(f"measure {name!r} has {part!r}; expected each once of: {known}")
        given[key] = value
    return tuple(_argument(name, definition, p, given.get(p.name)) for p in definition.parameters)


def _argument(name: str, definition: Definition, parameter: Parameter, text: str | None) -> float:
    if text is None and parameter.default is not None:
        return parameter.default
    if text is None:
        raise UsageError(f"measure {name!r} lacks {parameter.name}; write {definition.example}")
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not parameter.allows(value):
        raise UsageError(f"measure {name!r} has {parameter.name}={text!r}; "
                         f"expected a number {parameter.range}")  # fmt: skip
    return value


def _modified(name: str, measure: Measure, modifier: str) -> Measure:
    if modifier == "condensed" and not measure.condensed:
        return replace(measure, condensed=True)
    level = re.fullmatch(r"rel=([1-9][0-9]{0,8})", modifier)
    if level and measure.level == 1:
        return replace(measure, level=int(level[1]))
    raise UsageError(f"measure {name!r} has the modifier {modifier!r}; expected each at most once of: "
                     f"rel=N (N from 1), condensed")  # fmt: skip


def _nearest(key: str, match: re.Match[str]) -> str:
    known = _spellings()
    near = difflib.get_close_matches(key.lower(), known, n=1, cutoff=0.5)
    if not near:
        return f"expected one of {', '.join(definition.pattern for definition in list_measures())}"
    definition = MEASURES[known[near[0]]]
    k = "" if match["k"] is None and definition.cutoff == "optional" else f"@{match['k'] or 10}"
    return f"did you mean {definition.example.replace('@10', k)}?"


def _examples() -> str:
    return ", ".join(definition.example for definition in list_measures()[:3])
