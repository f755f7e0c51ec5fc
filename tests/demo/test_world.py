"""The world: captions are true of their clips, and the truth is what a plain reading says."""

import numpy as np
import pandas as pd
import pytest
from build_demo_world import drawn_tables

from fire_toolkit.demo.world import make_world
from fire_toolkit.tables import check_items, check_qrels, check_queries
from fire_toolkit.words import text_in

# Every word a caption can hold, read on its own as a fact about one shape. Words not listed say nothing.
SILENT_WORDS = """a an and there is it in of to the front something thing shape object where side from sign
background wall on does goes"""
SILENT = frozenset(SILENT_WORDS.split())


def hue_between(low, high):
    return lambda clip, thing: (thing.hue - low) % 360 < high - low


def heads(degrees):
    return lambda clip, thing: moves(clip, thing) and abs((thing.heading - degrees + 180) % 360 - 180) < 45


def form(name):
    return lambda clip, thing: thing.shape == name


def moves(clip, thing):
    return thing.travel > 14


def rests(clip, thing):
    return thing.travel < 14


def swerves(clip, thing):
    return thing.travel > 14 and thing.wobble > 6.5


READINGS = {
    **dict.fromkeys(["circle", "disc", "ball"], form("circle")),
    **dict.fromkeys(["square", "box"], form("square")),
    **dict.fromkeys(["cross", "plus"], form("cross")),
    "triangle": form("triangle"),
    "star": form("star"),
    "red": hue_between(335, 376),
    "orange": hue_between(16, 42),
    "yellow": hue_between(42, 70),
    "green": hue_between(70, 170),
    "blue": hue_between(170, 255),
    **dict.fromkeys(["purple", "violet"], hue_between(255, 335)),
    **dict.fromkeys(["small", "little", "tiny"], lambda clip, thing: thing.radius < 12.5),
    **dict.fromkeys(["large", "big"], lambda clip, thing: thing.radius > 19),
    **dict.fromkeys(["left"], heads(180)),
    **dict.fromkeys(["right"], heads(0)),
    **dict.fromkeys(["up", "rises", "upwards", "climbs"], heads(90)),
    **dict.fromkeys(["down", "falls", "downwards", "sinks"], heads(270)),
    **dict.fromkeys(["zigzag", "zigzags", "swerves"], swerves),
    **dict.fromkeys(["stays", "still", "not"], rests),
    **dict.fromkeys(["moves", "moving", "travels", "slides"], moves),
    "dark": lambda clip, thing: clip.lightness < 0.38,
    **dict.fromkeys(["light", "bright", "pale"], lambda clip, thing: clip.lightness > 0.62),
}
IDIOMS = {"does not move": "stays", "stands still": "stays", "is moving": "moving"}


def reading_of(text):
    """What a caption asks, word by word, without the package's own conditions."""
    for idiom, word in IDIOMS.items():
        text = text.replace(idiom, word)
    words = text.replace(",", "").split()
    assert set(words) <= SILENT | set(READINGS), text
    asked = [READINGS[word] for word in words if word in READINGS]
    return lambda clip: any(all(ask(clip, thing) for ask in asked) for thing in clip.things)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_truth_is_what_the_words_of_each_caption_say(seed):
    world = make_world(tables=drawn_tables(seed))
    expected = {
        (query_id, clip.doc_id)
        for query_id, text in zip(world.queries["query_id"], world.queries["text"], strict=True)
        for clip in world.clips
        if reading_of(text)(clip)
    }
    assert expected == set(zip(world.truth["query_id"], world.truth["doc_id"], strict=True))


def test_original_holds_one_true_clip_a_caption_truth_more_and_a_level_says_how_much_is_asked(world):
    assert world.original.groupby("query_id").size().tolist() == [1] * 100
    own = world.truth[world.truth["source"] == "original"].reset_index(drop=True)
    pd.testing.assert_frame_equal(world.original, own)
    positives = world.truth.merge(world.queries).groupby(["level", "query_id"]).size()
    general, specific = positives[1].mean(), positives[3].mean()
    assert general > 8
    assert specific < 1.5
    levels = world.queries["level"]
    assert levels.value_counts().to_dict() == {1: 20, 2: 40, 3: 40}
    most = world.queries["query_id"].map(world.conditions).map(len).groupby(levels).max()
    assert most[1] <= 2 == most[2] < most[3]


def test_tables_are_valid_ids_tell_nothing_and_pairs_cover_everything_with_their_difficulty(world):
    for check, table in (
        (check_queries, world.queries),
        (check_items, world.items),
        (check_qrels, world.original),
        (check_qrels, world.truth),
    ):
        pd.testing.assert_frame_equal(table, check(table))
    assert world.queries["query_id"].str.fullmatch(r"q\d{3}").all()
    numbers = world.original["query_id"].str[1:].astype(int), world.original["doc_id"].str[-3:].astype(int)
    assert abs(np.corrcoef(*numbers)[0, 1]) < 0.3
    assert world.queries["text"].is_unique
    assert len(world.pairs) == 100 * 60
    assert world.pairs["difficulty"].between(0, 1).all()
    truth = world.pairs.loc[world.pairs["relevance"] == 1, ["query_id", "doc_id"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(world.truth[["query_id", "doc_id"]], truth)
    hard = world.pairs["difficulty"] > 0.5
    assert 0.01 < hard.mean() < 0.1


def test_the_world_is_what_its_script_draws_and_another_seed_another():
    for name, text in drawn_tables().items():
        assert text_in("demo", name) == text, "run: python docs/build_demo_world.py"
    assert drawn_tables(5) == drawn_tables(5) != drawn_tables(6)


def test_a_smaller_world_is_the_beginning_of_it(world):
    small = make_world(n_clips=3, n_captions=2)
    assert small.clips == world.clips[:3]
    assert small.original["doc_id"].tolist() == ["clip-001", "clip-002"]
    assert small.queries["query_id"].tolist() == ["q001", "q002"]
