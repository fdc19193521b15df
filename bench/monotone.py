#!/usr/bin/python3
"""Whether faster parts ever make a run slower: every rate and latency of the machine, one at a
time, each variant.
monotone.py build/release/bwmm [--grid small|large] [--limit PERCENT] [--only REGEX]

Prints the runs that got slower, worst first, and fails when one did by more than the limit.
"""

import argparse
import concurrent.futures
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRESET = "trn3"

# What makes a part faster. Every key of the preset is in one of the four.
RATES = {
    "clock.tensor_mhz", "clock.vector_mhz", "clock.scalar_mhz", "clock.gpsimd_mhz",
    "clock.sync_mhz", "dma.engine_mb_s", "dma.compute_percent", "hbm.bandwidth_mb_s",
}
LATENCIES = {
    "compute.min_interval", "compute.vector_latency_cycles", "compute.scalar_latency_cycles",
    "compute.access_cycles", "compute.activation_table_ns", "compute.gpsimd_fixed",
    "sync.semaphore_ns", "sync.register_load_cycles", "dma.start_ns",
    "dma.dge_ns", "dma.skew_ns", "dma.completion_ns", "dma.descriptor_bytes",
    "dma.swdge_fixed_cycles", "dma.swdge_descriptor_cycles", "hbm.latency_ns", "link.barrier_ns",
    "link.sendrecv_ns",
}
# As fast as they go in the preset, and what is slower.
SWITCHES = {"compute.vector_perf_modes": 0, "compute.fp8_modes": 0, "compute.scalar_2x": 0,
            "dma.dge_instances": 1}
# What exists, or what the hardware description fixes: tensor.min_interval and the depth of
# quantize_mx are those of the RTL, and the number of DMA engines is the layout of a gather.
SHAPES = {
    "generation", "cores", "sbuf.partitions", "sbuf.bytes", "sbuf.reserved_bytes", "psum.banks",
    "psum.bank_bytes", "tensor.rows", "tensor.cols", "tensor.min_interval",
    "tensor.throttle_ns",
    "quantize_mx.pipeline_cycles", "dma.engines", "dma.queues", "dma.turn_bytes",
    "dma.gather_class", "hbm.capacity_mib",
}

LAYER = ["--config", "tests/golden/layer.toml", "--seed", "7", "--tokens", "40"]
VARIANTS = {
    "shard_on_block": [], "shard_on_i": [], "shard_on_i_hybrid": [], "shard_on_i_dropping": [],
    "shard_on_block_mx": ["--set", "model.weights=mxfp4"],
    "shard_on_i_mx": ["--set", "model.weights=mxfp4"],
    "shard_on_i_mx_hybrid": ["--set", "model.weights=mxfp4"],
}
GRIDS = {
    "small": [(f"layer.toml {name}", [*LAYER, "--variant", name, *more], ())
              for name, more in VARIANTS.items()],
    "large": [(f"{model} {tokens} {name}",
               ["--model", model, "--tokens", str(tokens), "--variant", name,
                *(["--set", "model.weights=bf16"] if not more and "gpt" in model else [])],
               (0.25, 0.5, 0.8, 1.25, 2, 4))
              for model, tokens in (("gpt-oss-20b", 1024), ("olmoe-1b-7b", 512))
              for name, more in VARIANTS.items()],
}


def keys_of(table, prefix=""):
    for key, value in table.items():
        if isinstance(value, dict):
            yield from keys_of(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def preset():
    text = (ROOT / "model/presets" / f"{PRESET}.toml").read_text(encoding="utf-8")
    values = dict(keys_of(tomllib.loads(text)["machine"]))
    known = RATES | LATENCIES | set(SWITCHES) | SHAPES
    if wrong := known ^ set(values):
        sys.exit(f"monotone: keys of the preset and of this script differ: {sorted(wrong)}")
    return values


def settings(values, factors):
    """(key, its values from slow to fast, the preset's among them)"""
    for key in sorted(RATES | LATENCIES):
        vanishes = key in LATENCIES and not key.startswith(("compute", "sync.register"))
        least = 0 if vanishes else 1
        best = 2 if key in RATES else 0 if vanishes else 0.5
        steps = {max(least, round(values[key] * factor)) for factor in (*factors, 1, best)}
        yield key, sorted(steps, reverse=key in LATENCIES)
    for key, slower in sorted(SWITCHES.items()):
        yield key, [slower, values[key]]


def seconds_of(bwmm, arguments, *changes):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        done = subprocess.run(
            [bwmm, "run", *arguments, "--machine", PRESET, "--fidelity", "timing", "--unchecked",
             "--json", report.name, *(f"--set={change}" for change in changes)],
            cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"monotone: {' '.join(arguments)}: {done.stderr.strip()}")
        return json.load(open(report.name, encoding="utf-8"))["seconds_modelled"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bwmm", type=Path)
    parser.add_argument("--grid", choices=GRIDS, default="small")
    parser.add_argument("--limit", type=float, default=2, help="percent")
    parser.add_argument("--only", default="", help="a regular expression of 'run: key'")
    options = parser.parse_args()
    values = preset()
    jobs = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, arguments, factors in GRIDS[options.grid]:
            run = functools.partial(pool.submit, seconds_of, options.bwmm.resolve(), arguments)
            as_is = run()
            for key, steps in settings(values, factors):
                if not re.search(options.only, f"{name}: {key}"):
                    continue
                times = [as_is if step == values[key] else run(f"machine.{key}={step}")
                         for step in steps]
                jobs.append((name, key, steps, times))
        slower = []
        for name, key, steps, times in jobs:
            for slow in range(len(steps)):
                for fast in range(slow + 1, len(steps)):
                    change = 100 * (times[fast].result() / times[slow].result() - 1)
                    if change > 0.005:
                        slower.append((change, name, key, steps[slow], steps[fast]))
    for change, name, key, slow, fast in sorted(slower, reverse=True)[:40]:
        print(f"{change:+6.2f} %  {name}: {key} {slow} -> {fast}")
    pairs = sum(len(steps) * (len(steps) - 1) // 2 for _, _, steps, _ in jobs)
    print(f"{len(slower)} of {pairs} pairs are slower with the faster part")
    return any(change > options.limit for change, *_ in slower)


if __name__ == "__main__":
    sys.exit(main())
