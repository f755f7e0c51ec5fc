"""A judge against labels: each number again by arithmetic that shares no code with ours."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import run as fire

from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.machines.check import auc, check_judge
from fire_toolkit.tables import (
    check_judgments,
    check_labels,
    check_machine_judgments,
    check_pool,
    check_pool_sources,
)

N, N_QUERIES = 400, 40
GRADES = {"relevant": 1, "irrelevant": 0, "ambiguous": None}


def world(seed: int = 0) -> pd.DataFrame:
    """Pairs with people's relevance, a judge that errs and leans to yes, and its score."""
    rng = np.random.default_rng(seed)
    relevance = (rng.random(N) < 0.4).astype(int)
    score = 1 / (1 + np.exp(-(2.5 * (relevance - 0.5) + rng.normal(size=N) + 0.4)))
    label = np.where(score >= 0.5, "relevant", "irrelevant")
    ids = {"query_id": [f"q{n % N_QUERIES:02d}" for n in range(N)], "doc_id": [f"d{n:03d}" for n in range(N)]}
    return pd.DataFrame({**ids, "relevance": relevance, "score": score.round(6), "said": label})


def tables(pairs: pd.DataFrame):  # type: ignore[no-untyped-def]
    machine = pairs.drop(columns="relevance").rename(columns={"said": "label"}).assign(judge_id="j")
    labels = pairs[["query_id", "doc_id", "relevance"]].assign(label="x")
    return check_machine_judgments(machine), check_labels(labels)


def values(statistics: pd.DataFrame) -> dict[str, float]:
    return dict(zip(statistics["statistic"], statistics["value"], strict=True))


def test_agreement_and_auc_are_those_of_the_textbook() -> None:
    pairs = world()
    y, said = pairs["relevance"].to_numpy(), (pairs["said"] == "relevant").to_numpy().astype(int)
    observed = (y == said).mean()
    chance = y.mean() * said.mean() + (1 - y.mean()) * (1 - said.mean())
    both = np.concatenate([y, said])
    n_yes, n = both.sum(), len(both)
    disagreement = (y != said).mean() / (2 * n_yes * (n - n_yes) / (n * (n - 1)))
    positive, negative = (pairs["score"].to_numpy()[y == kind] for kind in (1, 0))
    above = positive[:, None] - negative[None, :]
    found = values(check_judge(*tables(pairs), grades=GRADES, n_resamples=50)[0]["statistics"])
    assert found["percent_agreement"] == pytest.approx(observed)
    assert found["cohen_kappa"] == pytest.approx((observed - chance) / (1 - chance))
    assert found["alpha"] == pytest.approx(1 - disagreement)
    assert found["positive_agreement"] == pytest.approx(2 * (y & said).sum() / (y.sum() + said.sum()))
    assert found["AUC"] == pytest.approx((above > 0).mean() + (above == 0).mean() / 2)


def test_peoples_own_alpha_stands_beside_that_with_the_judge() -> None:
    pairs = world()
    rng = np.random.default_rng(1)
    votes = [
        pairs.assign(
            annotator_id=name, label=np.where(rng.random(N) < 0.1, 1 - pairs["relevance"], pairs["relevance"])
        )
        for name in ("u", "v")
    ]
    votes = [each.assign(label=each["label"].map({1: "relevant", 0: "irrelevant"})) for each in votes]
    columns = ["query_id", "doc_id", "annotator_id", "label", "inclusion_probability"]
    judgments = check_judgments(pd.concat(votes).assign(inclusion_probability=1.0)[columns])
    found = check_judge(*tables(pairs), grades=GRADES, judgments=judgments, n_resamples=50)[0]["statistics"]

    def alpha(first: pd.Series, second: pd.Series) -> float:
        a, b = first.to_numpy() == "relevant", second.to_numpy() == "relevant"
        n, yes = 2 * len(a), a.sum() + b.sum()
        return float(1 - (a != b).mean() / (2 * yes * (n - yes) / (n * (n - 1))))

    assert values(found)["alpha_people"] == pytest.approx(alpha(votes[0]["label"], votes[1]["label"]))
    each = pd.concat([votes[0], votes[1]])
    assert values(found)["alpha_votes"] == pytest.approx(alpha(each["said"], each["label"]))
    machine, labels = tables(pairs.assign(said=""))
    fewer, _ = check_judge(machine, labels[3:], grades=GRADES, judgments=judgments, n_resamples=50)
    assert "votes of people on labelled pairs: 794 of 800" in " ".join(fewer["statistics"]["note"])


def test_what_is_overrated_by_run_and_rank() -> None:
    pairs = world()
    is_own = np.arange(N) % 4 == 0  # the judge says yes to whatever the run `kin` finds
    pairs.loc[is_own, ["said", "score"]] = ["relevant", 0.99]
    rows = [
        *((*pair, "kin", 1) for pair in pairs.loc[is_own, ["query_id", "doc_id"]].itertuples(index=False)),
        *((*pair, "other", 7) for pair in pairs.loc[~is_own, ["query_id", "doc_id"]].itertuples(index=False)),
    ]
    sources = check_pool_sources(pd.DataFrame(rows, columns=["query_id", "doc_id", "run_id", "rank"]))
    groups = check_judge(*tables(pairs), grades=GRADES, sources=sources, n_resamples=500)[0]["groups"]
    by = {(row["kind"], row["group"]): row for row in groups.to_dict("records")}
    kin = by["run", "kin"]
    y, said = pairs["relevance"], (pairs["said"] == "relevant").astype(float)
    over = float((said - y)[is_own].mean())
    assert (kin["n_pairs"], kin["people"]) == (100, pytest.approx(y[is_own].mean()))
    assert kin["overrating"] == pytest.approx(over)
    elsewhere = {kind: said[~is_own & (y == kind)].mean() for kind in (0, 1)}
    expected = y[is_own].mean() * elsewhere[1] + (1 - y[is_own].mean()) * elsewhere[0]
    assert kin["excess"] == pytest.approx(said[is_own].mean() - expected)
    assert kin["low"] < kin["overrating"] < kin["high"]
    assert kin["excess_low"] > 0.2  # it is told apart from the other run
    assert by["rank", "1"]["overrating"] == kin["overrating"]
    assert by["rank", "6-10"]["n_pairs"] == 300
    assert np.isnan(by["all", "all"]["excess"])


def test_a_judge_that_errs_alike_everywhere_is_not_called_kin_to_a_run_that_finds_less() -> None:
    """Of a run with few relevant pairs a judge overrates more; that is no excess."""
    rng = np.random.default_rng(2)
    n = 4000
    is_poor = np.arange(n) % 2 == 0
    relevance = (rng.random(n) < np.where(is_poor, 0.1, 0.6)).astype(int)
    said = rng.random(n) < np.where(relevance == 1, 0.8, 0.3)
    ids = {"query_id": [f"q{n % 200}" for n in range(n)], "doc_id": [f"d{n}" for n in range(n)]}
    label = np.where(said, "relevant", "irrelevant")
    pairs = pd.DataFrame({**ids, "relevance": relevance, "score": said * 1.0, "said": label})
    rows = pairs[["query_id", "doc_id"]].assign(run_id=np.where(is_poor, "poor", "rich"), rank=1)
    found = check_judge(*tables(pairs), grades=GRADES, sources=check_pool_sources(rows), n_resamples=500)[0][
        "groups"
    ]
    poor = found[found["group"] == "poor"].iloc[0]
    assert poor["low"] > 0.15  # .9 × .3 − .1 × .2 = .25
    assert poor["excess_low"] < 0 < poor["excess_high"]
    assert abs(poor["excess"]) < 0.03


def test_pairs_drawn_with_known_chances_weigh_their_inverse() -> None:
    pairs = world()
    chance = np.where(pairs["score"] > 0.5, 0.5, 0.1)
    pool = check_pool(
        pairs[["query_id", "doc_id"]].assign(
            stratum=np.where(chance == 0.5, "high", "low"), inclusion_probability=chance
        )
    )
    found = check_judge(*tables(pairs), grades=GRADES, pool=pool, n_resamples=50)
    everything = found[0]["groups"].iloc[0]
    assert everything["people"] == pytest.approx(np.average(pairs["relevance"], weights=1 / chance))
    assert "pairs weigh the inverse of the chance" in found[1][-1]
    kept = pool["doc_id"] < "d300"
    chances = {"inclusion_probability": pool["inclusion_probability"].where(kept)}
    some = check_pool(pool.assign(stratum=pool["stratum"].where(kept, ""), **chances))
    part = check_judge(*tables(pairs), grades=GRADES, pool=some, n_resamples=50)
    without = check_judge(*tables(pairs[pairs["doc_id"] < "d300"]), grades=GRADES, pool=pool, n_resamples=50)
    assert part[0]["statistics"].equals(without[0]["statistics"])
    assert "100 labelled pairs left out, which were not drawn with a known chance" in part[1][-1]
    weight, y, score = 1 / chance, pairs["relevance"].to_numpy(), pairs["score"].to_numpy()
    above = (score[y == 1][:, None] > score[y == 0][None, :]).astype(float)
    by_hand = (above * weight[y == 1][:, None] * weight[y == 0][None, :]).sum() / (
        weight[y == 1].sum() * weight[y == 0].sum()
    )
    assert values(found[0]["statistics"])["AUC"] == pytest.approx(by_hand)


def test_the_calibration_table_holds_every_pair_once() -> None:
    pairs = world()
    table = check_judge(*tables(pairs), grades=GRADES, n_resamples=200)[0]["calibration"]
    assert table["n_pairs"].sum() == N
    assert len(table) == 10
    first = pairs[pairs["score"] <= table["score_high"].iloc[0]]
    assert table["mean_score"].iloc[0] == pytest.approx(first["score"].mean())
    assert table["share_positive"].iloc[0] == pytest.approx(first["relevance"].mean())
    assert (table["low"] <= table["share_positive"]).all()
    none = check_judge(*tables(world().assign(relevance=lambda own: (own["score"] > 0.5) * 1)), grades=GRADES)
    assert none[0]["calibration"].query("share_positive == 0")["high"].between(0.01, 0.2).all()
    assert (table["share_positive"] <= table["high"]).all()


def test_scores_that_all_tie_say_nothing() -> None:
    pairs = world().assign(score=0.7)
    found = check_judge(*tables(pairs), grades=GRADES, n_resamples=50)
    assert values(found[0]["statistics"])["AUC"] == 0.5
    assert len(found[0]["calibration"]) == 1


def test_scores_of_any_range_need_a_threshold_for_labels() -> None:
    pairs = world().assign(said="")
    pairs["score"] = pairs["score"] * 30 - 4
    found = check_judge(*tables(pairs), grades=GRADES, n_resamples=50)
    assert np.isnan(values(found[0]["statistics"])["alpha"])
    assert found[0]["statistics"]["note"].iloc[0] == "no labels"
    assert any("--threshold" in note for note in found[1])
    assert not np.isnan(values(found[0]["statistics"])["AUC"])
    again = check_judge(*tables(pairs), grades=GRADES, threshold=11.0, n_resamples=50)
    plain = check_judge(*tables(world()), grades=GRADES, n_resamples=50)
    kappas = [values(found[0]["statistics"])["cohen_kappa"] for found in (again, plain)]
    assert kappas[0] == pytest.approx(kappas[1])
    said = [
        [note for note in each[1] if "without a label a score of" in note] for each in (found, again, plain)
    ]
    assert said == [[], ["without a label a score of 11 or more is relevant (--threshold)"], []]
    unlabelled = check_judge(*tables(world().assign(said="")), grades=GRADES, n_resamples=50)
    assert "without a label a score of 0.5 or more is relevant (--threshold)" in unlabelled[1]


@pytest.mark.parametrize("n", [99, 0])
def test_too_few_labels_and_it_refuses(n: int) -> None:
    machine, labels = tables(world())
    with pytest.raises(UsageError, match=f"{n} labelled pairs that the judge answered, fewer than 100"):
        check_judge(machine, check_labels(labels.iloc[:n]), grades=GRADES)


def test_one_kind_of_label_and_it_refuses() -> None:
    pairs = world()
    pairs.loc[pairs.index[9:], "relevance"] = 0
    with pytest.raises(UsageError, match="labelled pairs are relevant, fewer than 10"):
        check_judge(*tables(pairs), grades=GRADES)


def test_a_label_that_nobody_knows_and_several_judges_are_refused() -> None:
    machine, labels = tables(world().assign(said="fine"))
    with pytest.raises(TableError, match="the judge's answers: label 'fine' is not in the guideline"):
        check_judge(machine, labels, grades=GRADES)
    two = check_machine_judgments(machine.assign(judge_id=["a", "b"] * (N // 2)))
    with pytest.raises(TableError, match="of 2 judges"):
        check_judge(two, labels, grades=GRADES)


def test_failures_are_counted_and_are_no_zeros() -> None:
    pairs = world()
    machine, labels = tables(pairs)
    failed = machine.assign(
        status=["failed" if n % 4 == 0 else "ok" for n in range(N)],
        reason=["HTTP 500" if n % 4 == 0 else "" for n in range(N)],
    )
    failed.loc[failed["status"] == "failed", ["score", "label"]] = [np.nan, ""]
    found = check_judge(check_machine_judgments(failed), labels, grades=GRADES, n_resamples=50)
    assert found[0]["statistics"]["n_pairs"].iloc[0] == 300
    assert "100 further labelled pairs have no answer of the judge" in found[1][1]


def test_auc_of_a_resample_without_one_kind_is_undefined() -> None:
    weights = np.array([[1.0, 1, 0, 0], [1, 1, 1, 1]])
    found = auc(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.0, 0, 1, 1]), weights)
    assert np.isnan(found[0])
    assert found[1] == 1


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Of samples of 40 queries from 4,000 with habits of their own, 95% intervals of overrating and AUC."""
    rng = np.random.default_rng(5)
    n_all, n_each = 4000, 10
    habit = np.repeat(rng.normal(0, 0.7, n_all), n_each)
    relevance = (rng.random(n_all * n_each) < 0.4).astype(int)
    score = 1 / (1 + np.exp(-(2 * (relevance - 0.5) + habit + rng.normal(size=n_all * n_each))))
    truth = float(((score >= 0.5) - relevance).mean())
    order = np.argsort(score)
    ranks = np.empty(len(score))
    ranks[order] = np.arange(1, len(score) + 1)
    n_yes = relevance.sum()
    true_auc = (ranks[relevance == 1].sum() - n_yes * (n_yes + 1) / 2) / (n_yes * (len(score) - n_yes))
    held = []
    for draw in range(120):
        queries = rng.choice(n_all, 40, replace=False)
        rows = (queries[:, None] * n_each + np.arange(n_each)).ravel()
        pairs = pd.DataFrame(
            {
                "query_id": [f"q{n // n_each}" for n in rows],
                "doc_id": [f"d{n}" for n in rows],
                "relevance": relevance[rows],
                "score": score[rows],
                "said": "",
            }
        )
        found = check_judge(*tables(pairs), grades=GRADES, n_resamples=300, seed=draw)
        row, area = found[0]["groups"].iloc[0], found[0]["statistics"].set_index("statistic").loc["AUC"]
        held.append([row["low"] <= truth <= row["high"], area["low"] <= true_auc <= area["high"]])
    shares = np.mean(held, axis=0)
    assert (shares >= 0.89).all(), shares  # .95 less three standard errors of 120 draws
    assert (shares <= 1.0).all()


def test_the_command_prints_what_the_function_says(here: Path) -> None:
    pairs = world()
    pairs.rename(columns={"query_id": "qid", "doc_id": "video", "score": "p_yes", "said": "label"})[
        ["qid", "video", "p_yes", "label"]
    ].to_csv("said.csv", index=False)
    pairs.assign(label=pairs["relevance"].map({1: "relevant", 0: "irrelevant"}))[
        ["query_id", "doc_id", "label", "relevance"]
    ].to_csv("labels.csv", index=False)
    done = fire("machine", "import", "said.csv", "--judge", "j", "--out", "j/machine.csv")
    assert "400 answers of j in j/machine.csv" in done.stderr
    shown = fire("machine", "check", "j", "--labels", "labels.csv", "--format", "csv")
    found = check_judge(*tables(pairs), grades=GRADES)[0]["statistics"]
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("statistic,value,low,high,n_pairs")
    assert [float(line.split(",")[1]) for line in lines[1:]] == pytest.approx(found["value"].tolist())
    assert "were not drawn with known chances" in shown.stderr


@pytest.mark.parametrize("out", ["said", "said/", "there", "said.d/machine.csv"])
def test_scores_may_be_imported_into_a_folder(here: Path, out: str) -> None:
    Path("there").mkdir()
    Path("scores.csv").write_text("query_id,doc_id,score\nq,a,.5\n")
    fire("machine", "import", "scores.csv", "--out", out)
    folder = Path(out.removesuffix("/machine.csv"))
    assert (folder / "machine.csv").read_text().splitlines()[1].startswith("scores,q,a,")
    assert (folder / "machine.csv.manifest.json").is_file()
