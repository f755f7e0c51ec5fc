import pandas as pd

from fire_toolkit.resolution import label_changes
from fire_toolkit.tables import Labels, check_labels


def labels(by_doc: dict[str, str]) -> Labels:
    docs = pd.Series(by_doc.keys(), dtype="str")
    given = pd.Series(by_doc.values(), dtype="str")
    table = pd.DataFrame({"doc_id": docs, "label": given, "relevance": 0})
    return check_labels(table.assign(query_id=pd.Series(["q"] * len(docs), dtype="str")))


def test_every_pair_is_counted_once_and_a_missing_label_is_a_dispute() -> None:
    before = labels({"a": "y", "b": "y", "c": "n", "d": "n", "e": "y"})
    after = labels({"a": "y", "b": "n", "c": "n", "d": "n", "f": "n"})
    assert label_changes(before, after).to_numpy().tolist() == [
        ["[dispute]", "n", 1],
        ["n", "n", 2],
        ["y", "[dispute]", 1],
        ["y", "n", 1],
        ["y", "y", 1],
    ]


def test_pairs_are_told_apart_by_query_and_doc() -> None:
    before = labels({"a": "y"})
    other = check_labels(before.assign(query_id="r"))
    assert label_changes(before, other)["n_pairs"].tolist() == [1, 1]


def test_no_labels_give_no_rows() -> None:
    table = label_changes(labels({}), labels({}))
    assert list(table.columns) == ["label_before", "label_after", "n_pairs"]
    assert len(table) == 0
