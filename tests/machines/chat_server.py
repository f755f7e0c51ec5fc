"""An OpenAI-compatible server on this machine, over real HTTP, that answers as it is told, and badly too."""

import asyncio
import base64
import json
import math
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from fire_toolkit.media.serving import LocalServer

Says = Callable[[str, list[bytes]], "str | Response | dict[str, Any]"]


def said(text: str, **changes: Any) -> dict[str, Any]:
    """A body of the protocol that says `text`."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101}
    body = {"id": "x", "model": "m-2026-01", "system_fingerprint": "fp1", "choices": [choice], "usage": usage}
    return body | changes


def with_probability(text: str, p_yes: float) -> dict[str, Any]:
    """The same with log-probabilities, the words spelled as tokenizers do."""
    top = {"yes": 0.75 * p_yes, " Yes": 0.25 * p_yes, "no": 1 - p_yes}
    known = [{"token": token, "logprob": math.log(p)} for token, p in top.items() if p > 0]
    tokens = [{"token": text, "logprob": math.log(top[text]), "top_logprobs": known}]
    body = said(text)
    body["choices"][0]["logprobs"] = {"content": tokens}
    return body


@dataclass
class ChatServer:
    """What the server says, and what it was asked.

    says: caption and pictures → text, body or response; delay_s: before each answer; together: how many
    requests must once have been there at a time before any is answered; first: responses of the first
    requests. asked: captions; bodies: of all requests; keys: the Authorization of each.
    """

    says: Says = lambda caption, pictures: "yes" if "dog" in caption else "no"
    delay_s: float = 0.0
    together: int = 1
    first: list[Response] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    most_at_once: int = 0
    _at_once: int = 0
    _guard: threading.Lock = field(default_factory=threading.Lock)

    @property
    def times_asked(self) -> Counter[str]:
        return Counter(self.asked)

    def serve(self) -> LocalServer:
        routes = [
            Route("/v1/chat/completions", self.complete, methods=["POST"]),
            Route("/moved/chat/completions", self.moved, methods=["POST"]),
        ]
        return LocalServer(Starlette(routes=routes))

    async def moved(self, request: Request) -> Response:
        self.keys.append(request.headers.get("Authorization"))
        return RedirectResponse("/v1/chat/completions", 307)

    async def complete(self, request: Request) -> Response:
        body = await request.json()
        parts = body["messages"][1]["content"]
        caption = json.loads(parts[0]["text"])["caption"]
        shown = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        pictures = [base64.b64decode(url.partition(",")[2]) for url in shown]
        with self._guard:
            self.asked.append(caption)
            self.bodies.append(body)
            self.keys.append(request.headers.get("Authorization"))
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            response = self.first.pop(0) if self.first else None
        try:
            while self.most_at_once < self.together:
                await asyncio.sleep(0.001)
            await asyncio.sleep(self.delay_s)
            found = self.says(caption, pictures) if response is None else response
        finally:
            self._at_once -= 1
        if isinstance(found, Response):
            return found
        return JSONResponse(said(found) if isinstance(found, str) else found)


if __name__ == "__main__":  # by itself: answers slowly, and writes down what it was asked
    log = open(sys.argv[1], "a", buffering=1)  # noqa: PTH123, SIM115

    def answer(caption: str, pictures: list[bytes]) -> str:
        log.write(caption + "\n")
        return "yes" if "dog" in caption else "no"

    with ChatServer(says=answer, delay_s=float(sys.argv[2])).serve() as server:
        print(server.server_port, flush=True)
        sys.stdin.read()
