#!/usr/bin/python3
"""docs/timing.md names every key of the presets with its values and no other, and the ranges of
sensitivity.py; docs/machine.md those of trn1."""

import pathlib
import re
import sys

from sensitivity import RANGES

ROOT = pathlib.Path(__file__).resolve().parent.parent


def preset(name):
    section, values = "", {}
    for line in (ROOT / f"model/presets/{name}.toml").read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\[machine\.?([\w.]*)\]", line):
            section = found[1] + "." if found[1] else ""
        elif found := re.match(r"(\w+) = (\d+)", line):
            values[section + found[1]] = found[2]
    return values


def main():
    page = (ROOT / "docs/timing.md").read_text(encoding="utf-8")
    told = {key: values for key, *values in
            re.findall(r"^\| `([\w.]+)` \| (\d+) \| (\d+) \|", page, re.M)}
    trn3, trn2 = preset("trn3"), preset("trn2")
    wrong = sorted(key for key in told.keys() | trn3.keys() | trn2.keys()
                   if told.get(key) != [trn3.get(key), trn2.get(key)])
    if wrong or not told:
        sys.exit(f"docs/timing.md: {', '.join(wrong) or 'no key'}: not as in the presets")
    machine = (ROOT / "docs/machine.md").read_text(encoding="utf-8")
    trn1 = dict(re.findall(r"^\| `([\w.]+)` \| (\d+) \|", machine, re.M))
    if trn1 != preset("trn1"):
        sys.exit(f"docs/machine.md: trn1 is {preset('trn1')}, the page says {trn1}")
    ranges = {key: (int(low), int(high)) for key, low, high in
              re.findall(r"^\| `([\w.]+)` .*, (\d+) to (\d+) \|", page, re.M)}
    if ranges != RANGES:
        sys.exit(f"docs/timing.md: ranges {ranges}, allowed those of sensitivity.py: {RANGES}")


if __name__ == "__main__":
    main()
