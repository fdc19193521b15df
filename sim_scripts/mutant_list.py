"""The lists of small faults in tests/mutants/*.txt.

A block is

    id: a-name                    one of a kind
    file: model/ops/memory.cpp
    test: ^ops\\.memory$           the ctest entries that must notice, a regular expression
    why: ..                       only where no test can notice: the reason
    --- old
    text that stands once in the file
    +++ new
    text in its place
    ===

Lines between blocks that begin with # are comments.
"""

import dataclasses
import hashlib
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(?P<head>(?:^\w+: [^\n]*\n)+)^--- old\n(?P<old>.*?)"
                   r"^\+\+\+ new\n(?P<new>.*?)^===$", re.S | re.M)
KEYS = {"id", "file", "test", "why"}


@dataclasses.dataclass(frozen=True)
class Mutant:
    id: str
    file: str
    test: str
    why: str
    old: str
    new: str
    place: str  # file:line of the block

    @property
    def digest(self):
        return hashlib.sha256("\0".join((self.file, self.old, self.new)).encode()).hexdigest()[:12]

    def apply(self, text):
        return text.replace(self.old, self.new, 1)


def parse(path, name):
    """Mutants of one list, and what is wrong with its form."""
    text = path.read_text(encoding="utf-8")
    mutants, problems, end = [], [], 0
    for found in [*BLOCK.finditer(text), None]:
        between = text[end:found.start() if found else len(text)]
        for line in between.splitlines():
            if line.strip() and not line.startswith("#"):
                problems.append(f"{name}: a line outside of a block: {line}")
        if not found:
            break
        end = found.end()
        place = f"{name}:{text.count(chr(10), 0, found.start()) + 1}"
        head = dict(line.split(": ", 1) for line in found.group("head").splitlines())
        if head.keys() - KEYS or {"id", "file", "test"} - head.keys():
            problems.append(f"{place}: keys are id, file, test and perhaps why")
            continue
        mutants.append(Mutant(**{"why": "", **head}, old=found.group("old"),
                              new=found.group("new"), place=place))
    return mutants, problems


def load(root=ROOT):
    """All mutants under tests/mutants, and what is wrong with the form of the lists."""
    mutants, problems = [], []
    for path in sorted((root / "tests/mutants").glob("*.txt")):
        some, wrong = parse(path, str(path.relative_to(root)))
        mutants += some
        problems += wrong
    return mutants, problems


def check(mutants, root, tests):
    """What is wrong with mutants: each must still fit its file, and its tests must exist."""
    problems, seen = [], {}
    for mutant in mutants:
        if mutant.id in seen:
            problems.append(f"{mutant.place}: id {mutant.id} stands at {seen[mutant.id]} too")
        seen[mutant.id] = mutant.place
        if mutant.old == mutant.new:
            problems.append(f"{mutant.place}: {mutant.id} changes nothing")
        path = root / mutant.file
        if not path.is_file():
            problems.append(f"{mutant.place}: {mutant.file}: no such file")
        elif (count := path.read_text(encoding="utf-8").count(mutant.old)) != 1:
            problems.append(f"{mutant.place}: the old text of {mutant.id} stands {count} times in "
                            f"{mutant.file}, it must stand once")
        if not any(re.search(mutant.test, test) for test in tests):
            problems.append(f"{mutant.place}: {mutant.test} is no ctest entry")
    return problems
