"""Tables as text for people, and what every result of several parts can do."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from fire_toolkit.words import n_of

if TYPE_CHECKING:
    import pandas as pd

DRAWN = {"table": "simple", "latex": "latex_booktabs", "markdown": "pipe", "html": "html"}
_BOLD = {"latex": ("\\textbf{", "}"), "markdown": ("**", "**"), "html": ("<b>", "</b>")}
_MOST_ROWS = 60
_BEGIN, _END = "\ue000", "\ue001"  # stand for the marks of bold text while a table is drawn


class Result:
    """What a result of several parts can do: its parts have names, and unpack in their order.

    table: the part that matters most. notes: sentences on what the table does not say. A notebook shows
    the table, what is in all parts, and the notes; `to_latex` gives table and notes for a paper.
    """

    __slots__ = ()

    @property
    def notes(self) -> Sequence[object]:
        """Return sentences on what the table does not say; none where the result has none."""
        return ()

    @property
    def table(self) -> pd.DataFrame:
        """Return the first part that is a table."""
        import pandas as pd

        parts: Sequence[object] = self  # type: ignore[assignment]  # every result is a tuple too
        return next(part for part in parts if isinstance(part, pd.DataFrame))

    @property
    def basis(self) -> str:
        """Return what is in each part, in words: rows, and how many queries, docs, runs and annotators."""
        parts: Mapping[str, object] = self._asdict()  # type: ignore[attr-defined]
        found = (part_in_words(name, part) for name, part in parts.items() if name != "notes")
        return "; ".join(filter(None, found))

    def to_latex(self, *, digits: int = 4) -> str:
        """Return the table as LaTeX (booktabs), each note below it as a comment."""
        return self._drawn("latex", digits) + "".join(f"% note: {note}\n" for note in self.notes)

    def _repr_html_(self) -> str:
        n_rows = len(self.table)
        more = [f"{n_rows:,} rows, the first {_MOST_ROWS} shown"] if n_rows > _MOST_ROWS else []
        return shown_html(self._drawn("html"), [f"rests on: {self.basis}", *more, *self.notes])

    def _drawn(self, form: str, digits: int = 4) -> str:
        return drawn_table(self.table.head(_MOST_ROWS) if form == "html" else self.table, form, digits)


class Next(NamedTuple):
    """The command that goes on from what was written, and what it must be told where no workspace knows it.

    `{out}` stands for where the files are, `{stem}` for that without its suffix, `{given}` for what --out
    said, if anything, `{QUERIES}` and `{QRELS}` for these files, `{JUDGMENTS}` for the file given and
    `{SAME_RUNS}` for the runs given, if any. outside: what is named outside a workspace. elsewhere: what is
    named where --out said where to write.
    """

    command: str
    outside: str = ""
    elsewhere: str = ""


@dataclass(frozen=True, eq=False)
class Found(Result):
    """What a command returns, in Python and on the command line.

    tables: by name; of a stage those of its files. notes: sentences on what they do not say. more: what the
    result rests on beyond the tables that the command was given; basis: all of it, in words. shown: which
    table is displayed, the first unless named. draw: returns it as text in one of `DRAWN`, by default all its
    columns. is_long: such a text is CSV. said: sentences of their own. written: what `--out` writes, where it
    is not the table displayed; place: where the workspace keeps it, if all that was read is the workspace's.

    files: what is written, name → table, text or plot; one in a further folder (`rejected/pool.csv`) has its
    manifest, and its table the folder's name. of_first: those that take the name which --out gives the first,
    before or in the place of its own. parameters: what the manifest says of how the command
    was called, beside the options given; None takes one out. counts: for the manifest, and printed with
    `--format json`; trace: more of them for the manifest alone. words: what was written, in words (`{out}`
    stands for where); next: the command that goes on, or a sentence on it.
    """

    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    notes: Sequence[str] = ()
    more: Sequence[str] = ()
    basis: str = ""
    shown: str = ""
    draw: Callable[[Any, str], str] | None = None
    is_long: bool = False
    said: Sequence[str] = ()
    written: pd.DataFrame | None = None
    place: str = ""
    files: Mapping[str, pd.DataFrame | dict[str, Any] | str | bytes] = field(default_factory=dict)
    of_first: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, Any] = field(default_factory=dict)
    trace: Mapping[str, Any] = field(default_factory=dict)
    words: str = ""
    next: Next | str = ""

    def named_files(self, name: str) -> dict[str, Any]:
        """Return the files where the first is called `name`.

        Examples:
            >>> files = dict.fromkeys(["a.txt", "a.csv", "b.csv"], "")
            >>> found = Found(files=files, of_first=["a.csv", "b.csv"])
            >>> list(found.named_files("x.trec")), list(found.named_files("a.txt"))
            (['x.trec', 'x.csv', 'x.b.csv'], ['a.txt', 'a.csv', 'b.csv'])
        """
        first = next(iter(self.files))
        (usual, _, _), (stem, dot, _) = first.rpartition("."), name.rpartition(".")
        stem = stem if dot else name
        names = {first: name}
        if stem != usual:
            names |= {each: f"{stem}.{each.removeprefix(f'{usual}.')}" for each in self.of_first}
        return {names.get(each, each): content for each, content in self.files.items()}

    @property
    def table(self) -> pd.DataFrame:
        """Return the table that is displayed."""
        return self.tables[self.shown or next(iter(self.tables))]

    def __getattr__(self, name: str) -> pd.DataFrame:
        """Return a table by its name."""
        tables: Mapping[str, pd.DataFrame] = vars(self).get("tables", {})  # none yet in what is being copied
        if name.startswith("_") or name not in tables:
            raise AttributeError(f"a result has no {name!r}; it has {', '.join(tables) or 'no tables'}")
        return tables[name]

    def _drawn(self, form: str, digits: int = 4) -> str:
        if self.draw is None or (self.is_long and form == "html"):
            return super()._drawn(form, digits)
        return self.draw(self.table, form)


class Shown:
    """What a notebook shows of a single thing: its plain fields, one a row.

    `shown_fields` says which; by default those of a dataclass that are text, numbers or paths.
    """

    __slots__ = ()

    def shown_fields(self) -> Mapping[str, object]:
        """Return name → value of what is shown."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {
            name: value
            for name, value in values.items()
            if isinstance(value, str | int | float) or hasattr(value, "__fspath__")
        }

    def _repr_html_(self) -> str:
        rows = [[name, _cell(value, 4)] for name, value in self.shown_fields().items()]
        return drawn_text(rows, [type(self).__name__, ""], "html", align="left")


_COUNTED = {"query_id": "query", "doc_id": "doc", "run_id": "run", "annotator_id": "annotator"}
_OF_SCORES = {"run_id", "qrels", "query_id", "measure", "value"}
_ALL = "all"  # what scores have as the query of an aggregate


def part_in_words(name: str, part: object) -> str:
    """Return what a part of a result holds; empty for a part that is neither a table nor a number."""
    if isinstance(part, int | float):
        return f"{name} {_cell(part, 4)}"
    if isinstance(part, Mapping):
        values = ", ".join(f"{key} {_cell(value, 4)}" for key, value in part.items())
        return f"{name}: {values}" if part else ""
    if not hasattr(part, "columns"):
        return ""
    table = cast("pd.DataFrame", part)
    numbers = {key: table[key].nunique() for key in _COUNTED if key in table.columns and len(table)}
    if table.columns.isin(_OF_SCORES).sum() == len(_OF_SCORES):
        numbers["query_id"] = int((table["query_id"].unique() != _ALL).sum())
    counts = ", ".join(n_of(int(n), _COUNTED[key]) for key, n in numbers.items() if n)
    return f"{name}: {n_of(len(table), 'row')}" + (f" ({counts})" if counts else "")


def shown_html(table: str, notes: Sequence[object]) -> str:
    """Return a table's HTML and the notes below it, whose text is escaped."""
    items = "".join(f"<li>{html.escape(str(note))}</li>" for note in notes)
    return table + (f"<ul>{items}</ul>" if items else "")


def drawn_table(table: pd.DataFrame, form: str, digits: int) -> str:
    """Return a table with all its columns as text in one of `DRAWN`."""
    rows = [[_cell(value, digits) for value in row] for row in table.itertuples(index=False)]
    return drawn_text(rows, [str(name) for name in table.columns], form)


def _cell(value: object, digits: int) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.{digits}f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def bold(text: str) -> str:
    """Return a cell's text to be printed bold, where the form has bold text."""
    return f"{_BEGIN}{text}{_END}"


def drawn_text(
    rows: Sequence[Sequence[str]], header: Sequence[str], form: str, *, align: str = "right"
) -> str:
    """Return rows of text as a table for the terminal, as LaTeX (booktabs), Markdown or HTML.

    The first column is aligned left, the others as `align` says.
    """
    from tabulate import tabulate

    begin, end = _BOLD.get(form, ("", ""))
    if form in ("table", "markdown"):  # these escape nothing and line up what they are given
        rows = [[cell.replace(_BEGIN, begin).replace(_END, end) for cell in row] for row in rows]
    sides = ["left", *[align] * (len(header) - 1)]
    drawn = tabulate(rows, headers=list(header), tablefmt=DRAWN[form], disable_numparse=True, colalign=sides)
    return drawn.replace(_BEGIN, begin).replace(_END, end) + "\n"
