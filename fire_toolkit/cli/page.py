"""Have annotators judge on our own page, served from here: one key an answer, each with a link.

`push --carrier page --annotator A01 --annotator A02` begins such a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

import click

from fire_toolkit.campaign.beginning import campaign_of
from fire_toolkit.campaign.records import BY_PAGE, Round, Rounds, read_retired
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.views import people_asked
from fire_toolkit.cli.campaigns import Begun, begun_here, names_of
from fire_toolkit.cli.common import n_of, say
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.here import needed_workspace, say_next, workspace_lock
from fire_toolkit.cli.media import own_media, say_lost, used_media
from fire_toolkit.cli.status import say_following
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import UsageError
from fire_toolkit.files import read_text
from fire_toolkit.pages.office import PLACE, end_links, make_links, read_links
from fire_toolkit.words import text_in
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.locks import hold_lock
from fire_toolkit.workspace.rounds import refuse_lost_record

CONSENT = text_in("pages", "site/consent.txt").strip()


class _OnPage(NamedTuple):
    """What is judged on our own page: the campaign, its rounds there, who is asked, what they agree to."""

    campaign: Begun
    rounds: list[Round]
    people: set[str]
    consent: str

    @classmethod
    def of(cls, consent: Path | None) -> _OnPage:
        """Return what is judged on our own page; a usage error where nothing is."""
        refuse_lost_record(needed_workspace().root)
        campaign = begun_here()
        if campaign is None or not (rounds := [*Rounds(campaign.root, BY_PAGE)]):
            raise UsageError("no round is on our own page; `push --carrier page --annotator A01` begins one")
        campaign_of(campaign.root, campaign.guideline)  # answers to two pages cannot be mixed
        people = people_asked(campaign.store, BY_PAGE) - read_retired(campaign.root)
        return cls(campaign, rounds, people, read_text(consent).strip() if consent else CONSENT)

    def files(self) -> dict[str, Path]:
        """Return the file behind each media_url of its tasks, and name the items that nobody will see."""
        from fire_toolkit.pages.office import missing_media

        found = media_files()
        if missing := missing_media(self.rounds, self.campaign.guideline, found, own_media().base_here):
            say(f"warning: {n_of(len(missing), 'item')} not there ({', '.join(missing[:3])})")
        return found

    def known(self, names: Sequence[str]) -> list[str]:
        """Return the names; `UsageError` at one who is asked nothing."""
        if strangers := [name for name in names if name not in self.people]:
            expected = ", ".join(sorted(self.people))
            raise UsageError(f"{strangers[0]!r} has no tasks here; expected one of {expected}")
        return list(names)


def serve(
    *,
    port: Annotated[int, click.IntRange(0, 65535)] = 8792,
    public_url: Annotated[str, Option(metavar="URL")] = "",
    consent: Path | None = None,
    new_link: Annotated[tuple[str, ...], Option(metavar="A,B,C", parse=names_of)] = (),
) -> None:
    """Serve the page until Ctrl-C; print a link for each annotator who has none yet.

    Every answer is on disk (in campaign.sqlite) before the page goes on, and `pull` brings it into
    the ledger, also while this runs. People elsewhere come through a proxy with TLS (--public-url).

    Args:
        port: 0: any free one.
        public_url: The https address of the proxy by which people elsewhere reach the page.
        consent: A text that annotators agree to before they begin, with a content warning. [default: a short
            one]
        new_link: Make new links for these annotators; the old ones stop working.
    """
    from fire_toolkit.media.serving import stoppable, wait_to_be_stopped
    from fire_toolkit.pages.office import Office
    from fire_toolkit.pages.server import PageServer, page_address

    page = _OnPage.of(consent)
    page_address(port, public_url)
    campaign, root, place = page.campaign, page.campaign.root, page.campaign.root / PLACE
    place.mkdir(parents=True, exist_ok=True)
    files, ended = page.files(), page.known(new_link)
    with (
        hold_lock(place / "serve.lock", wait_s=0, what="another `page serve`"),
        Store(root / STORE) as store,
        stoppable() as stopped,
    ):
        end_links(root, ended)
        office = Office(root, campaign.campaign, campaign.guideline, store, page.consent, files)
        with PageServer(office, port=port, public_url=public_url, report=say) as server:
            known = read_links(root)
            fresh = [name for name in sorted(page.people) if name not in known]
            for name, token in make_links(root, fresh).items():
                click.echo(f"{name}\t{server.address}/#t={token}")
            if fresh:
                say("note: links are shown once and not kept; `page serve --new-link NAME` makes a new one")
            say(f"{server.address}: {n_of(len(page.people), 'annotator')}; Ctrl-C stops")
            wait_to_be_stopped(stopped)
    say("stopped")
    say_following()


@workspace_lock()
def write(
    names: Annotated[tuple[str, ...], Option(is_argument=True, metavar="[NAME]...")] = (),
    *,
    consent: Path | None = None,
    out: Annotated[Path, Option(metavar="FOLDER")] = Path("pages"),
) -> None:
    """Write the page as a file for each annotator (or those named), for people who reach no server.

    FOLDER/A01 holds judge.html and the files of its items: hand the folder out whole. Answers are kept in the
    browser and saved as answers.A01.jsonl, which `import` takes. Write the pages again for a further round:
    they ask what has no answer here yet.

    Args:
        consent: A text that annotators agree to before they begin, with a content warning. [default: a short
            one]
        out: Where the pages go; each annotator has a folder of her own.
    """
    from fire_toolkit.folder.carrier import refuse_file_names
    from fire_toolkit.pages.office import Office
    from fire_toolkit.pages.written import write_page

    page = _OnPage.of(consent)
    chosen = page.known(names) or sorted(page.people)
    refuse_file_names(chosen)
    begun, files = page.campaign, page.files()
    rules = replace(begun.guideline, label_config=begun.campaign.label_config)
    office = Office(begun.root, begun.campaign, rules, begun.store, page.consent, files)
    for name in chosen:
        desk = office.desk(name, is_anew=True)
        page_file = write_page(out / name, desk, consent=page.consent)
        click.echo(f"{name}\t{page_file}\t{sum(len(each.tasks) for each in desk.pages)}")
    say("hand out each folder whole; what comes back (answers.NAME.jsonl) goes into exports/")
    say_next("import")


def media_files() -> dict[str, Path]:
    """Return the file behind each media_url that tasks of the workspace may have."""
    if Given().path("items") is None:
        return {}
    media, urls = own_media(), used_media(None, Given()).items["media_url"]
    found = media.files(urls)
    say_lost(media, {*found} & {*urls})
    return found


COMMANDS = (serve, write)
