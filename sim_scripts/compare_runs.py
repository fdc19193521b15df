#!/usr/bin/python3
"""Shows two runs' JSON reports side by side; exits 1 unless checksum and cycles are equal.

usage: compare_runs.py a.json b.json

Cycles are those of each run's TensorEngine. When the two clocks differ they are no common measure:
then the time modelled must be equal instead, and a line says so. A sequential run has no time: then
checksums alone are compared, and a line says so.
"""

import json
import sys

SHOWN = ("variant", "model", "tokens", "machine", "wall_seconds", "checksum", "cycles",
         "microseconds")


def text(value):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def main(paths):
    if len(paths) != 2:
        sys.exit(__doc__.strip())
    runs = []
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                runs.append(json.load(file))
            if (seconds := runs[-1].get("seconds_modelled")) is not None:
                runs[-1]["microseconds"] = seconds * 1e6
        except (OSError, json.JSONDecodeError) as error:
            sys.exit(f"compare_runs: {path}: {error}")

    clocks = [run.get("clock_mhz") for run in runs]
    untimed = [path for path, run in zip(paths, runs) if run.get("fidelity") == "sequential"]
    time = "cycles" if clocks[0] == clocks[1] else "microseconds"
    must_agree = ("checksum",) if untimed else ("checksum", time)
    failed = []
    rows = [("", *(text(run.get("fidelity")) for run in runs), "")]
    for key in SHOWN:
        values = [run.get(key) for run in runs]
        verdict = ""
        if key in must_agree:
            # Nothing to compare is a failure, not agreement.
            agree = values[0] == values[1] and values[0] not in (None, "", 0)
            verdict = "equal" if agree else "DIFFERENT"
            if not agree:
                failed.append(key)
        rows.append((key, *map(text, values), verdict))

    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    if untimed:
        print(f"{' and '.join(untimed)}: sequential, without time: checksums are compared")
    elif clocks[0] != clocks[1]:
        print(f"clocks differ, {clocks[0]} and {clocks[1]} MHz: time is compared, not cycles")
    if failed:
        sys.exit(f"compare_runs: {' and '.join(failed)} must be equal in {paths[0]} and {paths[1]}")


if __name__ == "__main__":
    main(sys.argv[1:])
