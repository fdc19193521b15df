#!/usr/bin/python3
"""bwmm rerun: the same command line gives the same report, and a difference is found and named.

Usage: rerun_test.py path/to/bwmm
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy

BWMM = str(Path(sys.argv.pop(1)).resolve())
SMALL = ["run", "--model", "stories260k", "--tokens", "2"]


class Rerun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.report = self.folder / "report.json"

    def bwmm(self, *arguments, code=0):
        result = subprocess.run([BWMM, *arguments], capture_output=True, text=True, timeout=600,
                                check=False, cwd=self.folder)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        return result

    def record(self, *arguments):
        self.bwmm(*arguments, "--json", "report.json")

    def rerun(self, code=0):
        return self.bwmm("rerun", "report.json", code=code)

    def change(self, change):
        report = json.loads(self.report.read_text(encoding="utf-8"))
        change(report)
        self.report.write_text(json.dumps(report), encoding="utf-8")

    def refused(self, *parts):
        result = self.rerun(code=2)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)

    def routing(self, weight="0.5"):
        (self.folder / "routing.csv").write_text(
            f"token,slot,expert,weight\n0,0,1,{weight}\n1,0,3,0.5\n", encoding="utf-8")
        return [*SMALL, "--routing", "routing.csv"]

    def test_rejects_a_report_of_a_workload_it_does_not_know(self):
        self.record("run", "--workload", "matmul", "--n", "64")

        def rename(report):
            arguments = report["arguments"]
            arguments[arguments.index("matmul")] = "hadamard"

        self.change(rename)
        self.refused("report.json: --workload hadamard: allowed activation, ",
                     "which this bwmm knows")

    def test_every_command_and_fidelity_repeats(self):
        for arguments in (["matmul", "--n", "64", "--seed", "9"],
                          ["quantize", "--columns", "64", "--rule=ocp"],
                          [*SMALL, "--seed=4", "--set", "machine.dma.start_ns=77"],
                          [*SMALL, "--fidelity", "timing", "--variant", "shard_on_i"],
                          [*SMALL, "--sequential"],
                          self.routing()):
            with self.subTest(arguments=arguments):
                self.record(*arguments)
                text = self.rerun().stdout
                report = json.loads(self.report.read_text(encoding="utf-8"))
                self.assertRegex(text, r"equal +(\d+) of \1 values equal")
                cycles = "-" if report["cycles"] is None else report["cycles"]
                self.assertIn(f"cycles           {cycles}\n", text)

    def test_a_changed_value_is_found_and_named(self):
        self.record(*SMALL)

        def stall(report):
            report["cores"][1]["engines"]["dma"]["stall"]["structural"] += 1

        for change, name in ((stall, "cores/1/engines/dma/stall/structural"),
                             (lambda report: report.update(checksum="0" * 16), "checksum"),
                             (lambda report: report.update(cycles=5), "cycles: 5, now "),
                             (lambda report: report["bytes"].update(sendrecv=1), "bytes/sendrecv"),
                             (lambda report: report["engines"]["scalar"].pop("busy"),
                              "engines/scalar/busy: nothing, now ")):
            with self.subTest(name=name):
                kept = self.report.read_text(encoding="utf-8")
                self.change(change)
                text = self.rerun(code=1).stdout
                self.assertIn("different        " + name, text)
                self.assertIn("DIFFERENT", text)
                self.report.write_text(kept, encoding="utf-8")
        self.rerun()

    def test_another_seed_in_the_arguments_is_a_difference(self):
        self.record(*SMALL, "--seed", "4")
        self.change(lambda report: report["arguments"].__setitem__(
            report["arguments"].index("4"), "5"))
        self.assertIn("different        checksum", self.rerun(code=1).stdout)

    def test_a_repeated_run_writes_no_file(self):
        self.record(*SMALL, "--listing", "l.txt", "--output=out.npy")
        self.record("quantize", "--columns", "64", "--output", "words.npy", "--scales", "s.npy",
                    "--listing=q.txt")
        for name in ("l.txt", "out.npy", "words.npy", "s.npy", "q.txt"):
            (self.folder / name).unlink()
        before = self.report.read_bytes()
        self.rerun()
        self.assertEqual([path.name for path in self.folder.iterdir()], ["report.json"])
        self.assertEqual(self.report.read_bytes(), before)

    def test_an_input_that_is_gone_or_changed(self):
        self.record(*self.routing())
        report = json.loads(self.report.read_text(encoding="utf-8"))
        self.assertEqual(report["routing"], "routing.csv")
        self.assertEqual([each["path"] for each in report["inputs"]], ["routing.csv"])
        self.routing(weight="0.25")
        self.refused("routing.csv", "changed", report["inputs"][0]["checksum"])
        (self.folder / "routing.csv").unlink()
        self.refused("routing.csv", "not there")
        self.routing()
        self.rerun()

    def test_a_file_that_looks_like_a_tensor_of_another(self):
        matmul = ["matmul", "--k", "4", "--m", "4", "--n", "4"]
        values = numpy.arange(16, dtype=numpy.float32).reshape(4, 4)
        numpy.save(self.folder / "x.npy", values)
        (self.folder / "x.npy:float32").write_bytes(b"another file")
        self.record(*matmul, "--moving", "x.npy:float32")
        report = json.loads(self.report.read_text(encoding="utf-8"))
        self.assertEqual([each["path"] for each in report["inputs"]], ["x.npy"])
        numpy.save(self.folder / "x.npy", values + 1)
        self.refused("x.npy: changed")

        # A file that is no tensor has its whole name.
        self.routing()
        (self.folder / "routing.csv").rename(self.folder / "r.npy:float32")
        self.record(*SMALL, "--routing", "r.npy:float32")
        report = json.loads(self.report.read_text(encoding="utf-8"))
        self.assertEqual([each["path"] for each in report["inputs"]], ["r.npy:float32"])

    def test_a_report_of_another_version(self):
        self.record(*SMALL)
        self.change(lambda report: report.update(version="0.0.1"))
        self.refused("version 0.0.1", "allowed ")

    def test_what_is_no_report(self):
        for text in ("", "{", "[]", "{}", '{"version": 1, "arguments": [], "inputs": []}'):
            self.report.write_text(text, encoding="utf-8")
            self.refused("report.json", "no report")
        self.record(*SMALL)
        for arguments in ([], ["list", "models"], ["rerun", "report.json"], [3]):
            self.change(lambda report, words=arguments: report.update(arguments=words))
            self.refused("report.json", "allowed")

    def test_arguments_that_are_no_run(self):
        self.record(*SMALL)
        for arguments, reason in ((["run"], "run: give --model"),
                                  (["run", "--help"], "arguments: no run"),
                                  (["run", "--tokenz", "3"], "arguments: ")):
            self.change(lambda report, words=arguments: report.update(arguments=words))
            self.refused("rerun: report.json: " + reason)

    def test_a_tensor_whose_name_is_too_long_for_a_file_is_read_and_repeats(self):
        name = "a" * 300
        header = json.dumps({name: {"dtype": "F32", "shape": [8, 8], "data_offsets": [0, 256]}})
        (self.folder / "w.safetensors").write_bytes(
            len(header).to_bytes(8, "little") + header.encode() + bytes(256))
        self.record("matmul", "--k", "8", "--m", "8", "--n", "8", "--stationary",
                    "w.safetensors#" + name)
        self.rerun()
        self.change(lambda report: report.update(arguments=["matmul", "--k", "many"]))
        self.refused("arguments", "--k")
        self.report.unlink()
        self.refused("report.json")


if __name__ == "__main__":
    unittest.main()
