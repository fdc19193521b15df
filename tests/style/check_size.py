#!/usr/bin/python3
"""File sizes: 400 lines at most, 200 for a kernel, 100 columns."""

from tree import run

SUFFIXES = (".sv", ".svh", ".h", ".cpp", ".cc")
SCRIPTS = (".py", ".sh")
FOLDERS = ("rtl", "model", "kernels", "host", "workloads", "replay", "cli", "tb", "tests",
           "bench", "examples", "sim_scripts")
MAX_LINES = 400
MAX_KERNEL_LINES = 200
MAX_COLUMNS = 100


def is_kernel(path):
    helper = path.parts[1] in ("lang",) or path.stem.endswith("_ref")
    return path.parts[0] == "kernels" and not helper


def check(tree):
    files = [path for path in tree.files()
             if path.parts[0] in FOLDERS and path.suffix in SUFFIXES + SCRIPTS]
    for path in files:
        lines = tree.lines(path)
        limit = MAX_KERNEL_LINES if is_kernel(path) else MAX_LINES
        if len(lines) > limit:
            tree.report(path, limit + 1, f"{len(lines)} lines, at most {limit}: split it")
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_COLUMNS:
                tree.report(path, number, f"{len(line)} columns, at most {MAX_COLUMNS}")
    return len(files)


if __name__ == "__main__":
    run(check, __doc__)
