#!/usr/bin/env bash
# From a bare Debian 12 to a finished run: installs what is missing, builds, runs one MoE layer of
# a real model, then a small layer on the RTL and on the fast model, which must agree bit for bit
# and cycle for cycle. Safe to repeat.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly bwmm=build/release/bwmm
readonly out=build/quickstart

# The main job: 256 tokens of OLMoE's layer 7 with the routing the model really took.
main_job=(run --model olmoe-1b-7b --variant shard_on_i_mx --tokens 256
  --routing examples/routing/olmoe_layer7.csv --fidelity fast)
# The layer that runs twice, as Verilated RTL and as the fast model: trained weights and real
# activations.
twin_job=(run --config examples/stories260k/layer.toml --variant shard_on_i_mx --tokens 32)

say() { printf '\n== %s\n' "$*"; }

sim_scripts/install_packages.sh
say "build"
sim_scripts/build.sh bwmm
mkdir -p "$out"

say "bwmm ${main_job[*]}"
"$bwmm" "${main_job[@]}"

for fidelity in rtl fast; do
  say "bwmm ${twin_job[*]} --fidelity $fidelity"
  "$bwmm" "${twin_job[@]}" --fidelity "$fidelity" --json "$out/$fidelity.json"
done

say "RTL against the fast model"
/usr/bin/python3 sim_scripts/compare_runs.py "$out/rtl.json" "$out/fast.json"
