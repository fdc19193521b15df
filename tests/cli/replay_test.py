#!/usr/bin/python3
"""bwmm replay: a program as text runs in every way there is, and the ways are compared. Cycles and
checksums are compared between the ways and with a number counted here, none is pinned.

Usage: replay_test.py path/to/bwmm [rtl]
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BWMM = sys.argv.pop(1)
RTL = len(sys.argv) > 1 and sys.argv.pop(1) == "rtl"
WAYS = ["executor", "fast", "timing"] + (["rtl"] if RTL else [])

MATMUL = """bwmm replay 1
machine trn3
# [8, 8]^T x [8, 8] on core 0.
tensor w bfloat16 [8,8] at 0x40 seed 1
tensor x bfloat16 [8,8] at 0xc0 edges 2
tensor y float32 [8,8] at 0x140 unwritten
     0 core0 sync dma_copy dst=sbuf[0:8]+0x0 bfloat16[8,8] src=hbm+0x40 bfloat16[8:8,8]
     1 core0 sync dma_copy dst=sbuf[0:8]+0x40 bfloat16[8,8] src=hbm+0xc0 bfloat16[8:8,8]
     2 core0 tensor load_stationary mode=ordinary stationary=sbuf[0:8]+0x0 bfloat16[8,8]
     3 core0 tensor multiply_moving mode=ordinary dst=psum[0:8]+0x0 float32[8,8] \
moving=sbuf[0:8]+0x40 bfloat16[8,8] accumulate=false
     4 core0 vector tensor_copy dst=sbuf[0:8]+0x80 float32[8,8] src=psum[0:8]+0x0 float32[8,8]
     5 core0 sync dma_copy dst=hbm+0x140 float32[8:8,8] src=sbuf[0:8]+0x80 float32[8,8]
""".replace("\\\n", "")

# The loop's count is computed as a float, which timing does not do: it is steered elsewhere.
STEERED = """bwmm replay 1
tensor x float32 [1,1] at 0x40 hex 0000a040
tensor n int32 [1,1] at 0x80 unwritten
     0 core0 sync dma_copy dst=sbuf[0:1]+0x0 float32[1,1] src=hbm+0x40 float32[1,1]
     1 core0 vector tensor_copy dst=sbuf[0:1]+0x4 int32[1,1] src=sbuf[0:1]+0x0 float32[1,1]
     2 core0 sync dma_copy dst=hbm+0x80 int32[1,1] src=sbuf[0:1]+0x4 int32[1,1]
     3 core0 sync register_load src=hbm+0x80 int32[1,1]
when core0 3 > 2
     4 core0 vector memset dst=sbuf[0:1]+0x0 float32[1,1] value=1
"""

# Core 1 never comes to the barrier.
WAITING = """bwmm replay 1
tensor n int32 [1,1] at 0x80 unwritten
     0 core0 gpsimd core_barrier data=hbm+0x80 int32[1:1,1]
     0 core1 vector memset dst=sbuf[0:1]+0x0 float32[1,1] value=1
"""


class Replay(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "program.replay"

    def replay(self, text, *options):
        self.file.write_text(text, encoding="utf-8")
        return self.bwmm(self.file, *options)

    @staticmethod
    def bwmm(*arguments):
        return subprocess.run([BWMM, "replay", *arguments], capture_output=True, text=True,
                              timeout=120, check=False)

    def agreed(self, text, *options):
        """What every way said of its run: the words behind its name."""
        result = self.replay(text, *options)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        return dict(line.split(maxsplit=1) for line in result.stdout.splitlines())

    def refused(self, result, *parts):
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for part in ("bwmm: replay: ", *parts):
            self.assertIn(part, result.stderr)

    # Runs

    def test_a_program_runs_in_every_way_and_they_agree(self):
        said = self.agreed(MATMUL)
        self.assertEqual(list(said), [*WAYS, "all"])
        self.assertEqual(said.pop("all"), "agree")
        for words in said.values():
            self.assertTrue(words.startswith("6 instructions"), words)
        cycles = {re.search(r"(\d+) cycles", said[way])[1] for way in WAYS if way != "executor"}
        sums = {re.search(r"checksum (\w{16})", said[way])[1] for way in WAYS if way != "timing"}
        self.assertEqual((len(cycles), len(sums)), (1, 1), said)
        self.assertNotIn("cycles", said["executor"])
        self.assertNotIn("checksum", said["timing"])

    def test_one_way_alone_says_what_it_says_among_all(self):
        said = self.agreed(MATMUL)
        for way in WAYS:
            self.assertEqual(self.agreed(MATMUL, "--fidelity", way), {way: said[way]})

    def test_instructions_of_all_cores_are_counted(self):
        for cores in (1, 3):
            text = MATMUL.replace("trn3\n", f"trn3\nset machine.cores={cores}\n")
            for core in range(1, cores):
                text += f"0 core{core} vector memset dst=sbuf[0:1]+0x0 float32[1,1] value=1\n"
            for way in ("executor", "fast"):
                words = self.agreed(text, "--fidelity", way)[way]
                self.assertTrue(words.startswith(f"{5 + cores} instructions"), words)

    def test_a_difference_names_its_instruction_and_is_no_success(self):
        result = self.replay(STEERED)
        self.assertEqual((result.returncode, result.stderr), (1, ""), result.stdout)
        self.assertIn("differs: core 0 instruction 4: a register steers it elsewhere: "
                      "fast emits a memset, timing ends", result.stdout)
        self.assertNotIn("agree", result.stdout)

    # Refusals

    def test_rejects_what_no_way_takes_in_one_line(self):
        self.refused(self.replay(MATMUL.replace("dst=hbm+0x140", "dst=hbm+0x240")),
                     str(self.file), "instruction 5 (dma_copy) on core 0", "0x240")

    def test_rejects_a_deadlock_with_a_line_for_each_that_waits(self):
        result = self.replay(WAITING, "--fidelity", "fast")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        lines = result.stderr.splitlines()
        self.assertRegex(lines[0], r"^bwmm: replay: \S+: .*deadlock at cycle \d+: .* work is left$")
        self.assertEqual([" ".join(line.split()) for line in lines[1:]], [
            "core 0 kernel has emitted all its instructions",
            "core 0 gpsimd: instruction 0 (core_barrier, gpsimd) waits for core 1, which has not "
            "reached core_barrier 0",
            "0 core0 gpsimd core_barrier data=hbm+0x80 int32[1,1]",
            "core 1 kernel has emitted all its instructions"])

    def test_rejects_an_unknown_instruction(self):
        self.refused(self.replay(MATMUL.replace("tensor_copy", "tensor_move")),
                     f"{self.file}:11: column 21: tensor_move, allowed ", "tensor_copy, memset")

    def test_rejects_a_malformed_line(self):
        for good, bad, where in (("edges 2", "corners 2", ":5: column 33: corners"),
                                 ("hbm+0xc0 ", "hbm+0xg0 ", ":8: column "),
                                 ("machine trn3", "machine", ":2: column 1: machine"),
                                 ("# ", "matmul ", ":3: column 1: matmul")):
            with self.subTest(bad=bad):
                self.assertIn(good, MATMUL)
                self.refused(self.replay(MATMUL.replace(good, bad)), str(self.file) + where,
                             "allowed ")

    def test_rejects_what_is_no_replay_file(self):
        listing = MATMUL[MATMUL.index("     0 "):]
        for text in ("", "\n", listing, "bwmm replay 2\n"):
            self.refused(self.replay(text), f"{self.file}:1: no replay file", "bwmm replay 1")

    def test_rejects_a_program_of_nothing(self):
        self.refused(self.replay("bwmm replay 1\nmachine trn3\n"), str(self.file),
                     "0 instructions, allowed 1 or more")

    def test_rejects_a_machine_that_is_none(self):
        self.refused(self.replay(MATMUL.replace("trn3", "trn9")), "trn9", "trn3, trn2, trn1")
        # Each key is in its range, both are not.
        self.refused(self.replay(MATMUL.replace("trn3\n", "trn3\nset machine.tensor.rows=64\n")),
                     "machine.tensor.rows", "64")

    def test_rejects_a_file_that_is_missing_or_a_folder(self):
        for path in (self.file, self.file.parent):
            self.refused(self.bwmm(path), f"{path}: cannot be read")

    def test_rejects_a_way_there_is_not(self):
        self.refused(self.replay(MATMUL, "--fidelity", "exact"),
                     "--fidelity exact: allowed all, executor, fast, timing, rtl")
        if not RTL:
            self.refused(self.replay(MATMUL, "--fidelity", "rtl"), "rtl")

    def test_rejects_options_it_has_not(self):
        for options in (["--seed", "3"], [str(self.file)], ["--json", "x"]):
            result = self.replay(MATMUL, *options)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertEqual(self.bwmm().returncode, 2)


if __name__ == "__main__":
    unittest.main()
