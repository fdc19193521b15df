#!/usr/bin/python3
"""The converter on a trace small enough to read: which tokens it takes, in what order, and what it
refuses."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "sim_scripts" / "convert_routing.py"

TRACE = """domain,token_id,l0_experts,l7_experts
arxiv,11,0 1,2 3
arxiv,12,1 2,0 3
book,13,0 3,1 2
"""


class ConvertRouting(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.trace = pathlib.Path(self.folder.name) / "trace.csv"
        self.trace.write_text(TRACE, encoding="utf-8")

    def tearDown(self):
        self.folder.cleanup()

    def convert(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, self.trace, *arguments],
                              capture_output=True, text=True, check=False)

    def test_domains_take_turns(self):
        result = self.convert("--layer", "7")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stdout.split(), [
            "token,slot,expert,weight",
            "0,0,2,0.5", "0,1,3,0.5",   # arxiv
            "1,0,1,0.5", "1,1,2,0.5",   # book
            "2,0,0,0.5", "2,1,3,0.5"])  # arxiv again

    def test_one_domain_and_a_number_of_tokens(self):
        result = self.convert("--layer", "0", "--domain", "arxiv", "--tokens", "1")
        self.assertEqual(result.stdout.split()[1:], ["0,0,0,0.5", "0,1,1,0.5"])

    def test_stats_count_the_loads(self):
        # Loads of experts 0..3 are 1, 1, 2, 2: mean 1.5, Gini 1/6.
        result = self.convert("--layer", "7", "--stats")
        self.assertIn("max/mean load 1.33, Gini 0.167, idle experts 0", result.stdout)

    def test_rejects_what_the_trace_does_not_have(self):
        for arguments, reason in ((("--layer", "1"), "no column l1_experts"),
                                  (("--layer", "7", "--domain", "c4"), "no token of domain c4"),
                                  (("--layer", "7", "--tokens", "4"), "3 tokens, 4 are wanted")):
            result = self.convert(*arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(reason, result.stderr)

    def test_rejects_tokens_with_different_numbers_of_experts(self):
        self.trace.write_text(TRACE + "book,14,0,1\n", encoding="utf-8")
        result = self.convert("--layer", "7")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("differ in their number of experts", result.stderr)


if __name__ == "__main__":
    unittest.main()
