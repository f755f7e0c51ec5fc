"""The error tree: everything this package raises on purpose is a `FireError`.

A message is one line that says where, what was found, what was expected and what to do.
`exit_code` is the code with which the command line ends: 1 for data and results, 3 for a server.
"""

_LONGEST = 2000  # characters of a message


class FireError(Exception):
    """Base of every error raised on purpose; its text is fit to be shown to a user as it is.

    Examples:
        >>> str(FireError("a.run:1: 5 fields,   expected 6"))
        'a.run:1: 5 fields, expected 6'
    """

    exit_code = 1

    def __str__(self) -> str:
        """Return one line that can be printed: odd characters are escaped, and it is cut where very long."""
        line = " ".join(super().__str__().split())
        if not line.isprintable():
            line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
        return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} … {line[-_LONGEST // 2 :]}"


class FileNote(UserWarning):
    """Something that was left out when files or plug-ins were read; commands print it as a note."""


class FormatError(FireError):
    """A file cannot be read as the format it was taken for (syntax; carries path and place)."""


class TableError(FireError):
    """Rows do not make a valid table (values, keys, missing columns)."""


class JoinError(FireError):
    """Two tables that belong together do not fit (ids without a partner, another collection)."""


class UsageError(FireError):
    """An argument has a value outside its range, or names nothing known."""


class OptionError(UsageError):
    """Two arguments that do not go together."""

    exit_code = 2


class PluginError(FireError):
    """What another package adds to this one cannot be loaded, or failed; the message names the package."""


class StaleError(FireError):
    """A file is not what its manifest says was written."""


class ServerError(FireError):
    """An outside server failed, refused, or is not what it was taken for."""

    exit_code = 3
