import pytest

from fire_toolkit.demo.models import score_clips
from fire_toolkit.demo.render import render_clips
from fire_toolkit.demo.world import make_world


@pytest.fixture(scope="session")
def world():
    return make_world(seed=0)


@pytest.fixture(scope="session")
def frames(world):
    return render_clips(world.clips)


@pytest.fixture(scope="session")
def texts(world):
    return list(world.queries["text"])


@pytest.fixture(scope="session")
def similarities(texts, frames):
    return score_clips(texts, frames, seed=0)
