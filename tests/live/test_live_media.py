"""What annotators see, on the real server: README's way by hand, local files, and tasks that change."""

import json
import os
import re
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from live_browser import open_browser
from live_server import clips as made_clips
from live_server import put_empty_database
from test_live_browser import VIDEO, log_in
from test_live_campaign import Site, _tasks, answer, site  # noqa: F401

from fire_toolkit.campaign.keys import pair_id
from fire_toolkit.labelstudio.accounts import read_register

ROOT = Path(__file__).resolve().parents[2]
RUN = uuid.uuid4().hex[:4]
EVE, FAY = f"EVE-{RUN}", f"FAY-{RUN}"


def block_with(line: str) -> str:
    """Return the block of commands in README or the page on campaigns that holds `line`."""
    (found,) = [block for block in re.findall(r"```sh\n(.*?)```", PAGES, re.DOTALL) if line in block]
    return str(found)


PAGES = "".join((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/campaign.md"))


def write_clips(folder: Path) -> None:
    folder.mkdir(parents=True)
    for number, clip in enumerate(made_clips(3)):
        (folder / f"video701{number}.webm").write_bytes(clip)


def write_benchmark(root: Path) -> None:
    """Write what a researcher brings: captions, items with relative paths, qrels and one run."""
    write_clips(root / "media")
    items = "".join(f"video701{n}\tmedia/video701{n}.webm\n" for n in range(3))
    (root / "collection" / "items.tsv").write_text("doc_id\tmedia_url\n" + items)
    queries = "".join(f"q{n}\tcaption {n}\n" for n in range(3))
    (root / "collection" / "queries.tsv").write_text("query_id\ttext\n" + queries)
    (root / "collection" / "qrels.txt").write_text("".join(f"q{n} 0 video701{n} 1\n" for n in range(3)))
    run = "".join(f"q{n} Q0 video701{d} {d + 1} {9 - d} clip\n" for n in range(3) for d in range(3))
    (root / "runs" / "clip.run").write_text(run)


def test_readme_followed_by_hand_shows_the_video_under_an_address_that_says_nothing(
    chromium: None, live_program: Path, pictures: Path, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "fire-toolkit"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fire_toolkit "$@"\n')
    command.chmod(0o755)
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("FIRE_LABEL")},
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }

    def follow(block: str, folder: Path) -> str:
        """Run a block as a person types it; return what was said."""
        with (tmp_path / "said.txt").open("w+") as said:
            words = ["bash", "-e", "-c", f"{block}\njobs -p > '{tmp_path}/jobs.txt'"]
            subprocess.run(words, cwd=folder, env=environ, stdout=said, stderr=said, check=False)
            said.seek(0)
            return said.read()

    follow(block_with("fire-toolkit init my-benchmark"), tmp_path)
    root = tmp_path / "my-benchmark"
    write_benchmark(root)
    put_empty_database(root / ".fire/private", live_program)
    # Nobody plans for three items: `plan` refuses a benchmark with more positives assumed than docs to find.
    follow(block_with("# Label Studio tasks: shuffled").replace("fire-toolkit plan", ": plan"), root)
    try:
        block = block_with("fire-toolkit media serve")
        said = follow(block.replace("~/label-studio/bin", str(live_program.parent)), root)
        assert "9 tasks added" in said or "10 tasks added" in said, said
        assert "error" not in said, said
        url = json.loads((root / ".fire/private" / "connection.json").read_text())["url"]
        person = next(row for row in read_register(root / ".fire/private") if row.pseudonym == "A01")
        with open_browser(tmp_path) as browser:
            log_in(browser, url, person.email, person.password)
            browser.open(f"{url}/projects/1/data?labeling=1")
            browser.wait_for(
                "the video's data", lambda: (browser.run(VIDEO, "readyState") or 0) >= 3, n_times=900
            )
            browser.screenshot(pictures / "annotator-page.png")
            address = str(browser.run(VIDEO, "currentSrc"))
            page = str(browser.run("return document.documentElement.outerHTML + document.title"))
        assert re.fullmatch(r"http://127\.0\.0\.1:\d{4}/m/[0-9a-f]{32}\.webm", address)
        assert not re.search(r"video701\d", page)
    finally:
        subprocess.run([str(command), "labelstudio", "stop"], cwd=root, env=environ, check=False)
        for pid in (tmp_path / "jobs.txt").read_text().split():
            os.kill(int(pid), signal.SIGTERM)


def test_local_files_are_seen_once_the_project_has_its_storage(
    site: Site,  # noqa: F811
) -> None:
    clips = site.server.root / "media" / f"clips-{RUN}"
    write_clips(clips)
    site.media_url = f"/data/local-files/?d=clips-{RUN}/video7010.webm"
    site.make_tasks(4, overlap=0.0)
    said = site.run("push", "--annotator", EVE, code=1).output
    assert "the first item cannot be seen in 1 of 1 project" in said
    assert "answers 404" in said
    site.server.add_storage(site.projects()[f"1/{EVE}"], clips)
    site.run("push")


@pytest.mark.parametrize("label", ["relevant", None], ids=["answered", "skipped"])
def test_a_changed_address_reaches_tasks_without_answer_and_no_others(
    site: Site,  # noqa: F811
    label: str | None,
) -> None:
    site.make_tasks(5, overlap=0.0)
    site.run("push", "--annotator", FAY)
    project, old = site.projects()[f"1/{FAY}"], site.media_url
    site.media_url = f"{old}?v=2"
    site.make_tasks(5, overlap=0.0)
    assert site.counts("push")["updated"] == 5
    with site.server.as_admin() as http:
        tasks = {task["data"]["pair_id"]: task for task in _tasks(http, project)}
    assert {task["data"]["video"] for task in tasks.values()} == {f"{old}?v=2"}
    answer(site.server.as_annotator(FAY), tasks[pair_id("q3", "v3")]["id"], project, label)
    site.media_url = f"{old}?v=3"
    site.make_tasks(5, overlap=0.0)
    said = site.run("push", code=1).output
    assert f"1 of them were answered already ({FAY}: q3 v3)" in said
    with site.server.as_admin() as http:
        assert {task["data"]["video"] for task in _tasks(http, project)} == {f"{old}?v=2"}


def test_a_copy_of_a_project_is_named_and_can_be_deleted(site: Site) -> None:  # noqa: F811
    site.make_tasks(4, overlap=0.0)
    site.run("push", "--annotator", EVE)
    project = site.projects()[f"1/{EVE}"]
    with site.server.as_admin() as http:
        found = http.get(f"/api/projects/{project}/").raise_for_status().json()
        copy = {name: found[name] for name in ("title", "description", "label_config")}
        twin = http.post("/api/projects/", json=copy).raise_for_status().json()["id"]
    doubled = f"queue 1/{EVE} has 2 projects: {project} (0 answers), {twin} (0 answers)"
    assert doubled in site.run("status").output
    assert f"delete project {twin} in Label Studio" in site.run("doctor", code=3).output
    with site.server.as_admin() as http:
        http.delete(f"/api/projects/{twin}/").raise_for_status()
    assert "has 2 projects" not in site.run("status").output
