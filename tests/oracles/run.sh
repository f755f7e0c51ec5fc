#!/usr/bin/env bash
# The oracle's checkout and this one through the same commands, then their differences; see CONTRIBUTING.md.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
commit=$(cat "$here/oracle-commit")
kept="$root/.oracles/$commit"
python=${VENV:-$root/.venv}/bin/python
coco=${FIRE_COCO:-$root/../shared/data/coco-eccv}
[ -d "$coco" ] && export FIRE_COCO=$coco || echo "coco-eccv is not here ($coco): left out"

if [ ! -e "$kept/.ready" ]; then
  rm -rf "$kept"
  mkdir -p "$kept"
  git -C "$root" archive "$commit" | tar -x -C "$kept"
  python3 -m venv "$kept/.venv"
  "$kept/.venv/bin/python" -m pip --disable-pip-version-check --quiet install -c "$kept/constraints.txt" -e "$kept"
  touch "$kept/.ready"
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# What the oracle says stays the same as long as it is asked the same, on one day (releases carry the date).
asked=$(cat "$here"/{commands.txt,drive.py,worlds.py} <(echo "${FIRE_COCO:-}" "$(date +%F)") | sha256sum | cut -c1-16)
if [ ! -e "$kept/said-$asked/.ready" ]; then
  rm -rf "$kept"/said-*
  PYTHONPATH="$kept" "$kept/.venv/bin/python" "$here/drive.py" "$kept/said-$asked" then
  touch "$kept/said-$asked/.ready"
fi
PYTHONPATH="$root" "$python" "$here/drive.py" "$out/now" now
"$python" "$here/compare.py" "$kept/said-$asked" "$out/now"
