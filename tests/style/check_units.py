#!/usr/bin/python3
"""A unit is found under one name in rtl, model, tb and docs, or CONTRIBUTING.md says why not.

A unit is what has a page in docs/units, a module in rtl, a bench in tb or is a SystemC module of
model/units. CONTRIBUTING.md has the table of missing views, which must name all of them and no
other:

    | unit | no | because |
    |---|---|---|
    | exchange | rtl, tb | SystemC alone |
"""

import pathlib
import re

from tree import run

WHERE = pathlib.PurePosixPath("CONTRIBUTING.md")
HEADER = "| unit | no | because |"
MODULE = re.compile(r"^class \w+ final : public sc_core::sc_module\b", re.M)
VIEWS = {
    "rtl": r"rtl/(?:\w+/)*(\w+?)(?:_pkg)?\.sv",
    "model": r"model/(?:ops|engine|units)/(\w+)\.h",
    "tb": r"tb/(?:\w+/)*(\w+)_tb\.cpp",
    "docs": r"docs/units/(\w+)\.md",
}


def views_of(paths):
    """View -> names that have it."""
    found = {view: {} for view in VIEWS}
    for path in paths:
        for view, pattern in VIEWS.items():
            if name := re.fullmatch(pattern, str(path)):
                found[view][name.group(1)] = path
    return found


def units_of(tree, views):
    modules = {name for name, path in views["rtl"].items() if not path.stem.endswith("_pkg")}
    timed = {name for name, path in views["model"].items()
             if path.parts[1] == "units" and MODULE.search("\n".join(tree.lines(path)))}
    return modules | timed | views["tb"].keys() | views["docs"].keys()


def excused(tree, units):
    """(unit, view) -> line of the table's row."""
    lines = tree.lines(WHERE) if (tree.root / WHERE).exists() else []
    if HEADER not in lines:
        tree.report(WHERE, 1, f"a table begins with {HEADER}")
        return {}
    rows = {}
    first = lines.index(HEADER) + 2
    for number, line in enumerate(lines[first:], first + 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 3:
            break
        for unit in cells[0].split(", "):
            if unit not in units:
                tree.report(WHERE, number, f"{unit} is no unit")
            if not cells[2]:
                tree.report(WHERE, number, f"{unit}: no reason given")
            rows.update({(unit, view): number for view in cells[1].split(", ")})
    return rows


def check(tree):
    views = views_of(tree.files())
    units = units_of(tree, views)
    rows = excused(tree, units)
    for unit in sorted(units):
        for view, names in views.items():
            excuse = rows.get((unit, view))
            if unit in names and excuse:
                tree.report(WHERE, excuse, f"{unit} has a view in {view}: {names[unit]}")
            elif unit not in names and not excuse:
                tree.report(WHERE, 1, f"{unit} has no view in {view}, and no row says why")
    return len(units)


if __name__ == "__main__":
    run(check, __doc__)
