"""A machine judge as a file, and the words of `machine run` that ask it."""

import json
from pathlib import Path


def judge_file(name: str, **settings: object) -> Path:
    """Write a judge's file."""
    path = Path(f"{name}.toml")
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items()))
    return path


def arguments(endpoint: str, *more: object, **settings: object) -> list[object]:
    """The words of `machine run` on the small files; settings: of the judge."""
    tables = ("--pool", "pool.csv", "--queries", "queries.tsv", "--items", "items.tsv")
    judge = judge_file("toy", endpoint=endpoint, model="toy", **settings)
    return [
        "machine",
        "run",
        judge,
        *tables,
        "--out",
        "machine/toy",
        "--guideline",
        "caption-image-relevance-v1",
        *more,
    ]
