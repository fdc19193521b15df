#!/usr/bin/env bash
# Random programs with the seeds FROM to TO, in every way: executor, fast, timing, rtl, and the
# machine built in reverse. A failing one is cut short and written as random_SEED.replay, which
# `bwmm replay` runs.
#
# Usage: sim_scripts/random_programs.sh FROM TO [CORES]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/sim_scripts/build.sh" random_programs >&2
exec "$root/build/release/tests/system/random_programs" "$@"
