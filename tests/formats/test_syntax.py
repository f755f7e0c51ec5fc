"""JSON and TOML made to break a parser: one line from every command that reads them, and no traceback."""

from pathlib import Path

import pytest
from command import run

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.tables.tifa import read_questions
from fire_toolkit.syntax import parse_json, parse_toml
from fire_toolkit.workspace.manifests import read_manifest

DEEP = "[" * 100_000 + "]" * 100_000
LONG = "1" * 5000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DEEP, "f: JSON nested too deeply"),
        (f"[{LONG}]", r"f: JSON that cannot be read \(Exceeds the limit"),
        ('[1,\n"a', "f:2: damaged or truncated JSON: Unterminated string"),
        ('{"a": 1, "a": 2}', "f: the key 'a' appears twice in one object"),
    ],
)
def test_json_that_cannot_be_read_is_one_line(text: str, said: str) -> None:
    with pytest.raises(FormatError, match=f"^{said}"):
        parse_json(text, "f")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"a = {DEEP}", "f: TOML nested too deeply"),
        (f"a = {LONG}", "f: not TOML: Exceeds the limit"),
        ("a = ", r"f: not TOML: Invalid value \(at end of document\)"),
        ("[r]\na = 1\n[r]\n", r"f: not TOML: .* twice .*; a table stands once in a file: fill"),
    ],
)
def test_toml_that_cannot_be_read_is_one_line(text: str, said: str) -> None:
    with pytest.raises(FormatError, match=f"^{said}"):
        parse_toml(text, "f")


@pytest.mark.parametrize("text", [f"[pool]\ndepth = {DEEP}", f"[pool]\ndepth = {LONG}", "[pool]\ndepth = \0"])
def test_a_workspace_whose_settings_cannot_be_read(text: str, here: Path) -> None:
    Path("fire.toml").write_text(text)
    done = run("status", code=1)
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"error: {here / 'fire.toml'}")


MANIFEST = '{"stage": "pool", "tool_version": "1", "parameters": {}, "inputs": {}, "schema_version": 1%s}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DEEP, "JSON nested too deeply"),
        ('{"schema_version": ' + LONG + "}", "JSON that cannot be read"),
        ("[]", "damaged manifest"),
        ('{"schema_version": "1"}', "damaged manifest"),
        (MANIFEST % ', "outputs": []', r"damaged manifest \(outputs is a list\); delete it"),
        (MANIFEST % ', "outputs": {"a": 1}', r"damaged manifest \(a hash that is not text\)"),
        (
            MANIFEST % f', "outputs": {{"{"a" * 300}": ""}}',
            r"damaged manifest \(a name of a file that is longer",
        ),
        (MANIFEST % f', "outputs": {{"{"a/" * 3000}": ""}}', r"damaged manifest \(a name of a file that is"),
        (MANIFEST.replace(": 1%s", ": 2") % (), "schema 2, this version knows 1"),
        ("\0", "a NUL byte"),
    ],
)
def test_a_manifest_that_cannot_be_read(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(FormatError, match=said):
        read_manifest(tmp_path / "manifest.json")


@pytest.mark.parametrize("text", [DEEP, f'[{{"id": {LONG}}}]'])
def test_questions_that_cannot_be_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(text)
    with pytest.raises(FormatError, match=r"q\.json: JSON"):
        read_questions(tmp_path / "q.json")
