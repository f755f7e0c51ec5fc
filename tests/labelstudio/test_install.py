"""The environment of Label Studio: made once, complete or not at all; with a stand-in package."""

from __future__ import annotations

import json
import subprocess
import threading
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from fire_toolkit.errors import FireError
from fire_toolkit.labelstudio import install as installing
from fire_toolkit.labelstudio.install import (
    cache_folder,
    environment_folder,
    install,
    is_installed,
    template_of,
)


def quiet(words: str) -> None:
    assert "\n" not in words


def wheel(folder: Path) -> str:
    """A package that brings a program `label-studio` which prints its version."""
    path = folder / "fake_label_studio-1.0-py3-none-any.whl"
    info = "fake_label_studio-1.0.dist-info"
    files = {
        "fake_label_studio.py": "def main():\n    print('1.23.2')\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: fake-label-studio\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\nlabel-studio = fake_label_studio:main\n",
    }
    record = "".join(f"{name},,\n" for name in files) + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(name, text)
    return str(path)


@pytest.mark.slow
def test_the_program_is_installed_once_and_a_killed_installation_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "a cache"
    monkeypatch.setenv("PIP_TARGET", str(tmp_path / "elsewhere"))
    left_behind = environment_folder(cache) / "bin" / "label-studio"
    left_behind.parent.mkdir(parents=True)
    left_behind.write_text("half")
    assert not is_installed(cache)

    words: list[str] = []
    program = install(cache, words.append, package=wheel(tmp_path))
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout == "1.23.2\n"
    assert words[0].startswith("installing Label Studio 1.23.2 into ")
    assert is_installed(cache)

    words.clear()
    assert install(cache, words.append, package="no such package") == program
    assert words == []


STEPS = ["making an environment", "installing Label Studio 1.23.2", "making an empty database"]


def fake_steps(monkeypatch: pytest.MonkeyPatch, *, seconds: float = 0.0) -> list[str]:
    """Replace venv and pip by steps that note their name and make the program."""
    steps: list[str] = []

    def run(self: object, what: str, command: list[str], environ: object = None) -> None:
        steps.append(what)
        time.sleep(seconds)
        place = Path(command[-1])
        if "empty database" in what:
            place.mkdir()
            (place / "label_studio.sqlite3").write_text("empty")
        elif "environment" in what:
            (place / "bin").mkdir(parents=True)
        else:
            (Path(command[0]).parent / "label-studio").write_text("")

    monkeypatch.setattr(installing._Steps, "run", run)
    return steps


def test_two_installations_at_once_install_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = fake_steps(monkeypatch, seconds=0.2)
    threads = [threading.Thread(target=install, args=(tmp_path, quiet)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert steps == STEPS


def test_an_installation_without_its_program_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = fake_steps(monkeypatch)
    (install(tmp_path, quiet)).unlink()
    install(tmp_path, quiet)
    assert steps == STEPS * 2


@pytest.mark.slow  # pip in an environment of its own
def test_a_package_that_cannot_be_had_names_reason_and_log(tmp_path: Path) -> None:
    environment_folder(tmp_path).parent.mkdir(exist_ok=True)
    with pytest.raises(FireError, match=r"Label Studio 1\.23\.2 failed: .*; see .*\.log, then start again"):
        install(tmp_path, quiet, package=str(tmp_path / "nothing.whl"))
    assert not is_installed(tmp_path)


def test_an_installation_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with pytest.raises(FireError, match="took too long"):
        install(tmp_path, quiet, limit_s=0.5, package=wheel(tmp_path))
    assert not is_installed(tmp_path)


def test_too_little_disk_is_said_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing.shutil, "disk_usage", lambda path: SimpleNamespace(free=300_000_000))
    with pytest.raises(FireError, match=r"0\.3 GB free, Label Studio needs 2 GB"):
        install(tmp_path, quiet)
    assert not environment_folder(tmp_path).exists()


def test_the_cache_is_the_named_one_or_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_folder({"FIRE_TOOLKIT_CACHE": str(tmp_path)}) == tmp_path
    monkeypatch.setattr(installing.sys, "platform", "linux")
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "fire-toolkit"
    monkeypatch.setattr(installing.sys, "platform", "darwin")
    assert cache_folder({}).parts[-3:] == ("Library", "Caches", "fire-toolkit")


def test_the_mark_says_what_was_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_steps(monkeypatch)
    install(tmp_path, quiet)
    mark = json.loads((environment_folder(tmp_path) / "complete.json").read_text())
    assert mark == {"package": "label-studio==1.23.2"}


def test_an_empty_database_is_made_with_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_steps(monkeypatch)
    program = install(tmp_path, quiet)
    assert template_of(program).read_text() == "empty"
    assert sorted(path.name for path in environment_folder(tmp_path).iterdir()) == [
        "bin",
        "complete.json",
        "empty-label_studio.sqlite3",
    ]
