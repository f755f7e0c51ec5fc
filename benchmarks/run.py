"""Run every benchmark of this folder: `python benchmarks/run.py [--full]`, or `make bench`.

Small sizes by default, so that all of them take minutes; --full takes the sizes of the documentation. A
benchmark that fails does not stop the others.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SMALL = {"fuzz.py": ["--mutations", "2000"], "commands.py": ["--scale", "0.1"]}
SIMULATIONS = ("agreement_coverage", "estimates", "intervals", "label_noise", "plans", "rare_positives")
FULL = {f"{name}.py": ["--full"] for name in SIMULATIONS}
NEEDS_MORE = {"labelstudio.py", "page.py"}  # a server, a browser, a workspace


def main() -> int:
    """Run them; return 1 when one failed."""
    sizes = FULL if "--full" in sys.argv[1:] else SMALL
    failed = []
    for path in sorted(HERE.glob("*.py")):
        if path.name == Path(__file__).name:
            continue
        print(f"== {path.name}", flush=True)
        if path.name in NEEDS_MORE:
            print(f"left out: its head says what it needs beside this: {path.name}")
        elif subprocess.run([sys.executable, str(path), *sizes.get(path.name, [])]).returncode:
            failed.append(path.name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
