"""Scores corrected for errors of votes: against the formulas written out, and what is refused."""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_world import qrels_of

import fire_toolkit as fire
from fire_toolkit.commands.score import score
from fire_toolkit.evidence.facts import Evidence, Facts, check_evidence
from fire_toolkit.inference.background import Background, Design, known_of
from fire_toolkit.inference.corrected import Corrected, corrected_terms, gaps_of, why_uncorrected
from fire_toolkit.inference.correction import correct_for_errors
from fire_toolkit.inference.intervals import mean_interval
from fire_toolkit.inference.judged_pairs import join_runs
from fire_toolkit.inference.label_errors import moment_rates
from fire_toolkit.inference.votes import votes_by_design, votes_of_labels
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.measures import parse_measures
from fire_toolkit.tables import Qrels, Run, check_disputes, check_labels, check_pool_sources
from fire_toolkit.tables.design import labels_by_design

DESIGN = ["query_id", "doc_id", "design_class", "design_votes"]
T, F = 0.909726, 0.035547  # of 1,000 doubled pairs: 100 both, 80 differ, 20 thirds positive


def doubled() -> pd.DataFrame:
    """1,000 doubled pairs of 20 queries with the votes of the reference number."""
    votes = ["11"] * 100 + ["101", "011"] * 10 + ["100", "010"] * 30 + ["00"] * 820
    order = np.random.default_rng(5).permutation(len(votes))
    pairs = {
        "query_id": [f"q{n % 20:02d}" for n in range(1000)],
        "doc_id": [f"d{n:04d}" for n in range(1000)],
    }
    return pd.DataFrame(pairs).assign(design_class="doubled", design_votes=np.array(votes)[order])


def single(**votes: str) -> pd.DataFrame:
    pairs = pd.DataFrame({"query_id": "q00", "doc_id": list(votes), "design_votes": list(votes.values())})
    return pairs.assign(design_class="single")


def run_of(*docs: str) -> Run:
    """A run with these docs for the first query, and one that nobody judged for the others."""
    rows = [("q00", doc, -place) for place, doc in enumerate(docs)]
    rows += [(f"q{n:02d}", "unjudged", 0) for n in range(1, 20)]
    return rank_run(pd.DataFrame(rows, columns=["query_id", "doc_id", "score"]).assign(run_id="r"))


ORIGINAL = qrels_of({(f"q{n:02d}", "o"): 1 for n in range(20)})


def rows_of(terms: Mapping[tuple[str, str], Corrected]) -> pd.DataFrame:
    """A row for each corrected score, with its limits where there are any."""
    return pd.DataFrame(
        {"run_id": run_id, "measure": measure, "is_drawn": one.is_drawn, "reason": one.reason}
        | ({} if one.reason else one.limits(None, least=0)._asdict())
        for (run_id, measure), one in terms.items()
    )


def terms_of(
    design: pd.DataFrame,
    runs: Run | list[Run],
    *measures: str,
    original: Qrels = ORIGINAL,
    chances: Mapping[str, float] | None = None,
) -> dict[tuple[str, str], Corrected]:
    """Corrected scores; chances: of docs of the first query, of which some were drawn by chance."""
    votes = votes_by_design(design, original)
    joined = join_runs(runs, original, votes.pairs[["query_id", "doc_id", "relevance"]])
    drawn = None if chances is None else np.ones(len(joined.pairs))
    for doc, chance in (chances or {}).items():
        assert drawn is not None
        drawn[joined.find_rows(pd.DataFrame({"query_id": ["q00"], "doc_id": doc}))] = chance
    return corrected_terms(joined, original, votes, parse_measures(measures), chances=drawn)


def corrected(design: pd.DataFrame, *docs: str, measure: str = "C@3") -> pd.Series:
    return rows_of(terms_of(design, run_of(*docs), measure)).iloc[0]


Rows = list[tuple[str, str, str, str]]  # of a design: query, doc, class, votes


def rates_of(rows: Rows) -> tuple[float, float]:
    """t and f by the votes on doubled pairs, by the formulas written out."""
    own = Counter(votes for _, _, kind, votes in rows if kind == "doubled")
    n, both, thirds = own.total(), own["11"], own["101"] + own["011"]
    differ = thirds + own["100"] + own["010"]
    m1, m2, m3 = (both + differ / 2) / n, both / n, both / n - thirds / (2 * n)
    s = (m3 - m1 * m2) / (m2 - m1**2)
    root = math.sqrt(s * s - 4 * (s * m1 - m2))
    return (s + root) / 2, (s - root) / 2


def jackknifed(value: Callable[[list[str]], float], queries: list[str]) -> float:
    """A value of queries without the bias that leaving each of 20 groups of them out shows."""
    groups = [queries[start::20] for start in range(min(20, len(queries)))]
    found = len(groups) * value(queries)
    for group in groups:
        kept = [query for query in queries if query not in group]
        found -= value(kept) * len(kept) / len(queries)
    return found


def first_query(design: pd.DataFrame, value: Callable[[float, float], float]) -> float:
    """The mean over 20 queries of which the first has a value by t and f, and the others have 0."""

    rows = list(design[DESIGN].itertuples(index=False, name=None))

    def mean(kept: list[str]) -> float:
        rates = rates_of([row for row in rows if row[0] in kept])
        return value(*rates) / len(kept) if "q00" in kept else 0.0

    return jackknifed(mean, [f"q{n:02d}" for n in range(20)])


def test_rates_of_one_vote_and_their_words() -> None:
    votes = votes_by_design(doubled(), ORIGINAL)
    assert (votes.of_one.t[0], votes.of_one.f[0]) == pytest.approx((T, F), abs=1e-6)
    assert votes.in_words == (
        "finds 91.0% of positives and calls 3.55% of others positive (1,000 doubled, 80 disagreements)"
    )
    f2, t2 = F**2 * (3 - 2 * F), T**2 * (3 - 2 * T)
    share = (0.12 - f2) / (t2 - f2)
    errors = votes.numbers
    assert errors["wrong_share"] == pytest.approx(1000 * (1 - share) * f2 / 120, abs=1e-5)
    assert errors["recall"] == pytest.approx(t2, abs=1e-5)
    assert errors["wrong_share_low"] < errors["wrong_share"] < errors["wrong_share_high"]


def test_c_at_k_is_the_product_of_what_single_votes_leave() -> None:
    design = pd.concat([doubled(), single(a="0", b="1", c="0")])
    hit = first_query(design, lambda t, f: 1 - (1 - -f / (t - f)) ** 2 * (1 - (1 - f) / (t - f)))
    found = corrected(design, "a", "b", "c")
    assert found["estimate"] == pytest.approx(hit)
    of_the_first = 1 - (1 + F / (T - F)) ** 2 * (1 - (1 - F) / (T - F))
    assert found["estimate"] * 20 == pytest.approx(of_the_first, rel=0.002)
    share = first_query(design, lambda t, f: (2 * -f + 1 - f) / (t - f) / 3)
    assert corrected(design, "a", "b", "c", measure="P@3")["estimate"] == pytest.approx(share)
    assert found["low"] < found["estimate"] < found["high"]


def test_an_original_is_right_and_an_unjudged_doc_is_not_relevant() -> None:
    design = pd.concat([doubled(), single(a="0", o="0")])
    assert corrected(design, "a", "o")["estimate"] == pytest.approx(1 / 20)
    assert corrected(design, "x", "a", measure="C@1")["estimate"] == 0
    assert corrected(design, "o", "x", measure="P@2")["estimate"] == pytest.approx(0.5 / 20)


def test_pairs_that_were_drawn_weigh_more_in_p_at_k_and_leave_c_at_k_bounds() -> None:
    design = pd.concat([doubled(), single(a="0", b="1", c="1")])
    chances = {"b": 0.25, "c": 0.0, "o": 0.5}  # drawn; not of the design; known, and so not drawn
    found = rows_of(terms_of(design, run_of("a", "b", "c", "o"), "P@4", "C@4", "C@1", chances=chances))
    precision, hit, first = found.to_dict("records")
    expected = first_query(design, lambda t, f: (-f / (t - f) + (1 - f) / (t - f) / 0.25 + 1) / 4)
    assert precision["estimate"] == pytest.approx(expected)
    assert precision["is_drawn"]
    assert hit["reason"] == "it reads pairs that were drawn by chance, of which C@k has bounds only"
    assert (first["reason"], first["is_drawn"]) == ("", False)


def test_nothing_is_corrected_beside_scores_in_which_a_machine_s_labels_count() -> None:
    pairs = doubled().assign(source="new", is_disputed=False, original_relevance=np.nan, later_votes="")
    pairs["relevance"] = pairs["label_relevance"] = labels_by_design(pairs).astype(float)
    pairs.loc[:19, ["source", "original_relevance", "relevance"]] = "confirmed", 1, 1
    pairs.loc[20:500, ["source", "label_relevance", *DESIGN[2:]]] = "machine:vlm", np.nan, "", ""
    evidence = check_evidence(pairs)
    for judge, names in (("", {"corrected_if_independent"}), ("vlm", set())):
        known = known_of(Evidence(evidence, Facts(counts={"include_machine": judge})))
        given = {"labels": known.labels, "background": known, "measures": ["C@3", "P@3"]}
        found = score(run_of("d0000", "d0980"), known.original, known.augmented, **given)  # type: ignore
        assert {name for name in found.table["qrels"] if name.endswith("independent")} == names
        assert any("labels of the machine judge vlm count too" in note for note in found.notes) == bool(judge)
        refused = "P@3: not corrected: more than 5% of its top is not judged, and would count as not relevant"
        assert any(note.startswith(refused) for note in found.notes) != bool(judge)


@pytest.mark.parametrize(
    ("design", "reason"),
    [
        (single(a="1", b="0").assign(design_class=""), "no design says how many votes each pair was to get"),
        (single(a="1", b="0"), "no pair has a second vote by design"),
        (single(a="1").assign(design_class="verify"), "1 positive without the further vote of the policy"),
        (
            pd.concat([doubled(), single(a="1").assign(design_class="")]),
            "no design says how many votes 1 pair must have",
        ),
        (
            pd.concat([doubled(), single(a="1", b="0").assign(design_class="", shared_from=["q9", ""])]),
            "^1 pair with another pair's label.*; `resolve` without --share-judgments makes labels without",
        ),
        (
            doubled().assign(design_votes=lambda t: t["design_votes"].str.slice(0, 2)),
            "80 of 80 disagreements among 1,000 doubled pairs, originals left out, have no third vote, so "
            "that one vote may find 71% to 100% of the positives, and call 0 to 4.7% of the others positive",
        ),
        (  # in dispute
            doubled().assign(design_votes=lambda t: t["design_votes"].str.slice(0, 2), relevance=np.nan),
            "of the others positive; `next-round` asks for them",
        ),
        (  # with a label by a rule that decides them
            doubled().assign(design_votes=lambda t: t["design_votes"].str.slice(0, 2), relevance=1),
            "positive; `resolve --rule fire` leaves them in dispute, and then `next-round` asks for them",
        ),
        (
            doubled()[lambda t: t["design_votes"].isin(["11", "00"])],
            r"no two votes on 920 pairs disagree, which tells only that at most 0\.4% of such pairs would",
        ),
        (
            pd.concat([doubled().assign(design_votes=votes) for votes in ("100", "011", "00", "11")]),
            "one vote, .*, finds|the votes fit no rates",
        ),
    ],
)
def test_what_is_refused(design: pd.DataFrame, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(votes_by_design(design, ORIGINAL).reason)


def test_labels_are_wrong_as_often_as_all_their_votes_say() -> None:
    """Single votes whose positives were verified later: by the design alone 20% of them would be wrong."""
    rng = np.random.default_rng(5)
    relevant = rng.random(40_000) < 0.13
    vote = [np.where(relevant, rng.random(40_000) < 0.92, rng.random(40_000) < 0.04) for _ in range(3)]
    is_doubled = np.arange(40_000) % 10 == 0
    n_votes = np.where(vote[0] | is_doubled, np.where(vote[0] == vote[1], 2, 3), 1)
    texts = ["".join(str(int(v[row])) for v in vote[:n]) for row, n in enumerate(n_votes)]
    label = np.where(n_votes == 3, vote[2], vote[0])
    ids = {"query_id": [f"q{n % 400}" for n in range(40_000)], "doc_id": [f"d{n}" for n in range(40_000)]}
    classes = np.where(is_doubled, "doubled", "single")
    design = pd.DataFrame({**ids, "design_class": classes, "design_votes": texts})
    later = votes_by_design(design.assign(relevance=label), ORIGINAL).numbers
    assert later["wrong_share_low"] < 1 - relevant[label].mean() < later["wrong_share_high"]
    assert later["wrong_share"] == pytest.approx(1 - relevant[label].mean(), abs=0.008)
    assert later["recall_low"] < label[relevant].mean() < later["recall_high"]
    alone = votes_by_design(design, ORIGINAL).numbers
    assert alone["wrong_share"] > 0.15  # of labels by first votes
    disputed = design.assign(relevance=np.where(n_votes == 3, np.nan, label))
    assert votes_by_design(disputed, ORIGINAL).numbers["recall"] < later["recall"]


@pytest.mark.parametrize("rule", ["unanimous", "fire"])
def test_the_expected_wrong_share_is_of_the_labels_whatever_rule_made_them(rule: str) -> None:
    """10,000 doubled pairs, of which 2,000 are relevant, voted on just as often as t .9 and f .1 expect."""
    n_votes = {"11": 1700, "101": 234, "011": 234, "100": 666, "010": 666, "00": 6500}
    fire = {"11": 1, "101": 1, "011": 1, "100": 0, "010": 0, "00": 0}
    label = {"11": 1, "00": 0} if rule == "unanimous" else fire
    votes = pd.Series(list(n_votes)).repeat(list(n_votes.values())).reset_index(drop=True)
    pairs = pd.DataFrame({"query_id": [f"q{n // 10}" for n in votes.index], "doc_id": "d"})
    pairs = pairs.assign(doc_id=votes.index.astype("str"), design_class="doubled", design_votes=votes)
    numbers = votes_by_design(pairs.assign(relevance=votes.map(label)), ORIGINAL).numbers
    wrong, right = (80, 1620) if rule == "unanimous" else (80 + 2 * 72, 1620 + 2 * 162)
    assert numbers["wrong_share"] == pytest.approx(wrong / (wrong + right), abs=1e-6)
    assert numbers["recall"] == pytest.approx(right / 2000, abs=1e-6)


def test_a_doubled_pair_with_one_vote_counts_as_single() -> None:
    votes = votes_by_design(pd.concat([doubled(), single(a="1").assign(design_class="doubled")]), ORIGINAL)
    assert (votes.n_demoted, votes.reason) == (1, "")
    assert votes.pairs["design_class"].tolist()[-1] == "single"


def test_only_c_and_p_are_corrected() -> None:
    names = ["C@10", "P@10", "Success@5", "NN", "AP", "nDCG@10", "R@10", "RR", "C@5:rel=2"]
    allowed = [measure.name for measure in parse_measures(names) if not why_uncorrected(measure)]
    assert allowed == ["C@10", "P@10", "Success@5", "NN"]


@pytest.fixture(scope="module")
def made() -> tuple[pd.DataFrame, Qrels, list[Run]]:
    """300 queries, three runs of ten docs, with votes on every pair: a third of the pairs is doubled."""
    rng = np.random.default_rng(7)
    docs = [f"d{n:02d}" for n in range(14)]
    rows, scores = [], []
    for n in range(300):
        relevant = rng.random(14) < 0.25
        for place, doc in enumerate(docs[1:], start=1):
            votes = (rng.random(3) < (0.9 if relevant[place] else 0.05)).astype(int).astype(str)
            is_doubled = rng.random() < 1 / 3
            text = "".join(votes[: 3 if votes[0] != votes[1] else 2]) if is_doubled else votes[0]
            rows.append((f"q{n:03d}", doc, "doubled" if is_doubled else "single", text))
        for run in range(3):
            order = rng.random(14) + (1 - run / 2) * relevant
            scores += [(f"r{run}", f"q{n:03d}", doc, s) for doc, s in zip(docs, order, strict=True)]
    design = pd.DataFrame(rows, columns=DESIGN)
    original = qrels_of({(f"q{n:03d}", "d00"): 1 for n in range(300)})
    ranked = rank_run(pd.DataFrame(scores, columns=["run_id", "query_id", "doc_id", "score"]))
    return design, original, [ranked]


def tops_of(runs: Run, k: int) -> dict[str, dict[str, list[str]]]:
    """The top k docs of each run and query."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in runs[runs["rank"] <= k].itertuples():
        found.setdefault(row.run_id, {}).setdefault(row.query_id, []).append(row.doc_id)
    return found


def by_hand(rows: Rows, tops: dict[str, dict[str, list[str]]], queries: list[str]) -> dict[str, float]:
    """C@k of each run on these queries by the formulas written out, one pair after the other."""
    kept = set(queries)
    rows = [row for row in rows if row[0] in kept]
    t, f = rates_of(rows)
    t2, f2 = (e * e * (3 - 2 * e) for e in (t, f))
    p = {}
    for query, doc, kind, text in rows:
        if kind == "doubled":
            p[query, doc] = ((text in ("11", "101", "011")) - f2) / (t2 - f2)
        else:
            p[query, doc] = ((text == "1") - f) / (t - f)

    def left(docs: list[str], query: str) -> float:
        return math.prod(0.0 if doc == "d00" else 1 - p[query, doc] for doc in docs)

    return {
        run_id: 1 - float(np.mean([left(lists[query], query) for query in queries]))
        for run_id, lists in tops.items()
    }


def test_gaps_and_their_intervals_are_those_of_leaving_queries_out(
    made: tuple[pd.DataFrame, Qrels, list[Run]],
) -> None:
    """Estimate by hand; standard error against the jackknife, which leaves each query out in turn."""
    design, original, runs = made
    terms = terms_of(design, runs, "C@3", "P@10", original=original)
    scores = rows_of(terms)

    rows, tops = list(design[DESIGN].itertuples(index=False, name=None)), tops_of(runs[0], 3)
    queries = sorted(design["query_id"].unique())
    expected = {
        run_id: jackknifed(lambda kept, own=own: by_hand(rows, own, kept)[next(iter(own))], queries)
        for run_id, own in ((run_id, {run_id: tops[run_id]}) for run_id in ("r0", "r1", "r2"))
    }
    assert scores[scores["measure"] == "C@3"]["estimate"].tolist() == pytest.approx(list(expected.values()))
    named, gaps = [], []
    for *names, difference in gaps_of(terms):
        named.append(names)
        gaps.append(difference.limits(None, least=-1))
    assert named[:3] == [["C@3", "r0", "r1"], ["C@3", "r0", "r2"], ["C@3", "r1", "r2"]]
    gap = gaps[1]
    assert gap.estimate == pytest.approx(expected["r0"] - expected["r2"])
    left_out = []
    for query in queries[::5]:
        few = by_hand(rows, tops, [each for each in queries if each != query])
        left_out.append([few["r0"], few["r0"] - few["r2"]])
    se = np.std(left_out, axis=0) * 299 / math.sqrt(300)
    t_299 = 1.967930
    assert gap.high - gap.estimate == pytest.approx(t_299 * se[1], rel=0.1)  # by a fifth of them
    own_terms = terms["r0", "C@3"].terms
    changes = [own_terms.mean() - np.delete(own_terms, place).mean() for place in range(0, 300, 5)]
    expected_changes = [by_hand(rows, tops, queries)["r0"] - few for few, _ in left_out]
    assert changes == pytest.approx(expected_changes, abs=2e-5)  # one query's influence, to first order
    first, (t, f) = scores.iloc[0], rates_of(rows)
    rate = {kind: [e * e * (3 - 2 * e) if kind == "doubled" else e for e in (t, f)] for _, _, kind, _ in rows}
    raised = {(q, d): 1 + f * (1 - f) / (t - f) ** 2 for q, d, kind, _ in rows for t, f in [rate[kind]]}
    open_lists = [[(q, doc) for doc in docs] for q, docs in tops["r0"].items() if "d00" not in docs]
    added = float(np.mean([math.prod(raised[pair] for pair in pairs) for pairs in open_lists])) - 1
    assert added > 0.05
    estimate, variance = first["estimate"], np.var(own_terms, ddof=1) / 300
    of_votes = variance - (1 - estimate) * (estimate + added) / 299
    for limit in (first["low"], first["high"]):  # where the distance is t standard errors of such a share
        distance = t_299 * math.sqrt((1 - limit) * (limit + added) / 300 + of_votes)
        assert abs(limit - estimate) == pytest.approx(distance, rel=1e-5)
    for row in gaps:
        assert (row.p < 0.05) == (row.low > 0 or row.high < 0)


def test_that_as_many_queries_are_judged_deep_as_there_are_is_no_error(
    made: tuple[pd.DataFrame, Qrels, list[Run]],
) -> None:
    """Of 60 queries of 300 drawn each term stands for five; the variance is that within the two parts."""
    design, original, runs = made
    votes = votes_by_design(design[design["query_id"] < "q060"], original)
    joined = join_runs(runs, original, votes.pairs[["query_id", "doc_id", "relevance"]])
    is_deep, chances = np.arange(300) < 60, np.full(len(joined.pairs), 0.2)
    drawn = corrected_terms(joined, original, votes, parse_measures(["P@10"]), chances=chances)
    known = {"chances": chances, "is_deep": is_deep}
    found = corrected_terms(joined, original, votes, parse_measures(["P@10"]), **known)["r0", "P@10"]
    terms = drawn["r0", "P@10"].terms
    parts = [len(own) * own.var(ddof=1) for own in (terms[is_deep], terms[~is_deep])]
    assert found.terms.mean() == pytest.approx(terms.mean())
    assert found.limits(None, least=0).se == pytest.approx(math.sqrt(sum(parts)) / 300, rel=0.01)
    assert terms.std() / math.sqrt(300) > 1.5 * found.limits(None, least=0).se  # as if drawn one by one
    known["is_deep"] = np.ones(300, dtype=bool)  # of qrels that hold no other query
    alone = corrected_terms(joined, original, votes, parse_measures(["P@10"]), **known)["r0", "P@10"].terms
    assert alone.var() == pytest.approx(terms.var(ddof=1))
    asked = votes.pairs.assign(stratum="deep", inclusion_probability=0.2)
    queries: Any = pd.DataFrame({"query_id": joined.queries, "depth": 10, "is_sampled": is_deep})
    for judged, n in ((asked, 3), (asked[asked["doc_id"] < "d10"], 0)):  # of whose tops a fifth is not judged
        background = Background(disputes=judged[:0], design=Design(judged, queries))
        told: Any = runs, original, judged, ["P@10"], background
        assert len(correct_for_errors(*told).terms) == n


def test_clusters_and_runs_that_do_not_differ(made: tuple[pd.DataFrame, Qrels, list[Run]]) -> None:
    design, original, runs = made
    terms = terms_of(design, runs, "C@3", original=original)
    one, other = terms["r0", "C@3"], terms["r1", "C@3"]
    alone, same = (one.limits(c, least=0) for c in (None, np.arange(300)))
    assert alone == same
    pairs = np.repeat(np.arange(150), 2)
    t_149 = 1.976013
    gap = one.minus(other)
    sums = [(gap.terms[[2 * n, 2 * n + 1]] - gap.terms.mean()).sum() for n in range(150)]
    expected = t_149 * math.sqrt(150 / 149 * np.square(sums).sum()) / 300
    found = gap.limits(pairs, least=-1)
    assert found.high - found.estimate == pytest.approx(expected, rel=1e-5)
    nothing = one.minus(one).limits(None, least=-1)
    reach = 1 - 0.025 ** (1 / 300)  # no query of 300 differs
    assert (nothing.estimate, nothing.low, nothing.high) == pytest.approx((0, -reach, reach))
    assert nothing.p == 1
    assert one.minus(other).minus(one.minus(other)).limits(None, least=-1).p == 1
    of_sizes = np.repeat(np.arange(66), [70, 60, *[2] * 53, *[5] * 8, *[8] * 3])[:300]  # few large ones
    alike = mean_interval(gap.terms, ends=(-1, 1), least=0, clusters=of_sizes)
    assert gap.limits(of_sizes, least=-1)[1:5] == pytest.approx(alike[1:5])
    lone = type(one)(one.terms[:1], one.beside)
    assert math.isnan(lone.limits(None, least=0).low)


def test_a_share_that_nothing_moves_has_wilson_s_limits() -> None:
    found = corrected(doubled(), "o", measure="C@1")  # the original of one query of 20, no vote read
    t_19 = 2.093024
    middle, reach = 1 / 20 + t_19**2 / 40, t_19 * math.sqrt(0.05 * 0.95 / 20 + t_19**2 / 1600)
    expected = [(middle + side * reach) / (1 + t_19**2 / 20) for side in (-1, 1)]
    assert [found["estimate"], found["low"], found["high"]] == pytest.approx([0.05, *expected], rel=1e-4)


def test_an_estimate_near_1_is_not_taken_for_certain() -> None:
    """Votes lifted every list above 1; how they vary where no doc is relevant is known by their rates."""
    t_299, added = 1.967930, 1.3
    found = Corrected(np.full(300, 1.001), np.empty(0), added=added).limits(None, least=0)
    assert found.low < 0.985
    rest = 0.001 * (1.001 + added) / 299
    distance = t_299 * math.sqrt((1 - found.low) * (found.low + added) / 300 + rest)
    assert (1.001 - found.low, found.high) == pytest.approx((distance, 1), rel=1e-5)


def test_an_interval_stays_between_0_and_1() -> None:
    design = pd.concat([doubled(), single(a="0", b="1", c="0")])
    assert corrected(design, "a")["low"] == 0
    assert corrected(design, "a")["estimate"] < 0  # not cut off, or the mean would be biased
    labels = design.assign(relevance=(design["design_votes"].str.count("1") > 1).astype(int))
    known = Background(disputes=labels[:0])
    found = correct_for_errors(run_of("a"), ORIGINAL, labels, ["C@3"], known)
    assert any(note.startswith("C@3 of r: corrected beyond 0 to 100") for note in found.notes)


def test_labels_without_the_disputes_beside_them_correct_nothing() -> None:
    """In Python: pairs whose two votes differ, and wait for a third, are not among the labels."""
    named = {"relevance": 0, "label": "no", "method": "fire", "n_judgments": 2, "n_agree": 2}
    open_pairs = single(x="10").assign(design_class="doubled", reason="no_majority")
    told: dict[str, Any] = {"labels": check_labels(doubled().assign(**named)), "measures": ["C@3"]}

    def scored(**beside: Any) -> tuple[set[str], str]:
        found = fire.score(run_of("o"), ORIGINAL, ORIGINAL, **told, **beside)
        return set(found.table["qrels"]) - {"original", "augmented", "delta"}, " ".join(found.notes)

    by_labels, words = scored()
    assert not by_labels
    assert "give `disputes` as `resolve` returns them" in words
    by_both, words = scored(disputes=check_disputes(open_pairs))
    assert not by_both
    assert "1 of 81 disagreements among 1,001 doubled pairs, originals left out, have no third vote" in words
    assert "corrected_if_independent" in scored(disputes=check_disputes(open_pairs[:0]))[0]


def ranked(t: tuple[float, float], f: tuple[float, float], n: int = 4000) -> tuple[pd.DataFrame, Qrels]:
    """Doubled pairs with exactly the expected votes, at rank 1 and rank 4 by these rates."""
    rows = []
    for rank, rate_t, rate_f in ((1, t[0], f[0]), (4, t[1], f[1])):
        for share, rate in ((0.3, rate_t), (0.7, rate_f)):
            votes = {"11": rate**2, "00": (1 - rate) ** 2}
            votes |= dict.fromkeys(("101", "011"), rate**2 * (1 - rate))
            votes |= dict.fromkeys(("100", "010"), rate * (1 - rate) ** 2)
            rows += [(rank, v) for v, chance in votes.items() for _ in range(round(n * share * chance))]
    table = pd.DataFrame(rows, columns=["rank", "design_votes"])
    queries, docs = zip(*((f"q{n % 20:02d}", f"d{n:05d}") for n in range(len(table))), strict=True)
    return table.assign(query_id=queries, doc_id=docs, design_class="doubled"), ORIGINAL


def test_bands_of_ranks_have_rates_of_their_own_where_votes_show_it() -> None:
    for f, is_split in (((0.04, 0.04), False), ((0.10, 0.02), True)):
        design, original = ranked((0.92, 0.92), f)
        design["relevance"] = design["design_votes"].str.count("1") > 1
        sources = check_pool_sources(design[["query_id", "doc_id", "rank"]].assign(run_id="r"))
        votes = votes_of_labels(design, original, sources=sources)
        assert votes.bands == (("1", "4 and more") if is_split else ("",))
        assert votes.of_one.f == pytest.approx(f if is_split else f[:1], abs=0.003)
        assert votes.in_words.startswith("at rank 1 finds 92" if is_split else "finds 92")
    assert votes_of_labels(design[design["rank"] == 1], original, sources=sources).bands == ("",)


def test_a_rate_that_chance_put_below_0_is_used_and_one_far_below_refused() -> None:
    votes = ["11"] * 100 + ["101", "011"] * 9 + ["00"] * 882  # no 1 to 2 at all: f just below 0
    design = doubled().assign(design_votes=votes)
    assert moment_rates([1000, 109, 100, 9]).f < 0
    votes_found = votes_by_design(design, ORIGINAL)
    assert votes_found.reason == ""
    assert votes_found.of_one.f[0] == 0
    found = corrected(pd.concat([design, single(a="1")]), "a", measure="C@1")
    assert found["estimate"] == pytest.approx(first_query(design, lambda t, f: (1 - f) / (t - f)))


def test_a_vote_beyond_the_design_makes_no_positive_with_a_second_vote() -> None:
    votes = ["11"] * 100 + ["101"] * 10 + ["100"] * 8 + ["01"] * 30 + ["0"] * 852
    found = votes_by_design(doubled().assign(design_class="verify", design_votes=votes), ORIGINAL)
    assert found.in_words.endswith("(118 positives with a second vote, 18 disagreements)")


@pytest.mark.parametrize(("n", "told"), [(1, "(1,000 doubled, "), (2, "(200 positives with a second vote, ")])
def test_rates_are_told_by_the_class_with_more_votes_on_positives(n: int, told: str) -> None:
    """Of 1,000 doubled pairs 180 have a positive vote; of pairs to verify n times 100."""
    votes = n * (["11"] * 80 + ["101"] * 7 + ["100"] * 13 + ["0"] * 900)
    pairs = pd.DataFrame({"query_id": "q00", "doc_id": [f"v{each}" for each in range(len(votes))]})
    verified = pairs.assign(design_class="verify", design_votes=votes)
    assert told in votes_by_design(pd.concat([doubled(), verified]), ORIGINAL).in_words


def test_a_dispute_that_was_settled_counts_once() -> None:
    labels = doubled().assign(relevance=labels_by_design)
    disputes = labels[labels["design_votes"].str.len() == 3].drop(columns="relevance")
    others = labels[labels["design_votes"].str.len() == 2]
    settled, left = (votes_of_labels(each, ORIGINAL, disputes=disputes) for each in (labels, others))
    assert settled.in_words == left.in_words
    assert "(1,000 doubled, 80 disagreements)" in left.in_words


def test_fourth_votes_raise_one_alarm_and_say_when_they_are_enough() -> None:
    votes = doubled()["design_votes"]
    of_four = doubled().assign(design_votes=[v + "1" if v in ("101", "011") else v for v in votes])
    alarms = [votes_by_design(table, ORIGINAL).alarm for table in (doubled(), of_four)]
    assert alarms[0] is not None
    assert alarms[1] is not None
    assert (alarms[0].n, alarms[0].is_raised, alarms[0].is_enough) == (0, False, False)
    assert (alarms[1].n, alarms[1].n_positive, alarms[1].is_raised) == (20, 20, False)
    assert not alarms[1].is_enough
    verified = doubled().assign(design_class="verify", design_votes=["1011"] * 10 + ["11"] * 80 + ["0"] * 910)
    both = votes_by_design(pd.concat([of_four, verified.assign(doc_id="v" + verified["doc_id"])]), ORIGINAL)
    assert both.alarm is not None
    expected = 0.0
    for n_asked, first in ((20, 0.14), (10, 0.09)):
        share = (first - F) / (T - F)
        odds = [[e**n * (1 - e) * own for e, own in ((T, share), (F, 1 - share))] for n in (2, 3)]
        expected += n_asked / 30 * sum(odds[1]) / sum(odds[0])
    assert both.alarm.expected == pytest.approx(expected, abs=1e-5)
