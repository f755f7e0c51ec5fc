"""A written page and the files of its items in one folder, to be handed out whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from fire_toolkit.errors import FireError
from fire_toolkit.files import read_bytes
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.media.places import is_address
from fire_toolkit.pages.desk import Desk, media_name
from fire_toolkit.pages.written import FORM, page_html
from fire_toolkit.workspace.manifests import write_files

NAME = "judge.html"


def write_page(
    folder: Path,
    desk: Desk,
    guideline: Guideline,
    *,
    campaign_key: str,
    annotator_id: str,
    consent: str,
    files: Mapping[str, Path],
) -> tuple[Path, list[str]]:
    """Write an annotator's page and her items' files into a folder of her own.

    Args:
        folder: made if it is not there; files of an earlier page that are no longer shown stay.
        desk, guideline, campaign_key, annotator_id, consent: as `page_html`.
        files: the file behind each media_url that is not elsewhere; the same file takes no further space
            where the disk can name it twice.

    Returns:
        The page, and the items that are neither files nor addresses: nobody can answer these.

    Raises:
        FireError: the folder cannot be written, or its judge.html is no such page.
    """
    page = folder / NAME
    if page.exists() and FORM.encode() not in read_bytes(page):
        raise FireError(f"{page}: already exists, and is no page to judge on; choose another --out")
    shown = desk.pages if guideline.shows_media else ()
    urls = list(dict.fromkeys(url.partition("#")[0] for each in shown for url in each.urls))
    for url in urls:
        if url in files:
            _place(files[url], folder / "media" / media_name(campaign_key, annotator_id, url))
    html = page_html(
        desk,
        guideline,
        campaign_key=campaign_key,
        annotator_id=annotator_id,
        consent=consent,
        here=files,
    )
    write_files({page: html.encode()})
    return page, [url for url in urls if url not in files and not is_address(url)]


def _place(source: Path, target: Path) -> None:
    """Put a file in its place, as a second name of it where the disk allows that."""
    part = target.with_name(f".{target.name}.tmp")
    try:
        if target.exists() and target.samefile(source):
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        try:
            os.link(source, part)
        except OSError:
            shutil.copyfile(source, part)
        part.replace(target)
    except OSError as error:
        raise FireError(f"{target}: cannot be written: {error.strerror}") from None
