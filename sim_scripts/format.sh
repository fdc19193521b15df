#!/usr/bin/env bash
# Formats every C++ file in place; with --check changes nothing and fails when a file would change.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in
  "") mode=(-i) ;;
  --check) mode=(--dry-run -Werror) ;;
  *)
    echo "usage: format.sh [--check]" >&2
    exit 2
    ;;
esac
mapfile -d '' files < <(
  find bench cli examples host kernels model replay tb tests workloads \
    \( -name '*.h' -o -name '*.cpp' \) -print0)
((${#files[@]} > 0)) || {
  echo "format: no C++ files found" >&2
  exit 1
}
clang-format "${mode[@]}" "${files[@]}"
