"""`demo --live` on our own page: a newcomer judges all of a queue, while browser and program are killed."""

import re
import signal
import subprocess
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from child import ready
from live_browser import Browser, open_browser
from test_live_page import COUNTED, DONE, caption, is_ready, kill_browser, press

from fire_toolkit.campaign.records import Rounds

LINK = re.compile(r"^A01\t(\S+)$", re.M)


@contextmanager
def demo(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run the demo until its links are there, and yield it with that of A01."""
    options, printed = ("demo", "--live", "--out", "demo"), folder / "printed.txt"

    def links() -> list[str]:
        return LINK.findall(printed.read_text())

    with ready(*options, cwd=folder, is_ready=links, end=signal.SIGKILL) as process:
        yield process, links()[0]


def key_for(text: str) -> str:
    """Return the answer to a caption: the same each time it is asked, and not the same for all."""
    return "12"[zlib.crc32(text.encode()) % 2]


def judge(browser: Browser, n_tasks: int) -> None:
    """Answer so many tasks, or all that are left."""
    for _ in range(n_tasks):
        if browser.run(DONE):
            return
        task = is_ready(browser)
        press(browser, key_for(caption(browser)), task)


def test_kills_at_random_moments_lose_and_double_no_answer(chromium: None, tmp_path: Path) -> None:
    rng = np.random.default_rng(20261123)
    n_acknowledged = 0
    for kills in ("browser", "program", "browser", "program", "nothing"):
        with demo(tmp_path) as (process, link), open_browser(tmp_path) as browser:
            browser.resize(1366, 625)
            browser.open(link)
            if n_acknowledged == 0:
                browser.click("#agree:not([hidden])")
            is_ready(browser)
            n_counted = browser.run(COUNTED)
            assert n_acknowledged <= n_counted <= n_acknowledged + 1  # that of the kill may be there
            if kills == "nothing":
                judge(browser, 1000)
                said = browser.run("return document.getElementById('text').textContent")
                process.send_signal(signal.SIGINT)
                process.wait()
                break
            judge(browser, int(rng.integers(2, 7)))
            is_ready(browser)
            n_acknowledged = browser.run(COUNTED)
            browser.press(key_for(caption(browser)))
            time.sleep(float(rng.uniform(0, 0.1)))
            kill_browser(tmp_path) if kills == "browser" else process.kill()
    words = (tmp_path / "words.txt").read_text()
    assert process.returncode == 0, words
    assert "$ fire-toolkit score" in words
    queries = pd.read_csv(tmp_path / "demo/collection/queries.tsv", sep="\t", dtype=str)
    texts = queries.set_index("query_id")["text"]
    judgments = pd.read_csv(tmp_path / "demo/judgments/judgments.csv", dtype=str)
    asked = Rounds(tmp_path / "demo")[0].assignments
    n_asked = int((asked["annotator_id"] == "A01").sum())
    assert said.startswith(f"All done: {n_asked} of {n_asked}.")
    assert len(judgments) == len(judgments[["query_id", "doc_id"]].drop_duplicates()) == n_asked
    labels = {"1": "relevant", "2": "irrelevant"}
    given = [labels[key_for(texts[query])] for query in judgments["query_id"]]
    assert judgments["label"].tolist() == given
    assert judgments["label"].nunique() == 2
