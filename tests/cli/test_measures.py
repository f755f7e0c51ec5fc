"""`measures` explains every measure by its name, its pattern, or as it is typed."""

from command import Fire

from fire_toolkit.measures import list_measures


def test_all_are_listed_with_their_definitions(fire: Fire) -> None:
    printed = fire("measures").stdout
    for definition in list_measures():
        assert definition.pattern in printed
        assert definition.summary in printed


def test_one_is_explained_however_it_is_named(fire: Fire) -> None:
    for name in ("AP/min", "AP@k/min", "AP@10/min"):
        printed = fire("measures", name).stdout
        assert "Baldrati et al. 2023" in printed
        assert "mean over queries" in printed


def test_the_name_of_another_program_is_explained_as_ours(fire: Fire) -> None:
    assert fire("measures", "ndcg_cut_10").stdout == fire("measures", "nDCG@10").stdout
