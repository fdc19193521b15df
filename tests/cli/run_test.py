#!/usr/bin/python3
"""The command line end to end: one answer at every fidelity, and the keys scripts depend on.

Usage: run_test.py path/to/bwmm [rtl]
"""

import json
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy

BWMM = sys.argv.pop(1)
RTL = len(sys.argv) > 1 and sys.argv.pop(1) == "rtl"


def bwmm(*arguments):
    return subprocess.run(
        [BWMM, *arguments], capture_output=True, text=True, timeout=600, check=False
    )


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def report(self, *arguments):
        path = self.folder / "report.json"
        result = bwmm(*arguments, "--json", str(path))
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assertEqual(result.stderr, "")
        return json.loads(path.read_text(encoding="utf-8"))

    def check_one_answer(self, *arguments):
        fast = self.report(*arguments, "--fidelity", "fast")
        timing = self.report(*arguments, "--fidelity", "timing")
        reports = [fast, timing]
        if RTL:
            reports.append(self.report(*arguments, "--fidelity", "rtl"))
            self.assertEqual(reports[-1]["checksum"], fast["checksum"])
        for report in reports:
            self.assertEqual(report["cycles"], fast["cycles"], report["fidelity"])
            self.assertEqual(report["engines"], fast["engines"], report["fidelity"])
            self.assertEqual(report["bytes"], fast["bytes"], report["fidelity"])
        self.assertIsNone(timing["checksum"])
        self.assertTrue(fast["error"]["pass"])
        self.assertGreater(fast["cycles"], 0)
        return fast

    def test_layer_has_one_answer_on_one_and_four_cores(self):
        for variant, cores in (("shard_on_block", 4), ("shard_on_i_dropping", 1)):
            with self.subTest(variant=variant):
                report = self.check_one_answer(
                    "run", "--model", "stories260k", "--tokens", "12", "--variant", variant,
                    "--set", f"machine.cores={cores}")
                self.assertEqual(len(report["cores"]), cores)

    def test_rejects_a_number_of_cores_the_variant_does_not_share_out(self):
        result = bwmm("run", "--model", "stories260k", "--tokens", "12", "--variant",
                      "shard_on_i_mx", "--set", "machine.cores=4")
        self.assertEqual(result.returncode, 2)
        self.assertIn("shard_on_i_mx: runs on 2 cores", result.stderr)
        self.assertIn("the machine has 4, on which shard_on_block_mx runs", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_layer_has_one_answer_for_each_variant(self):
        for variant in ("shard_on_i_mx", "shard_on_block"):
            with self.subTest(variant=variant):
                arguments = ["run", "--model", "stories260k", "--tokens", "24",
                             "--variant", variant]
                fast = self.check_one_answer(*arguments)
                sequential = self.report(*arguments, "--sequential")
                self.assertEqual(sequential["checksum"], fast["checksum"])

    def test_matmul_has_one_answer(self):
        for dtype, k in (("bfloat16", 100), ("float16", 128), ("float8_e5m2", 64),
                         ("float8_e4m3fn_x4", 512), ("float8_e5m2_x4", 256)):
            with self.subTest(dtype=dtype):
                self.check_one_answer("matmul", "--dtype", dtype, "--k", str(k), "--m", "96",
                                      "--n", "200")

    def test_quantize_has_one_answer(self):
        for target in ("float8_e4m3fn_x4", "float8_e5m2_x4"):
            for rule in ("x2", "ocp"):
                with self.subTest(target=target, rule=rule):
                    self.check_one_answer("quantize", "--target", target, "--rule", rule,
                                          "--partitions", "64", "--columns", "120")

    def test_json_has_the_keys_scripts_use(self):
        report = self.report("run", "--model", "stories260k", "--tokens", "8")
        for key in ("variant", "model", "fidelity", "machine", "tokens", "cycles",
                    "seconds_modelled", "wall_seconds", "checksum", "error", "engines", "bytes"):
            self.assertIn(key, report)
        for key in ("max_row_rel", "max_ulp_bf16", "pass"):
            self.assertIn(key, report["error"])
        for key in ("hbm_read", "hbm_write", "sendrecv"):
            self.assertIn(key, report["bytes"])
        for engine in ("tensor", "vector", "scalar", "gpsimd", "sync", "dma"):
            classes = report["engines"][engine]
            total = classes["busy"] + sum(classes["stall"].values())
            self.assertEqual(total, report["cycles"] * len(report["cores"]), engine)
            self.assertGreaterEqual(min(classes["stall"].values()), 0)

    def test_same_seed_same_checksum(self):
        arguments = ["run", "--model", "stories260k", "--tokens", "8"]
        first = self.report(*arguments, "--seed", "3")
        self.assertEqual(self.report(*arguments, "--seed", "3")["checksum"], first["checksum"])
        self.assertNotEqual(self.report(*arguments, "--seed", "4")["checksum"], first["checksum"])

    def test_output_is_the_product_of_the_given_tensors(self):
        rng = numpy.random.default_rng(1)
        # Small integers: bf16 and every partial sum are exact.
        stationary = rng.integers(-8, 9, (64, 32)).astype(numpy.float32)
        moving = rng.integers(-8, 9, (64, 48)).astype(numpy.float32)
        numpy.save(self.folder / "s.npy", stationary)
        numpy.save(self.folder / "x.npy", moving)
        out = self.folder / "out.npy"
        self.report("matmul", "--k", "64", "--m", "32", "--n", "48", "--stationary",
                    str(self.folder / "s.npy"), "--moving", str(self.folder / "x.npy"),
                    "--output", str(out))
        numpy.testing.assert_array_equal(numpy.load(out), stationary.T @ moving)

    def test_listing_has_one_line_per_instruction(self):
        listing = self.folder / "listing.txt"
        report = self.report("matmul", "--n", "64", "--listing", str(listing))
        lines = listing.read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(lines), report["instructions"])
        self.assertTrue(any("load_stationary" in line for line in lines))

    def test_a_traced_run_has_the_same_answer_and_a_readable_dump(self):
        if not RTL:
            self.assertEqual(bwmm("matmul", "--fidelity", "rtl").returncode, 2)
            return
        for arguments in (["matmul", "--n", "64"],
                          ["run", "--model", "stories260k", "--tokens", "4"]):
            with self.subTest(command=arguments[0]):
                wave = self.folder / "out.fst"
                plain = self.report(*arguments, "--fidelity", "rtl")
                traced = self.report(*arguments, "--fidelity", "rtl", "--wave", str(wave),
                                     "--probe", "5,7", "--wave-window", "0:40000")
                for key in ("cycles", "checksum", "engines"):
                    self.assertEqual(traced[key], plain[key])
                dump = subprocess.run(["fst2vcd", str(wave)], capture_output=True, text=True,
                                      timeout=120, check=True).stdout
                for signal in ("probe_row_i", "command_id_i", "busy_o", "scope module dma",
                               "scope module pe", "scope module dequant"):
                    self.assertIn(signal, dump)
                self.assertGreater(dump.count("\n#"), 10)
                # The machine's engines are beside the RTL: a DMA's opcode is ASCII in the dump.
                self.assertIn("".join(f"{ord(c):08b}" for c in "dma_copy").lstrip("0"), dump)

    def test_an_interrupted_run_closes_its_dump_and_says_so(self):
        if not RTL:
            return
        wave = self.folder / "out.fst"
        run = subprocess.Popen(
            [BWMM, "run", "--model", "olmoe-1b-7b", "--set", "model.experts=8", "--tokens", "8",
             "--check", "off", "--fidelity", "rtl", "--wave", str(wave), "--wave-window",
             "0:30000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(300):
            if any(part.stat().st_size > 0 for part in self.folder.glob("*out.fst*")):
                break  # the dump has been begun, under a name of its own
            time.sleep(0.1)
        run.send_signal(signal.SIGTERM)
        out, err = run.communicate(timeout=120)
        self.assertEqual(run.returncode, 128 + signal.SIGTERM, err)
        self.assertEqual((out, err), ("", "bwmm: interrupted\n"))
        subprocess.run(["fst2vcd", str(wave)], capture_output=True, timeout=120, check=True)

    def test_a_layer_nobody_is_routed_to_is_zero_and_right(self):
        routing = self.folder / "routing.csv"
        routing.write_text("token,slot,expert,weight\n0,0,-1,0\n1,0,-1,0\n", encoding="utf-8")
        for variant in ("shard_on_block", "shard_on_i_hybrid", "shard_on_block_mx",
                        "shard_on_i_mx"):
            with self.subTest(variant=variant):
                report = self.report("run", "--model", "stories260k", "--tokens", "2", "--routing",
                                     str(routing), "--variant", variant)
                self.assertTrue(report["error"]["pass"])

    def test_lists_name_what_runs(self):
        for what, name in (("models", "gpt-oss-120b"), ("variants", "shard_on_i_mx"),
                           ("machines", "trn2"), ("counters", "dma")):
            result = bwmm("list", what)
            self.assertEqual(result.returncode, 0)
            self.assertIn(name, result.stdout)


if __name__ == "__main__":
    unittest.main()
