#!/usr/bin/python3
"""How a run's cycles move over the ranges of the chosen constants:
sensitivity.py build/release/bwmm run --workload moe_cte .."""

import json
import subprocess
import sys
import tempfile

# Constants without one documented value, and what is plausible for them, as docs/timing.md says.
RANGES = {
    "tensor.throttle_ns": (0, 3000),
    "compute.vector_latency_cycles": (100, 160),
    "compute.scalar_latency_cycles": (200, 352),
    "compute.activation_table_ns": (1000, 1500),
    "sync.semaphore_ns": (15, 150),
    "sync.register_load_cycles": (32, 256),
    "dma.turn_bytes": (2048, 65536),
    "dma.descriptor_bytes": (32, 128),
    "dma.swdge_fixed_cycles": (75, 300),
    "dma.swdge_descriptor_cycles": (2, 16),
    "hbm.latency_ns": (50, 300),
    "link.barrier_ns": (650, 2600),
    "link.sendrecv_ns": (650, 2600),
}


def cycles_of(command, setting=None):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        run = [*command, "--fidelity", "timing", "--json", report.name]
        if setting:
            run += ["--set", "machine." + setting]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr.strip() or done.stdout.strip())
        return json.load(open(report.name, encoding="utf-8"))["cycles"]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    command = sys.argv[1:]
    base = cycles_of(command)
    rows = []
    for key, limits in RANGES.items():
        moved = [cycles_of(command, f"{key}={value}") / base - 1 for value in limits]
        rows.append((max(map(abs, moved)), key, limits, moved))
    if not any(row[0] for row in rows):
        sys.exit("no chosen constant moves this run, which always waits for HBM")
    print(f"{base} cycles\n{'machine.':28} {'range':>12} {'at low':>9} {'at high':>9}")
    for _, key, (low, high), (at_low, at_high) in sorted(rows, reverse=True):
        print(f"{key:28} {f'{low} to {high}':>12} {at_low:+9.2%} {at_high:+9.2%}")


if __name__ == "__main__":
    main()
