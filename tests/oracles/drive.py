"""Run the commands of commands.txt in one checkout, and keep all that they print and write.

    python drive.py OUT then|now

The package that is imported is the one of the environment. OUT gets a JSON file for each world: a list of
steps, each with the line as it stands today, exit code, stdout, stderr and every file that is new or changed.
"""

import glob
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent.parent))
from oracles import worlds  # of this folder, not of the checkout that is tried

HERE = Path(__file__).parent
HASH = re.compile(r"\b[0-9a-f]{64}\b|(?<=\"key\": \")[0-9a-f]{12}(?=\")")  # and a campaign's key, drawn anew
BUILT = {world.name for world in worlds.WORLDS}
Step = dict[str, Any]


def lines_of(world: str, side: str) -> Iterator[tuple[str, str]]:
    """Yield for each line of a world how it stands today, and how this side spells it."""
    names: list[str] = []
    for line in (HERE / "commands.txt").read_text().splitlines():
        if line.startswith("["):
            names = line.strip("[]").split()
        elif line and not line.startswith("#") and (world in names or ("all" in names and world in BUILT)):
            then, arrow, now = line.partition(" => ")
            yield (now, then if side == "then" else now) if arrow else (line, line)


class Walk:
    """A folder in which commands run one after the other, and what each of them did."""

    def __init__(self, root: Path) -> None:
        from fire_toolkit.cli import main

        self.root, self.main = root, main
        self.steps: list[Step] = []
        self.seen: dict[str, bytes] = {}

    def run(self, line: str, words: list[str]) -> None:
        """Run a command and keep what it printed and wrote."""
        os.chdir(self.root)
        found = CliRunner().invoke(self.main, words, prog_name="fire-toolkit")
        error = found.exception
        crashed = "" if error is None or isinstance(error, SystemExit) else repr(error)
        step = {
            "line": line,
            "code": found.exit_code,
            "stdout": found.stdout,
            "stderr": found.stderr + crashed,
        }
        self.steps.append({**step, "files": self.changed()})

    def changed(self) -> dict[str, str]:
        """Return the files that are new or not what they were, as text."""
        now = {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
            and "/." not in f"/{path.relative_to(self.root).as_posix()}"
            and not path.name.endswith(("-wal", "-shm"))  # SQLite's own, beside a database
        }
        changed = {
            name: text_of(name, content) for name, content in now.items() if self.seen.get(name) != content
        }
        changed |= dict.fromkeys(self.seen.keys() - now.keys(), "(gone)")
        self.seen = now
        return changed


def text_of(name: str, content: bytes) -> str:
    """Return a file as text: a Parquet table as rows, a page without its scripts, hashes as one word.

    Of a database no more than that it is one: its pages hold moments, and what it knows is in other files.
    """
    if name.endswith(".sqlite"):
        return "(database)"
    if name.endswith(".parquet"):
        import pyarrow.parquet

        return str(pyarrow.parquet.read_table(Path(name)).to_pandas().to_csv(index=False))
    text = content.decode(errors="replace")
    if name.endswith(".html"):
        text = re.sub(r"(?s)<(script|style)\b.*?</\1>", "", text)
    return HASH.sub("(sha256)", text)


def answer(walk: Walk, world: worlds.World, person: str, moment: str) -> None:
    """Write what one person answered to all tasks into exports/, as Label Studio exports it."""
    tasks = next(iter(sorted((walk.root / "tasks").glob("tasks*.json"))))
    export = worlds.answers(world, tasks, int(person), moment)
    (walk.root / "exports").mkdir(exist_ok=True)
    (walk.root / "exports" / f"person{person}.json").write_text(export)


def edit(walk: Walk, name: str, words: str) -> None:
    """Change a file as a person would: `OLD -> NEW`."""
    old, _, new = words.partition(" -> ")
    path = walk.root / name
    assert old in path.read_text(), (name, old)
    path.write_text(path.read_text().replace(old, new))


def write_release(walk: Walk) -> None:
    """Write what a release must say of itself, as a person would."""
    path = walk.root / "fire.toml"
    own = "[release]", "[study]", "[licences]"
    kept = re.split(rf"(?m)^#? ?(?={'|'.join(map(re.escape, own))})", path.read_text())[0]
    path.write_text(kept + "\n" + (HERE / "release.toml").read_text(encoding="utf-8"))
    for folder in (".labelstudio", ".fire/private"):  # of then and of today
        key = walk.root / folder / "release.key"
        key.parent.mkdir(parents=True, exist_ok=True)
        key.write_text("0" * 64 + "\n")  # the same pseudonyms each time
        key.chmod(0o600)  # else the key is refused


def walk_world(world: worlds.World, folder: Path, side: str) -> list[Step]:
    """Take a world through its lines."""
    start = Walk(folder)
    start.run("init", ["init", "work", "--guideline", world.guideline])
    walk = Walk(folder / "work")
    worlds.build(world, walk.root)
    settings = walk.root / "fire.toml"  # in which then R@10 was a default measure
    settings.write_text(settings.read_text().replace('"R@10", ', ""))
    walk.changed()
    for line, spelled in lines_of(world.name, side):
        if line.startswith("@answer"):
            answer(walk, world, *line.split()[1:])
        elif line.startswith("@edit"):
            name, _, words = line.removeprefix("@edit ").partition(" ")
            edit(walk, name, words)
        elif line == "@release":
            write_release(walk)
        else:
            walk.run(line, shlex.split(spelled))
            continue
        walk.changed()
    return [*start.steps, *walk.steps]


def walk_hostile(folder: Path) -> list[Step]:
    """Give each hostile file to the command that reads its kind."""
    names = worlds.hostile(folder)
    for name in (name for name in names if name.endswith(".npy")):
        for ids in ("query_ids", "doc_ids"):
            shutil.copy(folder / "good.qrels", folder / f"{Path(name).stem}.{ids}.txt")
    walk = Walk(folder)
    walk.changed()
    for name in names:
        kind = Path(name).suffix
        words = {
            ".run": ["score", name, "--qrels", "good.qrels"],
            ".qrels": ["score", "good.run", "--qrels", name],
            ".json": ["import", name, "--out", "judgments.csv"],
            ".csv": ["resolve", name, "--out", "labels"],
            ".npy": ["score", name, "--qrels", "good.qrels"],
            ".npz": ["score", name, "--qrels", "good.qrels"],
        }[kind]
        walk.run(shlex.join(words), words)
    return walk.steps


def walk_sample(folder: Path, side: str) -> list[Step]:
    """Run the lines of the sample pool in a copy of it."""
    shutil.copytree(HERE.parent.parent / "pools" / "sample", folder / "sample")
    walk = Walk(folder / "sample")
    walk.changed()
    for line, spelled in lines_of("sample", side):
        walk.run(line, [file for word in shlex.split(spelled) for file in expanded(word, walk.root)])
    return walk.steps


def walk_coco(folder: Path, side: str) -> list[Step]:
    """Run the lines of coco-eccv where it is there: FIRE_COCO names its folder."""
    source = os.environ.get("FIRE_COCO", "")
    if not source:
        return []
    walk = Walk(folder)
    for line, spelled in lines_of("coco", side):
        words = shlex.split(spelled.replace("COCO", source))
        walk.run(line, [file for word in words for file in expanded(word, walk.root)])
    return walk.steps


def expanded(word: str, root: Path) -> list[str]:
    """Return the files that a word with a star means, as a shell does; else the word."""
    return sorted(glob.glob(word, root_dir=root)) if "*" in word else [word]  # noqa: PTH207 absolute ones too


def main() -> None:
    """Take every world through its lines."""
    out, side = Path(sys.argv[1]).resolve(), sys.argv[2]
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        walks = {world.name: lambda own, world=world: walk_world(world, own, side) for world in worlds.WORLDS}
        walks |= {"hostile": walk_hostile, "sample": lambda own: walk_sample(own, side)}
        walks |= {"coco": lambda own: walk_coco(own, side)}
        for world, take in walks.items():
            (folder / world).mkdir()
            steps = take(folder / world)
            text = json.dumps(steps, indent=1, ensure_ascii=False).replace(str(folder), "(folder)")
            (out / f"{world}.json").write_text(text)
            print(f"{side}: {world}: {len(steps)} commands", flush=True)


if __name__ == "__main__":
    main()
