"""Files in the layouts of benchmarks, from an empty folder to scores; numbers by a few lines of numpy."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from fire_toolkit.cli import main

N = 12


def clotho(folder: Path) -> tuple[list[str], list[str], list[int]]:
    """Sounds with five captions each, and blanks in their names."""
    names = [f"rain on roof {n}, 100%.wav" for n in range(N)]
    rows = [f'"{name}",' + ",".join(f"sound {n} take {k}" for k in range(5)) for n, name in enumerate(names)]
    head = "file_name," + ",".join(f"caption_{k}" for k in range(1, 6))
    (folder / "c.csv").write_text("\n".join([head, *rows]) + "\n")
    return [f"{name}#{k}" for name in names for k in range(5)], names, np.repeat(range(N), 5).tolist()


def youcook2(folder: Path) -> tuple[list[str], list[str], list[int]]:
    """Segments of cooking videos: three of each of four."""
    videos = {
        f"v{video}": {
            "duration": 100.5,
            "subset": "validation",
            "recipe_type": "113",
            "annotations": [
                {"id": n, "segment": [n * 10, n * 10 + 9], "sentence": f"step {n} of {video}"}
                for n in range(3)
            ],
        }
        for video in range(4)
    }
    (folder / "c.json").write_text(json.dumps({"database": videos}))
    ids = [f"v{video}_{n}" for video in range(4) for n in range(3)]
    return ids, ids, list(range(N))


def karpathy(folder: Path) -> tuple[list[str], list[str], list[int]]:
    """Images with five sentences each."""
    images = [
        {
            "filename": f"{n}.jpg",
            "split": "test",
            "sentences": [{"raw": f"image {n} said {k}", "sentid": 5 * n + k} for k in range(5)],
        }
        for n in range(N)
    ]
    (folder / "c.json").write_text(json.dumps({"images": images}))
    return [str(n) for n in range(5 * N)], [f"{n}.jpg" for n in range(N)], np.repeat(range(N), 5).tolist()


def fashioniq(folder: Path) -> tuple[list[str], list[str], list[int]]:
    """Changes of a garment, with the list of images and their attributes."""
    images = [f"B{n:02}" for n in range(N)]
    changes = [
        {"candidate": images[n], "target": images[(n + 1) % N], "captions": [f"is {n}", "is red"]}
        for n in range(N)
    ]
    (folder / "c.json").write_text(json.dumps(changes))
    (folder / "split.json").write_text(json.dumps(images))
    (folder / "attr.json").write_text(json.dumps({name: [["floral"], [], [], [], []] for name in images}))
    return [f"{name}#0" for name in images], images, [(n + 1) % N for n in range(N)]


@pytest.mark.parametrize("make", [clotho, youcook2, karpathy, fashioniq], ids=lambda make: make.__name__)
def test_a_benchmark_is_scored_from_its_own_files(
    make: Callable[[Path], tuple[list[str], list[str], list[int]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "files").mkdir()
    queries, docs, of_query = make(tmp_path / "files")
    rng = np.random.default_rng(3)
    sims = rng.normal(size=(len(queries), len(docs)))
    sims[np.arange(len(queries)), of_query] += 1.5
    if make is fashioniq:  # a query's own item is never ranked first here, so that no rule on it matters
        sims[np.arange(N), np.arange(N)] = -9
    np.savez("m.npz", sims=sims, query_ids=queries, doc_ids=docs)

    def fire(*words: str) -> str:
        result = CliRunner().invoke(main, list(words))
        assert result.exit_code == 0, result.output
        return result.stdout

    fire("add-collection", "files", "--out", "c")
    given = ("score", "m.npz", "--qrels", "c/qrels.txt", "-m", "C@1", "-m", "C@5", "--format", "json")
    ranks = (sims > sims[np.arange(len(queries)), of_query][:, None]).sum(axis=1)
    found = json.loads(fire(*given))
    values = {row["measure"]: row["value"] for row in found}
    np.testing.assert_allclose([(ranks < 1).mean(), (ranks < 5).mean()], [values["C@1"], values["C@5"]])
    if make is karpathy:
        best = [(sims[:, n] > sims[np.array(of_query) == n, n].max()).sum() for n in range(N)]
        both = {
            row["measure"]: row["value"]
            for row in json.loads(fire(*given[:4], "--direction", "both", "--format", "json"))
        }
        expected = [(ranks < 1).mean(), (np.array(best) < 1).mean()]
        np.testing.assert_allclose(expected, [both["t2i_R@1"], both["i2t_R@1"]])
