"""`media serve` and `media local-storage`: addresses at which browsers find the items."""

from __future__ import annotations

from pathlib import Path

import click

from fire_toolkit.cli.common import Inputs, n_of, say, write_outputs
from fire_toolkit.cli.media import (
    known_origin,
    media,
    media_arguments,
    media_root,
    origin_option,
    say_items,
    used_items,
)


@media.command()
@media_arguments
@origin_option
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8790,
    show_default=True,
    help="It stands in the tasks: keep to it. 0: any free one.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Another IPv4 address of this machine lets others in.",
)
@click.option(
    "--base-url", metavar="URL", help="How browsers reach it, where that is not http://ADDRESS:PORT."
)
@click.option(
    "--write-items",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the items with addresses, for `fire-toolkit tasks`.",
)
def serve(
    items: str | None,
    root: Path | None,
    origin: str | None,
    port: int,
    host: str,
    base_url: str | None,
    write_items: Path | None,
) -> None:
    """Serve the items' files on this machine to Label Studio's pages until Ctrl-C; print the base URL.

    Only files of the items are served, in parts (Range), and only pages of the given Label Studio may
    read them (CORS). Each refused request is shown.
    """
    from fire_toolkit.formats.delimited import delimited_text
    from fire_toolkit.labelstudio.connection import checked_url
    from fire_toolkit.media.server import MediaServer, served_files, stoppable

    inputs = Inputs()
    table = used_items(items, inputs, written=write_items)
    pages_from = known_origin(origin)
    if not pages_from:
        raise click.UsageError("--origin is needed: the address at which Label Studio is opened in a browser")
    folder = media_root(root)
    served = served_files(table, root=folder)
    server = MediaServer(
        folder,
        served.names.values(),
        origins=[pages_from],
        host=host,
        port=port,
        base_url=checked_url(base_url) if base_url else "",
        report=say,
    )
    with stoppable():
        try:
            if write_items:
                texts = {
                    write_items.name: delimited_text(served.items_at(table, server.base_url), delimiter="\t")
                }
                parameters = {"base_url": server.base_url}
                write_outputs(write_items, texts, stage="media serve", parameters=parameters, inputs=inputs)
                say_items(write_items)
            _say_served(server.base_url, len(served.names), served.n_missing, pages_from, host)
            server.serve_forever(poll_interval=0.2)
        finally:
            server.close()
    say("stopped")


def _say_served(base_url: str, n_files: int, n_missing: int, pages_from: str, host: str) -> None:
    if n_missing:
        say(f"note: {n_of(n_missing, 'file')} of the items not there (see `fire-toolkit media check`)")
    if not host.startswith("127."):
        say(f"note: whoever reaches {host} can fetch these files")
    say(f"{n_of(n_files, 'file')} for pages of {pages_from}; Ctrl-C stops")
    click.echo(base_url)
