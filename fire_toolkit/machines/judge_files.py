"""A judge as people write it down: a TOML file that says which model is asked, where, and how."""

from __future__ import annotations

import difflib
import re
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_text
from fire_toolkit.machines.judge import Judge
from fire_toolkit.syntax import parse_toml

_LIMITS: dict[str, tuple[float, float]] = {
    "frames": (1, 64),
    "frame_px": (64, 4096),
    "samples": (1, 99),
    "temperature": (0, 2),
    "longest_answer": (1, 100_000),
    "at_once": (1, 64),
    "timeout_s": (0.1, 86_400),
}


@dataclass(frozen=True)
class JudgeFile:
    """What a judge's file says; each field is a key.

    endpoint: the server's API; model: as the server calls it; name: the judge's, by default the file's;
    revision: the model's version, part of the judge's identity; backbone: the model's; frames: shown of a
    clip; frame_px: their longer side; samples: answers asked for each pair; temperature: 0 for the likeliest
    answer; longest_answer: in tokens, more for models that reason first; logprobs: whether probabilities are
    asked for, which P(yes) needs; at_once: requests in flight; timeout_s: seconds to wait for an answer;
    price: of a million tokens of the question, and of the answer.
    """

    endpoint: str
    model: str
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

    def judge(self, url: str, prompt_sha256: str) -> Judge:
        """Return the judge itself, at this address and with this prompt."""
        return Judge(
            endpoint=url,
            prompt_sha256=prompt_sha256,
            model=self.model,
            revision=self.revision,
            temperature=self.temperature,
            longest_answer=self.longest_answer,
            wants_logprobs=self.logprobs,
            n_frames=self.frames,
            frame_px=self.frame_px,
        )


def read_judge(path: Path) -> JudgeFile:
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
    found = parse_toml(read_text(path), str(path))
    known = {each.name: each.default for each in fields(JudgeFile)}
    for key in found:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected some of {', '.join(known)}"
            raise FormatError(f"{path}: no setting of a judge is called {key!r}; {hint}")
    missing = [key for key, default in known.items() if default is MISSING and not found.get(key)]
    if missing:
        raise FormatError(f'{path}: {missing[0]} is missing; expected {missing[0]} = "…"')
    values = {key: _checked(path, key, known[key], value) for key, value in found.items()}
    judge = JudgeFile(**{"name": file_name(path.stem), **values})
    if judge.samples > 1 and not judge.temperature:
        raise FormatError(
            f"{path}: samples above 1 needs a temperature above 0: at 0 all samples are one answer"
        )
    return judge


def file_name(name: str) -> str:
    """Return what a judge called so is named in files: letters, digits, dots and dashes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")


def _checked(path: Path, key: str, default: Any, value: Any) -> Any:
    """Return the value of a key, of the type of its default."""
    if key == "price":
        if not isinstance(value, list) or [type(each) in (int, float) for each in value] != [True, True]:
            raise FormatError(f"{path}: price = {value!r}, expected two numbers such as [0.15, 0.60]")
        return tuple(map(float, value))
    kind = str if default is MISSING else type(default)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        like = "a text" if default is MISSING else f"a value like {default!r}"
        raise FormatError(f"{path}: {key} = {value!r}, expected {like}")
    least, most = _LIMITS.get(key, (0, 0))
    if key in _LIMITS and not least <= float(value) <= most:
        raise FormatError(f"{path}: {key} = {value!r}, expected a number from {least:,g} to {most:,g}")
    return file_name(value) if key == "name" else value
