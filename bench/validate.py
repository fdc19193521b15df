#!/usr/bin/python3
"""Runs bwmm_validation and writes docs/validation.md; --check refuses a page that is not current,
--bounds a class that is worse than it is said to be here."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/validation.md"
TITLES = {"dma": "DMA", "tensor": "TensorEngine", "vector_scalar": "Vector and Scalar",
          "kernels": "Whole kernels"}
ABSENT = """\
| points | not run, because |
|---|---|
| D5 | a DMA with static addresses that GpSimd triggers is not told from one that Sync triggers |
| D14, D16 | figures the presets are made of: bandwidth of HBM, rate and fixed cost of DMA |
| T18, T19, K7 to K9 | of trn1; the structure of the measured programs is not published |
| D17 | ratios of one kernel whose structure is not published |
| T3, T16 | the structure of the measured program is not published |
| T5 | bound by its DMA stream, which is D11 |
| T9, T13, T15 | the structure of the measured program is not published |
| T10, T12 | dma_transpose and rsqrt are absent |
| T14 | its operands have two types, and double_row takes fp8 only |
| T17 | a threshold without a described kernel |
| T20, K1 to K6, K10, K11 | no shapes, or kernels that are not here |
| T21 | a rule, not a time: `tensor.throttle_ns`, off by default |
| V9 | an estimate, not a measurement; `compute.vector_latency_cycles` |
"""


# Why a checking point is more than a quarter off.
FAR = 0.25
REASONS = {
    "V6": "352 cycles beside the elements, where V8's chain pays 200 in all: read off a plot, with "
          "what of the table load or the semaphore lies in it unknown; "
          "`compute.scalar_latency_cycles` has both in its range",
    "T11": "1024 passes in 1366 us are 1334 ns each, less than D8's 1500 ns from the trigger of a "
           "load to its consumer: loads must overlap, which one buffer of each operand cannot",
}


def off(point):
    """Relative error; a threshold that is kept is no error."""
    ratio = point["model"] / point["published"]
    return 0 if point["at_most"] and ratio <= 1 else abs(ratio - 1)


def spread(points):
    errors = [off(point) for point in points if point["role"] == "checks"]
    return (len(errors), statistics.median(errors), max(errors)) if errors else (0, 0, 0)


def page(points):
    yield "# The model against published measurements\n"
    yield ("Written by `bench/validate.py` from runs of `bench/validation` at `timing`, one core; "
           "not edited by hand.\nA is a vendor's profile or benchmark, B a third "
           "party's, C a threshold or a figure read off a plot.\nNo kernel is tuned to a "
           "point. Chosen: a constant was fitted to the point, so that it says nothing more: "
           "`dma.skew_ns` to D4,\n`dma.start_ns` to D6, `dma.completion_ns` to D7, "
           "`compute.activation_table_ns` to V7, `compute.scalar_latency_cycles` to V8; D9 is the "
           "sum of D1, D6 and D7.\n"
           "`dma.descriptor_bytes` was chosen with the DMA guide's curve in view, as D10's "
           "plot may show it.\n"
           "S1 is the Neuron DMA overview, S2 the Neuron kernel optimization tutorial, S3 the NKI "
           "performance guide, S6 "
           "nki-autotune's kernel library.\n")
    yield "| class | checking points | median error | worst |\n|---|---:|---:|---:|"
    groups = {name: [p for p in points if p["class"] == name] for name in TITLES}
    for name, those in [*groups.items(), ("all", points)]:
        count, median, worst = spread(those)
        yield f"| {TITLES.get(name, name)} | {count} | {median:.1%} | {worst:.1%} |"
    for name, those in groups.items():
        yield f"\n## {TITLES[name]}\n"
        yield "| id | machine | what | unit | published | model | ratio | grade, source | role |"
        yield "|---|---|---|---|---:|---:|---:|---|---|"
        for p in those:
            yield (f"| {p['id']} | {p['preset']} | {p['what']}; {p['taken_from']} | {p['unit']} | "
                   f"{p['published']:g} | {p['model']:.4g} | {p['model'] / p['published']:.2f} | "
                   f"{p['grade']} {p['source']} | {p['role']} |")
    yield f"\n## More than {FAR:.0%} off\n\n| point | why |\n|---|---|"
    for p in points:
        if p["role"] == "checks" and off(p) > FAR:
            yield f"| {p['id']} | {REASONS.get(p['id'], 'not explained')} |"
    yield "\n## Not expressible\n\n" + ABSENT.rstrip()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", help="bwmm_validation")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--bounds", nargs="*", metavar="CLASS=MEDIAN,WORST", default=[])
    given = parser.parse_args()
    points = json.loads(subprocess.run([given.binary], check=True, capture_output=True).stdout)
    text = "\n".join(page(points)) + "\n"
    if given.check:
        if PAGE.read_text(encoding="utf-8") != text:
            sys.exit("docs/validation.md: not what the model gives now; run bench/validate.py")
    elif not given.bounds:
        PAGE.write_text(text, encoding="utf-8")
    unexplained = [p["id"] for p in points
                   if p["role"] == "checks" and off(p) > FAR and p["id"] not in REASONS]
    if given.bounds and unexplained:
        sys.exit(f"{', '.join(unexplained)}: more than {FAR:.0%} off without a reason")
    for bound in given.bounds:
        name, _, limits = bound.partition("=")
        median, worst = map(float, limits.split(","))
        count, is_median, is_worst = spread([p for p in points if p["class"] == name])
        if count == 0 or is_median > median or is_worst > worst:
            sys.exit(f"{name}: {count} points, median {is_median:.3f}, worst {is_worst:.3f}, "
                     f"allowed {median} and {worst}")


if __name__ == "__main__":
    main()
