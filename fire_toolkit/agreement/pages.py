"""Whether the order on pages of several captions, or the caption before, has moved the answers."""

import math

import numpy as np
import pandas as pd

from fire_toolkit.guidelines.model import choose_grades
from fire_toolkit.resolution.votes import Grades
from fire_toolkit.tables import Judgments

ORDER, CONTRAST = "order", "contrast"
_PAGE = ["annotator_id", "page"]
_COLUMNS = ["effect", "n_pages", "n_answers", "observed", "expected", "z", "p_value"]


def has_pages(judgments: Judgments) -> bool:
    """Whether any judgment was given on a page of several captions."""
    return "page" in judgments.columns and bool((judgments["page"] != "").any())


def alike(judgments: Judgments) -> str:
    """Return the column whose values are drawn whole in intervals, for judgments of one value are alike.

    query_id; doc_id where judgments were given on pages of several captions of one item (a column page
    that is not empty): all pages of an item are then drawn together. Where the captions are the items, a
    page shows one query, and query_id it is.
    """
    if not has_pages(judgments):
        return "query_id"
    pages = judgments[judgments["page"] != ""].groupby(["annotator_id", "page"])
    n_queries, n_docs = (pages[name].nunique().sum() for name in ("query_id", "doc_id"))
    return "doc_id" if n_docs <= n_queries else "query_id"


def page_effects(judgments: Judgments, *, grades: Grades | None = None) -> pd.DataFrame:
    """Return whether positive answers come early or late on their page, and whether they follow each other.

    Captions stand on a page in random order. So if neither order nor neighbours matter, every order of a
    page's answers was equally likely, and what to expect is known without any model, page by page.

    Args:
        judgments: with columns page (empty for those of one caption) and page_position; answers that are no
            vote are left out, and the others keep their order.
        grades: as in `agreement`; positive are those from grade 1.

    Returns:
        Columns effect, n_pages (with two votes or more), n_answers (on them), observed, expected, z, p_value
        (two-sided, normal), and two rows. `order`: the mean place of positive answers, 0 the first of their
        page, 1 the last; expected is .5. `contrast`: the share of neighbouring answers that are both
        positive; below what is expected, a positive answer makes the next one less likely. Only pages with
        both kinds of answers tell anything; where there are none, z and p_value are nan. No pages, no rows.

    Source:
        The rank sum and the number of runs of one kind in a random order (Wald and Wolfowitz, 1940), added
        up over pages.

    Examples:
        >>> rows = {"query_id": list("abcd"), "doc_id": "v", "annotator_id": "u", "label": list("1100"),
        ...         "page": "p", "page_position": ["1", "2", "3", "4"]}
        >>> page_effects(pd.DataFrame(rows))[["effect", "n_answers", "observed", "expected"]]
             effect  n_answers  observed  expected
        0     order          4  0.166667  0.500000
        1  contrast          4  0.333333  0.166667
    """
    if not has_pages(judgments):
        return pd.DataFrame([], columns=_COLUMNS)
    found = choose_grades(judgments["label"]) if grades is None else grades
    votes = judgments.assign(
        grade=judgments["label"].map(found or {}).astype("float64"),
        place=pd.to_numeric(judgments["page_position"], errors="coerce"),
    )
    votes = votes[(votes["page"] != "") & votes["grade"].notna() & votes["place"].notna()]
    votes = votes[votes.groupby(_PAGE)["page"].transform("size") > 1]
    votes = votes.sort_values([*_PAGE, "place"], kind="stable", ignore_index=True)
    is_positive = votes["grade"] >= 1
    pages = is_positive.groupby([votes[name] for name in _PAGE], sort=True)
    n, k = (pages.agg(how).to_numpy(dtype=np.float64) for how in ("size", "sum"))
    place = pages.cumcount() / (pages.transform("size") - 1)
    n_both = (pages.shift(fill_value=False) & is_positive).sum()
    order_variance = k * (n - k) * (n + 1) / (12 * (n - 1) ** 2)
    run_variance = k * (k - 1) * (n - k + 1) * (n - k) / (n**2 * (n - 1))
    rows = []
    for effect, observed, expected, variance, over in (
        (ORDER, place[is_positive].sum(), k / 2, order_variance, k.sum()),
        (CONTRAST, n_both, k * (k - 1) / n, run_variance, (n - 1).sum()),
    ):
        shares = (observed / over, expected.sum() / over) if over else (math.nan, math.nan)
        spread = math.sqrt(variance.sum()) or math.nan
        z = float(observed - expected.sum()) / spread
        rows.append((effect, len(n), int(n.sum()), *shares, z, math.erfc(abs(z) / math.sqrt(2))))
    return pd.DataFrame(rows if len(n) else [], columns=_COLUMNS)
