"""The ids of the queries are a column like any other: for clusters, and for rows of a table."""

from pathlib import Path

from command import Fire

from examples import cases


@cases("words", few=3)
def test_ids_of_queries_group_as_a_copy_of_that_column_does(sample: Fire, words: tuple[object, ...]) -> None:
    lines = Path("queries.tsv").read_text().splitlines()
    copied = ["\tcopy", *("\t" + line.split("\t")[0] for line in lines[1:])]
    Path("queries.tsv").write_text("".join(f"{a}{b}\n" for a, b in zip(lines, copied, strict=True)))
    found = sample(*words, "query_id").stdout
    assert found.count("\n") > 1
    if words[0] != "agree":  # which has no column but the judgments' own
        assert found.replace("query_id", "") == sample(*words, "copy").stdout.replace("query_id", "")
