"""A server's answer, read strictly: one of the prompt's words, or a failure with its reason."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fire_toolkit.machines.judge import Answer
from fire_toolkit.machines.prompts import Prompt

_LEAST_MASS = 0.5  # of the probability must lie on the prompt's words, else P(yes) says nothing
_SHOWN = 60
_END = re.compile(r"<\|.*\|>|</s>|<end_of_turn>")


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
    usage = _mapping(body, "usage")
    fingerprint = body.get("system_fingerprint") if isinstance(body, dict) else None
    known = Answer(
        is_final=True,
        n_tokens_in=_count(usage.get("prompt_tokens")),
        n_tokens_out=_count(usage.get("completion_tokens")),
        fingerprint=fingerprint[:200] if isinstance(fingerprint, str) else "",
    )
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        return replace(known, reason="no answer of the chat-completions protocol (choices)", is_final=False)
    message, finished = _mapping(choices[0], "message"), choices[0].get("finish_reason")
    content = message.get("content")
    known = replace(known, text=content if isinstance(content, str) else "")
    word = known.text.strip().removesuffix(".").casefold()
    if message.get("refusal"):
        reason = f"refused: {_cut(str(message['refusal']))!r}"
    elif message.get("tool_calls"):
        reason = "called a tool in the place of an answer"
    elif not isinstance(content, str):
        reason = "no text in the answer"
    elif finished == "length":
        reason = f"cut off after {_cut(content)!r}: a larger longest_answer may do"
    elif finished not in ("stop", "eos", None):
        reason = f"ended by {_cut(str(finished))!r}"
    elif word not in prompt.answers:
        reason = f"answered {_cut(content)!r}, expected {' or '.join(prompt.answers)}"
    else:
        return replace(known, label=prompt.answers[word], score=_probability(choices[0], word, prompt))
    return replace(known, reason=reason)


def _probability(choice: Mapping[str, Any], word: str, prompt: Prompt) -> float | None:
    """Return P(yes) from the token that answers, None where the server gives none that can be used."""
    tokens = _mapping(choice, "logprobs").get("content")
    if not isinstance(tokens, list):
        return None
    spoken = [each for each in tokens if isinstance(each, dict) and _word(each) not in ("", ".")]
    if len(spoken) != 1 or _word(spoken[0]) != word or word not in prompt.graded_words:
        return None  # a word of several tokens has no probability of its own
    mass = dict.fromkeys(prompt.graded_words, 0.0)
    top = spoken[0].get("top_logprobs")
    seen: set[str] = set()
    for each in [spoken[0], *(top if isinstance(top, list) else [])]:
        token = each.get("token") if isinstance(each, dict) else None
        value = each.get("logprob") if isinstance(each, dict) else None
        if not isinstance(token, str) or token in seen or isinstance(value, bool):
            continue
        if not isinstance(value, int | float) or not value <= 1e-3:  # no logarithm of a probability, or nan
            continue
        seen.add(token)
        if _word(each) in mass:
            mass[_word(each)] += math.exp(value)
    total = sum(mass.values())
    if not _LEAST_MASS <= total <= 1.001 or len(seen) < 2:
        return None
    return sum(mass[each] for each in prompt.positive_words) / total


def _word(token: Mapping[str, Any]) -> str:
    """Return a token's text; empty for the marks by which models end."""
    text = str(token.get("token", "")).strip().casefold()
    return "" if _END.fullmatch(text) else text


def _mapping(found: Any, key: str) -> Mapping[str, Any]:
    value = found.get(key) if isinstance(found, dict) else None
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12
    return value if is_count else None  # type: ignore[return-value]


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
