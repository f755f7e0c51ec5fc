"""Run the blocks of docs/python.md one after the other in the sample pool; also what `make loaders` does.

A block that imports a program which is not here is passed over: `make loaders` has them all.
"""

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def run_page(page: Path = ROOT / "docs" / "python.md") -> tuple[dict[str, Any], list[str]]:
    """Return the names that the blocks leave behind, and the programs that are not here."""
    names: dict[str, Any] = {}
    missing: list[str] = []
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        needed = re.findall(r"^import (\w+)", block, re.MULTILINE)
        if away := [name for name in needed if find_spec(name) is None]:
            missing += away
        else:
            exec(block, names)
    return names, missing


if __name__ == "__main__":
    os.chdir(ROOT / "pools" / "sample")
    _, away = run_page()
    sys.exit(f"not here: {', '.join(away)}" if away else 0)
