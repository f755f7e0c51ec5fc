import pytest

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
