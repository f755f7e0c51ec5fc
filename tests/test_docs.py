"""The documentation says what the commands do: pages are made from them, and examples are run."""

import re
import shlex
from collections.abc import Iterator
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click import Command, Group

from fire_toolkit.cli import main

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


def test_the_command_reference_is_what_help_prints() -> None:
    spec = util.spec_from_file_location("build_commands", ROOT / "docs" / "build_commands.py")
    assert spec is not None
    assert spec.loader is not None
    build = util.module_from_spec(spec)
    spec.loader.exec_module(build)
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert build.page() == page, "run: python docs/build_commands.py"


def command_lines() -> Iterator[tuple[str, list[str]]]:
    for page in PAGES:
        if page.name == "commands.md":
            continue
        blocks = re.findall(r"```(?:sh|console)\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
        for line in "\n".join(blocks).replace("\\\n", " ").splitlines():
            if line.startswith(("fire-toolkit", "firetk")):
                yield page.name, shlex.split(line, comments=True)


@pytest.mark.parametrize(("page", "words"), list(command_lines()), ids=lambda value: str(value)[:60])
def test_a_command_shown_on_a_page_exists_with_the_options_shown(page: str, words: list[str]) -> None:
    command: Command = main
    rest = words[1:]
    while isinstance(command, Group) and rest and rest[0] in command.commands:
        command = command.commands[rest.pop(0)]
    if isinstance(command, Group):
        assert rest in ([], ["--help"], ["--version"]), f"{page}: no such command: {' '.join(words)}"
    known = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    for word in rest:
        if word.startswith("-") and len(word) > 1:
            option = word.split("=")[0]
            assert option in known | {"--help"}, f"{page}: {' '.join(words)}: no option {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_table_of_the_data_model_names_its_columns() -> None:
    from fire_toolkit import tables
    from fire_toolkit.checks import TableSpec

    page = (ROOT / "docs" / "data-model.md").read_text(encoding="utf-8")
    for spec in (value for value in vars(tables).values() if isinstance(value, TableSpec)):
        assert any(set(spec.names) <= set(re.findall(r"\w+", line)) for line in page.splitlines()), spec.name


def test_the_library_example_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    save, library = re.findall(r"```python\n(.*?)```", text, re.S)
    ids = {"query_ids": ["1", "2"], "doc_ids": ["a", "b"]}
    (tmp_path / "runs").mkdir()
    (tmp_path / "a.run").write_text("1 Q0 a 1 9 a\n1 Q0 b 2 8 a\n2 Q0 b 1 9 a\n")
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n2 0 a 1\n")
    header = "query_id,doc_id,annotator_id,label\n"
    (tmp_path / "judgments.csv").write_text(header + "2,b,ann,relevant\n1,b,ann,irrelevant\n")
    monkeypatch.chdir(tmp_path)
    exec(save, {"np": np, "sims": np.array([[0.1, 0.2], [0.3, 0.4]]), **ids})
    (tmp_path / "runs" / "clip4clip.npz").rename(tmp_path / "b.npz")
    names: dict[str, Any] = {}
    exec(library, names)
    assert set(names["scores"]["qrels"]) == {"original", "augmented", "delta"}
    assert set(names["pool"]["doc_id"]) == {"a", "b"}
