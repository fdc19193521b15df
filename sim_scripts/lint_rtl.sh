#!/usr/bin/env bash
# Lints rtl/ with every Verilator warning on; waivers and their reasons are in rtl/lint.vlt.
set -euo pipefail
cd "$(dirname "$0")/.."
for top in tensor_engine quantize_mx; do
  verilator --lint-only -Wall -Wpedantic --top-module "$top" rtl/lint.vlt -f rtl/bwmm.f
done
if grep -rn 'lint_off' rtl --include='*.sv'; then
  echo "lint_off in source: waivers belong in rtl/lint.vlt" >&2
  exit 1
fi
