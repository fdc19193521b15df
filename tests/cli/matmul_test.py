#!/usr/bin/python3
"""One operation with given tensors: types, words, overflow, and a tile of a layer replayed.

Usage: matmul_test.py path/to/bwmm [rtl]
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy

BWMM = sys.argv.pop(1)
RTL = len(sys.argv) > 1 and sys.argv.pop(1) == "rtl"
FIDELITIES = ("fast", "rtl") if RTL else ("fast",)
ROUTING = Path(__file__).parents[2] / "examples/stories260k/routing.csv"
STORIES = ["run", "--model", "stories260k", "--tokens", "32", "--routing", str(ROUTING)]
# H beyond one MX pass, so that a second one accumulates.
TWO_PASSES = """[model]
name = "two_passes"
hidden = 1024
intermediate = 1024
experts = 2
top_k = 1
weights = "mxfp8_e4m3"
"""
FP4, FP8 = "float4_e2m1fn_x4", "float8_e4m3fn_x4"
MAGNITUDES = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
E2M1 = numpy.array(MAGNITUDES + [-value for value in MAGNITUDES])
BYTES = numpy.arange(256)
# Its NaN are no part of any test.
E4M3FN = (numpy.where(BYTES & 128, -1.0, 1.0)
          * numpy.where(BYTES & 120, 1 + (BYTES & 7) / 8, (BYTES & 7) / 4)
          * 2.0 ** ((BYTES >> 3 & 15) - 7))


def bwmm(arguments):
    return subprocess.run([BWMM, *arguments], capture_output=True, text=True, timeout=300,
                          check=False)


def to_bf16(values):
    """Bits of the nearest bf16, ties to even."""
    bits = numpy.asarray(values, numpy.float32).view(numpy.uint32).astype(numpy.uint64)
    return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(numpy.uint16)


def of_bf16(bits):
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32).astype(float)


def decode_x4(dtype, words, scales):
    """[rows, 4, C]: the lanes of every word, the lowest bits first."""
    width, table = (4, E2M1) if dtype == FP4 else (8, E4M3FN)
    lanes = [table[words >> numpy.array(width * q, words.dtype) & (2**width - 1)] for q in range(4)]
    factors = 2.0 ** (numpy.repeat(scales.astype(int), 8, axis=0) - 127)
    return numpy.stack(lanes, axis=1) * factors[:, None]


def random_x4(rng, dtype, k, columns):
    """Words and scales whose sums are exact in fp32: below 2^17 in steps of 2^-6."""
    codes = rng.integers(0, 16, (4, k // 4, columns))
    if dtype == FP8:
        codes = rng.integers(40, 80, (4, k // 4, columns)) | rng.integers(0, 2, codes.shape) << 7
    width, carrier = (4, numpy.uint16) if dtype == FP4 else (8, numpy.uint32)
    words = sum(codes[q].astype(carrier) << carrier(width * q) for q in range(4)).astype(carrier)
    return words, rng.integers(127, 129, (k // 32, columns)).astype(numpy.uint8)


class MatmulCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.out = self.folder / "out.npy"

    def save(self, name, array):
        numpy.save(self.folder / name, array)
        return str(self.folder / name)

    def run_ok(self, *arguments):
        result = bwmm(arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        return result.stdout

    def refused(self, arguments, *parts):
        result = bwmm(arguments)
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)

    def product(self, shape, *arguments):
        sizes = [text for name, size in zip("kmn", shape) for text in (f"--{name}", str(size))]
        self.run_ok("matmul", *sizes, *arguments, "--output", str(self.out))
        return numpy.load(self.out)


class Words(MatmulCase):
    def given(self, left, right, k, *arguments):
        """The product of random words, and the decoded operands."""
        rng = numpy.random.default_rng(k)
        values, options = [], []
        for name, dtype, columns in (("stationary", left, 6), ("moving", right, 10)):
            words, scales = random_x4(rng, dtype, k, columns)
            values.append(decode_x4(dtype, words, scales))
            options += [f"--{name}-dtype", dtype,
                        f"--{name}", self.save(f"{name}.npy", words) + ":" + dtype,
                        f"--{name}-scales", self.save(f"{name}_scales.npy", scales)]
        return self.product((k, 6, 10), *options, *arguments), *values

    def test_fp4_words_with_scales_give_the_product_of_their_values(self):
        for k in (128, 512, 1152):
            out, w, x = self.given(FP4, FP4, k)
            numpy.testing.assert_array_equal(out, numpy.einsum("pqm,pqn->mn", w, x))

    def test_formats_may_differ_between_the_operands(self):
        for left, right in ((FP4, FP8), (FP8, FP4)):
            out, w, x = self.given(left, right, 640)
            numpy.testing.assert_array_equal(out, numpy.einsum("pqm,pqn->mn", w, x))

    def test_a_bf16_psum_is_rounded_after_every_pass(self):
        out, w, x = self.given(FP8, FP8, 640, "--psum-dtype", "bfloat16")
        first, second = (numpy.einsum("pqm,pqn->mn", w[rows], x[rows])
                         for rows in (slice(0, 128), slice(128, 160)))
        numpy.testing.assert_array_equal(out, to_bf16(of_bf16(to_bf16(first)) + second))
        self.assertTrue(numpy.any(out != to_bf16(first + second)))

    def test_every_fidelity_has_the_same_checksum(self):
        report = self.folder / "report.json"
        for arguments in (["--stationary-dtype", FP4, "--moving-dtype", FP8, "--k", "640"],
                          ["--moving-dtype", "float8_e5m2", "--k", "300"],
                          ["--dtype", "float32", "--k", "150"]):
            sums = set()
            for fidelity in FIDELITIES:
                self.run_ok("matmul", "--m", "8", "--n", "40", *arguments, "--fidelity", fidelity,
                            "--json", str(report))
                sums.add(json.loads(report.read_text(encoding="utf-8"))["checksum"])
            self.assertEqual(len(sums), 1, arguments)


class Files(MatmulCase):
    def test_bf16_bits_in_integers_are_read_as_bf16(self):
        rng = numpy.random.default_rng(1)
        w, x = (rng.integers(-9, 9, (150, columns)).astype(float) for columns in (3, 5))
        stationary = self.save("w.npy", to_bf16(w))
        self.assertEqual(numpy.load(stationary).dtype.str, "<u2")
        out = self.product((150, 3, 5), "--stationary", stationary + ":bfloat16", "--moving",
                           self.save("x.npy", to_bf16(x)) + ":bfloat16")
        self.assertEqual((out.dtype, out.shape), (numpy.float32, (3, 5)))
        numpy.testing.assert_array_equal(out, w.T @ x)

    def test_float32_keeps_all_24_bits_of_its_operands(self):
        rng = numpy.random.default_rng(3)
        # One column of x picks a row of w, whose significands fill 24 bits.
        w = rng.integers(2**23, 2**24, (150, 3)).astype(numpy.float32)
        x = numpy.zeros((150, 5), numpy.float32)
        x[rng.integers(0, 150, 5), range(5)] = 1
        out = self.product((150, 3, 5), "--dtype", "float32", "--stationary",
                           self.save("w.npy", w), "--moving", self.save("x.npy", x))
        numpy.testing.assert_array_equal(out, w.T @ x)
        self.refused(["matmul", "--dtype", "float32", "--moving-dtype", "bfloat16"],
                     "--moving-dtype: bfloat16, allowed float32 beside float32")

    def test_quantised_words_read_back_and_feed_a_matmul(self):
        source = numpy.random.default_rng(2).integers(-8, 9, (32, 24)).astype(numpy.float32)
        words, scales = str(self.folder / "words.npy"), str(self.folder / "scales.npy")
        self.run_ok("quantize", "--partitions", "32", "--columns", "24", "--input",
                    self.save("source.npy", source), "--output", words, "--scales", scales)
        values = decode_x4(FP8, numpy.load(words), numpy.load(scales))
        # Four columns of the source make a word; small integers are exact in fp8.
        numpy.testing.assert_array_equal(values, source.reshape(32, 6, 4).transpose(0, 2, 1))
        typed = words + ":" + FP8
        out = self.product((128, 6, 6), "--dtype", FP8, "--stationary", typed,
                           "--stationary-scales", scales, "--moving", typed, "--moving-scales",
                           scales)
        numpy.testing.assert_array_equal(out, numpy.einsum("pqm,pqn->mn", values, values))

    def test_rejects_an_input_as_output(self):
        words, scales = random_x4(numpy.random.default_rng(3), FP4, 128, 2)
        w, s = self.save("w.npy", words), self.save("s.npy", scales)
        given = ["matmul", "--dtype", FP4, "--k", "128", "--m", "2", "--n", "2", "--stationary",
                 w + ":" + FP4, "--stationary-scales", s, "--moving", w, "--moving-scales", s]
        link = self.folder / "link.npy"
        link.symlink_to("s.npy")
        for path, option in ((w, "--stationary"), (s, "--stationary-scales"),
                             (link, "--stationary-scales")):
            self.refused([*given, "--output", str(path)], "--output", option, "same file")
        for option in ("--output", "--scales"):
            self.refused(["quantize", "--input", w + ":bfloat16", option, w], option, "--input")
        numpy.testing.assert_array_equal(numpy.load(w), words)
        numpy.testing.assert_array_equal(numpy.load(s), scales)


class Judge(MatmulCase):
    def test_a_sum_that_overflows_on_the_documented_path_passes(self):
        w = self.save("w.npy", numpy.array([[0x7F7F], [0x7F7F], [0xFF7F]], numpy.uint16))
        x = self.save("x.npy", numpy.full((3, 1), 0x3F80, numpy.uint16))
        for fidelity in FIDELITIES:
            text = self.run_ok("matmul", "--k", "3", "--m", "1", "--n", "1", "--stationary",
                               w + ":bfloat16", "--moving", x + ":bfloat16", "--output",
                               str(self.out), "--fidelity", fidelity)
            self.assertTrue(numpy.isposinf(numpy.load(self.out)[0, 0]))
            self.assertRegex(text, "error +inside")
            self.assertNotRegex(text, r"e\+\d\d|\d{15}|\bnan\b")

    def test_nothing_but_nan_fails(self):
        w = self.save("w.npy", numpy.full((3, 1), numpy.nan, numpy.float32))
        result = bwmm(["matmul", "--k", "3", "--m", "1", "--n", "1", "--stationary", w])
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("NOT COMPARED", result.stdout)


class Tile(MatmulCase):
    def find(self, core, run, mode, accumulate, opcode="multiply_moving"):
        """The id of the first such instruction of a core."""
        listing = self.folder / "listing.txt"
        self.run_ok(*run, "--listing", str(listing))
        lines = [line for line in listing.read_text(encoding="utf-8").splitlines()
                 if f" core{core} tensor {opcode} " in line and f"mode={mode} " in line
                 and line.endswith(accumulate)]
        self.assertTrue(lines)
        return int(lines[0].split()[0])

    def check_replay(self, core, run, number, passes, dtype):
        tile = self.folder / "a tile"
        self.run_ok(*run, "--dump-tile", f"{core},{number},{tile}")
        psum, replayed = tile / "psum.npy", tile / "replayed.npy"
        text = (tile / "replay.sh").read_text(encoding="utf-8")
        self.assertIn(f"Core {core}, instruction {number}: {passes} passes", text)
        self.assertGreater(numpy.count_nonzero(numpy.load(psum)), 0)
        self.assertEqual(numpy.load(psum).dtype, dtype)
        for fidelity in FIDELITIES:
            replayed.unlink(missing_ok=True)
            result = subprocess.run(["sh", str(tile / "replay.sh"), "--fidelity", fidelity],
                                    capture_output=True, text=True, timeout=300, check=False,
                                    env={**os.environ, "BWMM": BWMM})
            self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
            self.assertIn("the same bits", result.stdout)
            self.assertEqual(replayed.read_bytes(), psum.read_bytes())

    def test_an_mx_tile_of_several_passes_replays_to_the_same_bits(self):
        config = self.folder / "layer.toml"
        config.write_text(TWO_PASSES, encoding="utf-8")
        run = ["run", "--config", str(config), "--tokens", "8", "--variant", "shard_on_i_mx"]
        number = self.find(1, run, "mx", "accumulate=true")
        self.check_replay(1, run, number, 2, numpy.uint16)

    def test_an_mx_tile_of_one_pass_replays_to_the_same_bits(self):
        run = [*STORIES, "--variant", "shard_on_i_mx"]
        # Core 1 has nothing but padding of this layer's I.
        number = self.find(0, run, "mx", "accumulate=false")
        self.check_replay(0, run, number, 1, numpy.uint16)

    def test_an_ordinary_tile_of_several_passes_replays_to_the_same_bits(self):
        run = [*STORIES, "--variant", "shard_on_i"]
        number = self.find(1, run, "ordinary", "accumulate=true")
        self.check_replay(1, run, number, 2, numpy.float32)

    def test_a_tile_goes_where_its_folder_leads(self):
        run = [*STORIES, "--variant", "shard_on_i_mx"]
        number = self.find(0, run, "mx", "accumulate=false")
        link = self.folder / "link"
        link.symlink_to("behind")
        for name, place in (("slash/", "slash"), ("link", "behind"), ("link/", "behind")):
            self.run_ok(*run, "--dump-tile", f"0,{number},{self.folder}/{name}")
            self.assertTrue((self.folder / place / "replay.sh").is_file())
        self.assertTrue(link.is_symlink())

    def test_a_file_with_the_name_of_a_preset_is_no_machine_of_the_tile(self):
        run = [*STORIES, "--variant", "shard_on_i_mx"]
        number = self.find(0, run, "mx", "accumulate=false")
        (self.folder / "trn3").write_text("no machine", encoding="utf-8")
        subprocess.run([BWMM, *run, "--machine", "trn3", "--dump-tile", f"0,{number},tile"],
                       cwd=self.folder, check=True, capture_output=True, timeout=300)
        text = (self.folder / "tile" / "replay.sh").read_text(encoding="utf-8")
        self.assertIn("--machine 'trn3'", text)

    def test_a_replay_that_fails_finds_no_result_of_an_earlier_one(self):
        run, tile = [*STORIES, "--variant", "shard_on_i_mx"], self.folder / "tile"
        self.run_ok(*run, "--dump-tile", f"0,{self.find(0, run, 'mx', 'accumulate=false')},{tile}")
        (tile / "replayed.npy").write_bytes((tile / "psum.npy").read_bytes())
        result = subprocess.run(["sh", str(tile / "replay.sh"), "--fidelity", "none"],
                                capture_output=True, text=True, timeout=300, check=False,
                                env={**os.environ, "BWMM": BWMM})
        self.assertNotEqual(result.returncode, 0)
        self.assertNotIn("the same bits", result.stdout)

    def test_rejects_what_is_no_multiply(self):
        run, tile = [*STORIES, "--variant", "shard_on_i"], self.folder / "tile"
        transpose = self.find(1, run, "transpose", "accumulate=false")
        load = self.find(1, run, "ordinary", "", "load_stationary")
        for number, name in ((transpose, "a transpose, allowed a multiply_moving of another mode"),
                             (load, "load_stationary")):
            self.refused([*run, "--dump-tile", f"1,{number},{tile}"], "--dump-tile", str(number),
                         name, "allowed a multiply_moving")
        self.refused([*run, "--dump-tile", f"1,99999,{tile}"], "core 1 has no instruction 99999")
        self.assertFalse(tile.exists())

    def test_rejects_malformed_values(self):
        tile = self.folder / "tile"
        for value in ("0", "0,5", "0,5,", f"2,5,{tile}", f"-1,5,{tile}", f"0,x,{tile}",
                      f"0,-5,{tile}", f",5,{tile}", f"0,5 ,{tile}", f"0,4294967296,{tile}"):
            with self.subTest(value=value):
                self.refused([*STORIES, "--dump-tile=" + value], "--dump-tile " + value)
        self.assertFalse(tile.exists())

    def test_rejects_runs_without_data_or_machine(self):
        tile = self.folder / "tile"
        for option in (["--fidelity", "timing"], ["--sequential"]):
            self.refused([*STORIES, *option, "--dump-tile", f"0,92,{tile}"], "--dump-tile",
                         option[-1].lstrip("-"))
        self.assertFalse(tile.exists())

    def test_rejects_a_directory_that_is_an_input(self):
        routing = self.folder / "routing.csv"
        routing.write_bytes(ROUTING.read_bytes())
        self.refused(["run", "--model", "stories260k", "--tokens", "8", "--routing", str(routing),
                      "--dump-tile", f"0,92,{routing}"], "cannot be made a directory")
        self.assertEqual(routing.read_bytes(), ROUTING.read_bytes())


if __name__ == "__main__":
    unittest.main()
