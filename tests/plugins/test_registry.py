"""What plug-ins add is found by name and in lists; one that is broken is one line that names its package."""

import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from command import run

from examples import cases
from fire_toolkit.cli.pull import carrier_of
from fire_toolkit.errors import FileNote, PluginError, UsageError
from fire_toolkit.formats.collections import registry
from fire_toolkit.measures import list_measures, parse_measure
from fire_toolkit.measures.registry import MEASURES
from fire_toolkit.plugins import failed_plugin
from fire_toolkit.resolution.registry import RULES

Install = Callable[..., None]
ROOT = Path(__file__).resolve().parents[2]
FULL = """
    import numpy as np
    from fire_toolkit.measures import Definition

    def fullness(ranking, *, k):
        return np.minimum(ranking.n_retrieved, k) / k

    FULL = Definition("Full", "Share of k retrieved.", "A test.", "None.", fullness, cutoff="required")
"""


def test_a_measure_is_found_by_name_and_listed_last(install: Install) -> None:
    install("extra", FULL, measures="Full = extra:FULL")
    assert parse_measure("Full@4").name == "Full@4"
    assert parse_measure("Full@4") == parse_measure("Full@4")
    assert list_measures()[-1].pattern == "Full@k"
    assert "Full@k" in run("measures").stdout


@cases("module", "point", "said")
def test_a_broken_plug_in_is_one_line(install: Install, module: str, point: str, said: str) -> None:
    install("extra", module, measures=f"{point} = extra:FULL")
    line = f"measure '{point}' of extra 1.0 {said}"
    with pytest.raises(PluginError) as raised:
        parse_measure(f"{point}@4")
    assert str(raised.value) == line
    with pytest.warns(FileNote) as noted:
        assert point not in [definition.name for definition in list_measures()]
    assert str(noted[0].message) == f"left out {line}"
    assert run("measures").stderr == f"note: left out {line}\n"


def test_a_variant_is_a_name_too(install: Install) -> None:
    module = FULL + '\n    from dataclasses import replace\n    LEAST = replace(FULL, variant="least")\n'
    install("extra", module, measures="Full/least = extra:LEAST")
    assert parse_measure("Full@4/least").name == "Full@4/least"


def test_the_page_on_plug_ins_names_what_there_is() -> None:
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    names = [name.rpartition(".") for name in re.findall(r"`((?:[a-z_]+\.)+[A-Za-z_]+)`", page)]
    ours = [(module, name) for module, _, name in names if find_spec(f"fire_toolkit.{module.split('.')[0]}")]
    assert len(ours) >= 5
    for module, name in ours:
        assert hasattr(import_module(f"fire_toolkit.{module}"), name), f"{module}.{name}"


def test_others_are_not_loaded_when_one_is_asked_for_by_name(install: Install) -> None:
    install("extra", FULL, measures="Full = extra:FULL")
    install("broken", "1 / 0", measures="Half = broken:HALF")
    assert parse_measure("Full@4").k == 4
    assert "broken" not in sys.modules


def test_a_built_in_name_cannot_be_taken(install: Install) -> None:
    install("extra", "R = 1", measures="R = extra:R")
    assert parse_measure("R@4").definition is MEASURES.built_in["R"]
    with pytest.warns(FileNote, match="left out measure 'R' of extra 1.0: the name is that of a built-in"):
        assert set(MEASURES) == set(MEASURES.built_in)


def test_two_plug_ins_of_one_name_are_both_left_out(install: Install) -> None:
    install("first", FULL, measures="Full = first:FULL")
    install("second", FULL, measures="Full = second:FULL")
    said = "measure 'Full' of first 1.0 and second 1.0: two plug-ins of one name; uninstall one of them"
    with pytest.raises(PluginError, match=said):
        parse_measure("Full@4")
    with pytest.warns(FileNote, match=f"left out {said}"):
        assert "Full" not in list(MEASURES)


@cases("raised", "said")
def test_a_plug_in_that_fails_at_work_is_one_line(
    install: Install, tmp_path: Path, raised: str, said: str
) -> None:
    install("extra", f"def coin(votes): raise {raised}", rules="coin = extra:coin")
    judgments, out = ROOT / "pools" / "sample" / "judgments.csv", tmp_path / "labels"
    done = run("resolve", judgments, "--rule", "coin", "--out", out, code=1)
    assert done.stderr.splitlines()[-1] == f"error: plug-in extra 1.0 failed: {said}"
    assert not out.exists()


@cases("group", "words", "said")
def test_what_a_plug_in_returns_in_the_place_of_a_result_is_one_line(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str, words: list[str], said: str
) -> None:
    measure = "Own = Definition('Own', 'A test.', 'A test.', 'None.', lambda ranking: [*'ab'])"
    module = (
        "from fire_toolkit.measures import Definition\nfrom fire_toolkit.pooling.candidates import Strategy\n"
    )
    module += "from fire_toolkit.agreement.statistic import Statistic, no_pair\n"
    module += "from fire_toolkit.formats.collections.registry import Reader\n"
    module += "statistics = Statistic(no_pair, lambda *given: None)\n"
    module += "collections = Reader('own', lambda source: 'asked', lambda *given: None)\n"
    module += f"def rules(votes): return None\npooling = Strategy(lambda *given: None)\nmeasures = {measure}"
    install("extra", module, **{group: f"{'Own' if group == 'measures' else 'own'} = extra:{group}"})
    monkeypatch.chdir(ROOT / "pools" / "sample")
    given = ["--qrels", "qrels.txt"] if group in ("pooling", "measures") else []
    if group == "collections":  # which built-in formats would come before; lavis is asked for by name
        kept = {"lavis": registry.READERS.built_in["lavis"]}
        monkeypatch.setattr(registry.READERS, "built_in", kept)
    out = [] if group == "measures" else ["--out", tmp_path / "out"]
    assert said in run(*words, *given, *out, code=1).stderr.splitlines()[-1]


def test_a_carrier_that_is_none_is_one_line(install: Install, tmp_path: Path) -> None:
    install("extra", "def carrier(root): return None", carriers="post = extra:carrier")
    with pytest.raises(PluginError, match="carrier 'post' is a NoneType, expected a Carrier"):
        carrier_of("post", tmp_path)


def test_an_error_of_our_own_is_no_plug_ins_and_an_unknown_name_lists_what_is_there(install: Install) -> None:
    install("extra", "def coin(votes): return votes", rules="coin = extra:coin")
    assert RULES["coin"](1) == 1  # type: ignore[arg-type, comparison-overlap]
    assert failed_plugin(ValueError("ours")) is None
    with pytest.raises(UsageError, match=r"rule 'dice' is unknown; expected one of fire, .*, coin$"):
        RULES.named("dice")


def test_entry_points_are_not_read_where_none_is_needed() -> None:
    code = """
import sys; from fire_toolkit.cli import main
for words in (["--help"], ["measures", "C@10"], ["score", "--help"]):
    try: main(words)
    except SystemExit: print("importlib.metadata" in sys.modules, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "False\n" * 3


@cases("made", "said")
def test_lists_of_a_run_format_that_are_none_are_one_line(
    install: Install, tmp_path: Path, made: str, said: str
) -> None:
    reader = "RunReader('odd', 'odd lines', 'a sign', lambda start, path: start[:1] == b'%', lambda *_: MADE)"
    imports = "from fire_toolkit.formats.runs.{} import {}\n"
    module = imports.format("listed", "Listed") + imports.format("reader", "RunReader")
    install(
        "extra", f"{module}import pandas as pd\nMADE = {made}\nODD = {reader}", run_formats="odd = extra:ODD"
    )
    for name, content in (("a.txt", "%odd"), ("qrels.txt", "q 0 d 1")):
        (tmp_path / name).write_text(f"{content}\n")
    asked = (("add-run", "--out", tmp_path / "runs"), ("score", "--qrels", tmp_path / "qrels.txt"))
    for command, *more in asked:
        error = run(command, tmp_path / "a.txt", *more, code=1).stderr.splitlines()[-1]
        assert error.startswith(f"error: {tmp_path / 'a.txt'}: ")
        assert said in error
