#!/usr/bin/python3
"""random_programs runs what it is told, and no run of nothing passes.

Usage: random_programs_test.py path/to/random_programs
"""

import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


class RandomPrograms(unittest.TestCase):
    def test_runs_seeds_on_a_number_of_cores(self):
        for cores in ([], ["3"]):
            result = run("7", "7", *cores)
            self.assertEqual(result.stdout, "random_programs: seeds 7 to 7, 0 failed\n")
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_rejects_what_is_no_range_of_seeds(self):
        for arguments, said in ((["2", "1"], "TO: 1, allowed 2 to "),
                                (["-1", "1"], "FROM: -1, allowed 0 to "),
                                (["1x", "1"], "FROM: 1x, allowed"), (["1", ""], "TO: , allowed"),
                                (["1", "1", "0"], "CORES: 0, allowed 1 to 8"),
                                (["1", "1", "9"], "CORES: 9, allowed 1 to 8"),
                                (["1"], "usage: ")):
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertIn(said, result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
