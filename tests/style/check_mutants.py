#!/usr/bin/python3
"""The lists of small faults fit the tree: each old text stands once, ids and tests exist."""

import pathlib
import sys

from check_docs import registered_tests
from tree import run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "sim_scripts"))
import mutant_list  # pylint: disable=wrong-import-position


def check(tree):
    mutants, problems = mutant_list.load(tree.root)
    tree.findings += problems
    tree.findings += mutant_list.check(mutants, tree.root, registered_tests(tree))
    return len(mutants)


if __name__ == "__main__":
    run(check, __doc__)
