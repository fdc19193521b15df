#!/usr/bin/python3
"""What a report says: verdicts, useful work, what was set. Expected numbers are counted here.

Usage: report_test.py path/to/bwmm
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy

BWMM = sys.argv.pop(1)
COMPARE = Path(__file__).resolve().parents[2] / "sim_scripts" / "compare_runs.py"
HIDDEN = 64  # of stories260k


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_layer(self, *arguments, code=0, name="report.json"):
        path = self.folder / name
        result = subprocess.run([BWMM, "run", "--model", "stories260k", *arguments, "--json", path],
                                capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        return json.loads(path.read_text(encoding="utf-8")), result.stdout

    def hidden(self, rows):
        path = self.folder / "hidden.npy"
        numpy.save(path, rows.astype(numpy.float32))
        return ["--tokens", str(len(rows)), "--set", f"model.hidden_file={path}"]

    def routing(self, experts):
        path = self.folder / "routing.csv"
        lines = ["token,slot,expert,weight"]
        for token, slots in enumerate(experts):
            lines += [f"{token},{slot},{expert},0.5" for slot, expert in enumerate(slots)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return ["--tokens", str(len(experts)), "--routing", str(path)]

    # Verdicts

    def test_a_verdict_says_what_it_measured(self):
        report, text = self.run_layer("--tokens", "8")
        error = report["error"]
        self.assertEqual(error["compared"], 8 * HIDDEN)
        self.assertIsNone(error["failed_rule"])
        self.assertGreater(error["rms_ratio"], 0.05)
        worst = error["worst"]
        self.assertAlmostEqual(abs(worst["value"] - worst["expected"]) / worst["bound"],
                               error["max_bound_ratio"])
        self.assertIn(f"RMS {error['rms_ratio']:.3f} of its limit", text)
        self.assertIn(f"{8 * HIDDEN} compared", text)

    def test_the_worst_case_has_a_wider_bound_and_no_statistics(self):
        for variant in ("shard_on_i_mx", "shard_on_block"):
            likely, _ = self.run_layer("--tokens", "8", "--variant", variant, "--check", "on")
            worst, text = self.run_layer("--tokens", "8", "--variant", variant, "--check",
                                         "worst_case")
            self.assertLess(worst["error"]["max_bound_ratio"],
                            likely["error"]["max_bound_ratio"], variant)
            self.assertIsNone(worst["error"]["rms_ratio"])
            self.assertNotIn("RMS", text)

    def test_a_run_that_compares_nothing_fails(self):
        rows = numpy.full((4, HIDDEN), numpy.nan)
        for variant in ("shard_on_i_mx", "shard_on_block"):
            report, text = self.run_layer(*self.hidden(rows), "--variant", variant, code=1)
            self.assertEqual(report["error"]["compared"], 0)
            self.assertIn("something compared", report["error"]["failed_rule"])
            self.assertIn("NOT COMPARED", text)
            self.assertNotIn("inside", text)

    def test_a_run_that_compares_zeros_fails(self):
        report, text = self.run_layer(*self.hidden(numpy.zeros((4, HIDDEN))), code=1)
        self.assertIn("not only zeros", report["error"]["failed_rule"])
        self.assertIn("not only zeros", text)

    def test_overflow_on_the_documented_path_is_right(self):
        rows = numpy.random.default_rng(1).normal(size=(6, HIDDEN))
        rows[0] *= 1e20  # its square is beyond fp32
        rows[1] = 3e38
        rows[2, 5] = numpy.nan
        for variant in ("shard_on_block", "shard_on_i", "shard_on_block_mx", "shard_on_i_mx"):
            out = self.folder / "out.npy"
            report, text = self.run_layer(*self.hidden(rows), "--variant", variant, "--set",
                                          "model.activation=relu_squared", "--output", str(out))
            result = numpy.load(out)
            result = (result.astype(numpy.uint32) << 16).view(numpy.float32) \
                if result.dtype == numpy.uint16 else result
            self.assertFalse(numpy.isfinite(result[:3]).all(), variant)
            self.assertTrue(numpy.isfinite(result[3:]).all(), variant)
            self.assertGreaterEqual(report["error"]["compared"], 3 * HIDDEN)
            self.assertIsNone(re.search(r"\d{12}\.", text), text)

    # Work

    def test_useful_work_leaves_out_rows_and_padding(self):
        # 3 tokens on 2 experts each: 6 rows of H 64 and I 172, three matrices.
        report, text = self.run_layer(*self.routing([[0, 1], [1, 2], [0, 3]]))
        useful = 6 * 3 * 64 * 172
        work = report["work"]
        self.assertEqual(work["useful_multiply_adds"], useful)
        self.assertEqual(work["multiply_adds"], sum(c["multiply_adds"] for c in report["cores"]))
        # Every block is computed whole: 256 rows, H 512, I 1024.
        self.assertEqual(work["multiply_adds"],
                         report["blocks"]["count"] * 256 * 3 * 512 * 1024)
        self.assertAlmostEqual(work["useful_share"], useful / work["multiply_adds"])
        rates = report["throughput"]
        self.assertAlmostEqual(rates["useful_tflops"],
                               2 * useful / report["seconds_modelled"] / 1e12)
        self.assertAlmostEqual(rates["useful_tflops"] / rates["tflops"], work["useful_share"])
        self.assertIn("6 of 1280 rows hold a token", text)
        self.assertIn("useful", text)

    def test_dropped_rows_and_empty_experts_are_counted(self):
        # 10 tokens, top-2, 5 experts: a capacity of 4 rows. Experts 3 and 4 have none.
        experts = [[0, 1]] * 7 + [[0, 2]] * 3
        report, text = self.run_layer(*self.routing(experts), "--variant", "shard_on_i_dropping")
        self.assertEqual(report["blocks"]["count"], 5)
        self.assertEqual(report["blocks"]["live"], 3)
        self.assertEqual(report["blocks"]["dropped_rows"], (10 - 4) + (7 - 4))
        self.assertEqual(report["blocks"]["rows"], 4 + 4 + 3)
        self.assertIn("3 live", text)
        self.assertIn("9 of 20 rows", text)
        report, text = self.run_layer(*self.routing(experts))
        self.assertIsNone(report["blocks"]["dropped_rows"])
        self.assertEqual(report["blocks"]["live"], 3)
        self.assertNotIn("dropped", text)

    # What was set

    def test_settings_leave_a_trace(self):
        report, text = self.run_layer(
            "--tokens", "8", "--seed", "5", "--block-size", "512", "--variant", "shard_on_i",
            "--set", "machine.dma.engine_mb_s=9000", "--set", "machine.dma.engine_mb_s=8000",
            "--set", "kernel.skip_token=true", "--set", "model.routing_sigma=0.5")
        self.assertEqual(report["version"], subprocess.run(
            [BWMM, "--version"], capture_output=True, text=True, check=True).stdout.strip())
        self.assertEqual(report["seed"], 5)
        self.assertEqual(report["block_size"], 512)
        self.assertIsNone(report["routing"])
        self.assertEqual(report["machine_preset"], "trn3")
        self.assertEqual(list(report["machine_changes"]), ["machine.dma.engine_mb_s"])
        self.assertEqual(report["machine_changes"]["machine.dma.engine_mb_s"]["value"], 8000)
        self.assertEqual(report["settings"],
                         {"kernel.skip_token": "true", "model.routing_sigma": "0.5"})
        self.assertEqual(report["arguments"][:3], ["run", "--model", "stories260k"])
        for part in ("kernel.skip_token=true", "machine.dma.engine_mb_s 8000, preset"):
            self.assertIn(part, text)

    def test_a_machine_file_is_compared_with_its_preset(self):
        path = self.folder / "slow.toml"
        path.write_text('base = "trn2"\n[machine.dma]\nstart_ns = 1234\n', encoding="utf-8")
        report, _ = self.run_layer("--tokens", "8", "--variant", "shard_on_i", "--machine",
                                   str(path))
        self.assertEqual(report["machine_preset"], "trn2")
        self.assertEqual(report["machine_changes"]["machine.dma.start_ns"]["value"], 1234)
        self.assertEqual([each["path"] for each in report["inputs"]], [str(path)])

    def compare(self):
        return subprocess.run([COMPARE, self.folder / "a.json", self.folder / "b.json"],
                              capture_output=True, text=True, check=False)

    def test_a_sequential_run_has_no_time_and_is_compared_by_checksum(self):
        self.run_layer("--tokens", "8", name="a.json")
        report, _ = self.run_layer("--tokens", "8", "--sequential", name="b.json")
        for key in ("cycles", "seconds_modelled", "engines", "bytes", "cores"):
            self.assertIn(key, report)
            self.assertIsNone(report[key], key)
        self.assertGreater(report["instructions"], 0)
        result = self.compare()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("b.json: sequential, without time: checksums are compared", result.stdout)
        self.run_layer("--tokens", "8", "--sequential", name="a.json")
        self.assertEqual(self.compare().returncode, 0)
        self.run_layer("--tokens", "8", "--sequential", "--seed", "2", name="a.json")
        result = self.compare()
        self.assertEqual(result.returncode, 1)
        self.assertIn("checksum must be equal", result.stderr)

    def test_runs_of_different_clocks_are_compared_by_time(self):
        self.run_layer("--tokens", "8", name="a.json")
        self.run_layer("--tokens", "8", "--set", "machine.clock.tensor_mhz=1200", name="b.json")
        result = self.compare()
        self.assertEqual(result.returncode, 1)
        self.assertIn("clocks differ, 2400 and 1200 MHz", result.stdout)
        self.assertIn("microseconds must be equal", result.stderr)
        same = subprocess.run([COMPARE, self.folder / "a.json", self.folder / "a.json"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(same.returncode, 0)
        self.assertNotIn("clocks differ", same.stdout)


if __name__ == "__main__":
    unittest.main()
