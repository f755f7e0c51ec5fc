"""What serves until it is told to stop."""

import contextlib
import os
import signal

from fire_toolkit.serving import stoppable


def test_a_stop_is_known_even_where_its_exception_is_lost() -> None:
    """As in an object's __del__, where Python reports an exception and goes on."""
    with stoppable() as stopped:
        assert not stopped.is_set()
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
            stopped.wait(5)
        assert stopped.is_set()


def test_a_stop_ends_the_block_quietly_and_the_handler_comes_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stoppable() as stopped:
        os.kill(os.getpid(), signal.SIGTERM)
        stopped.wait(5)
        raise AssertionError("the block went on")
    assert stopped.is_set()
    assert signal.getsignal(signal.SIGTERM) == before
