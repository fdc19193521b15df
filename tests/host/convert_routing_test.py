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

    # Other forms. Expected lines are written out by hand.

    def lines_of(self, text, *arguments):
        self.trace.write_text(text, encoding="utf-8")
        result = self.convert(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.split()[1:]

    def refused(self, text, reason, *arguments):
        self.trace.write_text(text, encoding="utf-8")
        result = self.convert(*arguments)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(reason, result.stderr)

    # Two steps of a serving engine, whose tokens begin at 0 again; two layers.
    STEPS = """
{"step": 0, "layer_id": 3, "topk_ids": [[4, 1], [2, 0]], "topk_weights": [[0.75, 0.25], [0.5, 0.5]]}
{"step": 0, "layer_id": 9, "topk_ids": [[7, 6], [7, 5]], "topk_weights": [[0.5, 0.5], [0.5, 0.5]]}
{"step": 1, "layer_id": 3, "topk_ids": [[3, 5]], "topk_weights": [[0.625, 0.375]]}
"""

    def test_steps_of_json_lines_are_renumbered(self):
        self.assertEqual(self.lines_of(self.STEPS, "--layer", "3"),
                         ["0,0,4,0.75", "0,1,1,0.25", "1,0,2,0.5", "1,1,0,0.5",
                          "2,0,3,0.625", "2,1,5,0.375"])

    def test_offset_and_count_cross_steps(self):
        self.assertEqual(self.lines_of(self.STEPS, "--layer", "3", "--offset", "1", "--count", "2"),
                         ["0,0,2,0.5", "0,1,0,0.5", "1,0,3,0.625", "1,1,5,0.375"])

    def test_json_lines_of_single_tokens(self):
        text = '{"token": 5, "topk_ids": [1, 2]}\n{"token": 6, "topk_ids": [3, 0]}\n'
        self.assertEqual(self.lines_of(text), ["0,0,1,0.5", "0,1,2,0.5", "1,0,3,0.5", "1,1,0,0.5"])

    def test_csv_of_lists(self):
        text = 'token,layer,topk_ids,topk_weights\n0,2,"[3, 1]","[0.9, 0.1]"\n0,2,0 2,0.7 0.3\n'
        self.assertEqual(self.lines_of(text), ["0,0,3,0.9", "0,1,1,0.1", "1,0,0,0.7", "1,1,2,0.3"])

    def test_long_csv_that_restarts_and_starts_late(self):
        text = ("step,token,slot,expert,weight\n4,17,1,2,0.25\n4,17,0,1,0.75\n4,18,0,3,0.5\n"
                "4,18,1,0,0.5\n5,17,0,2,1\n5,17,1,1,0\n")
        self.assertEqual(self.lines_of(text),
                         ["0,0,1,0.75", "0,1,2,0.25", "1,0,3,0.5", "1,1,0,0.5", "2,0,2,1.0",
                          "2,1,1,0.0"])

    def test_steps_that_have_no_number_show_by_a_slot_that_comes_again(self):
        text = "token,slot,expert\n0,0,1\n0,1,2\n0,0,3\n0,1,0\n"
        self.assertEqual(self.lines_of(text), ["0,0,1,0.5", "0,1,2,0.5", "1,0,3,0.5", "1,1,0,0.5"])

    def test_rejects_what_is_no_trace(self):
        self.refused(self.STEPS, "layers 3, 9: say --layer")
        self.refused(self.STEPS, "no layer 4, it has: 3, 9", "--layer", "4")
        self.refused(self.STEPS, "3 tokens, 2 behind 2 are wanted", "--layer", "3", "--offset", "2",
                     "--count", "2")
        self.refused("a,b\n1,2\n", "a, b is no form of trace")
        self.refused('{"topk_ids": [1, 2]}\n{"topk_ids": \n', ":2: not JSON")
        self.refused('{"topk_ids": [1, "x"]}\n', "is not a list of numbers")
        self.refused('{"topk_ids": [1, 2], "topk_weights": [1]}\n', "not one weight for each")
        self.refused("token,slot,expert\n0,0,x\n", ":2: expert 'x' is not a number")
        self.refused("token,expert\n0,1\n0,1\n", "has an expert twice")
        # All first slots, then all second ones: no token is whole.
        self.refused("token,slot,expert\n0,0,1\n1,0,2\n0,1,3\n1,1,0\n", "slots [1]")
        self.refused("\n", "no tokens")


if __name__ == "__main__":
    unittest.main()
