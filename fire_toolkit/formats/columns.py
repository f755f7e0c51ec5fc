"""The usual names of columns in tables that people bring: one list for runs, qrels, collections and imports.

A role's own names mean it in every table. What collections call their captions and items means it too, where
no other column of the table could; two that could are refused, with the line to type. In a table of captions
the first that is there is taken, and names such as `query` are texts.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from fire_toolkit.errors import FormatError, UsageError

QUERY = ("query_id", "query-id", "qid", "q_id", "queryid")
_CAPTION = ("caption_id", "sentence_id", "sen_id", "sentid")
_TOPIC = ("topic_id", "topic", "query")  # ids in a run; a category or a text elsewhere
_KEY = ("key",)
DOC = ("doc_id", "corpus-id")
# Docs with texts of their own: a table of them is no table of captions. (PyTerrier's docid counts docnos.)
_PASSAGE = ("doc-id", "docno", "docid", "did", "corpus_id", "document_id", "pid")
_ITEM = ("video_id", "image_id", "clip_id", "item_id", "video", "image", "clip")
_FILE = ("filename", "file_name", "name")
TEXT = ("text", "caption", "sentence", "query", "description")
_PATHS = (
    *("video_path", "image_path", "img_path", "audio_path", "filepath", "file_path"),
    *("video_file", "image_file", "audio_file"),
)
MEDIA = (
    *("media_url", "url", "uri", "link", "video_url", "image_url", "media", "path", "media_path"),
    *(*_PATHS, "file", "src", "file_name", "filename", "video", "image"),
)
START = ("start", "start_s", "start_time", "start time", "start_sec", "start_timestamp", "start_frame")
SCORE = ("score", "similarity", "sim", "scores")
DISTANCE = ("distance", "dist")  # of hits, whose order tells which end is the near one
RANK = ("rank", "position")
RUN = ("run_id", "run", "tag", "system")
RELEVANCE = ("relevance", "rel", "grade")
ANNOTATOR = ("annotator_id", "annotator", "worker", "worker_id", "rater", "user")
LABEL = ("label", "answer", "judgment", "rating")

# Of a table of a collection, the first that is there.
COLLECTION = {"query_id": (*QUERY[:3], *_CAPTION, *_KEY), "text": TEXT, "doc_id": (*DOC, *_ITEM, *_FILE)}
# Of pairs (a run, qrels, answers): a role's own names, whose first is taken, and others, of which one may be.
OWN = {"query_id": QUERY, "doc_id": (*DOC[:1], *_PASSAGE[:4], *DOC[1:], *_PASSAGE[4:])}
_IDS = {"query_id": _CAPTION, "doc_id": (*_ITEM, "item", "doc", "document", "sound", "audio")}
_LOOSE = {"query_id": (*_TOPIC, *_KEY), "doc_id": _FILE}
# What people call the columns that a table of answers, or of captions, needs; for guesses, in lines to type.
_ASKED = ("question", "query-text", "query_txt", "edit")
_TEXTS = (*TEXT, "captions", "sentences", "descriptions", "desc", "narration", *_ASKED, "name")
_FOUND = ("gold_ids", "answer_pids", "pos_cand_list", "pth2")  # the docs of a query, of one of two paths
_DOCS = (*DOC, *_FOUND, *_ITEM, "vid", "videoid", "vid_name", "did", *_PATHS, "id")
GUESSED_CAPTIONS = {"doc_id": _DOCS, "text": _TEXTS}
GUESSED = {
    "annotator": (*ANNOTATOR, "coder", "judge", "participant", "who", "email"),
    "query": (*QUERY, *_CAPTION, *_TOPIC, *TEXT, "question", "prompt"),
    "doc": (*DOC, *_PASSAGE, *_ITEM, "item", "doc", "document", "passage", "sound", "audio"),
    "label": (*LABEL, "verdict", "vote", "choice", "relevance", "response"),
}
_WORD, _DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"[0-9]+")
_OF_NO_USE = {"id", "ids", "list", "url", "name", "file", "path"}  # words that many roles have
_LONGEST = 40


def find_name(names: Sequence[str], wanted: Sequence[str]) -> str | None:
    """Return the first of `wanted` that is in `names` (in any case), as it is written there."""
    by_lower = {name.strip().lower(): name for name in reversed(names)}
    return next((by_lower[name] for name in wanted if name in by_lower), None)


def columns_of(columns: Iterable[str], name: str) -> list[str]:
    """Return the columns that a name means: the one of that name, or all of a pattern (`caption_*`)."""
    present = list(columns)
    return [name] if name in present else [each for each in present if fnmatchcase(each, name)]


def pair_columns(names: Sequence[str], role: str, *, is_loose: bool = True) -> list[str]:
    """Return the columns that may be the `query_id` or the `doc_id` of pairs: one where it is clear.

    is_loose: whether names count that mean other things in other tables (`query`, `name`).

    Examples:
        >>> pair_columns(["Sentence_ID", "clip", "score"], "query_id")
        ['Sentence_ID']
        >>> pair_columns(["query_id", "video", "clip"], "doc_id")
        ['video', 'clip']
    """
    if own := find_name(names, OWN[role]):
        return [own]
    usual = (*_IDS[role], *(_LOOSE[role] if is_loose else ()))
    return [name for name in names if name.strip().lower() in usual]


def pair_column(names: Sequence[str], role: str, *, is_loose: bool = True) -> str | None:
    """Return the column of the `query_id` or the `doc_id` of pairs, None where it is not clear."""
    found = pair_columns(names, role, is_loose=is_loose)
    return found[0] if len(found) == 1 else None


def are_pairs(names: Sequence[str]) -> bool:
    """Whether a frame with these columns is a table of pairs, and no matrix whose docs are called so."""
    both = all(pair_columns(names, role) for role in OWN)
    return both or find_name(names, OWN["query_id"]) is not None


def needed_column(names: Sequence[str], role: str, where: str) -> str:
    """Return the column of the `query_id` or the `doc_id` of pairs.

    Raises:
        FormatError: there is none, or there are several.
    """
    found = pair_columns(names, role)
    if len(found) != 1:
        problem = f"columns {' and '.join(found)} may each be the {role}" if found else f"no {role}"
        raise FormatError(f"{where}: {problem}; found {', '.join(names[:12]) or 'nothing'}")
    return found[0]


def is_number(field: str) -> bool:
    """Whether a field is a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def guessed_columns(
    columns: Sequence[str], usual: Mapping[str, Sequence[str]], given: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return role → column: those given, then usual names, names that have a usual word, what is left.

    Args:
        columns: of the table.
        usual: role → its usual names, for each role that needs a column.
        given: role → column, of those that are known.

    Examples:
        >>> guessed_columns(["who", "the_clip", "verdict"], {"doc": ["video", "clip"], "label": ["verdict"]})
        {'doc': 'the_clip', 'label': 'verdict'}
        >>> guessed_columns(["q", "d"], {"query": ["query"], "doc": ["doc"]})
        {'query': 'q', 'doc': 'd'}
    """

    def has_usual_word(column: str, names: Sequence[str]) -> bool:
        words = {word for name in names for word in _WORD.findall(name.lower())} - _OF_NO_USE
        own = {*_WORD.findall(column.lower())}  # a query's picture is no doc
        return bool(words & own) and ("query" not in own or "query" in words)

    found = dict(given or {})
    for fits in (lambda column, names: column.strip().lower() in names, has_usual_word, lambda *_: True):
        for role, names in usual.items():
            free = [each for each in columns if each not in found.values()]
            guess = next((each for each in free if fits(each, names)), None)
            if role not in found and guess is not None:
                found[role] = guess
    return {**{role: found[role] for role in usual if role in found}, **found}


def are_names(fields: Sequence[str], below: str = "") -> bool:
    """Whether fields of a first line can be the names of columns, and are no row of a table without them.

    below: the second line; a field that differs from its beginning in digits alone is a value.

    Examples:
        >>> are_names(["video1", "a dog runs"], "video2,a man cooks"), are_names(["video", "words"])
        (False, True)
    """
    first, start = (_DIGITS.sub("0", each) for each in (fields[0] if fields else "", below))
    is_a_row = "0" in first and start.startswith(first)
    return (
        not is_a_row
        and len({*fields}) == len(fields) > 1
        and all(
            name and not name[0].isdigit() and len(name) <= _LONGEST and name.count(" ") < 4
            for name in fields
        )
    )


def line_of(roles: Mapping[str, str]) -> str:
    """Return the option that names columns.

    Examples:
        >>> line_of({"doc_id": "clip", "text": "words *"})
        "--columns 'doc_id=clip,text=words *'"
    """
    return "--columns '" + ",".join(f"{role}={name}" for role, name in roles.items()) + "'"


_SAME = ({"query", "query_id"}, {"doc", "doc_id"}, {"annotator", "annotator_id"})


def named_columns(
    texts: Sequence[str], roles: Sequence[str], *, are_several: bool = False
) -> dict[str, list[str]]:
    """Return role → columns of texts `ROLE=COLUMN,ROLE=COLUMN`; a column may hold commas and `=`.

    `query` and `query_id` are one role, so are `doc` and `doc_id`, and `annotator` and `annotator_id`.
    are_several: whether a role may have several columns, each of a table.

    Examples:
        >>> named_columns(["doc=file_name,text=caption_*"], ["doc_id", "query_id", "text"])
        {'doc_id': ['file_name'], 'text': ['caption_*']}
    """
    meant = {name: role for role in roles for name in next((same for same in _SAME if role in same), {role})}
    found: dict[str, list[str]] = {}
    for text in texts:
        for part in re.split(rf",(?=\s*(?:{'|'.join(meant)})=)", text):
            name, equals, column = (each.strip() for each in part.partition("="))
            if name not in meant or not equals or not column:
                raise UsageError(f"--columns {part}: expected ROLE=NAME with one of {', '.join(roles)}")
            columns = found.setdefault(meant[name], [])
            columns += [column] if column not in columns else []
            if len(columns) > 1 and not are_several:
                raise UsageError(f"--columns: {meant[name]} is named twice")
    return found
