"""The layers hold: stages are pure and know nothing of one another; edges come above, commands on top."""

import ast
import importlib
import inspect
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import count_house as house
import pytest
from count_house import floors_of, imports, room, rooms_of

import fire_toolkit

PACKAGE = Path(fire_toolkit.__file__).parent
BASE = {"errors", "arrays", "results", "tables", "guidelines", "plugins", "words"}
# A stage may use the base and the stages named here: scoring is made of measures, say.
STAGES: dict[str, set[str]] = {
    "matching": set(),
    "measures": {"matching"},
    "pooling": {"matching"},
    "agreement": {"inference", "resolution"},
    "resolution": set(),
    "evidence": set(),
    "scoring": {"matching", "measures"},
    "inference": {"evidence", "matching", "measures"},
    "reporting": {"agreement", "evidence", "inference", "matching", "measures", "resolution", "scoring"},
    "collections": {"matching"},
    # It simulates what the others do.
    "planning": {"inference", "matching", "measures", "pooling", "evidence", "reporting"},
    "release": {"evidence", "matching", "reporting", "scoring"},
    "gallery": {"evidence", "matching"},
}
STAGES["commands"] = {*STAGES, "machines"}  # each command is a function of tables
IMPURE = {"pathlib", "os", "sys", "time", "random", "subprocess", "socket", "click", "shutil", "tempfile"}
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))


def modules_of(rooms: Collection[str]) -> list[Path]:
    return [path for path in MODULES if room(path) in rooms]


def named(found: Mapping[Path, set[str]]) -> dict[str, set[str]]:
    """What was found in each module, without the modules in which nothing was."""
    return {str(path.relative_to(PACKAGE)): names for path, names in found.items() if names}


def beyond(paths: Iterable[Path], allowed: set[str]) -> dict[str, set[str]]:
    """The rooms that modules import beyond those allowed."""
    return named({path: rooms_of(imports(path)) - allowed for path in paths})


def impure(paths: Iterable[Path]) -> dict[str, set[str]]:
    """What modules import of files, clocks, processes and global randomness."""
    return named({path: {name.split(".")[0] for name in imports(path)} & IMPURE for path in paths})


# The campaign keeps records and a ledger, and knows no carrier; what it computes touches no file.
KEEPERS = {"beginning", "merging", "carrier", "records", "salvage", "store", "task_files"}
BELOW_THE_CAMPAIGN = {"campaign", "resolution", "files", "syntax", "formats", "workspace"}
LAYERS = {stage: ({stage}, BASE | others | {stage}) for stage, others in STAGES.items()}
LAYERS |= {"the base": (BASE, BASE), "the campaign": ({"campaign"}, BASE | BELOW_THE_CAMPAIGN)}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_knows_what_is_below_it_and_itself(layer: str) -> None:
    rooms, allowed = LAYERS[layer]
    assert beyond(modules_of(rooms), allowed) == {}


def test_a_stage_touches_no_file_clock_or_global_randomness() -> None:
    pure = modules_of(BASE | STAGES.keys())
    computed = [path for path in modules_of({"campaign"}) if path.stem not in KEEPERS]
    assert impure([*pure, *computed]) == {}
    for path in pure:
        text = path.read_text(encoding="utf-8")
        assert "np.random.seed" not in text, path
        assert "print(" not in text.replace(">>> print(", ""), path


def test_nothing_below_the_commands_knows_them_and_one_room_the_sdk() -> None:
    below = [path for path in MODULES if room(path) not in ("cli", "__main__")]
    assert named({path: rooms_of(imports(path)) & {"cli"} for path in below}) == {}
    users = {room(path) for path in MODULES if any(n.startswith("label_studio_sdk") for n in imports(path))}
    assert users <= {"labelstudio"}


# People's answers, and what is made of them, know nothing of machine judges.
OF_PEOPLE = {"campaign", "folder", "labelstudio", "pages", "resolution", "agreement", "guidelines"}


def test_what_people_are_shown_and_say_knows_no_machine() -> None:
    for path in modules_of(OF_PEOPLE):
        assert "machines" not in rooms_of(imports(path)), path
        text = path.read_text(encoding="utf-8")
        assert "machine_judgments" not in text, path
        assert "MachineJudgments" not in text, path


def test_every_room_has_its_place() -> None:
    edges = {"files", "syntax", "formats", "workspace", "labelstudio", "media", "campaign"}
    edges |= {"folder", "machines", "pages", "elsewhere", "engines"}
    placed = BASE | set(STAGES) | edges | {"public", "cli", "demo", "__init__", "__main__"}
    assert {room(path) for path in MODULES} == placed
    assert {path.stem for path in modules_of({"campaign"})} >= KEEPERS


def test_rooms_and_modules_form_no_circle_and_rooms_at_most_ten_floors() -> None:
    below = house.rooms_below()
    floors = floors_of(below)
    assert sorted(below.keys() - floors.keys()) == [], "rooms in a circle"
    assert max(floors.values()) <= 10, floors
    below = house.modules_below()
    assert sorted(below.keys() - floors_of(below).keys()) == [], "modules in a circle"
    below = {"a": {"b"}, "b": {"a"}, "c": set(), "d": {"c"}, "e": {"a"}}
    assert floors_of(below) == {"c": 1, "d": 2}


def test_every_public_name_is_there_and_documented() -> None:
    assert set(dir(fire_toolkit)) == {*fire_toolkit.__all__, "__version__"}
    for name in fire_toolkit.__all__:
        assert getattr(fire_toolkit, name).__doc__, name
    assert not set(fire_toolkit.__all__) & {room(path) for path in MODULES}  # a module would hide the name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        fire_toolkit.nothing  # noqa: B018


def test_no_file_is_over_400_lines_and_no_function_over_60() -> None:
    assert [path.name for path in MODULES if path.read_text(encoding="utf-8").count("\n") > 400] == []
    functions = [
        (path.name, node) for path, node in house.definitions() if not isinstance(node, ast.ClassDef)
    ]
    assert [f"{name}:{node.name}" for name, node in functions if house.length_of(node) > 60] == []


def test_every_public_name_has_an_example() -> None:
    """It runs as a doctest of the file that defines the name."""
    examples = {name: inspect.unwrap(getattr(fire_toolkit, name)).__doc__ for name in fire_toolkit.__all__}
    assert [name for name, text in examples.items() if ">>> " not in text] == []


def test_what_benchmarks_import_of_the_package_is_there() -> None:
    """They run by hand alone, so that nothing else says that a name has moved."""
    missing = []
    for path in sorted((PACKAGE.parent / "benchmarks").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE.name):
                module = importlib.import_module(node.module or "")
                there = {*dir(module), *(each.stem for each in Path(module.__file__ or "").parent.iterdir())}
                missing += [f"{path.name}: {each.name}" for each in node.names if each.name not in there]
    assert missing == []
