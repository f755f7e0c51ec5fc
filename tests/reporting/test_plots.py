"""The plots hold the numbers of their tables, and Vega-Lite draws them."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from brought import refused

from fire_toolkit.errors import UsageError
from fire_toolkit.formats.plot_files import save_plot
from fire_toolkit.reporting import plots

NAMES = ["clip", 'a "b" </script>']
NAN = float("nan")


def table(columns: str, *rows: tuple[object, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns.split())


SCORES = table(
    "run_id measure original augmented low high",
    *((run, measure, 0.4, 0.6, 0.5, NAN) for run in NAMES for measure in ("C@1", "AP")),
)
DIFFERENCES = table(
    "run_a run_b qrels measure difference low high p_holm",
    *(
        ("clip", "ssb", "original", "C@1", 0.1, low, 0.2, p)
        for low, p in ((0.02, 0.01), (0.01, 0.07), (-0.01, 0.4), (NAN, NAN))
    ),
)
LENGTHS = table(
    "from_chars to_chars n_queries run_id measure delta low high",
    *((10 * n, 10 * n + 10, 4, run, "C@1", 0.1 * n, 0.0, 0.5) for n in range(3) for run in ("", *NAMES)),
)
COMPARISONS = table("run_a run_b measure value", ("clip", "ssb", "overlap@10", 0.25))
JUDGED = table("run_id measure value", *(("clip", f"Judged@{k}", k / 10) for k in (1, 2, 10)))
PLACES = table(
    "labelling measure run_id value place",
    *((of, "C@1", run, 0.5, at) for of in ("original", "augmented") for at, run in enumerate(NAMES, start=1)),
)
PROFILES = table(
    "annotator_id n_votes positive_rate peer_agreement duration_s_q50",
    *(("ann", 9, 0.2, 0.9, 3.0), ("bob", 9, 0.2, NAN, 3.0)),
)
PLOTS = {
    "scores": plots.plot_scores(SCORES),
    "differences": plots.plot_differences(DIFFERENCES),
    "lengths": plots.plot_lengths(LENGTHS),
    "overlap": plots.plot_overlap(COMPARISONS),
    "judged": plots.plot_judged(JUDGED),
    "orders": plots.plot_orders(PLACES),
    "annotators": plots.plot_annotators(PROFILES),
}


@pytest.mark.parametrize("plot", PLOTS.values(), ids=list(PLOTS))
def test_a_plot_is_json_without_nan(plot: plots.Plot) -> None:
    text = json.dumps(plot, allow_nan=False)
    assert json.loads(text)["data"]["values"]
    assert set(plot._repr_mimebundle_()) == {"application/vnd.vegalite.v6+json", "text/plain"}


@pytest.mark.slow
@pytest.mark.parametrize("plot", PLOTS.values(), ids=list(PLOTS))
def test_vega_lite_draws_a_plot_without_a_warning(
    plot: plots.Plot, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("vl_convert")
    for kind in (".svg", ".png", ".pdf"):
        save_plot(plot, tmp_path / f"plot{kind}")
    assert "WARN" not in capfd.readouterr().err
    assert "mark-" in (tmp_path / "plot.svg").read_text()


LONG = "internvideo2-6b-finetuned-on-msrvtt-1k-a"
PAPER = {
    "scores": plots.plot_scores(SCORES.replace("clip", LONG)),
    "differences": plots.plot_differences(DIFFERENCES[:1].replace("ssb", LONG)),
    "lengths": plots.plot_lengths(LENGTHS.replace("clip", LONG)),
    "overlap": plots.plot_overlap(COMPARISONS.replace("clip", LONG)),
    "judged": plots.plot_judged(JUDGED.replace("clip", LONG)),
    "orders": plots.plot_orders(PLACES.replace("clip", LONG)),
    "found": plots.draw("found", table("set run_id slot is_in n_pairs", (1, LONG, 1, True, 7))),
    "flips": plots.draw("flips", table("group flip n_pairs share href", (LONG, "dispute", 7, 0.1, None))),
}


@pytest.mark.slow
@pytest.mark.parametrize("width", [85, 180])
@pytest.mark.parametrize("name", PAPER)
def test_a_figure_fits_a_paper_with_a_name_of_40_characters(name: str, width: int, tmp_path: Path) -> None:
    """Its texts have 7 to 9 points at the width that it is said to have, and the name stands in it whole."""
    pytest.importorskip("vl_convert")
    save_plot(PAPER[name], tmp_path / "plot.svg", width=width)
    svg = (tmp_path / "plot.svg").read_text()
    head = re.search(r'width="([\d.]+)mm".*? viewBox="0 0 ([\d.]+)', svg)
    assert head
    assert float(head[1]) == width
    points = {
        float(size) * width / 25.4 * 72 / float(head[2])
        for size in re.findall(r'font-size="([\d.]+)px"', svg)
    }
    assert points
    assert all(7 <= each <= 9.01 for each in points), points
    assert LONG in "".join(re.findall(r">([^<]*)<", svg))
    save_plot(PAPER[name], tmp_path / "plot.pdf", width=width)
    (page,) = re.findall(rb"/MediaBox \[0 0 ([\d.]+)", (tmp_path / "plot.pdf").read_bytes())
    assert float(page) == pytest.approx(width / 25.4 * 72, abs=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("width", [85, 180])
def test_names_that_differ_at_their_end_alone_stand_whole_and_scores_as_in_tables(
    width: int, tmp_path: Path
) -> None:
    """A table of text has 96.2 for 0.9625, which lies between two tenths; Vega would say 96.3."""
    pytest.importorskip("vl_convert")
    names = [f"{'clip-of-some-length-' * 3}seed{n}" for n in (1, 2)]
    rows = [(name, "C@1", 0.5, 0.9625, 0.9, 0.98) for name in names]
    scores = table("run_id measure original augmented low high", *rows)
    save_plot(plots.plot_scores(scores), tmp_path / "plot.svg", width=width)
    texts = re.findall(r">([^<]*)<", (tmp_path / "plot.svg").read_text())
    assert all(name in "".join(texts) for name in names)
    assert texts.count("96.2%") == 2


@pytest.mark.slow
@pytest.mark.parametrize(("width", "bin_", "gain"), [(85, "120", "+"), (180, "120–129", "+12.0")])
def test_a_grid_of_many_lengths_shows_what_it_has_room_for(
    width: int, bin_: str, gain: str, tmp_path: Path
) -> None:
    """Its last two bins have a gain of 12 points and one of none, which has no sign."""
    pytest.importorskip("vl_convert")
    rows = LENGTHS[LENGTHS["run_id"] == "clip"].iloc[[0] * 10].assign(from_chars=range(40, 140, 10))
    gains = [0.12] * 9 + [0.0]
    table = rows.assign(to_chars=rows["from_chars"] + 10, delta=gains, low=0.01)
    save_plot(plots.plot_lengths(table), tmp_path / "plot.svg", width=width)
    texts = re.findall(r">([^<]+)<", (tmp_path / "plot.svg").read_text())
    assert bin_ in texts
    assert texts.count(gain) == 9


@pytest.mark.slow
@pytest.mark.parametrize("width", [85, 180])
def test_an_axis_of_shares_ends_at_0_and_100_percent(width: int, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    rows = [("r", "C@1", 0.0, 0.01, 0.0, 0.05), ("s", "C@1", 0.97, 1.0, 0.96, 1.0)]
    columns = ["run_id", "measure", "original", "augmented", "low", "high"]
    save_plot(plots.plot_scores(pd.DataFrame(rows, columns=columns)), tmp_path / "plot.svg", width=width)
    texts = re.findall(r">([−\d.]+)%<", (tmp_path / "plot.svg").read_text())
    values = [float(text.replace("−", "-")) for text in texts]
    assert (min(values), max(values)) == (0, 100)


def test_a_plot_holds_the_numbers_of_its_table() -> None:
    """A grid has both halves and the diagonal; no mark contradicts its interval; nan is left out."""
    values = {(row["row"], row["column"]): row["value"] for row in PLOTS["overlap"]["data"]["values"]}
    names = ("1 clip", "2 ssb")
    assert values == {(a, b): 1.0 if a == b else 0.25 for a in names for b in names}
    verdicts = [row["verdict"] for row in PLOTS["differences"]["data"]["values"]]
    assert verdicts == ["p < .05 after Holm", "p < .05 alone", "not told apart", "not told apart"]
    judged = [(row["depth"], row["value"]) for row in PLOTS["judged"]["data"]["values"]]
    assert judged == [(1, 0.1), (2, 0.2), (10, 1.0)]
    assert [row["annotator_id"] for row in PLOTS["annotators"]["data"]["values"]] == ["ann"]


def test_a_run_beside_itself_is_left_out_where_equal_lists_have_less_than_1() -> None:
    """Truncated RBO of equal lists at depth 10 is 1 − .9^10 = .65."""
    name = "RBO_truncated(p=0.9)@10"
    plot = plots.plot_overlap(COMPARISONS.assign(measure=name))
    pairs = {(row["row"], row["column"]) for row in plot["data"]["values"]}
    assert pairs == {("1 clip", "2 ssb"), ("2 ssb", "1 clip")}


def test_gains_by_length_are_of_every_run_and_never_contradict_their_interval() -> None:
    many = pd.concat([LENGTHS.replace("clip", f"model-{n}") for n in range(20)]).drop_duplicates()
    assert plots.plot_lengths(many).table["run_id"].nunique() == 21
    limits = [(0.01, 0.2), (-0.2, -0.01), (-0.1, 0.2), (float("nan"), float("nan"))]
    rows = (
        LENGTHS[LENGTHS["run_id"] == "clip"]
        .iloc[[0] * 4]
        .assign(low=[low for low, _ in limits], high=[high for _, high in limits])
    )
    shown = plots.plot_lengths(rows).table[["verdict", "interval_shown"]].to_numpy().tolist()
    told = [["gains", "+1 to +20"], ["loses", "−20 to −1"], ["not told apart", "−10 to +20"]]
    assert shown == [*told, ["not told apart", ""]]


def test_one_measure_needs_no_menu_and_several_have_one() -> None:
    assert "params" not in plots.plot_scores(SCORES, measures=["AP"])
    assert plots.plot_scores(SCORES, measures=["AP"])["title"]["text"] == "AP"
    assert PLOTS["scores"]["title"]["text"] == {"expr": "shown_measure"}
    assert PLOTS["scores"]["params"][0]["bind"]["options"] == ["C@1", "AP"]


def test_a_measure_that_the_table_lacks_is_named() -> None:
    refused("no row for the measure nDCG", plots.plot_scores, SCORES, measures=["nDCG"], by=UsageError)
    refused("no measure 'RBO'", plots.plot_overlap, COMPARISONS, measure="RBO", by=UsageError)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"plot\.jpg: expected a name that ends in \.svg"):
        save_plot(PLOTS["judged"], tmp_path / "plot.jpg")


def test_a_small_p_keeps_its_digits() -> None:
    shown = plots.plot_differences(DIFFERENCES.assign(p_holm=6.8467e-11))
    assert shown.table["p_holm"].tolist() == pytest.approx([6.8467e-11] * len(DIFFERENCES), rel=1e-4)
