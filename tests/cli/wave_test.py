#!/usr/bin/python3
"""A dump says what the report says: per engine of core 0, busy cycles and every stall class.

Usage: wave_test.py path/to/bwmm
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BWMM = sys.argv.pop(1)
UNITS = ["tensor", "vector", "scalar", "gpsimd", "sync", "dma"]
CLASSES = ["busy", "tensor", "vector", "scalar", "gpsimd", "sync", "dma", "peer", "control",
           "structural", "idle"]
TICK_PS = 1e6 / 4800  # trn3: two ticks in a TensorEngine cycle of 2400 MHz


def text_of(digits):
    return int(digits, 2).to_bytes(16, "big").lstrip(b"\0").decode("ascii")


def machine_states(wave):
    """Per unit, the list of (ps, {signal: digits}) at every change of a signal of its scope."""
    vcd = subprocess.run(["fst2vcd", str(wave)], capture_output=True, text=True, timeout=300,
                         check=True).stdout
    scopes, signals = [], {}
    states = {unit: [(0, {})] for unit in UNITS}
    now = 0
    for line in vcd.splitlines():
        words = line.split()
        if line.startswith("$scope"):
            scopes.append(words[2])
        elif line.startswith("$upscope"):
            scopes.pop()
        elif line.startswith("$var") and scopes[-1] in UNITS:
            signals[words[3]] = (scopes[-1], words[4])
        elif line.startswith("#"):
            now = int(line[1:])
        elif words and line[0] in "01b":
            digits, name = (words[0][1:], words[1]) if line[0] == "b" else (line[0], line[1:])
            if name in signals and set(digits) <= {"0", "1"}:
                unit, signal = signals[name]
                if states[unit][-1][0] != now:
                    states[unit].append((now, dict(states[unit][-1][1])))
                states[unit][-1][1][signal] = digits
    return states


class Wave(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_traced(self, *arguments):
        wave, report = self.folder / "out.fst", self.folder / "report.json"
        result = subprocess.run(
            [BWMM, *arguments, "--fidelity", "rtl", "--wave", str(wave), "--json", str(report)],
            capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return machine_states(wave), json.loads(report.read_text(encoding="utf-8"))

    def check_classes(self, states, report):
        for unit in UNITS:
            ticks = dict.fromkeys(CLASSES, 0)
            for (begin, state), (end, _) in zip(states[unit], states[unit][1:]):
                if not state or "busy" not in state:
                    self.assertEqual(begin, 0)
                    self.assertEqual(end, 0)
                    continue
                busy = state["busy"] == "1"
                waiting, opcode = text_of(state["stall"]), text_of(state["opcode"])
                # Working, it names its instruction; waiting, what for; never both.
                self.assertEqual(busy, waiting == "", (unit, begin))
                self.assertEqual(busy, opcode != "", (unit, begin))
                ticks["busy" if busy else waiting] += (round(end / TICK_PS) -
                                                       round(begin / TICK_PS))
            # A report's classes are whole cycles that sum to the total.
            cycles, total = {}, 0
            for name in CLASSES:
                before = total // 2
                total += ticks[name]
                cycles[name] = total // 2 - before
            classes = report["cores"][0]["engines"][unit]
            self.assertEqual(cycles, {"busy": classes["busy"], **classes["stall"]}, unit)

    def test_a_matmul_s_dump_adds_up_to_its_report(self):
        states, report = self.run_traced("matmul", "--dtype", "float8_e4m3fn_x4", "--k", "512",
                                         "--probe", "7,3")
        self.check_classes(states, report)
        # 4 columns of 128 a cycle, then 512 moving rows.
        busy = [state for _, state in states["tensor"] if state.get("busy") == "1"]
        self.assertEqual({text_of(state["opcode"]) for state in busy},
                         {"load_stationary", "multiply_moving"})

    def test_a_layer_s_dump_adds_up_to_its_report(self):
        for variant in ("shard_on_i_mx", "shard_on_block"):
            with self.subTest(variant=variant):
                states, report = self.run_traced("run", "--model", "stories260k", "--tokens", "4",
                                                 "--variant", variant)
                self.check_classes(states, report)

    def test_a_window_begins_with_what_is_going_on(self):
        states, _ = self.run_traced("matmul", "--n", "64")
        window = self.folder / "window.fst"
        subprocess.run([BWMM, "matmul", "--n", "64", "--fidelity", "rtl", "--wave", str(window),
                        "--wave-window", "2000:6000"], capture_output=True, timeout=600,
                       check=True)
        begin = round(2000 * 2 * TICK_PS)
        for unit, changes in machine_states(window).items():
            going_on = [state for time, state in states[unit] if time <= begin][-1]
            self.assertEqual([c for c in changes if c[0] > 0][0], (begin, going_on), unit)
            self.assertLess(changes[-1][0], 6000 * 2 * TICK_PS)

    def test_tracing_changes_no_report(self):
        arguments = ["matmul", "--dtype", "float8_e5m2_x4", "--k", "256"]
        _, traced = self.run_traced(*arguments)
        plain = self.folder / "plain.json"
        subprocess.run([BWMM, *arguments, "--fidelity", "rtl", "--json", str(plain)],
                       capture_output=True, timeout=600, check=True)
        plain = json.loads(plain.read_text(encoding="utf-8"))
        for report in (plain, traced):
            del report["wall_seconds"], report["arguments"]
        self.assertEqual(traced, plain)


if __name__ == "__main__":
    unittest.main()
