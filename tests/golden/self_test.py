#!/usr/bin/python3
"""sim_scripts/golden.py notices what it is there to notice; the binary is a stand-in."""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "sim_scripts/golden.py"
RUNS = '[texts]\nx = "run"\n[runs]\none = "{x} --tokens 1"\ntwo = "{x} --tokens 2"\n' \
       '[rtl]\nruns = ["two"]\n'
STAND_IN = """#!/usr/bin/python3
import json, pathlib, sys
reports = json.loads((pathlib.Path(__file__).parent / "reports.json").read_text())
report = reports[sys.argv[sys.argv.index("--tokens") + 1]]
if "fails" in report:
    sys.exit("bwmm: " + report["fails"])
report = {**report, **report.get(sys.argv[sys.argv.index("--fidelity") + 1], {})}
pathlib.Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(report))
"""


def report(cycles):
    engine = {"busy": cycles - 3, "stall": {"dma": 1, "peer": 2, "idle": 0}, "instructions": 4}
    core = {"engines": {"tensor": engine}, "instructions": 4, "multiply_adds": 9,
            "bytes": {"hbm_read": 64, "hbm_write": 32, "sendrecv": 0}}
    return {"cycles": cycles, "instructions": 8, "checksum": f"sum{cycles}",
            "cores": [core, copy.deepcopy(core)], "timing": {"checksum": None}}


class SelfTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "runs.toml").write_text(RUNS, encoding="utf-8")
        bwmm = self.folder / "bwmm"
        bwmm.write_text(STAND_IN, encoding="utf-8")
        bwmm.chmod(0o755)
        self.reports = {"1": report(100), "2": report(200)}
        self.write_reports()
        (self.folder / "CHANGELOG.md").write_text("### Numbers\n", encoding="utf-8")
        self.golden("--update")

    def write_reports(self):
        (self.folder / "reports.json").write_text(json.dumps(self.reports), encoding="utf-8")

    def golden(self, *arguments, code=0):
        self.write_reports()
        result = subprocess.run(
            [sys.executable, GOLDEN, *arguments, "--folder", self.folder, "--bwmm",
             self.folder / "bwmm", "--changelog-file", self.folder / "CHANGELOG.md"],
            capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def test_what_was_pinned_holds_at_every_fidelity(self):
        self.assertIn("2 runs in timing", self.golden("--check", "timing"))
        self.assertIn("2 runs in fast", self.golden("--check", "fast"))
        self.assertIn("1 runs in rtl", self.golden("--check", "rtl"))

    def test_a_changed_value_of_any_kind_is_named(self):
        for change, said in (
                (lambda r: r.update(cycles=101), "run cycles: 100 -> 101 (+1.00 %)"),
                (lambda r: r.update(checksum="other"), "run checksum: sum100 -> other"),
                (lambda r: r.update(instructions=9), "run instructions: 8 -> 9"),
                (lambda r: r["cores"][1]["bytes"].update(hbm_write=36),
                 "core1 hbm_write: 32 -> 36"),
                (lambda r: r["cores"][1]["engines"]["tensor"]["stall"].update(peer=1, dma=2),
                 "core1.tensor peer: 2 -> 1"),
                (lambda r: r["cores"][0]["engines"]["tensor"]["stall"].update(idle=5),
                 "core0.tensor idle: 0 -> 5"),
                (lambda r: r["cores"].pop(), "core1.tensor busy: 97 -> 0"),
        ):
            with self.subTest(said=said):
                self.reports["1"] = report(100)
                change(self.reports["1"])
                self.assertIn(f"one: {said}", self.golden("--check", "fast", code=1))

    def test_timing_has_no_checksum_and_all_else(self):
        self.reports["1"]["checksum"] = "other"
        self.golden("--check", "timing")
        self.reports["1"]["cycles"] = 99
        self.assertIn("one: run cycles", self.golden("--check", "timing", code=1))

    def test_a_run_that_fails_is_a_difference(self):
        self.reports["2"] = {"fails": "no such thing"}
        self.assertIn("two: exit 1: bwmm: no such thing", self.golden("--check", "fast", code=1))
        pinned = (self.folder / "pinned.json").read_text(encoding="utf-8")
        self.golden("--update", code=1)
        self.assertEqual((self.folder / "pinned.json").read_text(encoding="utf-8"), pinned)

    def test_missing_and_surplus_runs_are_differences(self):
        with_three = RUNS.replace("[rtl]", 'three = "{x} --tokens 2"\n[rtl]')
        (self.folder / "runs.toml").write_text(with_three, encoding="utf-8")
        self.assertIn("three: not pinned", self.golden("--check", "fast", code=1))
        without_one = RUNS.replace('one = "{x} --tokens 1"\n', "")
        (self.folder / "runs.toml").write_text(without_one, encoding="utf-8")
        self.assertIn("one: pinned, but no run", self.golden("--check", "fast", code=1))

    def test_an_empty_list_is_a_failure(self):
        for text in ("", "[runs]\n"):
            (self.folder / "runs.toml").write_text(text, encoding="utf-8")
            self.assertIn("no runs", self.golden("--check", "fast", code=1))
        (self.folder / "runs.toml").write_text(RUNS, encoding="utf-8")
        self.assertIn("no run to check", self.golden("--check", "fast", "--only", "x", code=1))
        (self.folder / "runs.toml").write_text(RUNS.replace('"two"', ""), encoding="utf-8")
        self.assertIn("no run to check", self.golden("--check", "rtl", code=1))

    def test_update_refuses_fidelities_that_disagree(self):
        for fidelity, number in (("timing", "1"), ("rtl", "2")):
            with self.subTest(fidelity=fidelity):
                self.reports = {"1": report(100), "2": report(200)}
                self.reports[number][fidelity] = {"cycles": 7}
                self.assertIn(f"fast and {fidelity} differ", self.golden("--update", code=1))

    def test_a_move_needs_a_line_in_the_changelog(self):
        changelog = self.folder / "CHANGELOG.md"
        self.assertIn("no line under Numbers", self.golden("--changelog", code=1))
        self.reports["1"]["cycles"] = 110
        printed = self.golden("--update")
        self.assertIn("one:\n  run cycles: 100 -> 110 (+10.00 %)", printed)
        line = next(line for line in printed.splitlines() if line.startswith("- golden"))
        changelog.write_text(f"### Numbers\n\n{line}\n", encoding="utf-8")
        self.assertIn("has no reason", self.golden("--changelog", code=1))
        first = line.replace("<why>", "slower")
        changelog.write_text(f"### Numbers\n\n{first}\n", encoding="utf-8")
        self.golden("--changelog")
        changelog.write_text(f"### Added\n\n{first}\n", encoding="utf-8")
        self.golden("--changelog", code=1)
        # Going back is a move as well: the old line further down does not count.
        newest = "- golden 00000000: 1 of 2 pinned runs moved: quicker"
        changelog.write_text(f"### Numbers\n\n{newest}\n{first}\n", encoding="utf-8")
        self.assertIn("names golden 00000000", self.golden("--changelog", code=1))


if __name__ == "__main__":
    unittest.main()
