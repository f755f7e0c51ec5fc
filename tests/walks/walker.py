"""One benchmark taken through the commands of the README, with nothing prepared between two of them."""

import hashlib
import json
import shutil
from collections import defaultdict
from pathlib import Path

import command
from exports import export
from walks import arithmetic
from walks.families import Family

from fire_toolkit.campaign.keys import split_pair_id

TOP, DEPTH = 100, 10
MEASURES = ("C@1", "C@5", "C@10", "AP", "nDCG@10", "MedR", "Judged@10")


class Walker:
    """A workspace, the benchmark in it, and what the arithmetic expects of it so far."""

    def __init__(self, workspace: Path, downloads: Path, family: Family) -> None:
        self.root, self.downloads, self.family = workspace, downloads, family
        self.lists: dict[str, arithmetic.Lists] = {}
        self.answers: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.handed_out: dict[Path, bytes] = {}

    def run(self, *arguments: object) -> str:
        """Run a command, and return what it printed."""
        return command.run(*arguments).output

    def rows(self, *arguments: object) -> list[dict[str, str]]:
        """Run a command that prints a table, and return its rows."""
        return command.rows(command.run(*arguments, "--format", "csv"))

    def add_collection(self) -> None:
        """Bring the benchmark in: by its own files, or by tables put into their places."""
        if self.family.collection:
            self.run("add-collection", *self.family.collection)
        else:
            for path in self.downloads.glob("*.t*"):
                shutil.copy(path, self.root / "collection" / path.name)

    def add_run(self, name: str) -> str:
        """Bring a matrix in, with the R@1 that its model's log printed."""
        family = self.family
        lists = arithmetic.ranked(family.matrices[name], family.query_ids, family.doc_ids)
        self.lists[name] = lists
        hits = sum(docs[0] in family.originals[query] for query, docs in lists.items())
        logged = f"R@1={100 * hits / len(lists):.1f}"
        return self.run("add-run", self.downloads / f"{name}.npy", *family.id_options, "--expect", logged)

    def expected_pool(self) -> set[tuple[str, str]]:
        """Return the pairs in the top ten of the runs so far."""
        return arithmetic.pooled(self.lists.values(), DEPTH)

    def task_files(self) -> list[Path]:
        """Return the files of tasks that were not answered yet; those answered must be as they were."""
        for path, content in self.handed_out.items():
            assert path.read_bytes() == content, f"{path} was handed out and has changed"
        found = sorted((self.root / "tasks").rglob("*.json"))
        return [path for path in found if "manifest" not in path.name and path not in self.handed_out]

    def answer_tasks(self) -> int:
        """Let a person answer each new file of tasks; return how many tasks these were.

        Only pairs that nobody was asked about before may be among them, and each shows what its pair is of.
        """
        asked = self.expected_pool() - self.answers.keys()
        n_tasks = 0
        for path in self.task_files():
            person = len(self.handed_out) + 1
            self.handed_out[path] = path.read_bytes()
            for task in json.loads(path.read_text()):
                pair, shown = split_pair_id(task["data"]["pair_id"]), task["data"]
                media = next(shown[name] for name in ("video", "image", "media") if name in shown)
                assert pair in asked
                assert (shown["caption"], media) == self.family.content(*pair)
                self.answers[pair].append(self._label(person, *pair))

            def say(query: str, doc: str, person: int = person) -> str:
                return self._label(person, query, doc)

            to = self.root / "exports" / f"person{person}.json"
            n_tasks += export(path, to, say, account=person, lead_time=4.5)
        return n_tasks

    def _label(self, person: int, query: str, doc: str) -> str:
        """Return a person's label: the truth, or in one of 25 cases its opposite."""
        caption, media = self.family.content(query, doc)
        digest = hashlib.sha256(f"{person} {caption} {media}".encode()).digest()
        return "relevant" if self.family.truth(caption, media) != (digest[0] < 10) else "irrelevant"

    def positives(self) -> arithmetic.Positives:
        """Return the originals and what people found besides them."""
        labels, _ = arithmetic.resolved(self.answers)
        found = {query: set(docs) for query, docs in self.family.originals.items()}
        for (query, doc), label in labels.items():
            if label == "relevant":
                found[query].add(doc)
        return found

    def expected_scores(self, qrels: str) -> dict[tuple[str, str], float]:
        """Return the mean of each measure by run, under the original or the corrected qrels."""
        positives = self.family.originals if qrels == "original" else self.positives()
        judged = self.judged(qrels)
        kept = {run: {} if self.is_cut(lists) else self.family.originals for run, lists in self.lists.items()}
        return {
            (run, measure): value
            for run, lists in self.lists.items()
            for measure, value in arithmetic.scores_of(
                lists, positives, originals=kept[run], judged=judged, top=TOP
            ).items()
        }

    def is_cut(self, lists: arithmetic.Lists) -> bool:
        """Whether a positive that people found has no rank in a kept run, which keeps those of originals."""
        return any(
            doc in docs - self.family.originals[query]
            for query, docs in self.positives().items()
            for doc in lists[query][TOP:]
        )

    def judged(self, qrels: str) -> dict[str, set[str]]:
        """Return the docs that each query has a judgment for."""
        known = self.family.irrelevant
        docs = {query: found | known.get(query, set()) for query, found in self.family.originals.items()}
        if qrels == "augmented":
            labels, _ = arithmetic.resolved(self.answers)
            for query, doc in labels:
                docs[query].add(doc)
        return docs
