#!/usr/bin/python3
"""A kernel's header lists the files it consists of: those of its folder that its includes reach.

    // Files, in reading order:
    //   moe_cte.h, spec     what it is given

A name without suffix is the .h and the .cpp, or the one there is.
A kernel is a source that defines a function `void Bwmm..(lang::Core&`. A header reached brings the
source of its name along, but not the header that declares the kernel: that source calls it.
"""

import pathlib
import re

from tree import run

TITLE = "// Files, in reading order:"
ENTRY = re.compile(r"//   (\w[\w.]*(?:, \w[\w.]*)*)(?:  +.*)?$")
KERNEL = re.compile(r"^void (Bwmm\w+)\(lang::Core&", re.M)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def reached(texts, kernel):
    """The kernel's own folder's files that its includes reach."""
    names = KERNEL.findall(texts[kernel])
    seen, todo = set(), [kernel]
    while todo:
        path = todo.pop()
        if path in seen or path not in texts:
            continue
        seen.add(path)
        for header in map(pathlib.PurePosixPath, INCLUDE.findall(texts[path])):
            if header.parent != kernel.parent or header not in texts:
                continue
            todo.append(header)
            if not any(f"{name}(" in texts[header] for name in names):
                todo.append(header.with_suffix(".cpp"))
    return seen - {kernel}


def check_kernel(tree, texts, kernel):
    lines = texts[kernel].splitlines()
    if TITLE not in lines:
        tree.report(kernel, 1, f'a kernel lists its files under "{TITLE}"')
        return
    first = lines.index(TITLE)
    listed = set()
    for number, line in enumerate(lines[first + 1:], first + 2):
        entry = ENTRY.fullmatch(line)
        if not entry:
            break
        for name in entry.group(1).split(", "):
            suffixes = [""] if "." in name else [".h", ".cpp"]
            paths = [kernel.parent / (name + suffix) for suffix in suffixes]
            found = {path for path in paths if path in texts}
            if not found & reached(texts, kernel):
                tree.report(kernel, number, f"{name} is no part of this kernel")
            listed |= found
    for path in sorted(reached(texts, kernel) - listed):
        tree.report(kernel, first + 1, f"{path.name} is part of this kernel and not listed")


def check(tree):
    texts = {path: "\n".join(tree.lines(path)) for path in tree.files()
             if path.parts[0] == "kernels" and path.suffix in (".h", ".cpp")}
    kernels = [path for path, text in texts.items()
               if path.suffix == ".cpp" and KERNEL.search(text)]
    for kernel in kernels:
        check_kernel(tree, texts, kernel)
    return len(kernels)


if __name__ == "__main__":
    run(check, __doc__)
