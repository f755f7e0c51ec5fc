"""Hints of a server are taken if they know the secret, and are nothing but hints."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from campaigns import make_api
from fake_api import FakeServer

from fire_toolkit.errors import ServerError, UsageError
from fire_toolkit.labelstudio.hooks import (
    SECRET_HEADER,
    HintListener,
    add_hooks,
    hook_path,
    remove_hooks,
)

PATH = hook_path("k1")
URL = f"http://127.0.0.1:9999{PATH}"


@pytest.fixture
def listener() -> Iterator[HintListener]:
    with HintListener(PATH) as running:
        yield running


def post(listener: HintListener, path: str = PATH, **more: object) -> int:
    url = f"http://127.0.0.1:{listener.server_port}{path}"
    with httpx.Client(trust_env=False, timeout=10) as client:
        return client.request("POST", url, **more).status_code  # type: ignore[arg-type]


def test_a_hint_that_knows_the_secret_is_taken(listener: HintListener) -> None:
    secret = {SECRET_HEADER: listener.secret}
    assert post(listener, headers=secret, json={"action": "ANNOTATION_CREATED"}) == 204
    assert listener.hint.is_set()


@pytest.mark.parametrize("given", [{}, {SECRET_HEADER: ""}, {SECRET_HEADER: "guessed"}, {SECRET_HEADER: "é"}])
def test_a_hint_without_the_secret_is_refused(listener: HintListener, given: dict[str, str]) -> None:
    headers = {name: value.encode() for name, value in given.items()}
    assert post(listener, headers=headers, json={"action": "ANNOTATION_CREATED"}) == 403
    assert not listener.hint.is_set()


def test_what_is_no_hint_is_refused(listener: HintListener) -> None:
    secret = {SECRET_HEADER: listener.secret}
    assert post(listener, path="/", headers=secret, json={}) == 404
    with httpx.Client(trust_env=False) as client:
        assert client.get(f"http://127.0.0.1:{listener.server_port}{PATH}", headers=secret).status_code == 405
    assert not listener.hint.is_set()


def test_a_connection_that_says_nothing_keeps_nobody_waiting(listener: HintListener) -> None:
    with socket.create_connection(("127.0.0.1", listener.server_port)):
        assert post(listener, headers={SECRET_HEADER: listener.secret}, json={}) == 204


def test_what_a_hint_carries_does_not_matter(listener: HintListener) -> None:
    secret = {SECRET_HEADER: listener.secret}
    assert post(listener, headers=secret, content=b"x" * 5_000_000) == 204
    assert post(listener, headers=secret, content=iter([b"no", b"json"])) == 204
    assert post(listener, headers=secret) == 204


@pytest.mark.parametrize("end", ["", "\r\nContent-Length: 9\r\n\r\nx"])
def test_a_request_that_never_ends_does_not_hold_up_the_end(end: str) -> None:
    with HintListener(PATH) as listener:
        stuck = socket.create_connection(("127.0.0.1", listener.server_port))
        stuck.sendall(f"POST {PATH} HTTP/1.1\r\nHost: h{end}".encode())
        started = time.monotonic()
    assert time.monotonic() - started < 10
    assert not listener.hint.is_set()
    stuck.close()


def test_a_port_in_use_is_named(listener: HintListener) -> None:
    with pytest.raises(UsageError, match=f"port {listener.server_port} of 127.0.0.1 cannot be used"):
        HintListener(PATH, port=listener.server_port)


def test_each_project_gets_one_hook_that_sends_no_content() -> None:
    server = FakeServer()
    api = make_api(server)
    assert add_hooks(api, [1, 2], URL, "s3cret") == 2
    assert add_hooks(api, [2, 1, 3], URL, "s3cret") == 1
    assert sorted(hook["project"] for hook in server.hooks.values()) == [1, 2, 3]
    for hook in server.hooks.values():
        assert (hook["url"], hook["headers"]) == (URL, {SECRET_HEADER: "s3cret"})
        assert (hook["send_payload"], hook["send_for_all_actions"]) == (False, False)
        assert "ANNOTATION_CREATED" in hook["actions"]


def test_only_the_campaign_s_own_hooks_are_removed() -> None:
    server = FakeServer()
    api = make_api(server)
    add_hooks(api, [1], f"http://127.0.0.1:1{PATH}", "old")
    add_hooks(api, [2], f"http://other.example.org{PATH}", "old")
    add_hooks(api, [1], "http://127.0.0.1:1/somebody-else", "x")
    add_hooks(api, [1], f"http://127.0.0.1:1{hook_path('k2')}", "x")
    assert remove_hooks(api, PATH) == 2
    assert remove_hooks(api, PATH) == 0
    assert len(server.hooks) == 2


def test_a_hook_whose_making_is_in_doubt_is_not_made_twice() -> None:
    server = FakeServer()
    server.faults = ["ok", "drop-after"]
    api = make_api(server)
    with pytest.raises(ServerError):
        add_hooks(api, [1], URL, "s")
    assert add_hooks(api, [1], URL, "s") == 0
    assert len(server.hooks) == 1


def test_a_hook_that_is_gone_already_is_no_error() -> None:
    server = FakeServer()
    add_hooks(make_api(server), [1], URL, "s")
    server.faults = ["ok", "drop-after"]
    assert remove_hooks(make_api(server), PATH) == 1
    assert server.hooks == {}
