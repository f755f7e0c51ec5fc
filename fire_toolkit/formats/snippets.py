"""Lines to paste into a model's evaluation code, which save its predictions with their ids.

Most retrieval repositories print scores and keep nothing. Each snippet stands behind a named line of a
repository's evaluation and uses the names that are in scope there. What it saves says its orientation.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from fire_toolkit.errors import UsageError

_IDS = "The ids must be those of the collection; change the lines above if yours are named otherwise."


@dataclass(frozen=True)
class Snippet:
    """Lines of Python for one repository.

    name: as typed; project: the repository; place: the file and line behind which the lines go; lines:
    the code; saves: the file it makes; note: what to look at before it is brought in.
    """

    name: str
    project: str
    place: str
    lines: str
    note: str = _IDS
    saves: str = "run.npz"

    @property
    def text(self) -> str:
        """Return the snippet with its place and the next command as comments."""
        return (
            f"# {self.project}: {self.place}\n{self.lines}\n"
            f"# {self.note}\n# then: fire-toolkit add-run {self.saves} --expect R@1=VALUE_OF_THE_LOG\n"
        )


_SAVE = 'np.savez("run.npz", sims={sims}, query_ids=query_ids, doc_ids=doc_ids, orientation="queries-rows")'

_KEYS = """\
import csv
from pathlib import Path
test_csv = ""  # for MSR-VTT the path of MSRVTT_JSFUSION_test.csv: its column key has the queries' ids
table = csv.DictReader(Path(test_csv).read_text().splitlines() if test_csv else [])
keys = {row["video_id"]: row["key"] for row in table}
"""

_CLIP4CLIP = """\
if isinstance(sim_matrix, list):  # in early versions, with one GPU
    sim_matrix = np.concatenate(sim_matrix, axis=0)
rows = test_dataloader.dataset
if hasattr(rows, "data"):  # MSR-VTT
    query_ids, doc_ids = rows.data["key"].astype(str).tolist(), rows.data["video_id"].tolist()
else:  # MSVD has several captions a video; LSMDC, DiDeMo and ActivityNet have one
    pairs = rows.sentences_dict if multi_sentence_ else rows.iter2video_pairs_dict
    query_ids, seen = [], {}
    for n in range(len(pairs)):
        video, caption = pairs[n]
        seen[video] = seen.get(video, -1) + 1
        query_ids.append(f"{video}#{seen[video]}" if isinstance(caption, str) else video)
    doc_ids = list(seen)
""" + _SAVE.format(sims="sim_matrix")

_BY_IMAGE = """\
import numpy as np
media_root = ""  # what the loader put before every path of the annotation file
doc_ids = [str(path).removeprefix(media_root) for path in data_loader.dataset.image]
query_ids = [""] * len(data_loader.dataset.text)
for i, captions in data_loader.dataset.img2txt.items():
    for n, t in enumerate(captions):
        query_ids[t] = f"{{doc_ids[i]}}#{{n}}"
{save}"""

_ALL = (
    Snippet(
        "clip4clip",
        "CLIP4Clip",
        "main_task_retrieval.py, eval_epoch: before the `if multi_sentence_:` that reshapes sim_matrix",
        _CLIP4CLIP,
    ),
    Snippet(
        "x-clip",
        "X-CLIP",
        "main_xclip.py, eval_epoch: before the `if multi_sentence_:` that reshapes sim_matrix",
        _CLIP4CLIP,
    ),
    Snippet(
        "languagebind",
        "LanguageBind",
        "vl_ret/retrieval.py, evaluate_vl_ret: before the `if multi_sentence_:` that reshapes sim_matrix",
        _CLIP4CLIP,
    ),
    Snippet(
        "umt",
        "Unmasked Teacher (also VINDLU)",
        "multi_modality/tasks/retrieval_utils.py, evaluation_wrapper: behind the call of evaluation",
        _BY_IMAGE.format(save=_SAVE.format(sims="t2i_x")),
        "t2i_x is the reranked matrix, filled with -100 where nothing was reranked: add --allow flood, "
        "or save t2i_emb.",
    ),
    Snippet(
        "internvideo",
        "InternVideo2 (multi_modality)",
        "multi_modality/tasks/retrieval_utils.py, evaluation_wrapper: behind the call of the evaluation",
        _BY_IMAGE.format(
            save="t2i = t2i_sim if t2i_match is None else t2i_match\n"
            + _SAVE.format(sims="np.asarray(t2i, dtype=np.float32)")
        ),
        "A reranked matrix (t2i_match) is filled with -100 where nothing was reranked: add --allow flood.",
    ),
    Snippet(
        "teachtext",
        "TeachText, Collaborative Experts",
        "test.py, evaluation: behind the line `dataset = data_loaders.dataset_name`",
        _KEYS
        + """\
masks = np.asarray(meta["query_masks"])
doc_ids = [Path(path).stem for path in meta["paths"]]
query_ids = [keys.get(doc_ids[v], f"{doc_ids[v]}#{n}") for v, n in zip(*np.nonzero(masks))]
"""
        + _SAVE.format(sims="sims, query_masks=masks"),
        "Rows of padding are left out by the mask. " + _IDS,
    ),
    Snippet(
        "frozen-in-time",
        "Frozen in Time",
        "test.py, run: behind the line `sims = sims.numpy()`",
        _KEYS
        + """\
doc_ids = [Path(path).stem for data in meta_arr for path in data["paths"]]
query_ids = [keys.get(doc, f"{doc}#0") for doc in doc_ids]
"""
        + _SAVE.format(sims="sims"),
        "For one caption a video, without sliding windows. " + _IDS,
    ),
    Snippet(
        "lavis",
        "LAVIS (BLIP, ALBEF)",
        "lavis/tasks/retrieval.py, RetrievalTask.evaluation: behind the line that calls compute_sim_matrix",
        _BY_IMAGE.format(save=_SAVE.format(sims="score_t2i")),
        "score_t2i is filled with -100 where nothing was reranked: add --allow flood.",
    ),
    Snippet(
        "blip",
        "BLIP",
        "train_retrieval.py, main: behind the line that sets score_test_i2t, score_test_t2i",
        _BY_IMAGE.replace("data_loader", "test_loader").format(save=_SAVE.format(sims="score_test_t2i")),
        "score_test_t2i is filled with -100 where nothing was reranked (minus 100 for each process): add "
        "--allow flood. With --evaluate, and on one process.",
    ),
    Snippet(
        "x-pool",
        "X-Pool",
        "trainer/trainer.py, _valid_epoch_step: behind the line `sims = sim_matrix_inference(...)`",
        """\
counts = {}
for video in all_vid_ids:
    counts[str(video)] = counts.get(str(video), 0) + 1
doc_ids, table = list(counts), getattr(self.valid_data_loader.dataset, "test_df", None)
keys = {} if table is None else dict(zip(table["video_id"], table["key"]))  # of MSR-VTT
query_ids = [keys.get(video, f"{video}#{n}") for video in doc_ids for n in range(counts[video])]
real = np.concatenate([sims[n, : counts[video]].cpu().numpy() for n, video in enumerate(doc_ids)])
"""
        + _SAVE.format(sims="real"),
        "The rows that pad videos of few captions are left out. " + _IDS,
    ),
    Snippet(
        "qb-norm",
        "QB-Norm",
        "dynamic_inverted_softmax.py, main: behind the line that sets test_test_normalized",
        """\
before = dict(np.load("run.npz"))  # what the model's own snippet saved: ids, orientation, masks
np.savez("qbnorm.npz", **{**before, "sims": test_test_normalized})""",
        "--sims_test_path must be the matrix that run.npz holds, with its rows in the same order.",
        "qbnorm.npz",
    ),
    Snippet(
        "openclip",
        "OpenCLIP models, by CLIP_benchmark",
        "clip_benchmark/metrics/zeroshot_retrieval.py, evaluate: behind the line `scores = ...`; and as the "
        "first line of evaluate: rows = dataloader.dataset",
        """\
import numpy as np
if hasattr(rows, "coco"):  # COCO: the ids of images and annotations
    doc_ids = [str(image) for image in rows.ids]
    found = [rows.coco.loadAnns(rows.coco.getAnnIds(image)) for image in rows.ids]
    query_ids = [str(caption["id"]) for captions in found for caption in captions]
else:  # Flickr30k: the names of images
    doc_ids = [str(image) for image, _ in rows.data]
    query_ids = [f"{image}#{n}" for image, captions in rows.data for n in range(len(captions))]
"""
        + _SAVE.format(sims="scores.float().numpy()"),
    ),
    Snippet(
        "mteb",
        "MTEB",
        "where mteb.evaluate is called",
        'results = mteb.evaluate(model, tasks=tasks, prediction_folder="predictions")',
        "Query and doc ids are those of the task; choose one of several subsets or splits with --key.",
        "predictions/TASK_predictions.json",
    ),
    Snippet(
        "any",
        "Any model",
        "where sims (queries × docs, NumPy), query_ids and doc_ids are at hand",
        "import numpy as np\n" + _SAVE.format(sims="sims"),
        "For a torch tensor: sims.float().cpu().numpy().",
    ),
)
SNIPPETS: dict[str, Snippet] = {snippet.name: snippet for snippet in _ALL}


def find_snippet(name: str) -> Snippet:
    """Return the snippet of that name, in any case (`Frozen in Time`, `frozen-in-time`).

    Raises:
        UsageError: the name is unknown; the message suggests the nearest.

    Examples:
        >>> find_snippet("X-CLIP").project
        'X-CLIP'
    """
    wanted = "-".join(name.lower().split())
    found = SNIPPETS.get(wanted)
    if found is None:
        near = difflib.get_close_matches(wanted, SNIPPETS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(SNIPPETS)}"
        raise UsageError(f"no snippet {name!r}; {hint}")
    return found
