#!/usr/bin/env bash
# Installs the Debian packages the build, the tests and the waves need; only those missing. The one
# place that lists them. Needs root or sudo only when something is missing.
set -euo pipefail

packages=(
  # Build
  g++ cmake ninja-build pkg-config
  # RTL: Verilator, and zlib for its FST writer; SystemC for the machine
  verilator zlib1g-dev libsystemc-dev
  # Libraries
  libfmt-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev
  # Tests, oracles, benchmarks, style
  libgtest-dev libgmock-dev librapidcheck-dev libmpfr-dev libbenchmark-dev clang-format clang-tidy
  # Scripts, waves
  python3 python3-numpy gtkwave
)

fail() {
  echo "install_packages: $*" >&2
  exit 1
}

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
  fail "this is not Debian or a relative of it (no apt-get); install by hand: ${packages[*]}"

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

if ((EUID == 0)); then
  as_root=(env DEBIAN_FRONTEND=noninteractive)
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
elif command -v sudo >/dev/null && [[ -t 0 ]]; then
  as_root=(sudo env DEBIAN_FRONTEND=noninteractive)
else
  fail "neither root nor sudo to install: ${missing[*]}"
fi

# apt-get retries each download by itself; a failed mirror or a held lock is tried again here.
apt() {
  local attempt
  for attempt in 1 2 3; do
    "${as_root[@]}" apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 \
      -o Dpkg::Use-Pty=0 "$@" && return 0
    echo "install_packages: apt-get $1 failed, attempt $attempt of 3" >&2
    sleep $((5 * attempt))
  done
  return 1
}

echo "install_packages: installing ${missing[*]}"
apt update || fail "apt-get update failed; is there a network?"
apt install --no-install-recommends "${missing[@]}" ||
  fail "apt-get install failed for: ${missing[*]} (Debian 12 has all of them)"
