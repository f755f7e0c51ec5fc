"""A judge, what it is asked, and what became of it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from fire_toolkit.files import text_sha256


@dataclass(frozen=True)
class Judge:
    """The model, where it answers, and all settings that could change an answer: whatever differs is another.

    endpoint: the address of the server's API without `/chat/completions`; revision: as the user names it;
    prompt_sha256: of the `Prompt`; temperature: 0 for the likeliest answer; longest_answer: tokens;
    wants_logprobs: whether probabilities are asked for; n_frames, frame_px: how many frames of a clip are
    shown, each the middle of an equal part, and their longer side.
    """

    endpoint: str
    model: str
    revision: str
    prompt_sha256: str
    temperature: float
    longest_answer: int
    wants_logprobs: bool
    n_frames: int
    frame_px: int

    def body(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """Return a request of the chat-completions protocol."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": messages,
            "temperature": self.temperature,
            "max_tokens": self.longest_answer,
        }
        return body | ({"logprobs": True, "top_logprobs": 20} if self.wants_logprobs else {})


@dataclass(frozen=True)
class Request:
    """One sample of one pair: the caption, what is shown (with the part that counts), and their hashes.

    media_url: empty where captions are shown alone, and where the item is a text, item_text; reference_url:
    of the item that a composed query starts from, empty for other queries.
    """

    query_id: str
    doc_id: str
    sample_number: int
    caption: str
    media_url: str
    media_sha256: str
    reference_url: str = ""
    reference_sha256: str = ""
    item_text: str = ""

    @property
    def place(self) -> tuple[str, str, int]:
        """The pair, and which of its samples."""
        return self.query_id, self.doc_id, self.sample_number

    def key(self, judge: Judge) -> str:
        """Return what tells this request from every other: an answer under this key is never asked again."""
        caption = text_sha256(self.caption)
        shown = [self.media_sha256, self.media_url.partition("#")[2]]
        shown += [self.reference_sha256, self.reference_url.partition("#")[2]]
        text = json.dumps([asdict(judge), self.place, caption, shown], sort_keys=True)
        return text_sha256(text)


@dataclass(frozen=True)
class Answer:
    """What became of a request.

    text: what the server answered, as it stands; label: empty where it could not be read; score: P(yes), None
    where the server gave no probabilities; reason: why there is no label; is_final: whether the server
    answered at all, so that asking again would pay for the same answer; n_tokens_in, n_tokens_out: None where
    the server did not say; fingerprint: as the server names its version; frames: seconds, joined by `;`;
    frames_sha256: of the pictures sent.
    """

    text: str = ""
    label: str = ""
    score: float | None = None
    reason: str = ""
    is_final: bool = False
    n_tokens_in: int | None = None
    n_tokens_out: int | None = None
    cost: float | None = None
    latency_seconds: float | None = None
    fingerprint: str = ""
    frames: str = ""
    frames_sha256: str = ""
