#!/usr/bin/python3
"""Shows two runs' JSON reports side by side; exits 1 unless checksum and cycles are equal.

usage: compare_runs.py a.json b.json
"""

import json
import sys

MUST_AGREE = ("checksum", "cycles")
SHOWN = ("variant", "model", "tokens", "machine", "wall_seconds")


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
        except (OSError, json.JSONDecodeError) as error:
            sys.exit(f"compare_runs: {path}: {error}")

    failed = []
    rows = [("", *(text(run.get("fidelity")) for run in runs), "")]
    for key in SHOWN + MUST_AGREE:
        values = [run.get(key) for run in runs]
        verdict = ""
        if key in MUST_AGREE:
            # Nothing to compare is a failure, not agreement.
            agree = values[0] == values[1] and values[0] not in (None, "", 0)
            verdict = "equal" if agree else "DIFFERENT"
            if not agree:
                failed.append(key)
        rows.append((key, *map(text, values), verdict))

    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    if failed:
        sys.exit(f"compare_runs: {' and '.join(failed)} must be equal in {paths[0]} and {paths[1]}")


if __name__ == "__main__":
    main(sys.argv[1:])
