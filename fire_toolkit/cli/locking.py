"""Commands that write what people are asked or what they answered hold the workspace's lock meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any

import click

from fire_toolkit.cli.common import current_workspace, say
from fire_toolkit.workspace.locks import hold_workspace


def writes_workspace(command: Callable[..., Any]) -> Callable[..., Any]:
    """Make a command hold the lock of the workspace it is called in; elsewhere nothing is locked."""

    @wraps(command)
    def alone(*arguments: Any, **options: Any) -> Any:
        with workspace_lock():
            return command(*arguments, **options)

    return alone


def workspace_lock() -> AbstractContextManager[Any]:
    """Hold the lock of the workspace here, if there is one, in the name of the running command.

    Raises:
        Busy: another command holds it for a minute.
    """
    workspace = current_workspace()
    if workspace is None:
        return nullcontext()
    name = click.get_current_context().info_name or "fire-toolkit"
    return hold_workspace(workspace.root, name, report=say)
