"""How a machine judge is asked: `machine.toml` beside a guideline holds instructions, the caption is data."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FireError, FormatError, TableError
from fire_toolkit.files import read_text, text_sha256
from fire_toolkit.formats.tables.guideline_files import guideline_folder, read_guideline, typed
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.syntax import parse_toml

FILE = "machine.toml"
_KEYS = {"version": int, "guideline_sha256": str, "system": str, "answers": dict}
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
    parts = [_text(json.dumps(material, ensure_ascii=False))]
    if reference:
        parts += [_text("reference:"), *map(_picture, reference), _text("candidate:")]
    parts += map(_picture, pictures)
    return [{"role": "system", "content": prompt.system}, {"role": "user", "content": parts}]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _picture(picture: tuple[str, bytes]) -> dict[str, Any]:
    media_type, content = picture
    url = f"data:{media_type};base64,{base64.b64encode(content).decode('ascii')}"
    return {"type": "image_url", "image_url": {"url": url}}
