#!/usr/bin/env bash
# clang-tidy (.clang-tidy) over every room of C++, or over the files named on the command line.
# Takes minutes, so it is no ctest entry. Needs a configured build/release.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[[ -e build/release/compile_commands.json ]] || {
  echo "tidy: build/release is not configured; run sim_scripts/build.sh first" >&2
  exit 1
}
if (($# > 0)); then
  files=("$@")
else
  mapfile -t files < <(find cli host kernels model replay workloads -name '*.cpp' | sort)
fi
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet -p build/release
