#!/usr/bin/python3
"""Options and settings: an option that would change nothing is refused with one line, defaults run
every listed model, settings are checked together.

Usage: options_test.py path/to/bwmm [rtl]
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BWMM = sys.argv.pop(1)
RTL = len(sys.argv) > 1 and sys.argv.pop(1) == "rtl"
SMALL = ["run", "--model", "stories260k", "--tokens", "8"]
ARRAY_64 = ["--set", "machine.tensor.rows=64", "--set", "machine.sbuf.partitions=64",
            "--set", "machine.tensor.cols=64"]
VARIANTS = ["shard_on_block", "shard_on_i", "shard_on_i_hybrid", "shard_on_i_dropping",
            "shard_on_block_mx", "shard_on_i_mx", "shard_on_i_mx_hybrid"]
# Keys and the variants that read them; the others read every other key.
KEYS = {
    "block_sharding_strategy=hi_lo": [0],
    "num_static_block=0": [2, 6],
    "capacity_factor=2": [3],
    "expert_affinity_multiply_on_I=true": [1, 2, 3],
    "n_static_blocks=0": [4],
    "n_dynamic_blocks=0": [4],
    "dynamic_prefetch=true": [4],
    "integer_carriers=true": [4, 5, 6],
    "checkpoint_activation=true": [1],
}


def bwmm(*arguments):
    return subprocess.run([BWMM, *arguments], capture_output=True, text=True, timeout=300,
                          check=False)


class Options(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def refused(self, arguments, *parts):
        result = bwmm(*arguments)
        self.assertEqual(result.returncode, 2, result.stderr + result.stdout)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)

    def report(self, *arguments):
        path = self.folder / "report.json"
        result = bwmm(*arguments, "--json", str(path))
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        return json.loads(path.read_text(encoding="utf-8"))

    def routing(self):
        path = self.folder / "routing.csv"
        path.write_text("token,slot,expert,weight\n0,0,1,1\n1,0,2,1\n", encoding="utf-8")
        return str(path)

    # Keys of other variants

    def test_rejects_kernel_keys_of_other_variants(self):
        for setting, readers in KEYS.items():
            for number, variant in enumerate(VARIANTS):
                arguments = [*SMALL, "--fidelity", "timing", "--variant", variant,
                             "--set", "kernel." + setting]
                with self.subTest(setting=setting, variant=variant):
                    if number in readers:
                        self.report(*arguments)
                    else:
                        self.refused(arguments, "kernel." + setting.split("=")[0], variant,
                                     *[VARIANTS[reader] for reader in readers])

    def test_rejects_a_block_size_where_the_capacity_is_one(self):
        self.refused([*SMALL, "--variant", "shard_on_i_dropping", "--block-size", "256"],
                     "--block-size 256", "shard_on_i_dropping", "capacity_factor")

    def test_rejects_weights_a_variant_would_convert(self):
        self.refused([*SMALL, "--variant", "shard_on_block", "--set", "model.weights=mxfp4"],
                     "model.weights=mxfp4", "shard_on_block", "bf16, fp8")
        self.refused([*SMALL, "--variant", "shard_on_i_mx", "--set", "model.weights=fp8"],
                     "model.weights=fp8", "shard_on_i_mx", "mxfp4, mxfp8_e4m3, mxfp8_e5m2")

    # Settings without effect beside other options

    def test_rejects_router_settings_beside_a_routing_file(self):
        run = ["run", "--model", "stories260k", "--tokens", "2", "--routing", self.routing()]
        for setting in ("router=sigmoid", "router_scale=2", "router_groups=1",
                        "router_groups_kept=1", "routing_sigma=1"):
            self.refused([*run, "--set", "model." + setting], "model." + setting, "--routing")

    def test_rejects_data_settings_in_timing(self):
        for setting in ("weights_file=w.bin", "hidden_file=h.npy"):
            self.refused([*SMALL, "--fidelity", "timing", "--set", "model." + setting],
                         "model." + setting, "timing", "rtl, fast")

    def test_rejects_a_seed_of_nothing(self):
        run = ["run", "--model", "stories260k", "--tokens", "2", "--routing", self.routing()]
        self.refused([*run, "--fidelity", "timing", "--seed", "3"], "--seed 3")
        # The same with tensors drawn from it is a run.
        self.assertNotEqual(self.report(*run, "--seed", "3")["checksum"],
                            self.report(*run, "--seed", "4")["checksum"])

    def test_rejects_a_seed_where_every_tensor_is_given(self):
        operand = str(self.folder / "operand.npy")
        self.report("matmul", "--n", "128", "--psum-dtype", "bfloat16", "--output", operand)
        both = ["matmul", "--n", "128", "--stationary", operand, "--moving", operand]
        self.report(*both)
        self.refused([*both, "--seed", "3"], "matmul: --seed 3: changes nothing")
        self.report(*both[:-2], "--seed", "3")
        self.refused(["run", "--workload", "activation", "--rows", "128", "--columns", "128",
                      "--input", operand, "--seed", "4"], "run: --seed 4: changes nothing")
        self.refused(["quantize", "--fidelity", "timing", "--seed", "1"], "--seed 1")

    def test_rejects_tensors_in_timing(self):
        for run in (["matmul", "--stationary", "s.npy"], ["matmul", "--moving", "s.npy"],
                    ["quantize", "--input", "s.npy"],
                    ["run", "--workload", "activation", "--input", "s.npy"]):
            self.refused([*run, "--fidelity", "timing"], "s.npy: timing has no tensor data")

    def test_rejects_times_without_time(self):
        self.refused([*SMALL, "--sequential", "--set", "machine.dma.start_ns=900"],
                     "machine.dma.start_ns=900", "--sequential")
        self.report(*SMALL, "--sequential", "--set", "machine.sbuf.bytes=200000")

    def test_rejects_with_the_name_of_the_subcommand(self):
        self.refused([*SMALL, "--block-size", "129"], "bwmm: run: ")
        self.refused(["matmul", "--k", "0"], "bwmm: matmul: ")
        self.refused(["quantize", "--columns", "1"], "bwmm: quantize: ")
        self.refused(["list", "kernels"], "bwmm: list: ")

    def test_rejects_an_option_where_a_value_belongs(self):
        self.refused([*SMALL, "--json", "--sequential"], "--json: --sequential, allowed a value")
        self.refused(["run", "--json", "--workload=matmul"], "--workload=matmul, allowed a value")
        self.assertFalse(Path("--sequential").exists())

    def test_rejects_a_flag_with_a_value_that_is_no_boolean(self):
        for command, flag in (([*SMALL], "--sequential"), (["matmul", "--k", "8"], "--unchecked")):
            for value in ("7", "-1", "1", "on", "maybe", "TRUE", "{}", " true"):
                self.refused([*command, f"{flag}={value}"], f"{command[0]}: {flag}: {value}, "
                             "allowed true or false")
            self.refused([*command, flag + "="], f"{flag}: empty, allowed true or false")
        for words in (["--version=7"], ["--help="], ["run", "--help=true"], ["list", "--help=0"]):
            self.refused(words, "allowed no value")
        self.assertEqual(self.report(*SMALL, "--sequential=true")["fidelity"], "sequential")
        self.assertEqual(self.report(*SMALL, "--sequential=false")["fidelity"], "fast")

    # Words

    def test_rejects_a_word_that_is_none_with_those_there_are(self):
        self.refused([], "no command, allowed run, ", "matmul", "rerun")
        self.refused(["nonsense"], "nonsense: no such command, allowed run, ", "matmul", "rerun")
        self.refused([*SMALL, "--toknes", "3"], "run: --toknes: no such option", "bwmm run --help")
        self.refused(["matmul", "128", "64"], "matmul: 128: no such argument")
        self.refused(["--nonsense"], "--nonsense: no such option", "bwmm --help")

    # Names and defaults

    def test_a_variant_has_a_number(self):
        report = self.report(*SMALL, "--variant", "4", "--fidelity", "timing")
        self.assertEqual(report["variant"], "shard_on_block_mx")
        self.refused([*SMALL, "--variant", "7"], "7", "a number from 0 to 6")

    def test_every_listed_model_runs_by_default(self):
        lines = bwmm("list", "models").stdout.splitlines()
        self.assertGreater(len(lines), 7)
        for line in lines[1:-1]:
            words = line.split()
            with self.subTest(model=words[0]):
                report = self.report("run", "--model", words[0], "--tokens", "2",
                                     "--fidelity", "timing")
                variant = report["variant"]
                self.assertEqual(variant, words[7].rstrip("*"))
                numbers = {word.rstrip("*") for word in words[8:]}
                self.assertIn(str(VARIANTS.index(variant)), numbers)

    def test_the_list_of_models_says_what_runs(self):
        for line in bwmm("list", "models").stdout.splitlines()[1:-1]:
            words = line.split()
            for number in range(7):
                size = "128" if f"{number}*" in words[8:] else "256"
                arguments = ["run", "--model", words[0], "--tokens", "1", "--fidelity", "timing",
                             "--variant", str(number)]
                if number != 3:
                    arguments += ["--block-size", size]
                with self.subTest(model=words[0], variant=number):
                    if f"{number}" in words[8:] or f"{number}*" in words[8:]:
                        self.report(*arguments)
                    else:
                        self.refused(arguments, "does not fit")

    def test_a_given_block_size_is_kept(self):
        self.refused(["run", "--model", "deepseek-v3", "--tokens", "2", "--fidelity", "timing",
                      "--block-size", "256"], "does not fit")

    # Machines

    def test_settings_of_a_machine_are_checked_together(self):
        self.report("matmul", "--k", "64", "--m", "64", *ARRAY_64)
        self.report("matmul", "--dtype", "float8_e4m3fn_x4", "--k", "256", "--m", "64", *ARRAY_64)
        self.report("quantize", "--partitions", "64", *ARRAY_64)
        self.refused(["matmul", "--set", "machine.tensor.rows=64"], "machine.tensor.rows: 64",
                     "machine.sbuf.partitions")

    def test_rejects_what_a_small_array_does_not_hold(self):
        self.refused(["matmul", "--k", "64", "--m", "128", *ARRAY_64], "128", "64")
        self.refused([*SMALL, *ARRAY_64], "128 partitions", "64 x 64", "matmul and quantize")
        if RTL:
            self.refused(["matmul", "--k", "64", "--m", "64", "--fidelity", "rtl", *ARRAY_64],
                         "64x64", "128x128 and 32x64", "fast and timing")

    def test_the_other_array_of_the_rtl_has_the_same_answer(self):
        if not RTL:
            return
        run = ["matmul", "--k", "32", "--m", "32", "--n", "70", "--set", "machine.tensor.rows=32",
               "--set", "machine.sbuf.partitions=32", "--set", "machine.tensor.cols=64"]
        fast = self.report(*run)
        rtl = self.report(*run, "--fidelity", "rtl")
        self.assertEqual((rtl["checksum"], rtl["cycles"]), (fast["checksum"], fast["cycles"]))

    def test_four_banks_of_psum_run_layers(self):
        for variant in ("shard_on_block", "shard_on_i_mx"):
            self.assertTrue(self.report(*SMALL, "--variant", variant, "--set",
                                        "machine.psum.banks=4")["error"]["pass"])
        self.refused([*SMALL, "--variant", "shard_on_block", "--set", "machine.psum.banks=2"],
                     "it fits with machine.psum.banks=3")


if __name__ == "__main__":
    unittest.main()
