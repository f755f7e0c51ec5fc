"""By which design the judged pairs were chosen, as it stands beside the qrels or the pool."""

from __future__ import annotations

from pathlib import Path

from fire_toolkit.cli.given import Given
from fire_toolkit.cli.machine_scores import MACHINE_SAMPLE, shared_runs
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.runs.read import run_id_of
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.table_files import read_query_design
from fire_toolkit.inference.estimates import Design
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.designs import check_machine_sample

_OF_PAIRS = ("stratum", "inclusion_probability")
_LONGEST = 10_000  # bytes of a header


def design_if_any(given: Given) -> Design | None:
    """Return the design beside the augmented qrels, else beside the pool sources; None without one."""
    for files in _files(given):
        if (sample := files[0].with_name(MACHINE_SAMPLE)).is_file():
            return _design_of_judge(given, sample)
        pairs = next((path for path in files if _is_design(path)), None)
        queries = files[0].with_name("query_design.csv")
        if queries.is_file() and pairs is None:
            names = " or ".join(path.name for path in files)
            raise FormatError(
                f"{queries}: no {names} beside it has the columns {' and '.join(_OF_PAIRS)}; copy the one "
                "that `pool` or `augment` wrote with it"
            )
        if pairs is not None:
            table = read_delimited(given.use(pairs), required=[*PAIR, *_OF_PAIRS])
            found = read_query_design(given.use(queries)) if queries.is_file() else None
            return Design(table[[*PAIR, *_OF_PAIRS]], found)
    return None


def _design_of_judge(given: Given, path: Path) -> Design:
    """Return a machine judge's sample, with the runs that may share its backbone."""
    sample = check_machine_sample(read_delimited(given.use(path)), where=str(path))
    judge = str(sample["judge_id"].iloc[0])
    shared = shared_runs(given, judge, map(run_id_of, given.stored_runs))
    return Design(sample, None, sample, shared)


def _files(given: Given) -> list[list[Path]]:
    """Return the files that may hold a design: beside what was given, else in the workspace if it is read."""
    is_its_own = not given.values.get("qrels")
    files = []
    for name, others in (("augmented", [".csv"]), ("pool_sources", [])):
        path = given.found(name) if is_its_own or given.values.get(name) else None
        if path:
            files.append([path.with_name("pool.csv"), *map(path.with_suffix, others)])
    return files


def _is_design(path: Path) -> bool:
    """Return whether a file names the columns of a design; pools are large, so its header alone is read."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        header = file.readline(_LONGEST)
    return set(_OF_PAIRS) <= set(header.decode(errors="replace").replace('"', "").strip().split(","))
