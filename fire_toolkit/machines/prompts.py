"""How a machine judge is asked: instructions in the system message, the caption as data in the user's."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fire_toolkit.errors import TableError
from fire_toolkit.guidelines.model import Guideline

_FORM = 1  # of the messages; another form is another judge


@dataclass(frozen=True)
class Prompt:
    """The question as a machine is asked it.

    guideline, guideline_sha256: what it interprets; system: the instructions; answers: each word that the
    machine may answer → the label that it stands for; grades: label → relevance, None for no vote.
    """

    guideline: str
    guideline_sha256: str
    version: int
    system: str
    answers: Mapping[str, str]
    grades: Mapping[str, int | None]

    @property
    def sha256(self) -> str:
        """The hash of all that decides what is asked and how answers are read."""
        parts = [_FORM, self.guideline_sha256, self.version, self.system, sorted(self.answers.items())]
        return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode("ascii")).hexdigest()

    @property
    def positive_words(self) -> frozenset[str]:
        """The answers whose label has a grade of 1 or more."""
        return frozenset(word for word, label in self.answers.items() if (self.grades[label] or 0) > 0)

    @property
    def graded_words(self) -> frozenset[str]:
        """The answers whose label has a grade."""
        return frozenset(word for word, label in self.answers.items() if self.grades[label] is not None)


def check_prompt(prompt: Prompt, guideline: Guideline, *, where: str) -> Prompt:
    """Return a prompt as it is, or raise `TableError` where it does not fit the guideline.

    Each answer is one word in lower case; each label is the guideline's; one positive and one other grade
    can be answered; the guideline is the one that the prompt was written for.
    """
    unknown = sorted(set(prompt.answers.values()) - set(guideline.grades))
    if unknown:
        raise TableError(f"{where}: answers lead to {', '.join(unknown)}; {guideline.name} has no such label")
    odd = [word for word in prompt.answers if not word.isalnum() or word != word.casefold()]
    if odd:
        raise TableError(f"{where}: answer {odd[0]!r}, expected one word of letters or digits in lower case")
    if not prompt.positive_words or prompt.positive_words >= prompt.graded_words:
        raise TableError(f"{where}: answers need one for a positive label and one for a label of grade 0")
    if prompt.guideline_sha256 != guideline.sha256:
        raise TableError(
            f"{where}: written for another version of {guideline.name}; read it against guideline.md, then "
            f'set guideline_sha256 = "{guideline.sha256}"'
        )
    return prompt


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
