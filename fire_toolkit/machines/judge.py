"""A judge and its prompt, as people write them down in TOML files; what it is asked, and what becomes of it.

`machine.toml` beside a guideline holds instructions; the caption is data.
"""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FireError, FormatError, TableError
from fire_toolkit.files import read_text, text_sha256
from fire_toolkit.formats.tables.guideline_files import guideline_folder, read_guideline, typed
from fire_toolkit.guidelines.model import Guideline
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
    is_pair = isinstance(price, list) and len(price) == 2 and {*map(type, price)} <= {int, float}
    found = values_over(known, written, f"{path}:")
    odd = [(key, *ends) for key, ends in _LIMITS.items() if not ends[0] <= found[key] <= ends[1]]
    wrong = [
        f"{key} = {found[key]!r}, expected a number from {low:,g} to {high:,g}" for key, low, high in odd
    ]
    if price is not None and not is_pair:
        wrong.append(f"price = {price!r}, expected two numbers such as [0.15, 0.60]")
    wrong += [f'{key} is missing; expected {key} = "…"' for key in ("endpoint", "model") if not found[key]]
    if found["samples"] > 1 and not found["temperature"]:
        wrong.append("samples above 1 needs a temperature above 0: at 0 all samples are one answer")
    for words in wrong:
        raise FormatError(f"{path}: {words}")
    found["name"] = file_name(found["name"] or path.stem)
    return Judge(**found, price=(float(price[0]), float(price[1])) if price else None)


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


FILE = "machine.toml"
_KEYS = {"version": int, "guideline_sha256": str, "system": str, "answers": dict}
_Shown = str | tuple[str, bytes]
_FORM = 1  # of the messages; another form is another judge


@dataclass(frozen=True)
class Prompt:
    """The question as a machine is asked it.

    system: the instructions; answers: each word that the machine may answer → the label that it stands for;
    grades: label → relevance, None for no vote; sha256: of all that decides what is asked and how answers are
    read.
    """

    system: str
    answers: Mapping[str, str]
    grades: Mapping[str, float | None]
    sha256: str = ""

    @property
    def positive_words(self) -> frozenset[str]:
        """The answers whose label has a grade of 1 or more."""
        return frozenset(word for word, label in self.answers.items() if (self.grades[label] or 0) > 0)

    @property
    def graded_words(self) -> frozenset[str]:
        """The answers whose label has a grade."""
        return frozenset(word for word, label in self.answers.items() if self.grades[label] is not None)


def prompt_problems(guideline: str | Path) -> list[str]:
    """Return what is wrong with the machine.toml of a guideline; nothing where there is none."""
    try:
        if (guideline_folder(guideline) / FILE).is_file():
            read_prompt(guideline)
    except FireError as error:
        return [str(error)]
    return []


def read_prompt(guideline: str | Path) -> tuple[Prompt, Guideline]:
    """Return how a machine is asked a guideline's question, and the guideline, by its name or folder.

    Each answer is one word in lower case; each label is the guideline's; one positive and one other grade can
    be answered; the guideline is the one that the prompt was written for.

    Raises:
        FormatError: it is for sounds; there is no such file, or a key is missing, unknown or of another type.
        TableError: it does not fit the guideline.

    Examples:
        >>> read_prompt("caption-relevance-v1")[0].answers
        {'yes': 'relevant', 'no': 'irrelevant'}
    """
    rules = read_guideline(guideline)
    path = guideline_folder(guideline) / FILE
    if rules.item_kind == "audio":
        raise FormatError(f"{rules.name}: machine judges are sent pictures and texts, and no sounds")
    if not path.is_file():
        raise FormatError(f"{path}: no such file; write how a machine is asked there")
    entries = parse_toml(read_text(path).replace("\r\n", "\n"), str(path))
    entries = typed(entries, _KEYS, str(path))
    if not all(isinstance(label, str) for label in entries["answers"].values()):
        raise FormatError(f'{path}: [answers] holds other values than labels, expected yes = "relevant"')
    answers, system = entries["answers"], entries["system"].strip()
    parts = [_FORM, entries["guideline_sha256"], entries["version"], system, sorted(answers.items())]
    sha256 = text_sha256(json.dumps(parts))
    prompt = Prompt(system, answers, rules.grades, sha256)
    if unknown := sorted(set(answers.values()) - set(rules.grades)):
        raise TableError(f"{path}: answers lead to {', '.join(unknown)}; {rules.name} has no such label")
    if odd := [word for word in answers if not word.isalnum() or word != word.casefold()]:
        raise TableError(f"{path}: answer {odd[0]!r}, expected one word of letters or digits in lower case")
    if not prompt.positive_words or prompt.positive_words >= prompt.graded_words:
        raise TableError(f"{path}: answers need one for a positive label and one for a label of grade 0")
    if entries["guideline_sha256"] != rules.sha256:
        words = f"written for another version of {rules.name}; read it against guideline.md, then set"
        raise TableError(f'{path}: {words} guideline_sha256 = "{rules.sha256}"')
    return prompt, rules


def messages(
    prompt: Prompt,
    caption: str,
    pictures: Sequence[tuple[str, bytes]],
    reference: Sequence[tuple[str, bytes]] = (),
    *,
    item_text: str = "",
) -> list[dict[str, Any]]:
    """Return the messages of a request: the caption (and the item's text) as JSON strings, then the pictures.

    Args:
        prompt: its system text is the only instruction.
        caption: any text; in JSON it can end neither its string nor the message.
        pictures: media type (`image/jpeg`) and bytes of each; none where captions are shown alone.
        reference: the same of the item that a composed query starts from. It comes first, and a word before
            each of the two says which it is.
        item_text: of an item that is a text; empty for others.
    """
    material = {"caption": caption} | ({"text": item_text} if item_text else {})
    before: list[_Shown] = ["reference:", *reference, "candidate:"] if reference else []
    shown: list[_Shown] = [json.dumps(material, ensure_ascii=False), *before, *pictures]
    return [{"role": "system", "content": prompt.system}, {"role": "user", "content": [*map(_part, shown)]}]


def _part(shown: _Shown) -> dict[str, Any]:
    """Return a text, or a picture with its media type, as a part of a message."""
    if isinstance(shown, str):
        return {"type": "text", "text": shown}
    url = f"data:{shown[0]};base64,{base64.b64encode(shown[1]).decode('ascii')}"
    return {"type": "image_url", "image_url": {"url": url}}
