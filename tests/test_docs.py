"""The documentation says what the commands do: pages and the site follow from them, and examples are run."""

import ast
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import build_commands
import build_data_model
import build_measures
import build_site
import pytest
from click import Command, Group
from click.testing import CliRunner
from command import run
from python_page import run_page

from examples import cases
from fire_toolkit import read_pool
from fire_toolkit.arrays import Floats, share
from fire_toolkit.cli import FILE, main
from fire_toolkit.measures import Definition, JudgedRanking, list_measures
from fire_toolkit.measures.registry import MEASURES
from fire_toolkit.workspace.manifests import checked

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "fire_toolkit"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
SOURCES = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
SAMPLE = ROOT / "pools" / "sample"
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


def test_the_data_model_is_as_the_code_is() -> None:
    assert build_data_model.page() == TEXTS[ROOT / "docs/data-model.md"], (
        "run: python docs/build_data_model.py"
    )


def test_the_page_of_the_commands_is_as_the_code_is() -> None:
    assert build_commands.page() == TEXTS[ROOT / "docs/commands/README.md"], (
        "run: python docs/build_commands.py"
    )
    told = (ROOT / "fire_toolkit/cli" / FILE).read_text(encoding="utf-8")
    assert build_commands.told() == told, "run: python docs/build_commands.py"
    for name in main.commands:
        for words in [(name,), *build_commands.members(main.commands[name], (name,))]:
            shown = CliRunner().invoke(main, [*words, "-h"], prog_name="fire-toolkit")
            assert shown.stdout == build_commands.context_of(words, 80).get_help() + "\n"


def command_lines() -> Iterator[tuple[str, list[str]]]:
    for page, text in TEXTS.items():
        if page.parent.name == "commands":
            continue
        blocks = re.findall(r"```(?:sh|console)\n(.*?)```", text, re.S)
        for line in "\n".join(blocks).replace("\\\n", " ").splitlines():
            if line.startswith(("fire-toolkit", "firetk")):
                yield page.name, shlex.split(line, comments=True)


@pytest.mark.parametrize(("page", "words"), list(command_lines()), ids=lambda value: str(value)[:60])
def test_a_command_shown_on_a_page_exists_with_the_options_shown(page: str, words: list[str]) -> None:
    command: Command = main
    rest = words[1:]
    while isinstance(command, Group) and rest and rest[0] in command.commands:
        command = command.commands[rest.pop(0)]
    if isinstance(command, Group) and hasattr(command, "default"):
        command = command.commands[command.default]
    if isinstance(command, Group) and not command.invoke_without_command:
        assert rest in ([], ["--help"], ["--version"]), f"{page}: no such command: {' '.join(words)}"
    spelled = ((*parameter.opts, *parameter.secondary_opts) for parameter in command.params)
    known = {option for options in spelled for option in options}
    for word in rest:
        if word.startswith("-") and len(word) > 1:
            option = word.split("=")[0]
            assert option in known | {"--help"}, f"{page}: {' '.join(words)}: no option {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(TEXTS[page]):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_python_of_the_readme_runs_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    (library,) = re.findall(r"```python\n(.*?)```", TEXTS[ROOT / "README.md"], re.S)
    monkeypatch.chdir(SAMPLE)
    names: dict[str, Any] = {}
    exec(library, names)
    means = names["scores"].set_index(["run_id", "qrels", "measure"])["value"]
    # the demo's table, which the same pool and judgments give
    assert round(100 * means["fused", "original", "C@1"], 1) == 39.0
    assert round(100 * means["learned-ridge", "original", "C@1"], 1) == 19.0
    assert len(names["pool"]) > 1000


def test_the_blocks_of_the_page_on_python_run_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLE)
    names, missing = run_page()
    assert set(missing) <= {"ir_measures", "ranx"}
    # the demo's table, which the same pool and judgments give
    assert round(100 * names["wide"].loc["fused", ("augmented", "C@1")], 1) == 74.0
    assert names["clip"]["doc_id"].equals(names["same"]["doc_id"])


NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def test_the_pages_count_the_models_and_annotators_of_the_demo_alike() -> None:
    n_models = len(list((SAMPLE / "runs").glob("*.run")))
    texts = [text for page, text in TEXTS.items() if page.name in ("README.md", "tutorial.md")]
    texts.append((SAMPLE / "README.md").read_text(encoding="utf-8"))
    texts.append(" ".join((main.commands["demo"].help or "").split()))
    counted = [word.lower() for text in texts for word in re.findall(r"(\w+) (?:small )?models", text)]
    assert set(counted) & {"four", "five", "six"} == {NUMBERS[n_models - 2]}
    assert set(re.findall(rf"\b({'|'.join(NUMBERS)}) annotators", "\n".join(texts))) == {"four"}


def test_pages_install_what_is_there_and_count_nothing_that_grows() -> None:
    for path, text in {**SOURCES, **TEXTS}.items():
        assert not re.search(r"pip install ['\"]?fire-toolkit", text), path
    """What grows with each version is listed, never counted in words that go stale."""
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        words = r"(?:\d+|\w+teen|twenty|a dozen) (?:other )?(?:measures|formats|forms)\b"
        assert re.findall(words, TEXTS[page]) == [], page.name
    said = "\n".join([*SOURCES.values(), *TEXTS.values()])
    assert set(re.findall(r"(\d+ minutes), 1\s+GB", said)) == {"4 minutes"}


def test_the_page_that_leads_through_the_code_names_what_is_there() -> None:
    """A line names files, and after them functions `name()` that one of these files defines."""
    assert TEXTS[ROOT / "docs/reading.md"].count("\n") <= 300
    pages = [*PAGES[:2], ROOT / "docs/reading.md", *(ROOT / "docs/decisions").iterdir()]
    n_named = 0
    for line in "\n".join(TEXTS[page] for page in pages).splitlines():
        names = re.findall(r"`((?:\w+/)*\w+\.(?:py|toml))`", line.replace("`fire.toml`", ""))
        places = ((PACKAGE / name, ROOT / "tests" / name, ROOT / name) for name in names)
        files = [next(path for path in both if path.is_file()) for both in places]
        text = "".join(file.read_text(encoding="utf-8") for file in files)
        for function in re.findall(r"`(\w+)\(\)`", line):
            assert re.search(rf"^ *def {function}\(", text, re.M), f"{names}: no function {function}"
            n_named += 1
        for folder in re.findall(r"`((?:\w+/)+)`", line):
            places = (PACKAGE / folder, ROOT / "tests" / folder, ROOT / folder)
            assert any(place.is_dir() for place in places), f"no folder {folder}"
    assert n_named > 50


def test_each_room_says_how_to_read_it_and_names_files_that_are_there() -> None:
    for path in PACKAGE.rglob("__init__.py"):
        said, folder = ast.get_docstring(ast.parse(SOURCES[path])) or "", path.parent
        if folder == PACKAGE:
            continue
        assert said.count("\n") >= 2, f"{folder.name}/__init__.py does not say how to read the room"
        names = re.findall(r"`([a-z_]+)(?:\.py)?`", said)
        for name in set(names) - {*main.commands}:
            places = [folder / f"{name}{end}" for end in ("", ".py", ".toml")]
            places += [PACKAGE / name, PACKAGE / f"{name}.py"]
            assert any(map(Path.exists, places)), f"{folder.name}/__init__.py: {name} is not there"


@pytest.fixture
def sample(here: Path) -> Path:
    return Path(shutil.copytree(SAMPLE, here, dirs_exist_ok=True))


def test_pooling_the_runs_gives_the_pool_to_the_byte(sample: Path) -> None:
    runs = [f"runs/{path.name}" for path in sorted((sample / "runs").glob("*.run"))]
    run("pool", *runs, "--depth", "10", "--qrels", "qrels.txt", "--out", "again")
    for name in ("pool.csv", "pool_sources.csv"):
        assert checked(SAMPLE / name).read_bytes() == (sample / "again" / name).read_bytes()


def commands(page: Path) -> list[list[str]]:
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    lines = [shlex.split(line)[1:] for line in "\n".join(blocks).splitlines() if line.strip()]
    return [
        [word for each in line for word in (sorted(map(str, Path().glob(each))) if "*" in each else [each])]
        for line in lines
    ]  # as a shell


def test_the_commands_of_its_readme_run(sample: Path) -> None:
    printed = [run(*words).stdout for words in commands(SAMPLE / "README.md")]
    assert re.search(r"^alpha +0\.8276 +0\.7307 to 0\.8911", printed[0], re.M)
    # positives are only added under the policy union, so C@1 cannot fall
    assert re.search(r"^C@1 +\d+\.\d \(39\.0 \+ \d+\.\d\)", printed[-1], re.M)


def test_the_tutorial_runs_and_its_numbers_are_printed(sample: Path) -> None:
    page = ROOT / "docs" / "tutorial.md"
    printed = {words[0]: run(*words).stdout for words in commands(page)}
    assert len(printed) == 8
    assert re.search(r"^AP .*\(35\.9 \+", printed["score"], re.M)
    assert len(read_pool("pool")) == 2_244


@cases("body", "fault")
def test_what_leads_nowhere_or_elsewhere_is_a_fault(tmp_path: Path, body: str, fault: str) -> None:
    (tmp_path / "page.html").write_text(body)
    (tmp_path / "other.html").write_text('<h2 id="here">x</h2>')
    found = [*build_site.broken_links(tmp_path), *build_site.requests_of(tmp_path)]
    assert found == ([fault] if fault else [])


def test_a_style_sheet_that_loads_a_font_from_elsewhere_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "own.css").write_text("@font-face { src: url(font.woff2) } p { background: url(data:,) }")
    assert not list(build_site.requests_of(tmp_path))
    (tmp_path / "own.css").write_text('@import "https://fonts.example/css";')
    assert len(list(build_site.requests_of(tmp_path))) == 1


def test_every_page_of_the_contents_is_there() -> None:
    docs = Path(build_site.__file__).parent
    named = [name for names in build_site.PARTS.values() for name in names]
    assert [name for name in named if not (docs / f"{name}.md").is_file()] == []


def fullness(ranking: JudgedRanking, *, k: int) -> Floats:
    return share(ranking.n_retrieved.clip(max=k), k)


NEW_MEASURE = Definition("Full", "Share of k retrieved.", "A test.", "None.", fullness, cutoff="required")


def test_the_page_is_what_the_measures_say_with_a_section_for_each() -> None:
    page = TEXTS[ROOT / "docs/measures.md"]
    assert build_measures.page() == page, "run: python docs/build_measures.py"
    page = TEXTS[ROOT / "docs/measures.md"]
    for definition in list_measures():
        assert page.count(f"### `{definition.pattern}`\n") == 1


def test_a_new_measure_is_seen_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MEASURES.built_in, "Full", NEW_MEASURE)
    (tmp_path / "a.run").write_text("q Q0 d 1 9 a\nq Q0 e 2 8 a\n")
    (tmp_path / "qrels.txt").write_text("q 0 z 1\nq 0 d 0\n")
    monkeypatch.chdir(tmp_path)
    scored = run("score", "a.run", "--qrels", "qrels.txt", "-m", "Full@4")
    assert scored.stdout.splitlines()[-1].split() == ["Full@4", "50.0"]
    assert "Share of k retrieved." in run("measures").stdout
    assert "Full@k (such as Full@10)" in run("measures", "Full@4").stdout
    assert run("measures", "NN").stdout.startswith("NN\n")
    assert "### `Full@k`\n\nShare of k retrieved. None." in build_measures.page()
