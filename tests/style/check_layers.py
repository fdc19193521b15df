#!/usr/bin/python3
"""Who may include whom. A file belongs to the layer with the longest matching path prefix."""

import re

from tree import run

MODEL = ["model/support", "model/numerics", "model/isa", "model/ops", "model/engine",
         "model/units", "model/system"]


def model_up_to(layer):
    return MODEL[:MODEL.index(layer) + 1]


# layer: what it may include besides itself.
MAY_INCLUDE = {
    **{layer: model_up_to(layer) for layer in MODEL},
    "workloads": MODEL + ["kernels", "host"],
    "replay": MODEL + ["host"],
    "cli": MODEL + ["kernels", "host", "workloads", "replay"],
    "kernels/lang": model_up_to("model/isa"),
    # A kernel cannot reach into the machine.
    "kernels": model_up_to("model/isa") + ["kernels/lang"],
    "host": model_up_to("model/isa"),
    # Turns inputs into what the reference takes.
    "kernels/moe_cte/reference_problem": model_up_to("model/numerics") + ["host", "_ref"],
    # A reference shares no code with what it judges.
    "_ref": [],
    # What a stranger may use.
    "examples": MODEL + ["kernels", "host", "workloads"],
    "tb": model_up_to("model/engine"),
    "bench": ["model", "kernels", "host"],
    "tests": ["model", "kernels", "host", "workloads", "replay", "cli", "tb"],
}

# Headers from elsewhere that only some layers may see.
OUTSIDE = {
    r"systemc|tlm|tlm_utils/.*": ["model/units", "model/system", "tests"],
    r"V[A-Z]\w*\.h|verilated.*": ["model/engine", "tb"],
    r"gtest/.*|gmock/.*|rapidcheck.*|mpfr\.h": ["tests", "tb"],
    r"benchmark/.*": ["bench"],
    r"CLI/.*": ["cli"],
}

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of(path):
    """The layer of a file or of an included path; None when it is not one of ours."""
    if re.match(r"kernels/.*_ref\.(h|cpp)$", path):
        return "_ref"
    fits = [layer for layer in MAY_INCLUDE
            if path == layer or path.startswith((layer + "/", layer + "."))]
    return max(fits, key=len, default=None)


def allowed(layer, target):
    prefixes = MAY_INCLUDE[layer] + [layer]
    if target == "_ref":
        seen_by = ("_ref", "workloads", "cli", "examples", "tests", "bench")
        return layer in seen_by or "_ref" in prefixes
    return any(target == prefix or target.startswith(prefix + "/") for prefix in prefixes)


def check_include(tree, path, number, layer, quote, header):
    target = layer_of(header)
    if target is not None:
        if quote == "<":
            tree.report(path, number, f'include "{header}" with quotes')
        if not allowed(layer, target):
            tree.report(path, number, f"{layer} may not include {header}")
        return
    for pattern, layers in OUTSIDE.items():
        if re.fullmatch(pattern, header) and layer not in layers:
            tree.report(path, number, f"{layer} may not include {header}")


def check(tree):
    files = [path for path in tree.files() if path.suffix in (".h", ".cpp")]
    for path in files:
        layer = layer_of(str(path))
        if layer is None:
            tree.report(path, 1, "belongs to no layer of check_layers.py")
            continue
        for number, line in enumerate(tree.lines(path), 1):
            if found := INCLUDE.match(line):
                check_include(tree, path, number, layer, *found.groups())
    return len(files)


if __name__ == "__main__":
    run(check, __doc__)
