#!/usr/bin/python3
"""bwmm run --workload: what the runner gives to every workload. argv: bwmm [rtl]."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy

BWMM = str(pathlib.Path(sys.argv[1]).resolve())
RTL = sys.argv[2:] == ["rtl"]
SMALL = {"activation": ["--rows", "200", "--columns", "96", "--function", "gelu", "--scale", ".7"],
         "matmul": ["--k", "256", "--m", "64", "--n", "32"],
         "quantize": ["--columns", "64", "--rule", "ocp"],
         "moe_cte": ["--model", "olmoe-1b-7b", "--tokens", "3", "--variant", "shard_on_block",
                     "--set", "model.experts=2", "--set", "model.top_k=1", "--set",
                     "model.hidden=512", "--set", "model.intermediate=128"]}


class Workload(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def bwmm(self, *arguments, code=0):
        result = subprocess.run([BWMM, *arguments], capture_output=True, text=True, timeout=600,
                                cwd=self.folder.name, check=False)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout if code == 0 else result.stderr

    def report(self, *arguments):
        self.bwmm(*arguments, "--json", "report.json")
        return json.loads((pathlib.Path(self.folder.name) / "report.json").read_text())

    def test_the_list_has_each_of_them(self):
        text = self.bwmm("list", "workloads")
        self.assertEqual([line.split()[0] for line in text.splitlines()], sorted(SMALL))
        self.assertIn("(default)", text.splitlines()[sorted(SMALL).index("moe_cte")])

    def test_each_runs_in_every_way_with_the_same_bits_and_cycles(self):
        for name, options in SMALL.items():
            run = ["run", "--workload", name, *options]
            fast = self.report(*run)
            self.assertEqual(fast["workload"], name)
            self.assertTrue(fast["error"]["pass"])
            self.bwmm("rerun", "report.json")
            self.assertEqual(self.report(*run, "--sequential")["checksum"], fast["checksum"])
            self.assertEqual(self.report(*run, "--fidelity", "timing")["cycles"], fast["cycles"])
            if RTL:
                rtl = self.report(*run, "--fidelity", "rtl", "--wave", "out.fst")
                self.assertEqual((rtl["cycles"], rtl["checksum"]),
                                 (fast["cycles"], fast["checksum"]))
                self.assertTrue((pathlib.Path(self.folder.name) / "out.fst").stat().st_size)

    def test_a_subcommand_is_the_same_run(self):
        for name in ("matmul", "quantize"):
            own = self.report(name, *SMALL[name])
            run = self.report("run", "--workload=" + name, *SMALL[name])
            self.assertEqual((own["command"], run["command"]), (name, "run"))
            for key in ("workload", "checksum", "cycles", "facts", "engines"):
                self.assertEqual(own[key], run[key], key)

    def test_without_a_name_it_is_the_layer(self):
        self.assertEqual(self.report("run", *SMALL["moe_cte"])["workload"], "moe_cte")

    # 0 and Inf are right answers there.
    def test_an_activation_of_all_but_endless_values_is_judged(self):
        for function in ("exp", "identity", "silu", "relu_squared"):
            report = self.report("run", "--workload", "activation", "--rows", "8", "--columns", "9",
                                 "--function", function, "--scale", "3e38")
            self.assertTrue(report["error"]["pass"], function)

    def test_an_activation_of_inf_is_judged(self):
        path = pathlib.Path(self.folder.name) / "inf.npy"
        numpy.save(path, numpy.array([[-numpy.inf, numpy.inf, 1]], dtype=numpy.float32))
        for function in ("identity", "silu", "swish", "gelu", "gelu_tanh", "exp", "sigmoid",
                         "relu_squared"):
            for scale in ("1", "-1"):
                report = self.report("run", "--workload", "activation", "--rows", "1",
                                     "--columns", "3", "--function", function, "--scale", scale,
                                     "--input", str(path))
                self.assertTrue(report["error"]["pass"], (function, scale))

    def test_help_has_the_options_of_the_named_one_only(self):
        text = self.bwmm("run", "--workload", "quantize", "--help")
        self.assertIn("--partitions INT=128", text)
        self.assertNotIn("--tokens", text)
        self.assertIn("--tokens", self.bwmm("run", "--help"))

    def test_rejects_what_is_no_workload_or_not_its_own(self):
        for options, said in (
                (["--workload", "router"], ["run: --workload router", ", ".join(sorted(SMALL))]),
                (["--workload", "matmul", "--tokens", "4"], ["--tokens"]),
                (["--workload", "activation", "--scale", "nan"], ["--scale nan", "finite"]),
                (["--workload", "activation", "--scale", "-inf"], ["--scale -inf", "finite"]),
                (["--workload", "activation", "--scale", "1e39"], ["--scale 1e+39", "finite"]),
                # 0 in double, and in float32 alone
                (["--workload", "activation", "--scale", "1e-400"],
                 ["--scale: 1e-400, allowed 0 or a number of magnitude 5e-324 to 1.79"]),
                (["--workload", "activation", "--scale", "-1e-400"], ["--scale: -1e-400, allowed"]),
                (["--workload", "activation", "--scale", "1e400"], ["--scale: 1e400, allowed"]),
                (["--workload", "activation", "--scale", "1e-60"],
                 ["--scale 1e-60: allowed 0 or a finite float32"]),
                (["--workload", "activation", "--scale", "1x"], ["--scale: 1x, allowed a number"]),
                (["--workload", "matmul", "--set", "model.hidden=64"],
                 ["--set model.hidden=64", "machine."]),
                (["--model", "gpt-oss-20b", "--set", "layer.x=1"],
                 ["--set layer.x=1", "model., kernel. or machine."]),
                (["--workload", "matmul", "--sequential", "--set", "machine.dma.start_ns=1"],
                 ["changes nothing with --sequential"]),
                (["--workload", "matmul", "--sequential", "--fidelity", "timing"],
                 ["--fidelity timing", "fast only"])):
            text = self.bwmm("run", *options, code=2)
            self.assertEqual(text.count("\n"), 1)
            for words in said:
                self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
