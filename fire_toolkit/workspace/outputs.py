"""The one rule of what a command may write over: what the same command wrote, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fire_toolkit.errors import FireError
from fire_toolkit.files import sha256_of
from fire_toolkit.workspace.manifests import MANIFEST, Manifest, finish_interrupted, read_manifest

_SAME = {"pull": "import"}  # both write the judgments


def check_outputs(
    paths: Iterable[Path], *, stage: str, at: Path | None = None, inputs: Iterable[Path] = ()
) -> None:
    """Raise `FireError` where writing these files would overwrite somebody's own, or what was read.

    An existing file may be replaced where a manifest in its folder says that the same stage wrote it.

    Args:
        paths: the files to be written, all in one folder.
        stage: who writes them.
        at: their manifest, whose earlier files go where they are not written again.
        inputs: what was read to make them.
    """
    wanted = list(paths)
    for folder in dict.fromkeys(path.parent for path in [*wanted, *([at] if at else [])]):
        finish_interrupted(folder)
    earlier = read_manifest(at) if at and at.is_file() else None
    if earlier and not _is_same(earlier.stage, stage):
        raise FireError(
            f"{at}: `fire-toolkit {earlier.stage}` wrote here ({', '.join(list(earlier.outputs)[:3])}); "
            f"`{stage}` does not overwrite it; choose another --out"
        )
    read = {path.resolve() for path in inputs}
    for path in wanted:
        if path.resolve() in read:
            raise FireError(
                f"{path}: `fire-toolkit {stage}` reads this file and would overwrite it; choose another file"
            )
        if path.exists() and not _wrote(stage, path, earlier):
            raise FireError(
                f"{path}: already exists, and `fire-toolkit {stage}` did not write it; choose another --out, "
                "or move the file away first"
            )


def _is_same(one: str, other: str) -> bool:
    return _SAME.get(one, one) == _SAME.get(other, other)


def _wrote(stage: str, path: Path, manifest: Manifest | None) -> bool:
    """Whether the manifest says so, or another one beside the file, for the file as it is now."""
    if manifest and path.name in manifest.outputs:
        return True
    beside = [read_manifest(at) for at in sorted(path.parent.glob(f"*{MANIFEST}")) if at.is_file()]
    hashes = {each.outputs.get(path.name) for each in beside if _is_same(each.stage, stage)} - {None}
    return bool(hashes) and path.is_file() and sha256_of(path) in hashes
