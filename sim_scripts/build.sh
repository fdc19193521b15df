#!/usr/bin/env bash
# Configures and builds build/release: everything, or the targets named on the command line.
#   BWMM_JOBS=n   compile with n jobs instead of one per core
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The optimised model of the PE array takes about 1.5 GB to compile, the tree about 2 GB of disk.
readonly kJobMb=1500 kDiskMb=3000

fail() {
  echo "build: $*" >&2
  exit 1
}

memory_mb=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo)
((memory_mb >= kJobMb)) || fail "$memory_mb MB of memory are free, $kJobMb MB are needed"
if [[ ! -e build/release/build.ninja ]]; then
  disk_mb=$(df -Pm . | awk 'NR == 2 {print $4}')
  ((disk_mb >= kDiskMb)) || fail "$disk_mb MB of disk are free here, $kDiskMb MB are needed"
fi
jobs=${BWMM_JOBS:-$(nproc)}
limit=$((memory_mb / kJobMb))
((jobs <= limit)) || jobs=$limit

# A tree configured for another folder (a moved or copied clone) cannot be used again.
cache=build/release/CMakeCache.txt
if [[ -e $cache ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$cache"; then
  rm -rf build/release
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset release >"$log" 2>&1 || {
  cat "$log" >&2
  fail "cmake --preset release failed"
}
cmake --build build/release --parallel "$jobs" ${1:+--target "$@"}
