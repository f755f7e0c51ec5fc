"""What addresses answer when each is asked for its first byte, as push does before it sends anything."""

import threading
from collections.abc import Callable, Sequence

import httpx
import pytest
from network import answer_links

from fire_toolkit.media.links import reach_media

PAGE = "http://labels.test:8080"
Answer = Callable[[httpx.Request], httpx.Response]
GOOD = {"Content-Type": "video/mp4", "Access-Control-Allow-Origin": PAGE}


def reach(
    *urls: str, needs_cors: bool = True, sample: int | None = None, **answers: httpx.Response
) -> tuple[dict[str, str], int]:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["Range"] == "bytes=0-0"
        assert request.headers["Origin"] == PAGE
        found = answers.get(request.url.path.strip("/"))
        if found is None:
            raise httpx.ConnectTimeout("nobody there", request=request)
        return found

    return reached(urls, answer, needs_cors=needs_cors, sample=sample)


def reached(
    urls: Sequence[str], answer: Answer, *, needs_cors: bool = True, sample: int | None = None
) -> tuple[dict[str, str], int]:
    with pytest.MonkeyPatch.context() as patched:
        answer_links(patched, answer)
        return reach_media(urls, origin=PAGE, needs_cors=needs_cors, sample=sample)


def bad(found: tuple[dict[str, str], int]) -> dict[str, str]:
    """The addresses at which nothing is seen."""
    return {url: fault for url, fault in found[0].items() if fault}


def test_what_answers_in_parts_to_this_page_is_good() -> None:
    found = reach("http://m/a", "http://m/a#t=3,5", a=httpx.Response(206, headers=GOOD))
    assert found == ({"http://m/a": ""}, 0)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (httpx.Response(404), "answers 404"),
        (
            httpx.Response(200, headers={**GOOD, "Content-Type": "text/html; charset=utf-8"}),
            "is text/html, no",
        ),
        (httpx.Response(206), f"allows no other page (CORS), expected {PAGE}"),
        (None, "does not answer (ConnectTimeout)"),
    ],
    ids=["gone", "a web page", "no CORS", "silent"],
)
def test_what_shows_nothing_is_named_with_the_reason(answer: httpx.Response | None, fault: str) -> None:
    found = reach("http://m/a", **({"a": answer} if answer else {}))
    assert list(bad(found)) == ["http://m/a"]
    assert bad(found)["http://m/a"].startswith(fault)


def test_pictures_need_no_leave_to_be_read() -> None:
    assert reach("http://m/a", needs_cors=False, a=httpx.Response(206))[0] == {"http://m/a": ""}


def test_without_parts_it_plays_and_cannot_be_sought_in() -> None:
    assert reach("http://m/a", a=httpx.Response(200, headers=GOOD)) == ({"http://m/a": ""}, 1)


def test_a_host_that_stays_silent_is_not_waited_for_hundreds_of_times() -> None:
    asked: list[str] = []
    lock = threading.Lock()

    def silent(request: httpx.Request) -> httpx.Response:
        with lock:
            asked.append(request.url.host)
        if request.url.host == "dead.test":
            raise httpx.ConnectTimeout("nobody there", request=request)
        return httpx.Response(206, headers=GOOD)

    urls = [f"http://{host}/{n}" for host in ("dead.test", "m.test") for n in range(300)]
    found = reached(urls, silent)
    assert len(bad(found)) == 300
    assert set(bad(found).values()) == {
        "does not answer (ConnectTimeout)",
        "not asked, since dead.test does not answer",
    }
    assert asked.count("m.test") == 300
    assert 32 <= asked.count("dead.test") <= 48


def test_a_sample_is_the_same_each_time() -> None:
    answers = {str(n): httpx.Response(206, headers=GOOD) for n in range(50)}
    urls = [f"http://m/{n}" for n in range(50)]
    first, second = (reach(*urls, sample=5, **answers)[0] for _ in range(2))
    assert first == second
    assert len(first) == 5


@pytest.mark.parametrize(("n_broken", "fault"), [(1, ""), (2, "does not answer (ConnectError)")])
def test_a_connection_that_breaks_is_asked_once_more(n_broken: int, fault: str) -> None:
    asked: list[str] = []

    def breaks(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        if len(asked) <= n_broken:
            raise httpx.ConnectError("dropped", request=request)
        return httpx.Response(206, headers=GOOD)

    found, _ = reached(["http://m/a"], breaks)
    assert found == {"http://m/a": fault}
    assert len(asked) == 2
