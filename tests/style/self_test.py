#!/usr/bin/python3
"""Each style check passes on a clean tree and fails, with file and line, on a planted violation."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

BLOCK = """id: {id}
file: model/isa/operand.h
test: {test}
--- old
{old}+++ new
{new}===
"""
INCLUDE = '#include "model/support/check.h"\n'


def block(id="a", test="^isa.text$", old=INCLUDE, new="\n"):
    return BLOCK.format(id=id, test=test, old=old, new=new)


def kernel(*files):
    return ("// Files, in reading order:\n" + "".join(f"//   {line}\n" for line in files) +
            '#include "kernels/moe_cte/moe.h"\n#include "kernels/moe_cte/rows.h"\n'
            "void BwmmShard(lang::Core& nki) {}\n")


def units(*rows):
    return "\n".join(("| unit | no | because |", "|---|---|---|", *rows)) + "\n"


HERE = pathlib.Path(__file__).resolve().parent
CHECKS = ("layers", "size", "markers", "docs", "mutants", "kernel_files", "units")
CLEAN = {
    "model/support/check.h": "#pragma once\n",
    "model/isa/operand.h": '#include "model/support/check.h"\n',
    "kernels/lang/core.h": '#include "model/isa/operand.h"\n',
    "kernels/moe_cte/block.cpp": '#include "kernels/lang/core.h"\n#include <vector>\n',
    "kernels/moe_cte/moe.h": '#include "kernels/lang/core.h"\nvoid BwmmShard(lang::Core& nki);\n',
    "kernels/moe_cte/moe.cpp": '#include "kernels/moe_cte/block.h"\n',
    "kernels/moe_cte/rows.h": "#pragma once\n",
    "kernels/moe_cte/rows.cpp": '#include "kernels/moe_cte/depth.h"\n',
    "kernels/moe_cte/depth.h": "#pragma once\n",
    "kernels/moe_cte/shard.cpp": kernel("moe.h   args", "rows, depth   both"),
    "kernels/moe_cte/block_ref.cpp": '#include "kernels/moe_cte/block_ref.h"\n',
    "docs/units/psum.md": "# psum\n",
    "rtl/psum/psum.sv": "// A module.\n",
    "model/units/meeting.h": "class Meeting final : public sc_core::sc_module {\n",
    "CONTRIBUTING.md": units("| psum | model, tb | why |", "| meeting | rtl, tb, docs | why |"),
    "tests/isa/CMakeLists.txt": (
        "foreach(unit operand text)\nbwmm_test(isa ${unit})\nendforeach()\n"),
    "tests/mutants/isa.txt": "# Faults.\n\n" + block(),
    "README.md": "# Title\n[self](#title) `model/isa/operand.h` `isa.operand` `isa.text`\n",
}


def run_in(root, check):
    return subprocess.run([sys.executable, HERE / f"check_{check}.py", "--root", root],
                          capture_output=True, text=True, check=False)


def run(check, files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in {**CLEAN, **files}.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return run_in(root, check)


class SelfTest(unittest.TestCase):
    def assert_finds(self, check, name, line, text):
        result = run(check, {name: text})
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(f"{name}:{line}: ", result.stdout)

    def test_clean_tree_passes_every_check(self):
        for check in CHECKS:
            result = run(check, {})
            self.assertEqual(result.returncode, 0, check + result.stdout + result.stderr)

    def test_an_empty_tree_is_a_failure(self):
        with tempfile.TemporaryDirectory() as root:
            for check in CHECKS:
                result = run_in(root, check)
                self.assertNotEqual(result.returncode, 0, check)

    def test_layers_finds_includes_that_go_up(self):
        for name, header in {
                "model/numerics/a.h": "model/isa/operand.h",
                "model/ops/a.cpp": "model/units/dma.h",
                "kernels/moe_cte/a.cpp": "model/ops/memory.h",
                "kernels/lang/a.cpp": "kernels/moe_cte/block.h",
                "kernels/moe_cte/a_ref.cpp": "model/numerics/bf16.h",
                "kernels/moe_cte/b.cpp": "kernels/moe_cte/block_ref.h",
                "host/a.cpp": "kernels/lang/core.h",
                "workloads/a.cpp": "cli/run_options.h",
                "examples/own/a.cpp": "cli/run_options.h",
                "model/system/a.cpp": "kernels/lang/core.h",
                "tb/core/a.cpp": "model/units/dma.h",
                "model/support/a.h": "tests/isa/x.h",
        }.items():
            self.assert_finds("layers", name, 2, f'//\n#include "{header}"\n')

    def test_layers_finds_foreign_headers_and_strange_places(self):
        self.assert_finds("layers", "model/ops/a.cpp", 1, "#include <systemc>\n")
        self.assert_finds("layers", "kernels/lang/a.cpp", 1, "#include <gtest/gtest.h>\n")
        self.assert_finds("layers", "model/isa/a.cpp", 1, "#include <model/isa/operand.h>\n")
        self.assert_finds("layers", "elsewhere/a.cpp", 1, "\n")

    def test_size_finds_long_files_and_long_lines(self):
        self.assert_finds("size", "model/isa/long.cpp", 401, "\n" * 401)
        self.assert_finds("size", "kernels/moe_cte/long.cpp", 201, "\n" * 201)
        self.assert_finds("size", "rtl/wide.sv", 2, "\n" + "x" * 101 + "\n")

    def test_markers_finds_each_kind(self):
        for name, text in {
                "model/isa/a.cpp": "// TO" + "DO later",
                "kernels/lang/a.cpp": "#if" + " 0",
                "rtl/a.sv": "// verilator lint_" + "off WIDTH",
                "tests/isa/a.cpp": "GTEST_" + "SKIP();",
                "docs/a.md": "see /ro" + "ot/notes",
        }.items():
            self.assert_finds("markers", name, 3, "\n\n" + text + "\n")

    def test_docs_finds_dead_links_and_names(self):
        for text in ("[a](gone.md)", "[a](README.md#gone)", "`model/isa/gone.h`", "`isa.gone`",
                     "`sim_scripts/gone.sh --check`", "```\n./sim_scripts/gone.sh"):
            self.assert_finds("docs", "a.md", 2 + text.count("\n"), "\n" + text + "\n")

    def test_docs_finds_code_that_is_not_in_the_file_it_names(self):
        quote = "\n<!-- from model/isa/operand.h -->\n```cpp\n%s\n```\n"
        result = run("docs", {"a.md": quote % '#include "model/support/check.h"'})
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assert_finds("docs", "a.md", 2, quote % "int gone;")

    def test_docs_finds_questions_without_a_file(self):
        row = "| Why? | `model/isa/operand.h` |\n"
        result = run("docs", {"a.md": "## Ten questions\n" + 10 * row})
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assert_finds("docs", "a.md", 1, "## Ten questions\n" + 9 * row)
        self.assert_finds("docs", "a.md", 3, "## Ten questions\n" + row + "| How? | so |\n")

    def test_mutants_finds_what_does_not_fit_the_tree(self):
        for text in (block(old="int gone;\n"), block(test="^isa.gone$"), block(new=INCLUDE),
                     block().replace("operand.h", "gone.h"),
                     block().replace("test:", "tests:")):
            self.assert_finds("mutants", "tests/mutants/b.txt", 2,
                              "\n" + text.replace("id: a", "id: b"))
        self.assert_finds("mutants", "tests/mutants/z.txt", 1, block())  # the id stands in isa.txt
        result = run("mutants", {"model/isa/operand.h": INCLUDE + INCLUDE})
        self.assertIn("stands 2 times", result.stdout)
        result = run("mutants", {"tests/mutants/b.txt": block(id="b").replace("+++ new\n", "")})
        self.assertEqual(result.returncode, 1, result.stdout)

    def test_kernel_files_finds_what_a_list_leaves_out_or_adds(self):
        path = "kernels/moe_cte/shard.cpp"
        self.assert_finds("kernel_files", path, 1, kernel("moe.h", "rows")[4:])
        self.assert_finds("kernel_files", path, 1, kernel("moe.h", "rows"))
        self.assert_finds("kernel_files", path, 1, kernel("moe.h", "rows.h, depth"))
        self.assert_finds("kernel_files", path, 4, kernel("moe.h", "rows, depth", "block"))
        self.assert_finds("kernel_files", path, 2, kernel("moe", "rows, depth", "gone")
                          .replace("   moe\n", "   gone\n"))

    def test_units_finds_views_without_a_reason_and_reasons_without_need(self):
        path, psum, meeting = "CONTRIBUTING.md", "| psum | model, tb | why |", (
            "| meeting | rtl, tb, docs | why |")
        self.assert_finds("units", path, 1, "# No table\n")
        self.assert_finds("units", path, 1, units(psum))
        self.assert_finds("units", path, 1, units("| psum | tb | why |", meeting))
        self.assert_finds("units", path, 3, units(psum.replace("tb", "tb, rtl"), meeting))
        self.assert_finds("units", path, 4, units(psum, meeting.replace("why", "")))
        self.assert_finds("units", path, 5, units(psum, meeting, "| gone | rtl | why |"))


if __name__ == "__main__":
    unittest.main()
