"""The command line: each command reads, calls one pure function, and writes.

A command's file is imported when the command is called, so that `--help` answers at once.
"""

from __future__ import annotations

import click

from fire_toolkit import __version__
from fire_toolkit.cli.lazy import LazyGroup

# Each command with the first sentence of its help.
SECTIONS = {
    "Begin": {
        "demo": "Run the whole loop on rendered clips, real small models and annotators with known habits.",
        "init": "Make a workspace: a folder with a fire.toml and places for collection, runs and exports.",
        "status": "Show what is done in this workspace, what is stale and why, and the next command.",
        "refresh": "Redo what is stale in this workspace, in order: each command as it was last given.",
        "doctor": "Check server, token, and this workspace's projects: there, unchanged, and their items seen.",
    },
    "Bring in": {
        "add-collection": "Read a benchmark's files, whatever their form, and write its queries, items and original qrels.",
        "add-run": "Add a model's predictions: matrices, vectors or ranked lists, in any format of docs/formats.md.",
        "snippet": "Print the lines that make a model's own code save its predictions with ids.",
        "audit": "Find what a collection's ids hide: equal captions, free positives, dangling and confusable ids.",
    },
    "Ask": {
        "plan": "Plan how many pairs to judge and how often: cost, errors and detectable differences.",
        "pool": "Pool the top docs of several runs into the pairs that people are to judge.",
        "tasks": "Turn a pool (folder or pool.csv) into blind Label Studio tasks.",
        "guideline": "Print a guideline, write a new one to edit, or check one.",
        "machine": "Ask machine judges about pairs, bring in their scores, and check them against people's labels.",
        "next-round": "Plan what to ask again; in a campaign, give it to annotators who have not seen it.",
    },
    "Label Studio": {
        "labelstudio": "Run Label Studio on this machine, for this workspace, reachable from here only.",
        "annotators": "Make and list annotators' accounts, or deactivate one.",
        "media": "Check whether browsers play the items, transcode those that they do not, and serve them.",
        "push": "Send tasks to Label Studio: one project for each annotator, blind, in an order of its own.",
        "page": "Have annotators judge on our own page, served from here: one key an answer, each with a link.",
        "progress": "Show a campaign's progress and quality: tasks, pace, agreement, controls, what to look into.",
        "pull": "Fetch new and changed answers into the ledger, then write judgments.csv and dropped.csv from it.",
        "import": "Turn Label Studio's JSON exports into judgments, one for each annotator and pair.",
    },
    "Judgments to qrels": {
        "agree": "Measure agreement between annotators: Krippendorff's alpha, percent agreement and related statistics.",
        "resolve": "Resolve judgments into one label for each pair, and list what stays in dispute.",
        "augment": "Join labels to the original qrels, and count confirmed, new and rejected pairs.",
        "influence": "Leave out each annotator in turn: agreement, labels and scores as if they had not been asked.",
    },
    "Measure": {
        "score": "Score runs by the original qrels and, if given, by the augmented ones.",
        "bidirectional": "Score both directions: R@1, 5, 10, MedR and MnR of each, R@Sum and mR.",
        "measures": "List the measures, or explain one: its definition, source and conventions.",
        "compare": "Compare the rankings of two runs or more, pair by pair: overlap and rank-biased overlap.",
        "difference": "Test the differences of every two runs: interval, p-value, effect size.",
        "orders": "Compare the order of runs under two or more qrels: original and augmented, or several rules.",
        "contributions": "Count the pairs that each run pooled, those that it alone pooled, and how they were judged.",
        "reusability": "Leave out each run's own judgments, or a family's: how far do scores and places move?",
        "coverage": "Measure how much of a new run is judged, how far its scores can move, and what the rest would cost.",
        "tifa": "Score pairs by TIFA: the share of questions on the text that a VQA model answers as expected.",
        "report": "Make the tables and findings of the FIRE paper: text, CSV, JSON, LaTeX or Markdown.",
    },
    "Publish": {
        "gallery": "Write a gallery: each caption with the top docs of each run, playing, and their labels.",
        "release": "Write a folder that publishes a workspace's labels, or check one.",
    },
}
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=LazyGroup, sections=SECTIONS, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="fire-toolkit")
def main() -> None:
    """Correct the labels of a retrieval benchmark: pool, judge, resolve, rescore, compare.

    Every command works on plain files; inside a workspace (a folder with a fire.toml, see `init`) it
    takes what is not given from there. `status` says what is done and what comes next.
    """
