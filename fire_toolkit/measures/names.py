"""Measures by name: `C@10`, `AP_fire@20`, `AP@10/min`, `RBP(p=0.8)`, `P@10:rel=2`, `C@10:condensed`."""

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from fire_toolkit.errors import UsageError
from fire_toolkit.measures.definition import Definition, Measure
from fire_toolkit.measures.registry import MEASURES

_NAME = re.compile(
    r"(?P<name>[^()@/:]+)(\((?P<arguments>[^()]*)\))?(?P<cutoff>@(?P<k>[^()@/:]*))?"
    r"(?P<variant>/[^()@/:]*)?(?P<modifiers>(:[^:]*)*)"
)
_LEVEL = re.compile(r"rel=[1-9][0-9]{0,8}")
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
        UsageError: the name is unknown (with the nearest known), or not followed by what its measure takes.

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
        some = ", ".join(definition.example for definition in list_measures()[:3])
        raise UsageError(f"no measure {name!r}; expected a name such as {some}")
    at_r = "" if re.fullmatch(r"[0-9]*", match["k"] or "") else match["cutoff"]  # as in mAP@R
    variant = match["variant"] or ""
    key = match["name"] + at_r + variant
    definition = MEASURES.get(key) or MEASURES.get(match["name"] + variant)
    if definition is None and (own := _own_name(name, match)):
        return parse_measure(own)
    if definition is None:
        raise UsageError(f"no measure {name!r}; {_nearest(key, match['k'])}")
    return _with_what_follows(definition, match)


def parse_measures(measures: Sequence[Any]) -> list[Measure]:
    """Return measures, each once: by name, as ir_measures has them, or as they are.

    Raises:
        UsageError: there is none, or one of them is no measure.
    """
    if isinstance(measures, str) or not isinstance(measures, Sequence) or not measures:
        raise UsageError(f"measures: found {measures!r}, expected a list of names such as ['C@1', 'AP']")
    found: list[Measure] = []
    for each in measures:
        if type(each).__module__.partition(".")[0] == "ir_measures":
            each = re.sub(r"\(rel=(\d+)\)(.*)", r"\2:rel=\1", str(each))
        if not isinstance(each, Measure | str):
            raise UsageError(f"measures: found {each!r}, expected a name such as 'C@1'")
        found.append(parse_measure(each) if isinstance(each, str) else each)
    return list(dict.fromkeys(found))


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


def _with_what_follows(definition: Definition, match: re.Match[str]) -> Measure:
    """Return a definition with the cutoff, parameters and modifiers that were typed after its name."""
    typed, values = match["arguments"], dict[str, float]()
    for each in definition.parameters:
        values[each.name] = float("nan") if each.default is None else each.default
    given = [] if typed is None else [part.partition("=")[::2] for part in typed.split(",")]
    is_known = len(dict(given)) == len(given) and set(dict(given)) <= set(values)
    values |= {name: _number(text) for name, text in given}
    arguments = tuple(values[each.name] for each in definition.parameters)
    are_allowed = all(each.allows(values[each.name]) for each in definition.parameters)
    k = None if definition.name != match["name"] else match["k"]  # mAP@R has its own in its name
    needed = {"none": k is None, "required": k is not None}.get(definition.cutoff, True)
    is_rank = k is None or (re.fullmatch(r"[0-9]{1,10}", k) is not None and 1 <= int(k) <= _LARGEST_K)
    modifiers = match["modifiers"].split(":")[1:]
    levels = [each[4:] for each in modifiers if _LEVEL.fullmatch(each)]
    n_condensed = modifiers.count("condensed")
    are_modifiers = max(len(levels), n_condensed) <= 1 and len(levels) + n_condensed == len(modifiers)
    if not (is_known and are_allowed and needed and is_rank and are_modifiers):
        ranges = [f"{each.name} a number {each.range}" for each in definition.parameters]
        ranges += ["k a whole number from 1"] if definition.cutoff != "none" else []
        words = f" ({', '.join(ranges)})" if ranges else ""
        raise UsageError(
            f"measure {match[0]!r}: expected {definition.pattern}{words}, such as {definition.example}, and "
            "after it at most once each :rel=N (N from 1) and :condensed"
        )
    level = int(levels[0]) if levels else 1
    return Measure(definition, None if k is None else int(k), arguments, level, n_condensed > 0)


def _number(text: str) -> float:
    with suppress(ValueError):
        return float(text)
    return float("nan")


def _nearest(key: str, k: str | None) -> str:
    known = _spellings()
    near = difflib.get_close_matches(key.lower(), known, n=1, cutoff=0.6)
    if not near:
        return f"expected one of {', '.join(definition.pattern for definition in list_measures())}"
    definition = MEASURES[known[near[0]]]
    cut = "" if k is None and definition.cutoff == "optional" else f"@{k or 10}"
    return f"did you mean {definition.example.replace('@10', cut)}?"
