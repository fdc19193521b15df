#!/usr/bin/python3
"""Pinned results: every run of tests/golden/runs.toml must give what tests/golden/pinned.json says.

    sim_scripts/golden.py --check timing     also fast, rtl: runs and compares
    sim_scripts/golden.py --update           runs all, rewrites pinned.json, prints what moved
    sim_scripts/golden.py --changelog        CHANGELOG.md names the pinned results there are

A run has one entry, whatever the fidelity: cycles, instructions, bytes and every class of every
unit of each core, and the checksum where there is data. --only REGEX takes part of the runs,
--jobs N runs several at a time, --bwmm names the binary.

A moved result needs a line under Numbers in CHANGELOG.md with the digest of the pinned results;
--update prints it. The newest such line comes first, and a line without a reason does not count.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIDELITIES = ("timing", "fast", "rtl")
CHANGELOG_LINE = re.compile(r"golden ([0-9a-f]{8}): (.*)")
NO_REASON = "<why>"


class Failure(Exception):
    pass


def load_runs(folder):
    """Name -> arguments, and the names that run in rtl."""
    with open(folder / "runs.toml", "rb") as file:
        text = tomllib.load(file)
    runs = {}
    for name, arguments in text.get("runs", {}).items():
        while (found := re.search(r"\{(\w+)\}", arguments)):
            arguments = arguments.replace(found.group(0), text["texts"][found.group(1)])
        runs[name] = shlex.split(arguments)
    rtl = text.get("rtl", {}).get("runs", [])
    if unknown := [name for name in rtl if name not in runs]:
        raise Failure(f"runs.toml: rtl names {unknown[0]}, which is no run")
    return runs, rtl


def values_of(report):
    """The pinned part of a JSON report, flat: (what, which) -> value. Zeros are left out."""
    values = {("run", "cycles"): report["cycles"],
              ("run", "instructions"): report["instructions"],
              ("run", "checksum"): report["checksum"]}
    for number, core in enumerate(report["cores"]):
        place = f"core{number}"
        values[place, "instructions"] = core["instructions"]
        values[place, "multiply_adds"] = core["multiply_adds"]
        for key, count in core["bytes"].items():
            values[place, key] = count
        for engine, classes in core["engines"].items():
            where = f"{place}.{engine}"
            values[where, "instructions"] = classes["instructions"]
            values[where, "busy"] = classes["busy"]
            for reason, count in classes["stall"].items():
                values[where, reason] = count
    return {key: value for key, value in values.items() if value != 0}


def run_once(bwmm, arguments, fidelity):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "report.json")
        result = subprocess.run(
            [bwmm, *arguments, "--fidelity", fidelity, "--json", path],
            cwd=ROOT, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            said = (result.stderr + result.stdout).strip().splitlines()
            raise Failure(f"exit {result.returncode}: {said[-1] if said else 'without a word'}")
        return values_of(json.loads(path.read_text(encoding="utf-8")))


def run_all(options, wanted):
    """(name, fidelity) -> values, or the Failure."""
    def one(item):
        name, fidelity, arguments = item
        try:
            return name, fidelity, run_once(options.bwmm, arguments, fidelity)
        except (Failure, OSError, KeyError, ValueError) as error:
            return name, fidelity, Failure(error if isinstance(error, Failure) else repr(error))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return {(name, fidelity): values for name, fidelity, values in pool.map(one, wanted)}


def differences(old, new, data=True):
    """Lines 'core0.tensor busy: 12 -> 13 (+8.3 %)' for what differs; without data, no checksum."""
    lines = []
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key, 0), new.get(key, 0)
        if before == after or (key == ("run", "checksum") and not data):
            continue
        percent = ""
        if isinstance(before, int) and isinstance(after, int) and before:
            percent = f" ({100 * (after - before) / before:+.2f} %)"
        lines.append(f"{' '.join(key)}: {before} -> {after}{percent}")
    return lines


def load_pinned(path):
    """Name -> flat values."""
    if not path.exists():
        return {}
    nested = json.loads(path.read_text(encoding="utf-8"))
    return {name: {(what, which): value for what, row in rows.items()
                   for which, value in row.items()} for name, rows in nested.items()}


def pinned_text(pinned):
    """JSON with one line per run, core and unit, so that a diff shows what moved."""
    runs = []
    for name, values in pinned.items():
        rows = {}
        for (what, which), value in values.items():
            rows.setdefault(what, {})[which] = value
        lines = [f'  "{what}": {json.dumps(row)}' for what, row in rows.items()]
        runs.append(f'"{name}": {{\n' + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(runs) + "\n}\n"


def digest_of(pinned):
    flat = sorted((name, *key, str(value)) for name, values in pinned.items()
                  for key, value in values.items())
    return hashlib.sha256(json.dumps(flat).encode()).hexdigest()[:8]


def check_changelog(pinned, changelog):
    """The newest line of CHANGELOG.md that names pinned results must name these."""
    digest = digest_of(pinned)
    heading = ""
    for line in changelog.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line.strip("# ")
        if heading != "Numbers" or not (found := CHANGELOG_LINE.search(line)):
            continue
        if found.group(1) != digest:
            return [f"CHANGELOG.md: the newest line under Numbers names golden {found.group(1)}, "
                    f"the pinned results are {digest}: say what moved and why"]
        if not found.group(2).strip() or NO_REASON in found.group(2):
            return [f"CHANGELOG.md: golden {digest} has no reason"]
        return []
    return [f"CHANGELOG.md: no line under Numbers names golden {digest}"]


def check(options, runs, rtl, pinned):
    names = rtl if options.check == "rtl" else list(runs)
    names = [name for name in names if re.search(options.only, name)]
    if not names:
        raise Failure("no run to check")
    problems = [f"{name}: not pinned" for name in names if name not in pinned]
    problems += [f"{name}: pinned, but no run" for name in pinned if name not in runs]
    results = run_all(options, [(name, options.check, runs[name]) for name in names])
    for (name, fidelity), values in results.items():
        if isinstance(values, Failure):
            problems.append(f"{name}: {values}")
        elif name in pinned:
            problems += [f"{name}: {line}"
                         for line in differences(pinned[name], values, fidelity != "timing")]
    print(f"{len(names)} runs in {options.check}, {len(problems)} differences")
    return problems


def update(options, runs, rtl, pinned, path):
    names = [name for name in runs if re.search(options.only, name)]
    wanted = [(name, fidelity, runs[name]) for name in names for fidelity in FIDELITIES
              if fidelity != "rtl" or name in rtl]
    results = run_all(options, wanted)
    problems, moved, added = [], [], []
    new = {}
    for name in runs:
        if name not in names:
            new[name] = pinned.get(name, {})
            continue
        found = {f: results[name, f] for f in FIDELITIES if (name, f) in results}
        failed = {f: values for f, values in found.items() if isinstance(values, Failure)}
        problems += [f"{name}: {fidelity}: {failure}" for fidelity, failure in failed.items()]
        if failed:
            continue
        new[name] = found["fast"]
        for fidelity, values in found.items():
            problems += [f"{name}: fast and {fidelity} differ: {line}" for line in
                         differences(found["fast"], values, fidelity != "timing")]
        if name not in pinned:
            added.append(name)
        elif lines := differences(pinned[name], new[name]):
            moved.append(name)
            print(f"{name}:", *lines, sep="\n  ")
    if problems:
        return problems  # nothing is written: a pinned result is one that holds everywhere
    removed = [name for name in pinned if name not in runs]
    path.write_text(pinned_text(new), encoding="utf-8")
    print(f"{len(moved)} of {len(new)} runs moved, {len(added)} are new, {len(removed)} are gone")
    if check_changelog(new, options.changelog_file):
        print("CHANGELOG.md, first under Numbers:\n"
              f"- golden {digest_of(new)}: {len(moved)} of {len(new)} pinned runs moved, "
              f"{len(added)} are new, {len(removed)} are gone: {NO_REASON}")
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--check", choices=FIDELITIES)
    action.add_argument("--update", action="store_true")
    action.add_argument("--changelog", action="store_true")
    parser.add_argument("--bwmm", type=pathlib.Path, default=ROOT / "build/release/bwmm")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("BWMM_JOBS", "1")))
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "tests/golden")
    parser.add_argument("--changelog-file", type=pathlib.Path, default=ROOT / "CHANGELOG.md")
    options = parser.parse_args()
    options.bwmm = options.bwmm.resolve()
    path = options.folder / "pinned.json"
    try:
        runs, rtl = load_runs(options.folder)
        if not runs:
            raise Failure("runs.toml: no runs")
        pinned = load_pinned(path)
        if options.check:
            problems = check(options, runs, rtl, pinned)
        elif options.update:
            problems = update(options, runs, rtl, pinned, path)
        else:
            problems = check_changelog(pinned, options.changelog_file)
    except Failure as failure:
        problems = [str(failure)]
    for problem in problems:
        print(f"golden: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
