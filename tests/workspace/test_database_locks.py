"""A record that a process has open keeps its log, whatever else that process and others do with the file."""

import subprocess
import sys
from pathlib import Path

import pytest

from fire_toolkit.campaign.store import Store
from fire_toolkit.workspace.database import content_sha256

READ = """
import sys, pathlib
from fire_toolkit.campaign.store import Store
Store(pathlib.Path(sys.argv[1])).close()
"""


@pytest.mark.slow
def test_what_is_written_after_another_process_closed_the_record_is_there(tmp_path: Path) -> None:
    """To open and close the file ends SQLite's locks; the other process would then delete the log."""
    path = tmp_path / "campaign.sqlite"
    record = {"kind": "consent", "annotator": "A01", "key": "k1"}
    with Store(path) as first:
        first.add_page_record(record)
    with Store(path) as held:
        held.page_records()
        with Store(path) as again:
            again.page_records()
        content_sha256(path)
        subprocess.run([sys.executable, "-c", READ, str(path)], check=True)
        held.add_page_record(record | {"key": "k2"})
        with Store(path) as other:
            seen = [each["key"] for each in other.page_records()]
        subprocess.run([sys.executable, "-c", READ, str(path)], check=True)
    assert seen == ["k1", "k2"]
