#!/usr/bin/python3
"""Files: no output overwrites an input or another output, a special file stays what it is, and a
disk that is full gives exit code 2, one line, and nothing half written.

Usage: files_test.py path/to/bwmm [rtl]
"""

import contextlib
import json
import os
import resource
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy

BWMM = sys.argv.pop(1)
RTL = len(sys.argv) > 1 and sys.argv.pop(1) == "rtl"
TINY = ["matmul", "--k", "8", "--m", "8", "--n", "8"]
LAYER = ["run", "--model", "stories260k", "--tokens", "4"]
ONE_INSTRUCTION = """bwmm replay 1
     0 core0 vector memset dst=sbuf[0:1]+0x0 float32[1,1] value=1
"""
TILE_FILES = ("stationary.npy", "stationary_scales.npy", "moving.npy", "moving_scales.npy",
              "psum.npy", "replayed.npy", "replay.sh")


def bwmm(arguments, **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([BWMM, *arguments], timeout=300, check=False, **options)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def refused(self, arguments, *parts, **options):
        result = bwmm(arguments, **options)
        error = result.stderr.decode("utf-8")
        self.assertEqual(result.returncode, 2, error)
        self.assertEqual(result.stdout or b"", b"")
        self.assertEqual(len(error.splitlines()), 1, error)
        for part in parts:
            self.assertIn(part, error)

    def accepted(self, arguments, **options):
        result = bwmm(arguments, **options)
        self.assertEqual((result.returncode, result.stderr or b""), (0, b""))
        return result

    def spellings(self, path):
        """Other names of one file: unnormalised, a symbolic and a hard link."""
        link = path.with_name("link_" + path.name)
        hard = path.with_name("hard_" + path.name)
        link.symlink_to(path.name)
        hard.hardlink_to(path)
        return [path, path.parent / "." / ".." / path.parent.name / path.name, link, hard]

    def check_kept(self, path, arguments, option):
        before = path.read_bytes()
        for output in ("--json", "--listing"):
            for name in self.spellings(path):
                with self.subTest(input=option, output=output, name=name):
                    self.refused([*arguments, output, str(name)], output, option, "same file")
            for name in ("link_", "hard_"):
                path.with_name(name + path.name).unlink()
        self.assertEqual(path.read_bytes(), before)

    def node(self, name, minor):
        """A memory device in the folder; None where the container makes none."""
        path = self.folder / name
        with contextlib.suppress(PermissionError):
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
            with contextlib.suppress(OSError):
                path.open("wb").close()
                return path
        return None

    # Inputs

    def test_rejects_an_output_in_place_of_an_input(self):
        config = self.folder / "layer.toml"
        config.write_text('name = "x"\n', encoding="utf-8")
        self.check_kept(config, ["run", "--config", str(config), "--tokens", "4"], "--config")
        machine = self.folder / "machine.toml"
        machine.write_text('base = "trn3"\n', encoding="utf-8")
        self.check_kept(machine, [*TINY, "--machine", str(machine)], "--machine")
        routing = self.folder / "routing.csv"
        routing.write_text("token,slot,expert,weight\n", encoding="utf-8")
        self.check_kept(routing, [*LAYER, "--routing", str(routing)], "--routing")
        tensor = self.folder / "tensor.npy"
        numpy.save(tensor, numpy.zeros((8, 8), numpy.float32))
        self.check_kept(tensor, [*TINY, "--stationary", str(tensor)], "--stationary")
        self.check_kept(tensor, [*TINY, "--moving", str(tensor)], "--moving")
        self.check_kept(tensor, ["quantize", "--input", str(tensor)], "--input")
        self.check_kept(tensor, [*LAYER, "--set", f"model.hidden_file={tensor}"],
                        "model.hidden_file")
        self.check_kept(tensor, [*LAYER, "--set", f"model.weights_file={tensor}"],
                        "model.weights_file")
        self.refused([*TINY, "--moving", str(tensor), "--output", str(tensor)], "--output")

    def test_rejects_a_file_with_the_name_of_what_reads_it(self):
        for command, option, name in (
                (LAYER, "--routing", "no.csv"), (["run"], "--config", "no.toml"),
                (TINY, "--moving", "no.npy"), (TINY, "--moving", "no.npy:bfloat16"),
                (TINY, "--moving", "no.npy:int3"), (["quantize"], "--input", "no.safetensors#w")):
            self.refused([*command, option, name], f"{command[0]}: {option} no.")
        for key in ("model.weights_file", "model.hidden_file"):
            self.refused([*LAYER, "--set", f"{key}=no.npy"], f"run: {key} no.npy: ")

    def test_rejects_a_tile_in_place_of_an_input(self):
        tile = self.folder / "tile"
        tile.mkdir()
        machine = self.folder / "machine.toml"
        machine.write_text('base = "trn3"\n', encoding="utf-8")
        routing = self.folder / "routing.csv"
        routing.write_text("token,slot,expert,weight\n", encoding="utf-8")
        tensor = self.folder / "tensor.npy"
        numpy.save(tensor, numpy.zeros((4, 64), numpy.float32))
        link = self.folder / "other_tile"
        link.symlink_to("tile")
        folders = (tile, tile / ".." / "tile", link, f"{link}/")
        for option, value, source in (
                ("--machine", "{}", machine), ("--routing", "{}", routing),
                ("--set", "model.hidden_file={}", tensor),
                ("--set", "model.weights_file={}", tensor)):
            before = source.read_bytes()
            for name, folder in zip(TILE_FILES, folders * 2):
                with self.subTest(option=option, value=value, name=name):
                    # A link to the input, and the input in the folder itself.
                    (tile / name).symlink_to(source)
                    self.refused([*LAYER, option, value.format(source), "--dump-tile",
                                  f"0,92,{folder}"], "--dump-tile", name, "same file")
                    (tile / name).unlink()
                    (tile / name).hardlink_to(source)
                    self.refused([*LAYER, option, value.format(tile / name), "--dump-tile",
                                  f"0,92,{folder}"], "--dump-tile", name, "same file")
                    (tile / name).unlink()
            self.assertEqual(source.read_bytes(), before)

    # Outputs

    def test_rejects_a_tile_and_another_output_in_one_file(self):
        for exists in (False, True):
            tile = self.folder / f"tile{exists}"
            outputs = [("--json", tile), ("--listing", self.folder / "." / tile.name)]
            if exists:
                tile.mkdir()
                outputs = [(option, tile / ".." / tile.name / name) for name in TILE_FILES
                           for option in ("--json", "--listing", "--output")
                           if option != "--output" or name.endswith(".npy")]
            for option, output in outputs:
                with self.subTest(option=option, output=output):
                    self.refused([*LAYER, option, str(output), "--dump-tile", f"0,92,{tile}"],
                                 "--dump-tile", option, "same file")
            self.assertEqual([*self.folder.rglob("*")], [tile] if exists else [])

    def test_rejects_a_tile_that_cannot_be_written_before_the_run(self):
        tile = self.folder / "tile"
        (tile / "psum.npy").mkdir(parents=True)
        listing = self.folder / "listing"
        arguments = [*LAYER, "--listing", str(listing), "--dump-tile"]
        self.refused([*arguments, f"0,92,{tile}"], "psum.npy", "it is a folder")
        loop = self.folder / "loop"
        loop.symlink_to("loop")
        self.refused([*arguments, f"0,92,{loop}"], "loop", "cannot be written")
        self.assertFalse(listing.exists())

    def test_rejects_two_outputs_in_one_file(self):
        name = self.folder / "same"
        other = self.folder / "." / "same"
        arguments = [*TINY, "--json", str(name), "--listing", str(other)]
        self.refused(arguments, "--listing", "--json", "same file")
        link = self.folder / "link"
        link.symlink_to("same")
        self.refused([*TINY, "--json", str(name), "--listing", str(link)], "same file")
        self.assertEqual([link], list(self.folder.iterdir()))

    def test_rejects_names_that_are_no_tensor_file_before_the_run(self):
        for command, option in ((TINY, "--output"), (LAYER, "--output"),
                                (["quantize"], "--scales")):
            listing = self.folder / "listing"
            self.refused([*command, "--listing", str(listing), option, "x.txt"], "x.txt", ".npy")
            self.assertFalse(listing.exists())

    def test_writes_through_links_also_where_nothing_is_yet(self):
        for exists in (True, False):
            target = self.folder / f"target{exists}"
            link = self.folder / f"link{exists}"
            link.symlink_to(target.name)
            if exists:
                target.write_text("old", encoding="utf-8")
                target.chmod(0o640)
            self.accepted([*TINY, "--json", str(link)])
            self.assertTrue(link.is_symlink())
            self.assertEqual(json.loads(target.read_text(encoding="utf-8"))["command"], "matmul")
            if exists:
                self.assertEqual(stat.S_IMODE(target.stat().st_mode), 0o640)
        loop = self.folder / "loop"
        loop.symlink_to("loop")
        self.refused([*TINY, "--json", str(loop)], "loop", "cannot be written")

    def test_standard_output_in_a_file_keeps_report_and_json(self):
        out = self.folder / "out"
        with out.open("wb") as stdout:
            self.accepted([*TINY, "--json", "/dev/stdout"], stdout=stdout)
        text = out.read_text(encoding="utf-8")
        parsed, end = json.JSONDecoder().raw_decode(text)
        self.assertEqual(parsed["command"], "matmul")
        self.assertIn("checksum", text[end:])

    def test_a_special_file_stays_what_it_is(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        devices = [pipe]
        null = self.node("null", 3)
        if null is not None:
            devices.append(null)
            for option in ("--json", "--listing"):
                self.accepted([*TINY, option, str(null)])
                self.assertTrue(stat.S_ISCHR(null.stat().st_mode))
        for device in devices if RTL else []:
            kind = stat.S_IFMT(device.stat().st_mode)
            link = self.folder / ("link_" + device.name)
            link.symlink_to(device.name)
            for name in (device, link):
                self.refused([*TINY, "--fidelity", "rtl", "--wave", str(name)], str(name),
                             "regular file")
            self.assertEqual(stat.S_IFMT(device.stat().st_mode), kind)

    # A disk that is full

    def outputs(self, folder):
        """Commands with one output each, and the bytes it has where there is room."""
        outputs = [[*TINY, "--json", folder / "out.json"],
                   [*TINY, "--listing", folder / "out.txt"],
                   ["matmul", "--output", folder / "out.npy"],
                   ["quantize", "--output", folder / "out.safetensors"],
                   ["quantize", "--scales", folder / "out.npy"],
                   [*LAYER, "--output", folder / "out.npy"]]
        if RTL:
            outputs.append(["matmul", "--fidelity", "rtl", "--wave", folder / "out.fst"])
        for output in outputs:
            roomy = self.folder / ("roomy" + output[-1].suffix)
            self.accepted([*output[:-1], str(roomy)])
            size = roomy.stat().st_size
            roomy.unlink()
            yield [str(argument) for argument in output], size

    def test_a_file_beyond_the_size_limit_is_an_error_and_leaves_nothing(self):
        refused = 0
        for arguments, size in self.outputs(self.folder):
            # A report's size differs by the digits of its times.
            for limit in (0, size // 2, size - (64 if "--json" in arguments else 1)):
                with self.subTest(arguments=arguments, limit=limit):
                    limits = (limit, resource.RLIM_INFINITY)
                    self.refused(arguments, arguments[-1], "cannot be written",
                                 preexec_fn=lambda limits=limits: resource.setrlimit(
                                     resource.RLIMIT_FSIZE, limits))
                    self.assertEqual(list(self.folder.iterdir()), [])
                    refused += 1
        self.assertEqual(refused, 21 if RTL else 18)

    def test_a_full_disk_is_an_error_and_leaves_nothing(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)],
                                 capture_output=True, check=False).returncode == 0
        if not mounted:
            self.skipTest("this container mounts nothing; the size limit above is its stand-in")
        self.addCleanup(subprocess.run, ["umount", str(disk)], check=True)
        page, filler = 4096, disk / "filler"
        for arguments, size in self.outputs(disk):
            most = min(65536, (size - 64) // page * page)  # a page less than it needs
            # Each place of a dump meets the end of the disk in another call.
            sizes = range(0, most, page) if "--wave" in arguments else (0, min(page, most))
            for free in sorted({*sizes, most}):
                filler.write_bytes(b"x" * (65536 - free))
                with self.subTest(arguments=arguments, free=free):
                    self.refused(arguments, arguments[-1], "No space left")
                    self.assertEqual(list(disk.iterdir()), [filler])
            filler.unlink()

    def test_a_full_device_is_an_error(self):
        # A node of our own: whatever goes wrong, the host keeps its /dev/full.
        full = self.node("full", 7)
        if full is not None:
            for option in ("--json", "--listing"):
                self.refused([*TINY, option, str(full)], str(full), "No space left")
            if RTL:
                self.refused([*TINY, "--fidelity", "rtl", "--wave", str(full)], str(full))
            self.assertTrue(stat.S_ISCHR(full.stat().st_mode))
        report, program = self.folder / "report.json", self.folder / "one.replay"
        self.accepted([*TINY, "--json", str(report)])
        program.write_text(ONE_INSTRUCTION, encoding="utf-8")
        with open("/dev/full", "wb") as stdout:
            for arguments in (TINY, LAYER, ["list", "variants"], ["quantize"], ["--help"],
                              ["run", "--help"], ["matmul", "-h"], ["replay", "--help"],
                              ["--version"], ["rerun", str(report)], ["replay", str(program)]):
                with self.subTest(arguments=arguments):
                    self.refused(arguments, "standard output: cannot be written",
                                 "No space left", stdout=stdout)

    def test_a_reader_that_is_gone_is_an_error(self):
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "wb") as gone:
            self.refused(TINY, "standard output", "Broken pipe", stdout=gone)

    def test_a_closed_standard_stream_never_becomes_an_output(self):
        out = self.folder / "out.json"
        result = bwmm([*TINY, "--json", str(out)], stdout=None,
                      preexec_fn=lambda: (os.close(1), None)[1])
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"standard output", result.stderr)
        self.assertEqual(json.loads(out.read_text(encoding="utf-8"))["command"], "matmul")

    # Names that are no UTF-8

    def test_names_that_are_no_text_are_printed_as_text(self):
        routing = os.fsencode(self.folder) + b"/r\xff\n.csv"
        rows = [f"{t},{s},{s},0.5" for t in range(2) for s in range(2)]
        with open(routing, "w", encoding="utf-8") as file:
            file.write("\n".join(["token,slot,expert,weight", *rows]) + "\n")
        report = self.folder / "out.json"
        result = self.accepted(["run", "--model", "stories260k", "--set", "model.top_k=2",
                                "--tokens", "2", "--routing", routing, "--json", str(report)])
        self.assertIn("r\ufffd?.csv", result.stdout.decode("utf-8"))
        self.assertIn("r\ufffd", json.loads(report.read_text(encoding="utf-8"))["facts"]["blocks"])
        recorded = json.loads(report.read_text(encoding="utf-8"))
        self.assertEqual(bytes.fromhex(recorded["inputs"][0]["path"]["bytes"]), routing)
        self.accepted(["rerun", str(report)])
        with open(routing, "a", encoding="utf-8") as file:
            file.write("\n")
        self.refused(["rerun", str(report)], "r\ufffd?.csv: changed")
        for wrong in ("7", "7g", 7, None):
            recorded["inputs"][0]["path"] = {"bytes": wrong}
            report.write_text(json.dumps(recorded), encoding="utf-8")
            self.refused(["rerun", str(report)], "allowed path and checksum")
        missing = os.fsencode(self.folder) + b"/\xc0\xaf"
        self.refused([*TINY, "--stationary", missing + b".npy"], "\ufffd\ufffd.npy")
        self.refused([*TINY, "--json", missing + b"/x"], "\ufffd\ufffd/x", "cannot be written")


if __name__ == "__main__":
    unittest.main()
