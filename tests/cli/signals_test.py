#!/usr/bin/python3
"""A signal ends bwmm within a second whatever it is doing, with 128 + signal and no file left.

Usage: signals_test.py path/to/bwmm [rtl]
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

BWMM = sys.argv.pop(1)
RTL = len(sys.argv) > 1 and sys.argv.pop(1) == "rtl"
# The promise is one second; the rest is for a machine that does other things as well.
SECONDS = 2.5


class Signals(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def interrupt(self, arguments, after, number=signal.SIGTERM, left=(), running=lambda: True):
        """Sends the signal `after` seconds into the run; nothing of the run may have ended it."""
        run = subprocess.Popen([BWMM, *map(str, arguments)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        time.sleep(after)
        for _ in range(600):
            if running() or run.poll() is not None:
                break
            time.sleep(0.05)
        if run.poll() is not None:
            self.fail(f"ended before the signal: {run.communicate()}")
        sent = time.monotonic()
        run.send_signal(number)
        out, err = run.communicate(timeout=120)
        took = time.monotonic() - sent
        self.assertEqual(run.returncode, 128 + number, err)
        self.assertEqual((out, err), ("", "bwmm: interrupted\n"))
        self.assertLess(took, SECONDS)
        self.assertEqual([path.name for path in self.folder.iterdir()], list(left))

    def outputs(self):
        return ["--json", self.folder / "out.json", "--listing", self.folder / "out.txt"]

    def test_set_up_of_a_large_layer_is_left(self):
        for after in (0.1, 0.6, 2, 4):
            with self.subTest(after=after):
                self.interrupt(["run", "--model", "stories260k", "--tokens", 16000000,
                                "--fidelity", "timing", *self.outputs()], after)

    def test_weights_dry_run_and_simulation_are_left(self):
        for after in (0.1, 1, 3):
            with self.subTest(after=after):
                self.interrupt(["run", "--model", "gpt-oss-20b", "--tokens", 2048, "--check", "off",
                                *self.outputs(), "--output", self.folder / "out.npy"], after)

    def test_the_executor_is_left(self):
        self.interrupt(["run", "--model", "olmoe-1b-7b", "--tokens", 1024, "--check", "off",
                        "--sequential", "--json", self.folder / "out.json"], 5)

    def test_the_reference_check_is_left(self):
        # The listing appears between the simulation and the check.
        listing = self.folder / "out.txt"
        self.interrupt(["run", "--model", "olmoe-1b-7b", "--tokens", 512, "--set",
                        "model.experts=16", "--variant", "shard_on_block", "--check", "on",
                        *self.outputs()],
                       1, left=["out.txt"], running=listing.exists)

    def test_writing_into_a_pipe_nobody_reads_is_left(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.interrupt(["matmul", "--k", 8, "--m", 8, "--n", 8, "--json", pipe], 2, left=["pipe"])

    def test_every_signal_that_ends_a_session_is_answered(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,
                       signal.SIGXCPU):
            with self.subTest(signal=number):
                self.interrupt(["run", "--model", "stories260k", "--tokens", 4000000, "--fidelity",
                                "timing", *self.outputs()], 0.5, number)

    def test_a_signal_that_was_ignored_stays_ignored(self):
        run = subprocess.Popen(
            [BWMM, "run", "--model", "stories260k", "--tokens", "512", "--check", "off"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN) and None)
        with contextlib.suppress(ProcessLookupError):
            time.sleep(0.2)
            run.send_signal(signal.SIGHUP)
        out, err = run.communicate(timeout=300)
        self.assertEqual((run.returncode, err), (0, ""))
        self.assertIn("checksum", out)

    def test_a_dump_is_closed_and_readable(self):
        if not RTL:
            return
        for number in (signal.SIGTERM, signal.SIGHUP):
            wave = self.folder / "out.fst"
            self.interrupt(["run", "--model", "olmoe-1b-7b", "--set", "model.experts=8", "--tokens",
                            8, "--check", "off", "--fidelity", "rtl", "--wave", wave], 6, number,
                           left=["out.fst"])
            dump = subprocess.run(["fst2vcd", str(wave)], capture_output=True, text=True,
                                  timeout=120, check=True).stdout
            self.assertIn("scope module dma", dump)
            self.assertGreater(dump.count("\n#"), 100)
            wave.unlink()


if __name__ == "__main__":
    unittest.main()
