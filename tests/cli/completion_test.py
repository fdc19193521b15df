#!/usr/bin/python3
"""Bash completes what --help and bwmm list have, and the man page says the same.

Usage: completion_test.py path/to/bwmm path/to/completion.bash path/to/man_page.py
"""

import os
import re
import subprocess
import sys
import unittest

BWMM, SCRIPT, MAN_PAGE = sys.argv[1:4]


def complete(*words, program=BWMM, home=""):
    """What bash offers for the last of these words."""
    line = " ".join(f"'{word}'" for word in ("bwmm", *words))
    script = (f"source {SCRIPT}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; "
              f"_bwmm '{program}' '{words[-1]}' '{(('bwmm',) + words)[-2]}'; "
              'printf "%s\\n" "${COMPREPLY[@]}"')
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True,
                            timeout=60, env={**os.environ, "HOME": home})
    return set(result.stdout.split())


def bwmm(*words):
    return subprocess.run([BWMM, *words], capture_output=True, text=True, check=True).stdout


def options(*words):
    return set(re.findall(r"^  (?:-h,)?(--[\w-]+)", bwmm(*words, "--help"), re.M))


class Completion(unittest.TestCase):
    def test_commands(self):
        self.assertEqual(complete("") - {"--help", "--version"},
                         {"run", "matmul", "quantize", "replay", "list", "rerun"})

    def test_options_of_every_command_and_workload(self):
        for command in ("run", "matmul", "quantize", "replay", "list", "rerun"):
            self.assertEqual(complete(command, "--"), options(command), command)
        self.assertEqual(complete("run", "--workload", "quantize", "--"),
                         options("run", "--workload", "quantize"))
        self.assertIn("--partitions", complete("run", "--workload", "quantize", "--p"))
        self.assertNotIn("--tokens", complete("run", "--workload", "quantize", "--"))

    def test_names(self):
        for option, what in (("--workload", "workloads"), ("--machine", "machines"),
                             ("--variant", "variants"), ("--model", "models")):
            listed = bwmm("list", what)
            offered = complete("run", option, "")
            self.assertGreater(len(offered), 1)
            for name in offered:
                self.assertRegex(listed, rf"(?m)^(\d )?{re.escape(name)} ")
            lines = [line for line in listed.splitlines()
                     if not line.startswith((what[:-1] + " ", "*"))]
            self.assertEqual(len(offered), len(lines))
        self.assertEqual(complete("run", "--fidelity", "t"), {"timing"})
        self.assertEqual(complete("list", "v"), {"variants"})

    def test_a_value_behind_an_equals_sign(self):
        self.assertEqual(complete("run", "--fidelity", "=", "t"), {"timing"})
        self.assertEqual(complete("run", "--workload", "=", "qu"), {"quantize"})
        self.assertEqual(complete("run", "--fidelity", "="), {"rtl", "fast", "timing"})
        self.assertEqual(complete("run", "--workload", "=", "quantize", "--"),
                         options("run", "--workload", "quantize"))

    def test_a_program_named_from_home(self):
        folder, name = os.path.split(os.path.abspath(BWMM))
        self.assertEqual(complete("run", "--machine", "", program=f"~/{name}", home=folder),
                         {"trn3", "trn2", "trn1"})

    def test_the_man_page_is_what_help_says(self):
        subprocess.run([MAN_PAGE, "--check", "--bwmm", BWMM], check=True)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
