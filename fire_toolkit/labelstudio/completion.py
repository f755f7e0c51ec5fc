"""Completion codes: what a crowd platform asks for from whoever has done all of a round."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.labelstudio.media_key import make_key

_KEY = "completion.key"
_NAMES = {"annotator": "annotator_id", "completion_code": "code"}
RIGHT, WRONG, MISSING, NOT_DONE = "right", "wrong", "missing", "not done"


def make_completion_key(folder: Path) -> bytes:
    """Return the secret in a workspace's private folder; where there is none it is made, for its owner only.

    Raises:
        FormatError: it is damaged, or others can read it.
    """
    return make_key(folder / _KEY, "codes that were given out are not known without it").hex().encode()


def completion_code(key: bytes, annotator_id: str, number: int) -> str:
    """Return the code of an annotator in a round, which nobody without the key can make.

    Examples:
        >>> completion_code(b"secret of a workspace", "W07", 1)
        '8BFE16852D'
    """
    return hmac.new(key, f"{number}/{annotator_id}".encode(), hashlib.sha256).hexdigest()[:10].upper()


def check_submitted(table: pd.DataFrame, *, where: str) -> pd.DataFrame:
    """Return who submitted which code, with the line of the file.

    Args:
        table: as read from a file: columns annotator_id (or annotator) and code (or completion_code); others
            are not used. Lines without a code are left out.
        where: the file, for messages.

    Returns:
        Columns annotator_id, code (in capitals, without blanks around it), line.

    Raises:
        FormatError: one of the two columns is not there.
    """
    named = table.rename(columns={name: new for name, new in _NAMES.items() if new not in table.columns})
    for name in ("annotator_id", "code"):
        if name not in named.columns:
            there = ", ".join(table.columns)
            raise FormatError(f"{where}:1: no column {name}; expected annotator_id and code, found {there}")
    found = pd.DataFrame({name: named[name].fillna("").str.strip() for name in ("annotator_id", "code")})
    found = found.assign(code=found["code"].str.upper(), line=range(2, len(found) + 2))
    return found[found["code"] != ""].reset_index(drop=True)


def check_codes(earned: pd.DataFrame, submitted: pd.DataFrame, key: bytes) -> tuple[list[str], list[str]]:
    """Return what the submitted codes say of each row that was earned, and what is wrong with others.

    Args:
        earned: as `pay_of` returns it: annotator_id, round, is_done.
        submitted: as `check_submitted` returns it.
        key: the workspace's secret.

    Returns:
        For each row `right` (done, and the code was submitted), `not done` (the code was submitted, and
        something is left to answer), `wrong` (done, and the annotator submitted only what is no code of
        theirs), `missing` (done, and no code for it), or an empty text; then a sentence for each line with a
        code that is nobody's, somebody else's, or of somebody without answers.
    """
    rows = list(zip(earned["annotator_id"], earned["round"], earned["is_done"], strict=True))
    owner = {completion_code(key, name, int(number)): (name, int(number)) for name, number, _ in rows}
    given = list(submitted.itertuples(index=False, name=None))
    right = {(name, code) for name, code, _ in given if owner.get(code, ("", 0))[0] == name}
    stray = [line for line in given if line[:2] not in right]
    strangers = {name for name, _, _ in stray}
    states = []
    for name, number, is_done in rows:
        is_given = (name, completion_code(key, name, int(number))) in right
        without = (WRONG if name in strangers else MISSING) if is_done else ""
        states.append((RIGHT if is_done else NOT_DONE) if is_given else without)
    people = {name for name, _, _ in rows}
    return states, [_stray_words(*line, owner=owner, people=people) for line in stray]


def _stray_words(
    name: str, code: str, line: int, *, owner: dict[str, tuple[str, int]], people: set[str]
) -> str:
    what = f"line {line}: {name or '(nobody)'} submitted {code}"
    if code in owner:
        return f"{what}, the code of {owner[code][0]} in round {owner[code][1]}"
    return f"{what}, {'which is nobody’s code' if name in people else 'and has answered nothing here'}"
