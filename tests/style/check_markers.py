#!/usr/bin/python3
"""Nothing left over: no open-work markers, dead code, skipped tests, waivers in RTL, host paths."""

import re

from tree import run

CODE = ("rtl", "model", "kernels", "host", "workloads", "replay", "cli", "tb", "tests",
        "bench", "examples", "sim_scripts", "cmake", "waves")

# Spelled so that this file does not find itself.
RULES = [
    (CODE, r"\b(TO[D]O|FIX[M]E|XX[X])\b", "open work belongs in an issue"),
    (CODE, r"#\s*if\s+[0]\b", "dead code"),
    (("rtl",), r"verilator\s+lint_of[f]", "waivers belong in rtl/lint.vlt, each with its reason"),
    (("tests", "tb"), r"GTEST_SKI[P]|DISABLE[D]_", "a test that cannot fail"),
    (None, r"(?<![\w.])/(w[o]rk|f[a]rm|r[o]ot|ho[m]e/\w+)/", "a path of one machine"),
]


def check(tree):
    files = [path for path in tree.files() if path.suffix not in (".png", ".npy", ".safetensors")]
    for path in files:
        rules = [(re.compile(pattern), why) for folders, pattern, why in RULES
                 if folders is None or path.parts[0] in folders]
        for number, line in enumerate(tree.lines(path), 1):
            for pattern, why in rules:
                if found := pattern.search(line):
                    tree.report(path, number, f"{found.group(0)}: {why}")
    return len(files)


if __name__ == "__main__":
    run(check, __doc__)
