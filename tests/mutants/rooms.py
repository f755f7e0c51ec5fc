"""Print the share of branches that tests take, by room: python tests/mutants/rooms.py COVERAGE.json."""

import json
import sys
from collections import Counter
from pathlib import Path


def main() -> None:
    """Add up what `coverage json` says of each file."""
    there: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    for name, file in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["files"].items():
        inside = Path(name).parts[1:]
        room = inside[0] if len(inside) > 1 else "(top)"
        for each in (room, "all"):
            there[each] += file["summary"]["num_branches"]
            taken[each] += file["summary"]["covered_branches"]
    print(f"{'room':<14}{'branches':>10}{'taken':>8}")
    for room in sorted(there, key=lambda name: (name == "all", name)):
        print(f"{room:<14}{there[room]:>10,}{taken[room] / max(there[room], 1):>8.1%}")


if __name__ == "__main__":
    main()
