#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test; ctest's summary comes last.
# Arguments go to ctest: sim_scripts/test.sh -R '^ops\.'
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sim_scripts/install_packages.sh
sim_scripts/build.sh
exec ctest --test-dir build/release --output-on-failure --parallel 2 "$@"
