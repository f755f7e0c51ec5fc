"""The files of a release: what each is, and what its columns mean."""

from __future__ import annotations

from collections.abc import Mapping

# The tables of a release: each is a config of the data set, and a file data/NAME.parquet.
TABLES = {
    "corpus": "Every item that can be found.",
    "queries": "Every query.",
    "qrels": "The corrected relevance of each labelled pair.",
    "original": "The relevance of each pair before, as the benchmark has it.",
    "changes": "What the labels did to each pair of either qrels.",
    "labels": "The label of each judged pair, by the rule that resolved its judgments.",
    "judgments": "Every judgment that counts: one annotator's answer to one pair, disagreements kept.",
    "disputes": "Pairs whose judgments the rule could not resolve, with the votes for each answer.",
    "pool": "The pairs that were pooled to be judged.",
    "pool_sources": "Which model proposed which pair, at which rank.",
    "query_design": "How deep each query was judged, and which queries were drawn for that at random.",
    "runs": "The models' files that were pooled and scored, by their hashes.",
    "leaderboard": "The score of each model by the original and the corrected labels.",
}
COLUMNS = {
    "_id": "Id of the query or item in the benchmark.",
    "text": "The caption.",
    "media_url": "Where the item is.",
    "query-id": "Id of the query.",
    "corpus-id": "Id of the item.",
    "score": "Relevance: positive from 1; 0 was judged not relevant; -1 was pooled and not judged.",
    "query_id": "Id of the query; `all` for a mean over queries.",
    "doc_id": "Id of the item.",
    "relevance": "Relevance after the correction, missing where the pair was dropped.",
    "original_relevance": "Relevance in the original labels, missing where they do not have the pair.",
    "label_relevance": "Relevance of the label, missing where the pair has none.",
    "source": "What became of the pair: original, confirmed, rejected, new or irrelevant.",
    "label": "The answer, as the guideline names it.",
    "method": "The rule that resolved the label.",
    "n_judgments": "Judgments of the pair that are votes.",
    "n_agree": "Votes for the label.",
    "vote_share": "Share of the votes that are for the label.",
    "posterior": "Probability of the label under a model of the annotators.",
    "rounds": "Rounds in which the pair was judged.",
    "annotator_id": "Pseudonym of the annotator, drawn anew for this release.",
    "created_at": "Date of the answer (UTC).",
    "duration_s": "Seconds that the answer took.",
    "flags": "Remarks beside the answer, as the guideline names them.",
    "comment": "What the annotator wrote.",
    "origin": "How the answer came about.",
    "round": "Round in which the pair was asked.",
    "kind": "What the answer was asked for: a first label, the planned overlap, a later round; or elsewhere.",
    "guideline": "The guideline judged by.",
    "occasion": "Which time the annotator was asked about the pair, by design.",
    "inclusion_probability": "Probability with which the pair, or the query, was drawn.",
    "stratum": "Part of the pool that the pair was drawn from.",
    "reason": "Why there is no label.",
    "best_rank": "Best rank of the pair among the models that proposed it.",
    "n_runs": "Number of models that proposed the pair.",
    "is_original": "Whether the pair is an original positive.",
    "depth": "Rank down to which every doc of every run was pooled; 0: the original positives alone.",
    "is_sampled": "Whether the query was drawn at random to be judged deep.",
    "seed": "Seed of the random draw.",
    "is_judged": "Whether the pair had been judged before it was pooled.",
    "run_id": "The model's run.",
    "rank": "Rank of the item in the run.",
    "file": "Name of the file.",
    "sha256": "SHA-256 of the file.",
    "qrels": "Labels scored by: original, augmented (the corrected ones) or delta (their difference).",
    "measure": "The measure.",
    "value": "Its value.",
}
# What is written beside the tables.
FILES = {
    "qrels.txt": "the corrected labels as TREC qrels",
    "qrels.original.txt": "the original labels as TREC qrels",
    "qrels.json": "the corrected labels as JSON, {query: {item: relevance}}",
    "qrels/test.tsv, corpus.jsonl, queries.jsonl": "the same in BEIR's layout",
    "data/*.parquet": "every table with its types",
    "judgments.csv, labels.csv, disputes.csv, changes.csv, pool.csv, pool_sources.csv, runs.csv, "
    "leaderboard.csv": "the same tables as text",
    "guideline/": "what annotators were asked",
    "DATASHEET.md": "questions and answers on how the data came about",
    "croissant.json": "metadata for machines (Croissant 1.1)",
    "CITATION.cff, LICENSE, CHANGELOG.md": "how to cite it, what is allowed, what changed",
    "pyproject.toml": "makes the folder a Python package without dependencies",
    "manifest.json": "the hash of every file, and what made it",
}


def column_text(name: str) -> str:
    """Return what a column means; of a count of votes, which.

    Examples:
        >>> column_text("rank"), column_text("n_relevant")
        ('Rank of the item in the run.', 'Votes for relevant.')
    """
    return COLUMNS.get(name) or (
        f"Votes for {name[2:]}." if name.startswith("n_") else name.replace("_", " ") + "."
    )


def croissant_type(dtype: str) -> str:
    """Return the Croissant type of a pandas dtype.

    Examples:
        >>> croissant_type("int64"), croissant_type("str")
        ('sc:Integer', 'sc:Text')
    """
    kinds: Mapping[str, str] = {"int": "sc:Integer", "float": "sc:Float", "bool": "sc:Boolean"}
    return next((kind for start, kind in kinds.items() if dtype.lower().startswith(start)), "sc:Text")
