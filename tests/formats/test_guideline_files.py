"""Guidelines as folders: those that come with the toolkit, and a user's own."""

import re
import shutil
from pathlib import Path

import pytest
from brought import refused

from examples import cases
from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.formats.tables import guideline_files
from fire_toolkit.formats.tables.guideline_files import guideline_problems, list_guidelines, read_guideline
from fire_toolkit.guidelines.model import DEFAULT_NAME


def shipped_folder(name: str = DEFAULT_NAME) -> Path:
    return Path(guideline_files.__file__).parents[3] / "guidelines" / name


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A user's copy of the default guideline."""
    return Path(shutil.copytree(shipped_folder(), tmp_path / "mine"))


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


BINARY = {"irrelevant": 0, "relevant": 1, "ambiguous": None}
LABELS: dict[str, dict[str, int | None]] = {
    **{f"{kind}-relevance-v1": BINARY for kind in ("caption-image", "caption", "caption-sound")},
    "composed-image-relevance-v1": BINARY,
    "graded-relevance-v1": {"mismatch": 0, "loose": 1, "close": 2, "exact": 3, "ambiguous": None},
    "passage-relevance-v1": BINARY,
    "query-validity-v1": {"unusable": 0, "usable": 1, "ambiguous": None},
}
FLAGS = {"query-validity-v1": ["unclear", "invisible", "unspecific", "sensitive"]}


def test_the_shipped_guidelines_are_these() -> None:
    assert list_guidelines() == tuple(LABELS)


@pytest.mark.parametrize("name", list_guidelines())
def test_every_shipped_guideline_agrees_in_its_files_and_works_through_ten_examples_and_edge_cases(
    name: str,
) -> None:
    assert guideline_problems(name) == []  # labels, hotkeys, question and names in code font
    guideline = read_guideline(name)
    assert guideline.name == name
    assert guideline.grades == LABELS[name]
    best_first = sorted(guideline.grades, key=lambda label: -(guideline.grades[label] or 0))
    shown = [label for label in best_first if label != "ambiguous"] + ["ambiguous"]
    shown += FLAGS.get(name, ["sensitive"])
    assert guideline.hotkeys == {label: str(key) for key, label in enumerate(shown, start=1)}
    answers = re.findall(r"^\| \d+ \|.*\| `(\w+)` \|", guideline.text, flags=re.MULTILINE)
    assert len(answers) >= 10
    assert set(answers) == set(LABELS[name])
    assert len(re.findall(r"^\d+\. \*\*", guideline.text, flags=re.MULTILINE)) >= 10  # edge cases


@pytest.mark.parametrize(("name", "level"), [(DEFAULT_NAME, "nominal"), ("graded-relevance-v1", "ordinal")])
def test_three_grades_or_more_are_an_order(name: str, level: str) -> None:
    assert read_guideline(name).level == level


def test_a_folder_is_read_like_a_name_and_line_ends_and_byte_order_marks_do_not_count(own: Path) -> None:
    assert read_guideline(own) == read_guideline(DEFAULT_NAME)
    assert read_guideline(str(own)).sha256 == read_guideline(DEFAULT_NAME).sha256
    for path in own.iterdir():
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_guideline(own).sha256 == read_guideline(DEFAULT_NAME).sha256


def test_a_bare_name_means_the_toolkits_own(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own.parent)
    own.rename(DEFAULT_NAME)
    edit(Path(DEFAULT_NAME) / "labels.toml", "hotkey", "no_longer")
    assert read_guideline(DEFAULT_NAME).name == DEFAULT_NAME
    refused("unknown key no_longer", read_guideline, f"./{DEFAULT_NAME}/")


@pytest.mark.parametrize("name", ["caption-relevance-v9", "", "nowhere/caption-relevance-v1", "\0"])
def test_an_unknown_guideline_names_the_known_ones(name: str) -> None:
    refused(f"known are {', '.join(LABELS)}; or give", read_guideline, name)


@pytest.mark.parametrize("missing", ["labels.toml", "guideline.md", "label_config.xml"])
def test_a_missing_file_is_named(own: Path, missing: str) -> None:
    (own / missing).unlink()
    refused(f"mine/{missing}: no such file", read_guideline, own)


@cases("name", "before", "after", "complaint")
def test_a_file_that_is_none_is_a_format_error_with_its_path(
    own: Path, name: str, before: str, after: str, complaint: str
) -> None:
    edit(own / name, before, after)
    assert refused(complaint, read_guideline, own).startswith(str(own / name))


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\x00", b"", b"[]", b"= 1", b"labels = 3", b"[[labels]]"])
@pytest.mark.parametrize("name", ["labels.toml", "guideline.md", "label_config.xml"])
def test_no_content_of_a_file_gives_a_traceback(own: Path, name: str, content: bytes) -> None:
    (own / name).write_bytes(content)
    refused("mine", read_guideline, own, by=FireError)


def test_a_new_guideline_is_a_copy_under_its_own_name_and_version() -> None:
    files = guideline_files.new_guideline_files("mine-v12", like="graded-relevance-v1")
    folder = shipped_folder("graded-relevance-v1")
    for name in ("guideline.md", "label_config.xml"):
        assert files[name] == (folder / name).read_text(encoding="utf-8")
    before = (folder / "labels.toml").read_text(encoding="utf-8")
    renamed = before.replace('name = "graded-relevance-v1"', 'name = "mine-v12"')
    assert files["labels.toml"] == renamed.replace("version = 1\n", "version = 12\n")


@pytest.mark.parametrize("name", ["mine", "mine-v0", "-v1", "a b-v1", "", 'x"\ny-v1', "caption-relevance-v1"])
def test_a_name_that_cannot_be_a_new_guidelines_is_refused(name: str) -> None:
    said = "comes with the toolkit" if name in LABELS else "is not a valid name for a guideline"
    refused(said, guideline_files.new_guideline_files, name, like=DEFAULT_NAME, by=UsageError)
