#!/usr/bin/python3
"""What the checkers cost: runs with and without --unchecked in turn, and prints the ratio.

    bench/checkers.py [--runs N] [--bwmm build/release/bwmm] [arguments of bwmm run]

Without arguments: gpt-oss-20b, 256 tokens, shard_on_i_mx, in timing and fast. The time is the
simulation's own (wall_seconds of the JSON report); the ratio is that of the medians.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYER = ["--model", "gpt-oss-20b", "--variant", "shard_on_i_mx", "--tokens", "256"]


def seconds(bwmm, arguments, folder):
    report = pathlib.Path(folder) / "report.json"
    subprocess.run([bwmm, "run", *arguments, "--check", "off", "--json", str(report)], check=True,
                   stdout=subprocess.DEVNULL)
    with open(report, encoding="utf-8") as file:
        return json.load(file)["wall_seconds"]


def compare(bwmm, arguments, runs, folder):
    checked, unchecked = [], []
    for _ in range(runs):
        checked.append(seconds(bwmm, arguments, folder))
        unchecked.append(seconds(bwmm, [*arguments, "--unchecked"], folder))
    with_checks, without = statistics.median(checked), statistics.median(unchecked)
    print(f"{' '.join(arguments)}: {with_checks:.3f} s checked, {without:.3f} s unchecked, "
          f"ratio {with_checks / without:.3f} (medians of {runs})")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=0, help="of each kind")
    parser.add_argument("--bwmm", default=str(ROOT / "build/release/bwmm"))
    options, arguments = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments:
            compare(options.bwmm, arguments, options.runs or 5, folder)
        else:
            compare(options.bwmm, [*LAYER, "--fidelity", "timing"], options.runs or 15, folder)
            compare(options.bwmm, [*LAYER, "--fidelity", "fast"], options.runs or 3, folder)


if __name__ == "__main__":
    sys.exit(main())
