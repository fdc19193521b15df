#!/usr/bin/python3
"""examples/own_kernel, configured and built against an installed copy of bwmm, has all of bwmm.

Usage: own_kernel_test.py cmake build_folder examples/own_kernel compiler build_folder/bwmm [rtl]
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CMAKE, BUILD, EXAMPLE, COMPILER, BUILT = sys.argv[1:6]
RTL = sys.argv[6:] == ["rtl"]
RUN = ["run", "--workload", "biased_matmul"]


def succeed(*command, cwd=None):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                            timeout=500, check=False, cwd=cwd)
    if result.returncode != 0:
        raise AssertionError(f"{command}: {result.stdout}{result.stderr}")
    return result.stdout


class OwnKernel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = Path(cls.temporary.name)
        cls.prefix = cls.folder / "prefix"
        succeed(CMAKE, "--install", BUILD, "--prefix", cls.prefix)
        succeed(CMAKE, "-S", EXAMPLE, "-B", cls.folder / "build", "-G", "Ninja",
                f"-DCMAKE_PREFIX_PATH={cls.prefix}", f"-DCMAKE_CXX_COMPILER={COMPILER}",
                "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1")
        succeed(CMAKE, "--build", cls.folder / "build")
        cls.bwmm = cls.folder / "build" / "bwmm"

    def report(self, *options):
        path = self.folder / "report.json"
        succeed(self.bwmm, *RUN, *options, "--json", path)
        return json.loads(path.read_text(encoding="utf-8"))

    def refused(self, *options):
        result = subprocess.run([self.bwmm, *RUN, *options], capture_output=True, text=True,
                                timeout=100, check=False)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        return result.stderr

    def test_the_binary_knows_it_beside_the_others(self):
        names = [line.split()[0] for line in succeed(self.bwmm, "list", "workloads").splitlines()]
        installed = succeed(self.prefix / "bin" / "bwmm", "list", "workloads").splitlines()
        self.assertEqual(names, sorted(["biased_matmul", *(line.split()[0] for line in installed)]))

    def test_every_fidelity_gives_one_answer_inside_the_bound(self):
        fast = self.report("--listing", self.folder / "listing.txt")
        self.assertTrue(fast["error"]["pass"])
        self.assertEqual(fast["error"]["compared"], 256 * 640)
        self.assertGreater(fast["error"]["max_bound_ratio"], 0)
        self.assertGreater(fast["cores"][1]["multiply_adds"], 0)
        lines = (self.folder / "listing.txt").read_text(encoding="utf-8").splitlines()
        self.assertEqual(sum("multiply_moving" in line for line in lines), 2 * 2 * 2)
        succeed(self.bwmm, "rerun", self.folder / "report.json")
        self.assertEqual(self.report("--sequential")["checksum"], fast["checksum"])
        timing = self.report("--fidelity", "timing")
        self.assertEqual((timing["cycles"], timing["checksum"]), (fast["cycles"], None))

    @unittest.skipUnless(RTL, "built without RTL")
    def test_rtl_gives_the_same_and_a_wave(self):
        small = ["--tokens", "32"]
        fast = self.report(*small)
        rtl = self.report(*small, "--fidelity", "rtl", "--wave", self.folder / "out.fst")
        self.assertEqual((rtl["cycles"], rtl["checksum"]), (fast["cycles"], fast["checksum"]))
        self.assertGreater((self.folder / "out.fst").stat().st_size, 4000)

    def test_rejects_shapes_that_do_not_fit_and_says_what_does(self):
        text = self.refused("--k", "200")
        self.assertIn("--k: 200, allowed 128 to 1048576 in steps of 128", text)
        text = self.refused("--k", "65536", "--n", "128", "--tokens", "1", "--fidelity", "timing")
        self.assertIn("it fits with --k up to ", text)
        fits = int(text.rsplit(" ", 1)[1])
        options = ["--n", "128", "--tokens", "1", "--fidelity", "timing", "--k"]
        self.assertGreater(self.report(*options, str(fits))["cycles"], 0)
        self.refused(*options, str(fits + 128))

    def configured(self, name, text, code):
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "own.cpp").touch()
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(own LANGUAGES CXX)\n"
            "find_package(bwmm 0.1 REQUIRED)\n" + text, encoding="utf-8")
        result = subprocess.run(
            [CMAKE, "-S", folder, "-B", folder / "build", "-G", "Ninja",
             f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={COMPILER}"],
            capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(result.returncode, code, result.stderr)
        return " ".join(result.stderr.split())

    def test_rejects_two_binaries_in_one_folder(self):
        text = self.configured("two", "bwmm_add_workload(a SOURCES own.cpp)\n"
                               "bwmm_add_workload(b SOURCES own.cpp)\n", 1)
        self.assertIn("bwmm_add_workload(b): a makes the bwmm of this folder, allowed once", text)
        inner = self.folder / "nested" / "inner"
        inner.mkdir(parents=True)
        (inner / "own.cpp").touch()
        (inner / "CMakeLists.txt").write_text("bwmm_add_workload(b SOURCES own.cpp)\n",
                                              encoding="utf-8")
        self.configured("nested", "bwmm_add_workload(a SOURCES own.cpp)\n"
                        "add_subdirectory(inner)\n", 0)

    def test_building_bwmm_makes_all_that_is_installed(self):
        made = {Path(line).name for line in
                succeed("ninja", "-C", BUILD, "-t", "inputs", "bwmm").splitlines()}
        installed = {path.name for path in self.prefix.rglob("*.a")}
        self.assertGreater(len(installed), 10)
        self.assertEqual(installed - made, set())

    def test_the_installed_binary_is_the_built_one(self):
        for words in (["--version"], ["list", "workloads"], ["run", "--help"]):
            self.assertEqual(succeed(self.prefix / "bin" / "bwmm", *words),
                             succeed(BUILT, *words))

    def test_everything_is_where_an_installed_program_is_looked_for(self):
        for name in ("share/bwmm/machines/trn3.toml", "share/bwmm/models/gpt-oss-20b.toml",
                     "include/bwmm/kernels/lang/core.h", "share/man/man1/bwmm.1",
                     "share/bash-completion/completions/bwmm", "share/bwmm/LICENSE"):
            self.assertTrue((self.prefix / name).is_file(), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
