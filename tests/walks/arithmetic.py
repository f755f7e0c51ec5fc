"""What the walk must come out at, written anew in plain Python; nothing here is the toolkit's."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import log2
from statistics import mean, median

import numpy as np
import numpy.typing as npt

Lists = dict[str, list[str]]  # query → docs, best first
Positives = dict[str, set[str]]
Answers = Mapping[tuple[str, str], Sequence[str]]  # pair → one label a person


def ranked(scores: npt.NDArray[np.float32], query_ids: Sequence[str], doc_ids: Sequence[str]) -> Lists:
    """Return every doc by score, then id, both descending."""
    place = {doc: number for number, doc in enumerate(sorted(doc_ids))}
    code = np.array([place[doc] for doc in doc_ids])
    return {
        query: [doc_ids[column] for column in np.lexsort((code, row))[::-1]]
        for query, row in zip(query_ids, scores, strict=True)
    }


def pooled(runs: Iterable[Lists], depth: int) -> set[tuple[str, str]]:
    """Return the pairs in the top `depth` of any run."""
    return {(query, doc) for run in runs for query, docs in run.items() for doc in docs[:depth]}


def positive_ranks(docs: Sequence[str], positives: set[str], known: set[str], top: int) -> list[int]:
    """Return the ranks of the positives: of those in the top, and of those whose rank was kept below it."""
    return [
        rank for rank, doc in enumerate(docs, start=1) if doc in positives and (rank <= top or doc in known)
    ]


def scores_of(
    lists: Lists, positives: Positives, *, originals: Positives, judged: Mapping[str, set[str]], top: int
) -> dict[str, float]:
    """Return the means over the queries of the qrels, by measure."""
    values: dict[str, list[float]] = defaultdict(list)
    for query, relevant in positives.items():
        ranks = positive_ranks(lists[query], relevant, originals.get(query, set()), top)
        for k in (1, 5, 10):
            values[f"C@{k}"].append(bool(ranks) and ranks[0] <= k)
        values["AP"].append(sum(n / rank for n, rank in enumerate(ranks, start=1)) / len(relevant))
        ideal = sum(1 / log2(rank + 1) for rank in range(1, min(10, len(relevant)) + 1))
        values["nDCG@10"].append(sum(1 / log2(rank + 1) for rank in ranks if rank <= 10) / ideal)
        values["first"].append(ranks[0] if ranks else top + 1)
        values["Judged@10"].append(mean(doc in judged[query] for doc in lists[query][:10]))
    found = {name: float(mean(each)) for name, each in values.items() if name != "first"}
    return found | {"MedR": float(median(values["first"]))}


def resolved(answers: Answers) -> tuple[dict[tuple[str, str], str], set[tuple[str, str]]]:
    """Return the label that more than half of each pair's votes have, and the pairs without one."""
    labels, disputes = {}, set()
    for pair, votes in answers.items():
        label, n = Counter(votes).most_common(1)[0]
        if 2 * n > len(votes):
            labels[pair] = label
        else:
            disputes.add(pair)
    return labels, disputes


def alpha(answers: Answers) -> float:
    """Return Krippendorff's nominal alpha by its definition: 1 - observed / expected disagreement."""
    units = [votes for votes in answers.values() if len(votes) > 1]
    values = [vote for votes in units for vote in votes]
    observed = sum(
        sum(a != b for i, a in enumerate(votes) for j, b in enumerate(votes) if i != j) / (len(votes) - 1)
        for votes in units
    ) / len(values)
    counts = Counter(values)
    n = len(values)
    expected = sum(n_a * n_b for a, n_a in counts.items() for b, n_b in counts.items() if a != b) / (
        n * (n - 1)
    )
    return 1 - observed / expected


def overlap(first: Lists, second: Lists, depth: int) -> float:
    """Return the mean share of the two tops that both have."""
    return float(mean(len(set(first[q][:depth]) & set(second[q][:depth])) / depth for q in first))
