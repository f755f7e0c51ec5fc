"""The chat-completions protocol, as vLLM, llama.cpp, Ollama and the vendors speak it, over one HTTP client.

An answer is read strictly: one of the prompt's words, or a failure with its reason.

The key goes to the endpoint and nowhere else: never over plain http beyond this machine, never along a
redirect, and into no message.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from email.utils import parsedate_to_datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from fire_toolkit.errors import ServerError, UsageError
from fire_toolkit.machines.judge import Answer, Prompt
from fire_toolkit.media.places import LOOPBACK_HOSTS, checked_url, has_odd_marks

if TYPE_CHECKING:
    import httpx

KEY_VARIABLE = "FIRE_MACHINE_KEY"
ATTEMPTS = 5
_BUSY = (408, 409, 425, 429, 500, 502, 503, 504, 529)
_LONGEST_PAUSE_S = 300.0
_MOST_BYTES = 8 << 20
_PATH = "/chat/completions"
_SHOWN = 300
_LEAST_MASS = 0.5  # of the probability must lie on the prompt's words, else P(yes) says nothing
_MOST_SHOWN = 60
_END = re.compile(r"<\|.*\|>|</s>|<end_of_turn>")
# What all other requests would meet, too; what the server says stands in the place of {}.
_REFUSING = dict.fromkeys((401, 403), f": refuses the key{{}}; set {KEY_VARIABLE} to one of this server")
_REFUSING |= dict.fromkeys((402, 404, 405), "{}; look at endpoint and model")


class _Later(Exception):
    """The request may succeed later; its text says what happened.

    after_s: the seconds that the server asks to wait; None: it does not say. is_alone: nobody ever answered.
    """

    def __init__(self, reason: str, *, after_s: float | None = None, is_alone: bool = False) -> None:
        super().__init__(reason)
        self.after_s, self.is_alone = after_s, is_alone


class Chat:
    """A connection to a judge's server, to which key and media may go; used by several threads at once.

    Args:
        endpoint: the address of the server's API, with or without `/chat/completions`.
        prompt: by which answers are read.
        key: from the environment; empty: none is sent.
        send_media_to: the one host beyond this machine to which captions and media may be sent.
        timeout_s: seconds to wait for an answer.

    Attributes:
        url: the endpoint without `/chat/completions` and trailing slash.

    Raises:
        UsageError: no http(s) address, or one with a password; a key that would go over plain http; media
            that would leave this machine for a host that was not named.
        ServerError: in all calls: what no other request would fare better with: the key is refused, there is
            no such model, a redirect, nobody answers, or we are to wait longer than five minutes.

    Examples:
        >>> prompt = Prompt("", {}, {})
        >>> Chat("https://api.example.org/v1", prompt, key="", send_media_to=None, timeout_s=9)
        Traceback (most recent call last):
        fire_toolkit.errors.UsageError: captions and media would leave this machine for api.example.org; \
if you may send them there, say so: --send-media-to api.example.org
    """

    def __init__(
        self, endpoint: str, prompt: Prompt, *, key: str, send_media_to: str | None, timeout_s: float
    ) -> None:
        import httpx

        self.url = checked_url(endpoint, "endpoint").removesuffix(_PATH)
        parts = urlsplit(self.url)
        host, is_local = parts.hostname or "", parts.hostname in LOOPBACK_HOSTS
        if not is_local and send_media_to != host:
            words = (
                f"captions and media would leave this machine for {host}; if you may send them there, say so"
            )
            raise UsageError(f"{words}: --send-media-to {host}")
        if key and parts.scheme == "http" and not is_local:
            raise UsageError(f"the key would go to {host} over plain http; use https, or unset the key")
        if not key.isascii() or has_odd_marks(key):
            raise UsageError("the key holds characters that no key has; copy it again")
        self._key, self._prompt, self._timeout_s = key, prompt, timeout_s
        self._gate, self._closed_until, self._has_answered = Lock(), 0.0, False
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(
            headers=headers, timeout=timeout_s, follow_redirects=False, trust_env=not is_local
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Close the connections."""
        self._client.close()

    def ask(self, body: Mapping[str, Any]) -> Answer:
        """Return what the server answers, after as many attempts as it takes up to five.

        An answer that is not final has failed, with its reason, and may be asked again another day.
        """
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        for attempt in range(1, ATTEMPTS + 1):
            time.sleep(max(0.0, self._closed_until - time.monotonic()))
            began = time.monotonic()
            try:
                return replace(self._answered(content), latency_seconds=time.monotonic() - began)
            except _Later as later:
                trouble = later
            if trouble.after_s is None:
                time.sleep(min(2.0 ** (attempt - 1), 30.0) if attempt < ATTEMPTS else 0.0)
            elif trouble.after_s > _LONGEST_PAUSE_S:
                words = f"{trouble}, and asks to wait {trouble.after_s:,.0f} s; run the command again later"
                raise ServerError(f"{self.url}: {words}")
            else:  # none of us asks until then
                with self._gate:
                    self._closed_until = max(self._closed_until, time.monotonic() + trouble.after_s)
        if trouble.is_alone:
            raise ServerError(f"{self.url}: {trouble}; is the server running, timeout_s long enough?")
        return Answer(reason=f"{trouble} ({ATTEMPTS} attempts)")

    def _answered(self, content: bytes) -> Answer:
        """Return what one request brings; an answer that is not final where the server refuses this one.

        Raises:
            ServerError: all requests would be refused like this one.
        """
        import httpx

        where, headers = self.url, {"Content-Type": "application/json"}
        raw, deadline = b"", time.monotonic() + self._timeout_s
        try:
            with self._client.stream("POST", where + _PATH, content=content, headers=headers) as response:
                self._has_answered = True
                for piece in response.iter_bytes():
                    raw += piece
                    if len(raw) > _MOST_BYTES:
                        raise _Later(f"an answer of more than {_MOST_BYTES:,} bytes")
                    if time.monotonic() > deadline:
                        raise _Later(f"an answer still incomplete after {self._timeout_s:g} s")
        except httpx.ConnectError as error:
            words = " ".join(str(error).split())[:100] or type(error).__name__
            raise _Later(f"no connection ({words})", is_alone=True) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            is_alone = isinstance(error, httpx.TimeoutException) and not self._has_answered
            raise _Later(f"no answer ({type(error).__name__})", is_alone=is_alone) from None
        status = response.status_code
        said = f"HTTP {status}{self._detail(raw)}"
        if status in _BUSY:
            raise _Later(said, after_s=_retry_after(response))
        if 300 <= status < 400:
            location = self._clean(response.headers.get("Location", "nowhere"))
            words = f"{where}: redirects to {location}; neither key nor media follow: give the server's own"
            raise ServerError(f"{words} address")
        if status in _REFUSING:
            raise ServerError(f"{where}: {status}{_REFUSING[status].format(self._detail(raw))}")
        if status != 200:
            return Answer(reason=said)
        try:
            return read_answer(json.loads(raw), self._prompt)
        except (ValueError, RecursionError):
            return read_answer({}, self._prompt)

    def _detail(self, raw: bytes) -> str:
        """Return what a body says, for a message: cut, and without the key."""
        text = raw[:4000].decode("utf-8", "replace")
        try:
            found = json.loads(raw)
            error = found.get("error", found) if isinstance(found, dict) else found
            text = str(error.get("message", error) if isinstance(error, dict) else error)
        except (ValueError, RecursionError):
            text = "" if "<" in text[:200] else text
        line = " ".join(self._clean(text).split())
        return f" ({line[:_SHOWN]})" if line else ""

    def _clean(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def _retry_after(response: httpx.Response) -> float | None:
    """Return the seconds that a server asks to wait; None where it does not say."""
    text = response.headers.get("Retry-After", "").strip()
    for seconds_of in (float, lambda date: parsedate_to_datetime(date).timestamp() - time.time()):
        with suppress(ValueError, TypeError, OverflowError):
            seconds = seconds_of(text)
            return max(0.0, seconds) if math.isfinite(seconds) else None
    return None


def read_answer(body: Any, prompt: Prompt) -> Answer:
    """Return a body of the chat-completions protocol as an answer; what cannot be read has a reason.

    The text must be one of the prompt's words, in any case, with white space around it and at most a full
    stop after it. An answer that was cut off, filtered or refused, a call of a tool, several choices,
    a further word: all are failures, and final; a body that is not an answer at all is not. P(yes) is the
    probability of the positive words among those with a grade, at the token that answers; None where the
    server gives no probabilities, or where less than half of the probability lies on these words.

    Examples:
        >>> prompt = Prompt("", {"yes": "relevant", "no": "irrelevant"}, {"relevant": 1, "irrelevant": 0})
        >>> body_of = lambda text: {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
        >>> read_answer(body_of("Yes."), prompt).label, read_answer(body_of("Yes, it does"), prompt).reason
        ('relevant', "answered 'Yes, it does', expected yes or no")
    """
    usage, fingerprint = _object(body).get("usage"), _object(body).get("system_fingerprint")
    known = Answer(
        is_final=True,
        n_tokens_in=_count(_object(usage).get("prompt_tokens")),
        n_tokens_out=_count(_object(usage).get("completion_tokens")),
        fingerprint=fingerprint[:200] if isinstance(fingerprint, str) else "",
    )
    choices = _object(body).get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        return replace(known, reason="no answer of the chat-completions protocol (choices)", is_final=False)
    message, finished = _object(choices[0].get("message")), choices[0].get("finish_reason")
    content = message.get("content")
    known = replace(known, text=content if isinstance(content, str) else "")
    word = known.text.strip().removesuffix(".").casefold()
    reasons = (
        (message.get("refusal"), f"refused: {_cut(message.get('refusal'))!r}"),
        (message.get("tool_calls"), "called a tool in the place of an answer"),
        (not isinstance(content, str), "no text in the answer"),
        (finished == "length", f"cut off after {_cut(content)!r}: a larger longest_answer may do"),
        (finished not in ("stop", "eos", None), f"ended by {_cut(finished)!r}"),
        (word not in prompt.answers, f"answered {_cut(content)!r}, expected {' or '.join(prompt.answers)}"),
    )
    for is_so, reason in reasons:
        if is_so:
            return replace(known, reason=reason)
    return replace(known, label=prompt.answers[word], score=_probability(choices[0], word, prompt))


def _probability(choice: Mapping[str, Any], word: str, prompt: Prompt) -> float | None:
    """Return P(yes) from the token that answers, None where the server gives none that can be used."""
    tokens = _object(choice.get("logprobs")).get("content")
    spoken = [each for each in _objects(tokens) if _word(each.get("token", "")) not in ("", ".")]
    if [_word(each.get("token", "")) for each in spoken] != [word] or word not in prompt.graded_words:
        return None  # a word of several tokens has no probability of its own
    found: dict[str, float] = {}
    for each in [spoken[0], *_objects(spoken[0].get("top_logprobs"))]:
        token, value = each.get("token"), each.get("logprob", math.inf)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if isinstance(token, str) and is_number and value <= 1e-3:  # else no logarithm of a probability
            found.setdefault(token, math.exp(value))
    mass = {own: sum(p for token, p in found.items() if _word(token) == own) for own in prompt.graded_words}
    total = sum(mass.values())
    if not _LEAST_MASS <= total <= 1.001 or len(found) < 2:
        return None
    return sum(mass[each] for each in prompt.positive_words) / total


def _word(token: object) -> str:
    """Return a token's text; empty for the marks by which models end."""
    text = str(token).strip().casefold()
    return "" if _END.fullmatch(text) else text


def _object(found: Any) -> Mapping[str, Any]:
    return found if isinstance(found, dict) else {}


def _objects(found: Any) -> list[Mapping[str, Any]]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 10**12 else None


def _cut(text: object) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= _MOST_SHOWN else f"{line[:_MOST_SHOWN]}…"
