"""A judge, as people write it down in a TOML file; what it is asked, and what becomes of it."""

import json
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_text, text_sha256
from fire_toolkit.syntax import parse_toml
from fire_toolkit.workspace.config import values_over

_LIMITS: dict[str, tuple[float, float]] = {
    "frames": (1, 64),
    "frame_px": (64, 4096),
    "samples": (1, 99),
    "temperature": (0, 2),
    "longest_answer": (1, 100_000),
    "at_once": (1, 64),
    "timeout_s": (0.1, 86_400),
}
_NEEDED = ("endpoint", "model")
_OURS = "prompt_sha256"  # what stands in no file
# Whatever of these differs makes another judge.
_SHOWN = ("logprobs", "frames", "frame_px")
_SETTINGS = ("endpoint", "model", "revision", "temperature", "longest_answer", *_SHOWN, _OURS)


@dataclass(frozen=True)
class Judge:
    """The model, where it answers, and how it is asked; each field but the last is a key of its file.

    endpoint: the address of the server's API; model: as the server calls it; name: the judge's, by default
    the file's; revision: the model's version, as the user names it; backbone: the model's; frames: shown of a
    clip, each the middle of an equal part; frame_px: their longer side; samples: answers asked for each pair;
    temperature: 0 for the likeliest answer; longest_answer: in tokens, more for models that reason first;
    logprobs: whether probabilities are asked for, which P(yes) needs; at_once: requests in flight; timeout_s:
    seconds to wait for an answer; price: of a million tokens of the question, and of the answer;
    prompt_sha256: of the `Prompt`.
    """

    endpoint: str = ""
    model: str = ""
    name: str = ""
    revision: str = ""
    backbone: str = ""
    frames: int = 8
    frame_px: int = 512
    samples: int = 1
    temperature: float = 0.0
    longest_answer: int = 8
    logprobs: bool = True
    at_once: int = 4
    timeout_s: float = 120.0
    price: tuple[float, float] | None = None
    prompt_sha256: str = ""

    @property
    def settings(self) -> dict[str, Any]:
        """All that could change an answer: whatever differs is another judge."""
        return {name: getattr(self, name) for name in _SETTINGS}

    def body(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """Return a request of the chat-completions protocol."""
        body = {"model": self.model, "messages": messages, "temperature": self.temperature}
        body |= {"max_tokens": self.longest_answer}
        return body | ({"logprobs": True, "top_logprobs": 20} if self.logprobs else {})


def read_judge(path: Path) -> Judge:
    """Return the judge that a file describes.

    Raises:
        FormatError: no such file, no TOML, an unknown key, one that is missing, or a value that cannot be.

    Examples:
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "qwen.toml"
        >>> _ = file.write_text('endpoint = "http://127.0.0.1:8000/v1"\\nmodel = "Qwen2.5-VL"\\nframes = 4')
        >>> read_judge(file).name, read_judge(file).frames
        ('qwen', 4)
    """
    written = parse_toml(read_text(path), str(path))
    known = {each.name: each.default for each in fields(Judge) if each.name not in (_OURS, "price")}
    price = written.pop("price", None)
    found = values_over(known, written, f"{path}:")
    wrong = [
        (key, found[key], f"a number from {least:,g} to {most:,g}")
        for key, (least, most) in _LIMITS.items()
        if not least <= found[key] <= most
    ]
    if price is not None:
        is_pair = isinstance(price, list) and len(price) == 2 and {*map(type, price)} <= {int, float}
        wrong += [] if is_pair else [("price", price, "two numbers such as [0.15, 0.60]")]
    for key, value, expected in wrong:
        raise FormatError(f"{path}: {key} = {value!r}, expected {expected}")
    for key in _NEEDED:
        if not found[key]:
            raise FormatError(f'{path}: {key} is missing; expected {key} = "…"')
    found["name"] = file_name(found["name"] or path.stem)
    judge = Judge(**found, price=None if price is None else (float(price[0]), float(price[1])))
    if judge.samples > 1 and not judge.temperature:
        words = "samples above 1 needs a temperature above 0: at 0 all samples are one answer"
        raise FormatError(f"{path}: {words}")
    return judge


def file_name(name: str) -> str:
    """Return what a judge called so is named in files: letters, digits, dots and dashes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")


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
        shown = [self.media_sha256, self.media_url.partition("#")[2]]
        shown += [self.reference_sha256, self.reference_url.partition("#")[2]]
        parts = [judge.settings, self.place, text_sha256(self.caption), shown]
        return text_sha256(json.dumps(parts, sort_keys=True))


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
