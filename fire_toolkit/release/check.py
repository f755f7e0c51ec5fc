"""What is wrong with a release, anybody's: its files as a loader, a reviewer and an annotator see them."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatch
from hashlib import sha256
from typing import Any

import pandas as pd
from pyarrow.parquet import ParquetFile

from fire_toolkit.errors import FireError
from fire_toolkit.release.published import CROISSANT, MUST, SHOULD, Finding, find_private
from fire_toolkit.release.rankings import differing, out_of_order, scores_again, tops_in
from fire_toolkit.tables import Qrels, check_qrels
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.ids import spelling_of
from fire_toolkit.words import n_of, table_in

Files = Mapping[str, bytes]
Pairs = dict[tuple[str, str], int]

_WORDS = table_in("release", "check.toml")
_ENDINGS, _DOCUMENTS = (tuple(_WORDS["endings"][name]) for name in ("texts", "documents"))
_OPEN = re.compile(r"\b(?:TODO|FIXME|TBD|XXX|lorem ipsum|placeholder)\b", re.IGNORECASE)
_MOMENT = re.compile(r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}")
_DATE = re.compile(r"\d{4}-(0[1-9]|1[012])-(0[1-9]|[12]\d|3[01])")
_WRONG = (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, OSError)
_CARD, _CITATION, _SCORES = "README.md", "CITATION.cff", "leaderboard.csv"
_CORRECTED, _ORIGINAL, _RANKS = "qrels.txt", "qrels.original.txt", "data/ranks.parquet"
_SIDES = ("queries.jsonl", "corpus.jsonl")
_JUDGED = ("judgments.csv", "judgments.tsv")
_BEIR = ["query-id", "corpus-id", "score"]
_AS_TEXT: dict[str, Any] = {"dtype": "str", "keep_default_na": False, "encoding": "utf-8"}


def check_release(files: Files) -> list[Finding]:
    """Return what is wrong with a release: first what must be mended, then what should; each by file.

    Files that are looked for; the card's configs and their files; Croissant's fields, those on responsible AI
    among them, and its hashes; the citation; the qrels in all their forms; ids that no table has; scores that
    do not follow from the runs that are included; e-mails, tokens, absolute paths and times of day; words
    left open; hashes that differ from the manifest.

    Args:
        files: path in the release → bytes, of every file.

    Examples:
        >>> [f"{found.level}: {found}" for found in check_release({"qrels.txt": b"q 0 d 1\\n"})][:2]
        ['must: LICENSE: missing', 'should: CITATION.cff: missing']
    """
    checks = (_files, _card, _croissant, _citation, _qrels, _scores, _texts)
    of = _Release(files)
    return sorted({each for check in checks for each in check(of)}, key=lambda each: (each.level, each))


class _Release:
    """What the checks read: files, those that are texts, qrels by file, and the ids of each side.

    Ids are as TREC's files have them, which cannot have blanks: where another file has an id with a blank,
    those of all others are percent-encoded.
    """

    def __init__(self, files: Files) -> None:
        self.files, qrels = files, qrels_in(files)
        texts = (name for name in files if name.endswith(_ENDINGS))
        self.texts = {name: files[name].decode("utf-8", "replace") for name in texts}
        sides = {name: _ids(self.texts[name]) for name in _SIDES if name in self.texts}
        own = {name: pairs for name, pairs in qrels.items() if pairs and _FORMS.get(name) is not _trec}
        ids = [each for pairs in own.values() for pair in pairs for each in pair]
        self.spelled = spelling_of([*ids, *(each for of_side in sides.values() for each in of_side)])
        self.sides = {name: {*map(self.spelled, of_side)} for name, of_side in sides.items()}
        self.qrels = qrels | {
            name: {(self.spelled(query), self.spelled(doc)): grade for (query, doc), grade in pairs.items()}
            for name, pairs in own.items()
        }

    def told(self, key: str) -> dict[str, Any]:
        """Return what manifest.json says under a key; nothing where there is none."""
        with suppress(*_WRONG):
            return dict(json.loads(self.files["manifest.json"])[key])
        return {}

    def hash_of(self, name: str) -> str:
        """Return the sha256 of a file."""
        return sha256(self.files[name]).hexdigest()


def qrels_in(files: Files) -> dict[str, Pairs | None]:
    """Return the qrels of a release by file, None where it cannot be read as its name says.

    A JSON file is known by its content: {query: {doc: relevance}}, or {query: [doc, ...]} as some packages
    have their positives.
    """
    found: dict[str, Pairs | None] = {}
    for name in (*_FORMS, *(name for name in files if name.endswith(".json"))):
        if name in files and name not in found:
            try:
                found[name] = _FORMS.get(name, _by_query)(files[name])
            except _WRONG:
                found |= {name: None} if name in _FORMS else {}
    return found


def _trec(raw: bytes) -> Pairs:
    table = pd.read_csv(io.BytesIO(raw), sep=r"\s+", header=None, quoting=csv.QUOTE_NONE, **_AS_TEXT)
    return _pairs(table.iloc[:, [0, 2, {4: 3, 5: 4}[len(table.columns)]]])


def _parquet(raw: bytes) -> pd.DataFrame:
    # In this thread: one of Arrow's that lets go of Python's bytes while the program ends aborts it.
    found: pd.DataFrame = ParquetFile(io.BytesIO(raw)).read(use_threads=False).to_pandas()
    return found


def _pairs(table: pd.DataFrame) -> Pairs:
    return {(query, doc): int(grade) for query, doc, grade in table.to_numpy().tolist()}


def _by_query(raw: bytes) -> Pairs:
    """Return the pairs of JSON; an error where it is none of qrels, as of other objects."""
    found: Pairs = {}
    for query, docs in json.loads(raw).items():
        graded = docs if isinstance(docs, dict) else dict.fromkeys(docs, 1) if type(docs) is list else {(): 1}
        if not all(isinstance(doc, str | int) and isinstance(grade, int) for doc, grade in graded.items()):
            raise ValueError
        found |= {(query, str(doc)): grade for doc, grade in graded.items()}
    if not found:
        raise ValueError
    return found


_FORMS: dict[str, Callable[[bytes], Pairs]] = {
    _CORRECTED: _trec,
    "qrels.sampled.txt": _trec,
    "qrels/test.tsv": lambda raw: _pairs(pd.read_csv(io.BytesIO(raw), sep="\t", **_AS_TEXT)[_BEIR]),
    "qrels.json": _by_query,
    "data/qrels.parquet": lambda raw: _pairs(_parquet(raw)[_BEIR]),
    _ORIGINAL: _trec,
}


def _ids(text: str) -> list[str]:
    with suppress(*_WRONG):
        return [str(json.loads(line)["_id"]) for line in text.splitlines() if line.strip()]
    return []


def _files(of: _Release) -> Iterator[Finding]:
    """Yield the files that are looked for and lack, and those that are not what manifest.json says."""
    for name, (level, *patterns) in _WORDS["expected"].items():
        if not any(fnmatch(path, pattern) for path in of.files for pattern in patterns):
            yield Finding(name, 0, "missing", level)
    if not of.qrels and not any("qrels" in name or name.startswith("default/") for name in of.files):
        yield Finding("qrels", 0, "missing", MUST)
    for name, wanted in of.told("outputs").items():
        if name not in of.files:
            yield Finding(name, 0, "missing, though manifest.json names it", MUST)
        elif of.hash_of(name) != wanted:
            yield Finding(name, 0, "changed since it was written; manifest.json has another hash", MUST)


def _card(of: _Release) -> Iterator[Finding]:
    """Yield what is wrong with the header of README.md, which loaders read."""
    if (text := of.texts.get(_CARD)) is None:
        return
    top = re.match(r"---\n(.*?)---\n", text, re.DOTALL)
    if not isinstance(header := _yaml(top[1]) if top else None, dict):
        what = "no YAML header between lines of ---, which names configs and the licence"
        yield Finding(_CARD, 1, what, SHOULD)
        return
    if not header.get("license"):
        yield Finding(_CARD, 1, "the header names no license", SHOULD)
    configs = header.get("configs")
    configs = [each for each in configs if isinstance(each, dict)] if isinstance(configs, list) else []
    names = {str(config.get("config_name")) for config in configs}
    names |= {"qrels"} if "default" in names else set()
    for name in _WORDS["keys"]["configs"]:
        if name not in names:
            what = f"no config {name}, which loaders of retrieval benchmarks ask for"
            yield Finding(_CARD, 1, what, SHOULD)
    for config in configs:
        for path in _data_files(config.get("data_files")):
            if not any(fnmatch(name, path) for name in of.files):
                yield Finding(_CARD, 1, f"config {config.get('config_name')}: no file {path}", MUST)


def _yaml(text: str) -> Any:
    import yaml

    with suppress(yaml.YAMLError, ValueError, RecursionError):
        return yaml.safe_load(text)
    return None


def _data_files(value: Any) -> Iterator[str]:
    """Yield the paths that a config names: a text, a list, or splits with a path each."""
    value = value.get("path") if isinstance(value, dict) else value
    if isinstance(value, str):
        yield value
    for each in value if isinstance(value, list) else []:
        yield from _data_files(each)


def _croissant(of: _Release) -> Iterator[Finding]:
    name = next((each for each in _WORDS["expected"]["croissant.json"][1:] if each in of.texts), None)
    if name is None:
        return
    try:
        found = json.loads(of.texts[name])
        keys = [*_WORDS["keys"]["croissant"], *CROISSANT["looked_for"]]
        absent = [key for key in keys if found.get(key) in (None, "", [], {})]
    except _WRONG as error:
        yield Finding(name, 0, f"not a JSON object: {error}", MUST)
        return
    for key in absent:
        more = ", which checkers of submissions look for" if key in CROISSANT["looked_for"] else ""
        yield Finding(name, 0, f"no {key}{more}", SHOULD)
    if not isinstance(found.get("rai:hasSyntheticData"), bool | None):
        yield Finding(name, 0, "rai:hasSyntheticData is neither true nor false", SHOULD)
    for wrong, right in CROISSANT["misnamed"].items():
        if wrong in found:
            yield Finding(name, 0, f"{wrong} is not read by anybody; it is called {right}", SHOULD)
    context = found.get("@context")
    lacking = CROISSANT["context"].keys() - context.keys() if isinstance(context, dict) else set()
    if lacking:
        yield Finding(name, 0, f"@context lacks {', '.join(sorted(lacking))}", SHOULD)
    entries = found.get("distribution")
    for entry in entries if isinstance(entries, list) else []:
        address = entry.get("contentUrl") if isinstance(entry, dict) else None
        if isinstance(address, str):
            is_there = [path for path in of.files if f"/{address}".endswith(f"/{path}")]
            if not is_there and "://" not in address:
                yield Finding(name, 0, f"contentUrl {address}: no such file", MUST)
            elif is_there and entry.get("sha256") not in map(of.hash_of, is_there):
                yield Finding(name, 0, f"contentUrl {address}: its sha256 is not that of the file", MUST)


def _citation(of: _Release) -> Iterator[Finding]:
    if _CITATION not in of.texts:
        return
    found = _yaml(of.texts[_CITATION])
    if not isinstance(found, dict):
        yield Finding(_CITATION, 0, "not YAML with keys", SHOULD)
        return
    for key in _WORDS["keys"]["citation"]:
        if not found.get(key):
            yield Finding(_CITATION, 0, f"no {key}", SHOULD)
    date = found.get("date-released")
    if date is not None and not _DATE.fullmatch(str(date)):
        yield Finding(_CITATION, 0, f"date-released is {str(date)[:40]!r}, expected YYYY-MM-DD", SHOULD)


def _qrels(of: _Release) -> Iterator[Finding]:
    """Yield where the qrels cannot be read, differ from form to form, or have ids that no table has."""
    for name, pairs in of.qrels.items():
        if pairs is None:
            yield Finding(name, 0, "cannot be read as qrels of the form that its name says", MUST)
    compared = of.qrels.keys() & _FORMS.keys() - {_ORIGINAL}
    forms = {name: pairs for name, pairs in of.qrels.items() if pairs is not None and name in compared}
    first = next(iter(forms), "")
    for name, pairs in forms.items():
        if pairs != forms[first]:
            yield Finding(name, 0, f"not the same pairs as {first}", MUST)
    for place, name in enumerate(_SIDES):
        if first and name in of.sides and (absent := {p[place] for p in forms[first]} - of.sides[name]):
            yield Finding(name, 0, f"lacks {len(absent):,} ids of {first}, such as {min(absent)}", MUST)


def _scores(of: _Release) -> Iterator[Finding]:
    """Yield the scores of leaderboard.csv that do not follow from the runs in the release."""
    original, corrected = (of.qrels.get(each) for each in (_ORIGINAL, _CORRECTED))
    if not {_SCORES, _RANKS} <= of.files.keys() or not original or not corrected:
        return
    try:
        tops, ranks = tops_in(of.files), _parquet(of.files[_RANKS])
        ranks = ranks.assign(**{name: ranks[name].map(of.spelled) for name in PAIR})
        told = pd.read_csv(io.BytesIO(of.files[_SCORES]), dtype={"run_id": str, "query_id": str})
        told = told[~told["measure"].isin(of.told("parameters").get("not_scored_again", []))]
        own = _table(original), _table(corrected)
        again = scores_again(tops, ranks, *own, told["measure"].unique().tolist())
    except (*_WRONG, FireError) as error:
        yield Finding(_SCORES, 0, f"no scores follow from the runs: {error}", MUST)
        return
    for row in out_of_order(tops).head(3).itertuples():
        what = f"query {row.query_id}: rank {row.rank} is not that of its score"
        yield Finding(f"runs/{row.run_id}.run", 0, what, MUST)
    for row in differing(told, again).itertuples():
        what = f"{row.measure} of {row.run_id} by the {row.qrels} qrels"
        yield Finding(_SCORES, 0, f"{what} is {row.value:.6g}; by the runs it is {row.found:.6g}", MUST)


def _table(pairs: Pairs) -> Qrels:
    rows = [(*pair, grade) for pair, grade in pairs.items()]
    return check_qrels(pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]))


def _texts(of: _Release) -> Iterator[Finding]:
    """Yield what says more of people than it must, and words left open; creators may have their e-mail."""
    for found in find_private(of.texts):
        if found.what != "an e-mail address" or not found.file.endswith(_DOCUMENTS):
            yield found
    for name, text in of.texts.items():
        lines = text.splitlines()
        n = sum(1 for line in lines if name.endswith(_JUDGED) and _MOMENT.search(line))
        if n:
            yield Finding(name, 0, f"{n_of(n, 'row')} with a time of day; a date is enough", SHOULD)
        for number, line in enumerate(lines if name.endswith(_DOCUMENTS) else (), start=1):
            if match := _OPEN.search(line):
                yield Finding(name, number, f"{match[0]}: left open", SHOULD)
