#!/usr/bin/python3
"""Bad input: exit code 2, nothing on stdout, one line on stderr that names the thing, its value
and what is allowed, and no file left behind.

Usage: bad_input_test.py path/to/bwmm
"""

import os
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy

BWMM = sys.argv.pop(1)
SMALL = ["--model", "stories260k", "--tokens", "8"]


class BadInput(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def refused(self, arguments, *parts):
        result = subprocess.run(
            [BWMM, *arguments], capture_output=True, text=True, timeout=120, check=False
        )
        self.assertEqual(result.returncode, 2, result.stderr + result.stdout)
        self.assertEqual(result.stdout, "")
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        for part in parts:
            self.assertIn(part, lines[0])

    def write(self, name, data):
        path = self.folder / name
        if isinstance(data, bytes):
            path.write_bytes(data)
        else:
            path.write_text(data, encoding="utf-8")
        return str(path)

    def routing(self, *lines):
        return self.write("routing.csv", "\n".join(["token,slot,expert,weight", *lines]) + "\n")

    # The command line

    def test_no_subcommand(self):
        self.refused([], "no command, allowed run")

    def test_unknown_option(self):
        self.refused(["run", "--model", "stories260k", "--tokenz", "3"], "--tokenz")

    def test_unknown_variant(self):
        self.refused(["run", *SMALL, "--variant", "shard_on_j"], "shard_on_j", "shard_on_i_mx")

    def test_unknown_model(self):
        self.refused(["run", "--model", "gpt-9"], "gpt-9", "gpt-oss-20b", "mixtral-8x7b")

    def test_neither_model_nor_config(self):
        self.refused(["run"], "--model", "--config")

    def test_unknown_fidelity(self):
        self.refused(["run", *SMALL, "--fidelity", "exact"], "exact", "rtl, fast, timing")

    def test_unknown_machine(self):
        self.refused(["run", *SMALL, "--machine", "trn9"], "trn9", "trn3")

    def test_unknown_settings(self):
        self.refused(["run", *SMALL, "--set", "model.hiden=3"], "model.hiden", "model.", "hidden")
        self.refused(["run", *SMALL, "--set", "machine.clock.tensor=3"], "machine.clock.tensor")
        self.refused(["run", *SMALL, "--set", "tokens=3"], "tokens=3", "model.", "machine.")
        self.refused(["run", *SMALL, "--set", "model.hidden"], "model.hidden", "key=value")

    def test_settings_out_of_range(self):
        self.refused(["run", *SMALL, "--set", "model.experts=0"], "experts", "0")
        self.refused(["run", *SMALL, "--set", "machine.dma.engines=0"], "engines", "0")

    def test_rows_that_would_overwrite_each_other(self):
        self.refused(["run", *SMALL, "--set", "kernel.is_tensor_update_accumulating=false"],
                     "is_tensor_update_accumulating", "top_k is 2", "allowed 1")

    def test_tokens_zero_or_negative(self):
        for tokens in ("0", "-5"):
            self.refused(["run", "--model", "stories260k", "--tokens", tokens], "tokens", tokens)

    def test_top_k_above_experts(self):
        self.refused(["run", *SMALL, "--set", "model.top_k=6"], "top_k", "6", "5")

    def test_list_of_something_else(self):
        self.refused(["list", "kernels"], "bwmm: list: kernels, allowed", "models")

    def test_wave_needs_rtl(self):
        path = self.folder / "out.fst"
        self.refused(["run", *SMALL, "--wave", str(path)], "--wave", "rtl")
        self.assertFalse(path.exists())

    def test_probe_and_window_that_are_none(self):
        wave = str(self.folder / "out.fst")
        traced = ["matmul", "--fidelity", "rtl", "--wave", wave]
        self.refused([*traced, "--probe", "128,0"], "--probe", "128,0", "127,127")
        self.refused([*traced, "--probe", "x"], "--probe", "x")
        self.refused([*traced, "--wave-window", "9:3"], "--wave-window", "9:3", "from:to")
        self.assertFalse(Path(wave).exists())

    def test_rejects_empty_values(self):
        # What --routing "$UNSET" says.
        for option in ("--variant", "--routing", "--check", "--fidelity", "--machine", "--set",
                       "--output", "--json", "--listing", "--dump-tile", "--wave", "--probe",
                       "--wave-window"):
            self.refused(["run", *SMALL, option, ""], "run: " + option, "empty")
        self.refused(["run", "--model", ""], "--model: empty")
        self.refused(["run", "--config", ""], "--config: empty")
        for option in ("--stationary", "--moving", "--stationary-dtype", "--moving-scales"):
            self.refused(["matmul", option, ""], "matmul: " + option, "empty")
        self.refused(["quantize", "--input", ""], "quantize: --input", "empty")
        for command in ("list", "rerun", "replay"):
            self.refused([command, ""], command, "empty")

    def test_rejects_numbers_that_are_none(self):
        for value in ("", "a", "1.5", "1e3", "0x10", "010x", " 8", "8 ", "+8", "nan",
                      "2147483648", "99999999999999999999"):
            for command, options in (("run", ("--tokens", "--block-size")),
                                     ("matmul", ("--k", "--m", "--n")),
                                     ("quantize", ("--partitions", "--columns"))):
                for option in options:
                    self.refused([command, option, value], f"{option}: {value}, allowed an "
                                 "integer from ", " to 2147483647")
        for value in ("0", "-0", "-5"):
            for option in ("--tokens", "--block-size"):
                self.refused(["run", "--model", "stories260k", option, value],
                             f"{option}: {value}, allowed an integer from 1 to ")

    def test_rejects_a_machine_that_is_a_pipe(self):
        pipe = str(self.folder / "machine.toml")
        os.mkfifo(pipe)
        self.refused(["run", *SMALL, "--machine", pipe], pipe, "trn3", "readable TOML file")

    def test_rejects_a_run_for_which_memory_does_not_suffice(self):
        # Whatever asks for the memory that is not there; stacks of coroutines come last.
        refused = ran = 0
        for mebibytes in range(60, 400, 2):
            limit = (mebibytes << 20, resource.RLIM_INFINITY)
            result = subprocess.run(
                [BWMM, "run", *SMALL, "--fidelity", "timing"], capture_output=True, text=True,
                timeout=120, check=False,
                preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_AS, limit))
            if result.returncode == 0:
                ran += 1
                if ran == 3:
                    break
                continue
            if "AddressSanitizer" in result.stderr:
                self.skipTest("a sanitizer needs more address space than the limits leave")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("host memory: not enough", result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1)
            refused += 1
        self.assertGreater(refused, 3)
        self.assertEqual(ran, 3)

    # What the machine cannot do

    def test_mx_on_trn2(self):
        self.refused(["run", *SMALL, "--machine", "trn2"], "MX needs generation 4 (trn3)")
        self.refused(["quantize", "--machine", "trn2"], "generation 4 (trn3)")
        self.refused(["matmul", "--machine", "trn2", "--dtype", "float8_e4m3fn_x4"],
                     "generation 4 (trn3)")

    def test_shape_that_does_not_fit_sbuf_prints_the_live_buffers(self):
        self.refused(
            ["run", "--model", "mixtral-8x7b", "--variant", "shard_on_i_mx", "--tokens", "8"],
            "sbuf", "does not fit", "live:", "hidden_x4", "it fits with",
            "intermediate up to")

    # Routing files

    def run_routing(self, *lines):
        return ["run", "--model", "stories260k", "--tokens", "2", "--routing",
                self.routing(*lines)]

    def test_expert_id_out_of_range(self):
        self.refused(self.run_routing("0,0,1,0.5", "1,0,5,0.5"), "routing.csv:3", "5")
        self.refused(self.run_routing("0,0,-2,0.5", "1,0,0,0.5"), "routing.csv:2", "-2")

    def test_routing_weight_that_is_no_number(self):
        self.refused(self.run_routing("0,0,1,nan", "1,0,0,0.5"), "routing.csv:2", "nan")
        self.refused(self.run_routing("0,0,1,inf", "1,0,0,0.5"), "routing.csv:2", "inf")
        self.refused(self.run_routing("0,0,1,lots", "1,0,0,0.5"), "routing.csv:2", "lots")

    def test_too_few_tokens_in_a_routing_file(self):
        self.refused(self.run_routing("0,0,1,0.5"), "1", "2")

    def test_another_trace_runs_after_the_script_its_refusal_names(self):
        trace = self.write("trace.jsonl", '{"topk_ids": [[3, 1], [0, 4]]}\n')
        run = ["run", "--model", "stories260k", "--tokens", "2", "--routing"]
        script = "sim_scripts/convert_routing.py"
        self.refused([*run, trace], "trace.jsonl:1", "no column 'token'", script)
        routing = str(self.folder / "routing.csv")
        root = Path(__file__).resolve().parents[2]
        subprocess.run([sys.executable, root / script, trace, "--output", routing], check=True,
                       capture_output=True)
        result = subprocess.run([BWMM, *run, routing], capture_output=True, text=True,
                                timeout=120, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_missing_files(self):
        gone = str(self.folder / "gone")
        self.refused(["run", *SMALL, "--routing", gone + ".csv"], "gone.csv")
        self.refused(["run", "--config", gone + ".toml"], "gone.toml")
        self.refused(["run", *SMALL, "--machine", gone + ".toml"], "gone.toml")
        self.refused(["matmul", "--stationary", gone + ".npy"], "gone.npy")

    # Tensor files

    def npy(self, name, array):
        path = self.folder / name
        numpy.save(path, array)
        return path

    def test_truncated_tensor_file(self):
        path = self.npy("s.npy", numpy.zeros((128, 128), numpy.float32))
        path.write_bytes(path.read_bytes()[:-7])
        self.refused(["matmul", "--stationary", str(path)], "s.npy")

    def test_tensor_file_of_a_wrong_dtype(self):
        path = self.npy("s.npy", numpy.zeros((128, 128), numpy.complex64))
        self.refused(["matmul", "--stationary", str(path)], "s.npy", "c8")
        path = self.npy("i.npy", numpy.zeros((128, 128), numpy.int32))
        self.refused(["matmul", "--stationary", str(path)], "i.npy", "int32")

    def test_tensor_file_of_a_wrong_shape(self):
        path = self.npy("s.npy", numpy.zeros((128, 64), numpy.float32))
        self.refused(["matmul", "--stationary", str(path)], "s.npy", "[128, 64]", "[128, 128]")

    def test_matmul_sizes(self):
        self.refused(["matmul", "--k", "4097"], "--k", "4097", "4096")
        self.refused(["matmul", "--m", "0"], "--m", "0")
        self.refused(["matmul", "--n", "5000"], "--n", "5000", "4096")
        self.refused(["matmul", "--dtype", "int8"], "int8", "bfloat16")

    def test_mx_matmul_sizes(self):
        mx = ["matmul", "--dtype", "float8_e4m3fn_x4"]
        # A quadrant of 32 partitions holds 128 rows, four to a word; 32 passes take 16384.
        for k in ("32", "160", "16512"):
            self.refused([*mx, "--k", k], f"--k: {k}", "128 to 16384 in steps of 128")
        self.refused([*mx, "--m", "3"], "--m: 3", "2 to 128 in steps of 2")

    def test_quantize_sizes(self):
        for partitions in ("0", "33", "160"):
            self.refused(["quantize", "--partitions", partitions], f"--partitions: {partitions}",
                         "32 to 128 in steps of 32")
        for columns in ("0", "6", "16388"):
            self.refused(["quantize", "--columns", columns], f"--columns: {columns}",
                         "4 to 16384 in steps of 4")
        self.refused(["quantize", "--rule", "floor"], "floor", "x2, ocp")

    # Outputs

    def test_outputs_that_cannot_be_written(self):
        missing = str(self.folder / "no" / "such" / "out")
        tiny = ["matmul", "--k", "8", "--m", "8", "--n", "8"]
        for option, name in [("--json", missing + ".json"), ("--listing", missing + ".txt"),
                             ("--output", missing + ".npy"), ("--json", str(self.folder))]:
            self.refused([*tiny, option, name], name, "cannot be written")
        self.refused(["run", *SMALL, "--output", missing + ".npy"], "cannot be written")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_two_outputs_in_one_file(self):
        path = str(self.folder / "same.npy")
        self.refused(["quantize", "--output", path, "--scales", path], "same.npy", "--output")
        self.refused(["run", *SMALL, "--json", path, "--listing", path], "same.npy", "--json")

    def test_standard_output_that_is_full(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([BWMM, "list", "models"], stdout=full, stderr=subprocess.PIPE,
                                    text=True, timeout=120, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("standard output", result.stderr)

    # Options and settings without effect

    def test_options_without_effect(self):
        out = str(self.folder / "out.npy")
        run = ["run", *SMALL]
        for probe in ("1,1", "0,0"):
            self.refused([*run, "--probe", probe], f"--probe {probe}: needs --wave")
        self.refused([*run, "--wave-window", "1:2"], "--wave-window", "--wave")
        self.refused([*run, "--fidelity", "timing", "--output", out], "--output", "timing")
        self.refused([*run, "--fidelity", "timing", "--check", "on"], "--check", "timing")
        self.refused([*run, "--sequential", "--fidelity", "timing"], "timing", "--sequential")
        self.refused([*run, "--sequential", "--listing", out], "--listing", "--sequential")
        self.refused(["matmul", "--fidelity", "timing", "--output", out], "--output", "timing")

    def test_settings_of_a_layer_without_one(self):
        self.refused(["matmul", "--set", "model.hidden=5"], "model.hidden=5", "machine.")
        self.refused(["quantize", "--set", "speed=5"], "speed=5", "machine.")

    def test_seeds_out_of_range(self):
        for seed in ["-1", "18446744073709551616", "0x10", "1.5"]:
            self.refused(["matmul", "--seed", seed], "--seed", seed, "18446744073709551615")

    def test_machine_that_is_a_folder(self):
        self.refused(["run", *SMALL, "--machine", str(self.folder)], str(self.folder), "trn3")

    def test_machine_file_with_a_base_that_is_no_text(self):
        path = self.write("machine.toml", "base = 3\n")
        self.refused(["run", *SMALL, "--machine", path], "base", "trn3, trn2, trn1")

    def test_a_router_scale_beyond_fp32(self):
        for scale in ["1e300", "1e-300"]:
            setting = "model.router_scale=" + scale
            self.refused(["run", *SMALL, "--set", setting], "router_scale", "1e-30 to 1e+30")

    def test_a_line_break_in_a_value(self):
        self.refused(["run", "--model", "gpt\n9"], "gpt?9")

    def test_more_tokens_than_memory(self):
        self.refused(["run", "--model", "stories260k", "--tokens", "2147483647"], "2147483647")

    def test_overwriting_with_several_experts_per_token(self):
        setting = "kernel.is_tensor_update_accumulating=false"
        self.refused(["run", *SMALL, "--set", setting], "is_tensor_update_accumulating", "top_k")


if __name__ == "__main__":
    unittest.main()
