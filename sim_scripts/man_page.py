#!/usr/bin/python3
"""Writes docs/bwmm.1, the man page, from what `bwmm --help` says; --check only compares.

Usage: man_page.py [--check] [--bwmm path/to/bwmm]
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "bwmm.1"
ENTRY = re.compile(r"^  (\S.*?)(?:  +(.*))?$")

CODES = """.SH EXIT STATUS
.TP
0
fine
.TP
1
a check failed: the result is outside its bound, or two runs differ
.TP
2
wrong input, or a program that is refused; one line on stderr says what is allowed
.TP
128 + n
ended by signal n
.SH EXAMPLES
.nf
bwmm run --model gpt-oss-20b --tokens 256
bwmm run --workload matmul --k 512 --dtype float8_e4m3fn_x4 --fidelity rtl --wave out.fst
bwmm run --model gpt-oss-20b --json out.json && bwmm rerun out.json
.fi
"""


def output(bwmm, *words):
    return subprocess.run([bwmm, *words], capture_output=True, text=True, check=True).stdout


def help_of(bwmm, *words):
    return output(bwmm, *words, "--help").splitlines()


def section(lines, title):
    """(name, text) of the entries under `title:`."""
    entries = []
    inside = False
    for line in lines:
        if line.endswith(":") and not line.startswith(" "):
            inside = line == title + ":"
        elif inside and line.startswith("   ") and entries:
            entries[-1][1] += " " + line.strip()
        elif inside and line.strip():
            name, text = ENTRY.match(line).groups()
            entries.append([name, text or ""])
    return entries


def plain(text):
    return text.replace("\\", r"\e").replace("-", r"\-").lstrip(".")


def definitions(entries):
    return "".join(f".TP\n.B {plain(name)}\n{plain(text)}\n" for name, text in entries)


def name_of(entry):
    return re.match(r"[\w,-]+", entry[0]).group()


def without(entries, others):
    known = {name_of(entry) for entry in others}
    return [entry for entry in entries if name_of(entry) not in known]


def options_of_runs(bwmm):
    """Of every run, of bwmm run alone, and of each workload."""
    listed = output(bwmm, "list", "workloads").splitlines()
    runs = {name: section(help_of(bwmm, "run", "--workload", name), "Options")
            for name in (line.split()[0] for line in listed)}
    first, *others = runs.values()
    # In the same words: each workload has an --output of its own.
    shared = [entry for entry in first if all(
        (name_of(entry), entry[1]) in [(name_of(its), its[1]) for its in other]
        for other in others)]
    every = [entry for entry in shared if entry in section(help_of(bwmm, "matmul"), "Options")]
    run = [[name.split("=")[0], text] for name, text in without(shared, every)]
    return every, run, {name: without(options, shared) for name, options in runs.items()}


def page(bwmm):
    top = help_of(bwmm)
    commands = section(top, "Subcommands")
    every, run, workloads = options_of_runs(bwmm)
    text = (f'.TH BWMM 1 "" "bwmm {output(bwmm, "--version").strip()}"\n'
            f".SH NAME\nbwmm \\- {plain(top[0].removeprefix('bwmm: '))}\n"
            ".SH SYNOPSIS\n.B bwmm\ncommand [options]\n"
            f".SH COMMANDS\n{definitions(commands)}"
            f".SH OPTIONS\n{definitions(section(top, 'Options'))}"
            f".SS Of every run\n{definitions(every)}.SS Of bwmm run\n{definitions(run)}")
    for name, options in workloads.items():
        text += f".SS Of the workload {name}\n{definitions(options)}"
    for name, _ in without(commands, [["run"], *([name] for name in workloads)]):
        lines = help_of(bwmm, name)
        own = section(lines, "Positionals") + section(lines, "Options")[1:]  # without --help
        text += f".SS Of bwmm {name}\n{definitions(own)}"
    return text + CODES


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--bwmm", default=ROOT / "build" / "release" / "bwmm")
    options = parser.parse_args()
    text = page(options.bwmm)
    if not options.check:
        PAGE.write_text(text, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != text:
        sys.exit(f"{PAGE} is not what --help says: run sim_scripts/man_page.py")


if __name__ == "__main__":
    main()
