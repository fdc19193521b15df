#!/usr/bin/python3
"""Documents say what is there: relative links, headings, scripts, sources and ctest names.

A name in backticks is checked when it has the form of one of ours: a path that begins with a
top-level folder, or `layer.unit` after a layer's name that ctest knows. A code block under a line
`<!-- from path -->` must stand in that file, line for line. A table under `## Ten questions` has
ten rows, and each names a file that answers it.
"""

import re

from tree import run

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`]+)`")
FOLDERS = ("rtl", "tb", "model", "kernels", "host", "workloads", "replay", "cli", "sim_scripts",
           "tests", "waves", "docs", "cmake", "bench", "examples", ".ci")
PATH = re.compile(r"(?:\./)?((?:%s)/[\w./-]+)" % "|".join(map(re.escape, FOLDERS)))
TEST_NAME = re.compile(r"[a-z]+\.[a-z0-9_]+")
REGISTERED = re.compile(r"bwmm_test\(\s*(\w+)\s+(\w+)|add_test\(\s*NAME\s+([\w.]+)")
QUOTE = re.compile(r"^<!-- from (\S+) -->\n```\w*\n(.*?)^```$", re.S | re.M)
QUESTIONS = "## Ten questions"
FOREACH = re.compile(r"foreach\(\s*(\w+)\s+([^)]*)\)(.*?)endforeach", re.S)


def registered_tests(tree):
    names = set()
    for path in tree.files():
        if path.name != "CMakeLists.txt":
            continue
        text = "\n".join(tree.lines(path))
        for variable, values, body in FOREACH.findall(text):
            text += "".join(body.replace("${%s}" % variable, value)
                            for value in values.replace("IN LISTS", "").split())
        for layer, unit, name in REGISTERED.findall(text):
            names.add(name or f"{layer}.{unit}")
    return names


def anchors(lines):
    titles = [line.lstrip("#").strip().lower() for line in lines if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def check_link(tree, path, number, link):
    if re.match(r"[a-z]+:", link):
        return
    target, _, anchor = link.partition("#")
    place = (tree.root / path).parent / target if target else tree.root / path
    if not place.exists():
        tree.report(path, number, f"link to {link}: no such file")
    elif anchor and place.suffix == ".md" and anchor not in anchors(tree.lines(place)):
        tree.report(path, number, f"link to {link}: no such heading")


def check_code(tree, path, number, code, tests):
    for found in PATH.finditer(code):
        before = code[:found.start()]
        if before and before[-1] not in " =<":
            continue
        name = found.group(1).rstrip(".")
        if not (tree.root / name).exists():
            tree.report(path, number, f"`{name}`: no such file")
    layers = {test.split(".")[0] for test in tests}
    if TEST_NAME.fullmatch(code) and code.split(".")[0] in layers and code not in tests:
        tree.report(path, number, f"`{code}`: no such ctest entry")


def check_quotes(tree, path):
    text = "\n".join(tree.lines(path))
    for found in QUOTE.finditer(text):
        number = text.count("\n", 0, found.start()) + 1
        source = tree.root / found.group(1)
        if not source.is_file():
            tree.report(path, number, f"{found.group(1)}: no such file")
        elif found.group(2) not in source.read_text(encoding="utf-8"):
            tree.report(path, number, f"this block is not in {found.group(1)} any more")


def check_questions(tree, path):
    lines = tree.lines(path)
    if QUESTIONS not in lines:
        return
    first = lines.index(QUESTIONS) + 1
    rows = 0
    for number, line in enumerate(lines[first:], first + 1):
        if line.startswith("## "):
            break
        cells = line.strip("|").split("|")
        if line.startswith("| ") and cells[0].rstrip().endswith("?"):
            rows += 1
            if not PATH.search(cells[-1]):
                tree.report(path, number, "no file answers this question")
    if rows != 10:
        tree.report(path, first, f"{rows} questions under {QUESTIONS}")


def check(tree):
    tests = registered_tests(tree)
    files = [path for path in tree.files() if path.suffix == ".md"]
    for path in files:
        check_quotes(tree, path)
        check_questions(tree, path)
        fenced = False
        for number, line in enumerate(tree.lines(path), 1):
            if line.startswith("```"):
                fenced = not fenced
            for link in [] if fenced else LINK.findall(line):
                check_link(tree, path, number, link)
            for code in [line] if fenced else CODE.findall(line):
                check_code(tree, path, number, code, tests)
    return len(files)


if __name__ == "__main__":
    run(check, __doc__)
