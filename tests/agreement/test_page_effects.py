"""Order and contrast on pages of several captions: the closed forms are those of all orders."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.agreement.pages import alike, page_effects


def on_pages(pages: Sequence[str]) -> pd.DataFrame:
    """Return judgments of pages that are given as texts of 1, 0 and - (no vote), in random row order."""
    rows = [
        {"query_id": f"q{p}-{n}", "doc_id": f"v{p}", "annotator_id": "u", "page": f"p{p}"}
        | {"label": {"1": "relevant", "0": "irrelevant", "-": "ambiguous"}[mark], "page_position": str(n + 1)}
        for p, page in enumerate(pages)
        for n, mark in enumerate(page)
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=0)


def z_by_all_orders(pages: Sequence[str]) -> tuple[float, float]:
    """Return z of both effects from the mean and variance over every order of every page, one by one."""
    found = []
    for statistic in (
        lambda page: sum(n / (len(page) - 1) for n, mark in enumerate(page) if mark == "1"),
        lambda page: sum(pair == ("1", "1") for pair in itertools.pairwise(page)),
    ):
        all_values = [[statistic(order) for order in itertools.permutations(page)] for page in pages]
        mean = sum(float(np.mean(values)) for values in all_values)
        variance = sum(float(np.var(values)) for values in all_values)
        found.append((sum(statistic(page) for page in pages) - mean) / math.sqrt(variance))
    return found[0], found[1]


@pytest.mark.parametrize(
    "pages", [["1100"], ["0101", "1011"], ["11010", "000", "111", "10"], ["0111100", "10", "01"]]
)
def test_z_is_that_of_every_order_of_every_page(pages: list[str]) -> None:
    effects = page_effects(on_pages(pages)).set_index("effect")
    assert tuple(effects["z"]) == pytest.approx(z_by_all_orders(pages))
    assert effects.loc["order", "expected"] == 0.5
    assert list(effects["n_pages"]) == [len(pages)] * 2
    expected_p = [math.erfc(abs(z) / math.sqrt(2)) for z in effects["z"]]
    assert list(effects["p_value"]) == pytest.approx(expected_p)


def test_answers_that_are_no_vote_and_single_captions_are_left_out() -> None:
    effects = page_effects(on_pages(["1-10", "1", "-1"])).set_index("effect")
    assert list(effects["n_answers"]) == [3, 3]
    assert effects.loc["order", "observed"] == pytest.approx(0.25)  # the first and the second of three
    assert effects.loc["contrast", "observed"] == 0.5


def test_pages_of_one_kind_tell_nothing_and_no_pages_give_no_rows() -> None:
    assert page_effects(on_pages(["111", "00"]))["z"].isna().all()
    assert page_effects(on_pages(["111"]).assign(page="")).empty
    assert page_effects(on_pages(["111"]).drop(columns=["page", "page_position"])).empty


def test_a_contrast_that_is_there_is_found() -> None:
    """400 pages of random answers, where a positive one turns every second positive after it."""
    rng = np.random.default_rng(0)
    pages = []
    for _ in range(400):
        page = ""
        for mark in rng.random(10) < 0.4:
            page += "1" if mark and not (page.endswith("1") and rng.random() < 0.5) else "0"
        pages.append(page)
    effects = page_effects(on_pages(pages)).set_index("effect")
    assert effects.loc["contrast", "p_value"] < 1e-6
    assert effects.loc["contrast", "observed"] < effects.loc["contrast", "expected"]
    assert effects.loc["order", "p_value"] > 0.001


def test_what_a_page_shows_is_drawn_whole() -> None:
    """An item with its captions; or, where captions are the items, a query with them."""
    judgments = on_pages(["110", "01"])
    assert alike(judgments) == "doc_id"
    turned = judgments.rename(columns={"query_id": "doc_id", "doc_id": "query_id"})
    assert alike(turned) == "query_id"
    assert alike(judgments.assign(page="")) == "query_id"
