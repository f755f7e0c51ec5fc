"""What a machine judge says reaches no annotator, and no judgment or label."""

import json
import shutil
from pathlib import Path

import pytest
from conftest import fire

SAMPLE = Path(__file__).resolve().parents[2] / "pools" / "sample"
OF_PEOPLE = ("tasks", "judgments", "labels", "augmented", "agreement")


def workspace(folder: Path, *, with_judge: bool) -> dict[str, bytes]:
    """The stages of people's judgments in a workspace, with a judge or without one."""
    shutil.copytree(SAMPLE, folder)
    (folder / "fire.toml").write_text(
        '[collection]\nqueries = "queries.tsv"\nitems = "items.tsv"\nqrels = "qrels.txt"\n'
    )
    (folder / "pool").mkdir()
    for name in ("pool.csv", "pool_sources.csv"):
        (folder / name).rename(folder / "pool" / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        if with_judge:
            pairs = (folder / "pool/pool.csv").read_text().splitlines()[1:]
            rows = [",".join([*row.split(",")[:2], "0.123456", "irrelevant"]) for row in pairs]
            (folder / "said.csv").write_text("\n".join(["query_id,doc_id,score,label", *rows]) + "\n")
            fire("machine", "import", "said.csv", "--judge", "contrarian")
            assert (folder / "machine/contrarian/machine.csv").is_file()
        fire("tasks", "--annotator", "A01,A02")
        judged = ("judgments.csv", "--out", "labels")
        fire("resolve", *judged)
        fire("augment", "--labels", "labels", "--out", "augmented/qrels.txt")
        fire("agree", "judgments.csv", "-m", "alpha")
    files = [path for name in OF_PEOPLE for path in sorted((folder / name).rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.slow
def test_people_see_and_say_the_same_with_a_judge_and_without(tmp_path: Path) -> None:
    with_judge = workspace(tmp_path / "with", with_judge=True)
    assert with_judge == workspace(tmp_path / "without", with_judge=False)
    assert {name.partition("/")[0] for name in with_judge} >= {"tasks", "labels", "augmented"}
    assert not any(b"contrarian" in text or b"0.123456" in text for text in with_judge.values())
    shown = json.loads(with_judge["tasks/tasks.json"])
    assert {key for task in shown for key in task["data"]} == {"pair_id", "caption", "video"}
