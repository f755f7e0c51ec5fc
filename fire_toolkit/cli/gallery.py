"""`gallery`: a folder in which a browser shows captions, the top docs of each run, and their labels."""

from __future__ import annotations

from pathlib import Path

import click

from fire_toolkit.cli.common import needed_workspace, relative_path, say

_PORT = 8794


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FOLDER", help="[default: gallery in the workspace]"
)
@click.option(
    "--depth", type=click.IntRange(1, 100), default=5, show_default=True, help="How many docs of each run."
)
@click.option(
    "--public",
    "is_public",
    is_flag=True,
    help="For others: no single votes, comments or links to tasks; captions and media only where [licences] "
    "of fire.toml names their licence.",
)
@click.option(
    "--copy-media", is_flag=True, help="Copy the items' files into the folder, as --public does: it can move."
)
@click.option("--serve", is_flag=True, help="Then serve it to browsers of this machine, until Ctrl-C.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_PORT,
    show_default=True,
    help="Port of --serve; 0: any free one.",
)
@click.option(
    "--recheck",
    "marked",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Ask again about the pairs marked there, as `next-round --recheck FILE` does; writes no gallery.",
)
@click.pass_context
def gallery(
    context: click.Context,
    out: Path | None,
    depth: int,
    is_public: bool,
    copy_media: bool,
    serve: bool,
    port: int,
    marked: Path | None,
) -> None:
    """Write a gallery: each caption with the top docs of each run, playing, and their labels.

    A static folder: open its index.html in a browser, from the disk or from any server; it asks for nothing
    from elsewhere but items that are addresses. Filters find captions with new positives, split votes,
    another winner, rejected originals or unusable captions; a list names the most convincing false negatives
    and labels to look at again. Pairs that you mark there are downloaded as recheck.csv, which --recheck asks
    again.

    Annotators stand in it by numbers, the busiest first. It shows models, ranks and labels: keep it away from
    people who judge.
    """
    from fire_toolkit.cli.gallery_making import Wanted, make_gallery

    if marked is not None:
        context.invoke(_command("next-round", context), marked=marked)
        return
    workspace = needed_workspace(": a gallery is made from a workspace")
    folder = out or relative_path(workspace.root / "gallery")
    served = make_gallery(workspace, Wanted(folder, depth, is_public, copy_media or is_public))
    if not serve:
        say(f"open {folder / 'index.html'} in a browser")
        return
    from fire_toolkit.cli.gallery_server import GalleryServer
    from fire_toolkit.serving import stoppable, wait_to_be_stopped

    with stoppable() as stopped, GalleryServer(folder, served, port=port) as server:
        click.echo(server.address)
        say("for browsers of this machine alone; Ctrl-C stops")
        wait_to_be_stopped(stopped)
    say("stopped")


def _command(name: str, context: click.Context) -> click.Command:
    program = context.find_root().command
    assert isinstance(program, click.Group)
    return program.commands[name]
