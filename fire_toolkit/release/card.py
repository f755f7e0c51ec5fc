"""README.md of a release: the card that Hugging Face reads, and that a person reads first."""

from __future__ import annotations

from collections.abc import Collection

from fire_toolkit.release.answers import KNOWN, licence_url, module_name, yaml_text
from fire_toolkit.release.facts import ReleaseFacts, licence_notes, sentence
from fire_toolkit.release.layout import FILES, TABLES
from fire_toolkit.words import n_of


def card(facts: ReleaseFacts, tables: Collection[str]) -> str:
    """Return README.md.

    Its YAML header names a config for each table. The names corpus, queries and qrels, with the one split
    test, are those that loaders of retrieval benchmarks expect.

    Args:
        facts: of the release.
        tables: the names of the tables in data/.
    """
    return "\n".join([_header(facts, tables), *_body(facts, tables)]) + "\n"


def _header(facts: ReleaseFacts, tables: Collection[str]) -> str:
    lines = [
        "---",
        f"pretty_name: {yaml_text(facts.title)}",
        *_licence(facts),
        "task_categories:",
        "- text-retrieval",
        "tags:",
        *(f"- {tag}" for tag in ("information-retrieval", "relevance-judgments", "qrels", "croissant")),
        "configs:",
    ]
    for name in tables:
        lines += [f"- config_name: {name}", *(["  default: true"] if name == "qrels" else [])]
        lines += ["  data_files:", "  - split: test", f"    path: data/{name}.parquet"]
    return "\n".join([*lines, "---"])


def _licence(facts: ReleaseFacts) -> list[str]:
    """Return the licence as the hub names it: SPDX in lower case, or `other` with name and address."""
    licence = facts.answers["licence"]
    if licence in KNOWN:
        return [f"license: {licence.lower()}"]
    url = licence_url(facts.answers)
    return ["license: other", f"license_name: {licence.lower()}", f"license_link: {yaml_text(str(url))}"]


def _body(facts: ReleaseFacts, tables: Collection[str]) -> list[str]:
    texts, answers = facts.paragraphs, facts.answers
    limits = {**answers, "machine_made": facts.machine_made}
    return [
        f"\n# {facts.title}\n",
        f"Version {facts.version}, {facts.date}. {facts.summary}\n",
        *_changes(facts),
        "## Load it\n",
        _load(facts),
        "## What is in it\n",
        *(_described(name, facts) for name in tables),
        "\n| files | |\n|---|---|",
        *(f"| `{name.replace(', ', '`, `')}` | {text} |" for name, text in FILES.items()),
        f"\n{' '.join(licence_notes(facts))}\n",
        "## Scores before and after\n",
        "Corrected (original + gain). Shares are times 100. `fire-toolkit score` also says what ties "
        "and lists that end early leave open.\n",
        facts.leaderboard,
        "## How the labels were made\n",
        *(f"**{title}.** {texts[title]}\n" for title in ("Pool", "Annotators", "Procedure", "Exclusions")),
        *(f"**{title}.** {texts[title]}\n" for title in ("Agreement", "Labels")),
        "## Uses and limits\n",
        f"{sentence(answers['uses'])}\n",
        *(f"**{title}.** {sentence(limits[key])}\n" for title, key in _LIMITS.items()),
        *([f"{facts.rejected}\n"] if facts.rejected else []),
        "Pairs that no pooled model ranked near the top were not judged. Under a new model they count as not "
        "relevant unless you say otherwise: report Judged@k beside its scores.\n",
        "## Licence and citation\n",
        f"{facts.answers['licence']}, see `LICENSE`. Cite it as:\n",
        f"> {facts.citation}",
    ]  # fmt: skip


def _described(name: str, facts: ReleaseFacts) -> str:
    return f"- `{name}` ({n_of(facts.counts[name], 'row')}): {TABLES[name]}"


_LIMITS = {
    "Limits": "limitations",
    "Biases": "biases",
    "Personal information": "personal_information",
    "Made by machines": "machine_made",
    "Maintenance": "maintenance",
}


def _changes(facts: ReleaseFacts) -> list[str]:
    return [f"What changed since {facts.previous} is in `CHANGELOG.md`.\n"] if facts.previous else []


def _load(facts: ReleaseFacts) -> str:
    module = module_name(facts.name)
    return (
        "```python\n"
        "# pip install FOLDER\n"
        f"import {module}\n\n"
        f"qrels = {module}.load_qrels()              # {{query: {{item: relevance}}}}\n"
        f'before = {module}.load_qrels("original")\n'
        "```\n\n"
        "```python\n"
        "from datasets import load_dataset\n\n"
        'qrels = load_dataset("FOLDER", "qrels", split="test")\n'
        "```\n\n"
        "```sh\n"
        "fire-toolkit score RUN --qrels FOLDER          # score a run by the corrected labels\n"
        "fire-toolkit add-collection FOLDER             # begin a workspace of your own from them\n"
        "fire-toolkit pool RUN --judged FOLDER          # ask only what was not judged yet\n"
        "```\n"
    )
