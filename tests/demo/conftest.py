import pytest

from fire_toolkit.demo.film import render_clip
from fire_toolkit.demo.world import make_world


@pytest.fixture(scope="session")
def world():
    return make_world()


@pytest.fixture(scope="session")
def frames(world):
    """Those of twelve clips: to draw all takes seconds."""
    return [render_clip(clip) for clip in world.clips[:12]]


@pytest.fixture(scope="session")
def texts(world):
    return list(world.queries["text"])
