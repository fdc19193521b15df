#!/usr/bin/env bash
# Random programs with the seeds FROM to TO, in every way: executor, fast, timing, rtl, and the
# machine built in reverse. A failing one is cut short and written as random_SEED.replay, which
# `bwmm replay` runs.
#
# Usage: sim_scripts/random_programs.sh FROM TO
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[[ $# == 2 && $1 =~ ^[0-9]+$ && $2 =~ ^[0-9]+$ ]] || {
  echo "usage: random_programs.sh FROM TO" >&2
  exit 2
}
"$root/sim_scripts/build.sh" random_programs > /dev/null
exec "$root/build/release/tests/system/random_programs" "$1" "$2"
