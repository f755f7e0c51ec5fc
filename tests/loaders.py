"""Read a release with the programs that others read it with: python tests/loaders.py FOLDER QRELS.json RUNS.

Runs in an environment of its own, `make loaders`. QRELS.json holds what must come out, by plain Python; the
folder RUNS the runs, whole, of which the release has the top.
"""

import csv
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}

import datasets
import ir_datasets
import ir_measures
import jsonschema
import mlcroissant
import ranx
import yaml

Qrels = dict[str, dict[str, int]]


def file_of(package: str, *parts: str) -> Path:
    """Return a file of an installed package, which itself is not imported: it would pull in torch."""
    spec = importlib.util.find_spec(package)
    return Path(str(spec and spec.origin)).parent.joinpath(*parts)


def module_at(path: Path) -> ModuleType:
    spec: Any = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_query(rows: Any) -> Qrels:
    found: Qrels = {}
    for query, doc, relevance in rows:
        found.setdefault(str(query), {})[str(doc)] = int(relevance)
    return found


def with_mlcroissant(folder: Path) -> Qrels:
    found = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    issues = found.metadata.issues
    assert not issues.errors, issues.errors
    assert not issues.warnings, issues.warnings
    for records in found.metadata.record_sets:
        n = sum(1 for _ in found.records(records.id))
        assert n == datasets.load_dataset(str(folder), records.id, split="test").num_rows, records.id
    rows = found.records("qrels")
    return by_query(
        (row["qrels/query-id"].decode(), row["qrels/corpus-id"].decode(), row["qrels/score"]) for row in rows
    )


def with_datasets(folder: Path) -> Qrels:
    rows = datasets.load_dataset(str(folder), "qrels", split="test")
    return by_query((row["query-id"], row["corpus-id"], row["score"]) for row in rows)


def with_mteb(folder: Path) -> Qrels:
    loader = module_at(file_of("mteb", "abstasks", "retrieval_dataset_loaders.py")).RetrievalDatasetLoader
    found = loader(str(folder), None).load()
    docs = set(found["corpus"]["id"])
    assert set(found["queries"]["id"]) == set(found["relevant_docs"])
    assert all(docs.issuperset(own) for own in found["relevant_docs"].values())
    return {query: dict(own) for query, own in found["relevant_docs"].items()}


def printed(folder: Path, *words: object, sep: str) -> dict[str, float]:
    """Return what a script of the release prints as name and value."""
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    lines = (line.rpartition(sep) for line in done.stdout.splitlines())
    return {name: float(value) for name, _, value in lines if value.replace(".", "").isdigit()}


def check_scripts(folder: Path, runs: Path) -> None:
    """AP of load_release.py, and scores of mteb_task.py, against trec_eval's of the whole runs."""
    measures = {name: ir_measures.parse_measure(name) for name in ("AP", "nDCG@10", "R@10")}
    of_mteb = {"AP": "map_at_1000", "nDCG@10": "ndcg_at_10", "R@10": "recall_at_10"}
    by_ranks = printed(folder, "load_release.py", sep=": ")
    for path in sorted(runs.glob("*.run")):
        run = list(ir_measures.read_trec_run(str(path)))
        for title, name in (("original", "qrels.original.txt"), ("corrected", "qrels.txt")):
            qrels = list(ir_measures.read_trec_qrels(str(folder / name)))
            expected = ir_measures.calc_aggregate(measures.values(), qrels, run)
            found = by_ranks[f"AP of {path.stem} by the {title} qrels"]
            assert abs(found - expected[measures["AP"]]) < 1e-6, (path, title, found, expected)
        scores = printed(folder, "mteb_task.py", path, sep="\t")
        for measure, named in of_mteb.items():  # the corrected qrels are the last
            assert abs(scores[named] - expected[measures[measure]]) < 1e-5, (path, named, scores, expected)
        print(f"load_release.py, mteb_task.py: {path.stem} as by trec_eval")


def check_texts(folder: Path) -> None:
    """The task of mteb joins the texts that the ids stand for, and names those that are lacking."""
    make = module_at(folder / "mteb_task.py").SmallLabels
    queries = datasets.load_dataset(str(folder), "queries", split="test")["_id"]
    texts = {each: f"a text, {each}" for each in queries}
    task = make(texts)
    task.load_data()
    joined = task.dataset["default"]["test"]["queries"]
    assert dict(zip(joined["id"], joined["text"], strict=True)) == texts
    said = ""
    try:
        make({queries[0]: "a text"}).load_data()
    except ValueError as error:
        said = str(error)
    assert said == f"queries: no text for {len(queries) - 1} ids, such as {queries[1]}"
    print("mteb_task.py: texts joined by id")


def with_beir(folder: Path) -> Qrels:
    loader = module_at(file_of("beir", "datasets", "data_loader.py")).GenericDataLoader
    corpus, queries, qrels = loader(data_folder=str(folder)).load(split="test")
    assert set(queries) == set(qrels)
    assert all(set(own) <= set(corpus) for own in qrels.values())
    return {query: dict(own) for query, own in qrels.items()}


def with_ranx(folder: Path) -> Qrels:
    found = ranx.Qrels.from_file(str(folder / "qrels.json")).to_dict()
    text = ranx.Qrels.from_file(str(folder / "qrels.txt"), kind="trec").to_dict()
    assert found == text
    return found


def with_ir_measures(folder: Path) -> Qrels:
    rows = ir_measures.read_trec_qrels(str(folder / "qrels.txt"))
    return by_query((row.query_id, row.doc_id, row.relevance) for row in rows)


def with_ir_datasets(folder: Path) -> Qrels:
    class Local:
        def stream(self) -> Any:
            return (folder / "qrels.txt").open("rb")

    rows = ir_datasets.formats.TrecQrels(Local(), {1: "relevant", 0: "not relevant"}).qrels_iter()
    return by_query((row.query_id, row.doc_id, row.relevance) for row in rows)


def with_its_package(folder: Path) -> Qrels:
    (module,) = (path.parent.name for path in folder.glob("*/__init__.py"))
    return importlib.import_module(module).load_qrels()  # as pip installed it


def check_citation(folder: Path) -> None:
    schema = json.loads(file_of("cffconvert", "schemas", "1.2.0", "schema.json").read_text())
    found = yaml.load((folder / "CITATION.cff").read_text(), Loader=yaml.BaseLoader)
    jsonschema.validate(found, schema)


READERS = (
    *(with_mlcroissant, with_datasets, with_mteb, with_beir, with_ranx, with_ir_measures, with_ir_datasets),
    with_its_package,
)


def main(folder: Path, expected: Qrels, runs: Path) -> None:
    for read in READERS:
        found = read(folder)
        assert found == expected, f"{read.__name__}: other qrels"
        print(f"{read.__name__}: {sum(map(len, found.values())):,} pairs, equal")
    check_scripts(folder, runs)
    check_texts(folder)
    check_citation(folder)
    print("CITATION.cff: fits its schema")
    with (folder / "judgments.csv").open(newline="", encoding="utf-8") as stream:
        judgments = list(csv.DictReader(stream))
    both = datasets.load_dataset(str(folder), "judgments", split="test"), judgments
    key = ("query_id", "doc_id", "annotator_id", "label")
    in_parquet, in_csv = ([tuple(row[name] for name in key) for row in rows] for rows in both)
    assert in_parquet == in_csv
    print(f"judgments: {len(judgments):,}, equal in Parquet and CSV")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), json.loads(Path(sys.argv[2]).read_text()), Path(sys.argv[3]).resolve())
