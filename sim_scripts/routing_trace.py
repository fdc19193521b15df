"""Reads the forms of routing traces that convert_routing.py describes."""

import csv
import json
import re

# What the columns and keys of traces are called.
KEYS = {
    "token": ("token", "token_id", "token_idx", "position"),
    "step": ("step", "step_id", "forward_pass", "batch", "iteration"),
    "layer": ("layer", "layer_id", "layer_idx"),
    "slot": ("slot", "k", "rank"),
    "expert": ("expert", "expert_id"),
    "weight": ("weight", "expert_weight", "prob"),
    "ids": ("topk_ids", "expert_ids", "experts", "ids", "selected_experts"),
    "weights": ("topk_weights", "expert_weights", "weights", "routing_weights", "scores"),
}


class Trace:
    """Lines of a file as dictionaries, and what to call it in a refusal."""

    def __init__(self, path):
        self.path = path
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
        if text.lstrip().startswith("{"):
            self.lines = [self.json_line(number, line)
                          for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        else:
            body = [(number, line) for number, line in enumerate(text.splitlines(), 1)
                    if line.strip() and not line.startswith("#")]
            rows = csv.DictReader((line for _, line in body), skipinitialspace=True)
            self.lines = [(body[i + 1][0], row) for i, row in enumerate(rows)]
        if not self.lines:
            raise SystemExit(f"{path}: no tokens")
        self.names = list(self.lines[0][1])

    def json_line(self, number, line):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise SystemExit(f"{self.path}:{number}: not JSON: {error}") from error
        if not isinstance(row, dict):
            raise SystemExit(f"{self.path}:{number}: {type(row).__name__}, an object is needed")
        return number, row

    def name(self, key):
        """The trace's name of a key; None when it has none."""
        return next((name for name in KEYS[key] if name in self.names), None)

    def number(self, number, row, name, kind):
        try:
            return kind(row[name])
        except (KeyError, TypeError, ValueError):
            raise SystemExit(f"{self.path}:{number}: {name} {row.get(name)!r} is not a number"
                             ) from None

    def list_of(self, number, text, kind):
        """A list, a nested list, or their text with any separators but commas of numbers."""
        if isinstance(text, str):
            text = [part for part in re.split(r"[\s,;|\[\]()]+", text) if part]
        try:
            return [[kind(x) for x in item] if isinstance(item, list) else kind(item)
                    for item in text]
        except (TypeError, ValueError):
            raise SystemExit(f"{self.path}:{number}: {text!r} is not a list of numbers") from None

    def of_layer(self, layer):
        """The lines of one layer."""
        name = self.name("layer")
        if name is None:
            return self.lines
        numbered = [(number, row, self.number(number, row, name, int))
                    for number, row in self.lines]
        layers = sorted({each for _, _, each in numbered})
        if layer is None and len(layers) > 1:
            raise SystemExit(f"{self.path}: layers {', '.join(map(str, layers))}: say --layer")
        picked = [(number, row) for number, row, each in numbered if layer in (None, each)]
        if not picked:
            raise SystemExit(f"{self.path}: no layer {layer}, it has: "
                             f"{', '.join(map(str, layers))}")
        return picked


def read_wide(trace, layer):
    column = f"l{layer}_experts"
    if column not in trace.names:
        raise SystemExit(f"{trace.path}: no column {column}, it has: {', '.join(trace.names)}")
    return [(row.get("domain"), trace.list_of(number, row[column], int), None)
            for number, row in trace.lines]


def read_lists(trace, layer):
    ids_name, weights_name = trace.name("ids"), trace.name("weights")
    tokens = []
    for number, row in trace.of_layer(layer):
        ids = trace.list_of(number, row.get(ids_name), int)
        weights = trace.list_of(number, row[weights_name], float) if row.get(weights_name) else None
        nested = any(isinstance(item, list) for item in ids)
        for token, experts in enumerate(ids if nested else [ids]):
            own = None
            if weights is not None:
                own = weights[token] if nested and token < len(weights) else weights
            if not isinstance(experts, list) or (own is not None and len(own) != len(experts)):
                raise SystemExit(f"{trace.path}:{number}: token {token} of the line has not one "
                                 "weight for each expert")
            tokens.append((row.get("domain"), experts, own))
    return tokens


def read_long(trace, layer):
    token_name, step_name = trace.name("token"), trace.name("step")
    slot_name, expert_name = trace.name("slot"), trace.name("expert")
    weight_name = trace.name("weight")
    tokens, last = [], None
    for number, row in trace.of_layer(layer):
        token = (row.get(step_name), trace.number(number, row, token_name, int))
        slot = trace.number(number, row, slot_name, int) if slot_name else None
        # A step that is not numbered shows by a token that begins again.
        if token != last or (slot_name and any(slot == each for each, _, _ in tokens[-1][2])):
            tokens.append((number, row.get("domain"), []))
        last = token
        expert = trace.number(number, row, expert_name, int)
        weight = trace.number(number, row, weight_name, float) if weight_name else None
        tokens[-1][2].append((slot, expert, weight))
    result = []
    for number, domain, slots in tokens:
        if slot_name:
            slots.sort(key=lambda item: item[0])
            if [item[0] for item in slots] != list(range(len(slots))):
                raise SystemExit(f"{trace.path}:{number}: the token here has slots "
                                 f"{[item[0] for item in slots]}, needed are 0 and up in lines "
                                 "that follow each other")
        used = [item for item in slots if item[1] >= 0]
        weights = [item[2] for item in used] if weight_name else None
        result.append((domain, [item[1] for item in used], weights))
    return result


def read_tokens(trace, layer):
    """(domain, expert ids, weights or None) of each token, in the order of the file."""
    tokens = read_form(trace, layer)
    for index, (_, experts, _) in enumerate(tokens):
        if len(set(experts)) != len(experts):
            raise SystemExit(f"{trace.path}: token {index} of the trace has an expert twice: "
                             f"{experts}")
    return tokens


def read_form(trace, layer):
    if any(re.fullmatch(r"l\d+_experts", name) for name in trace.names):
        if layer is None:
            raise SystemExit(f"{trace.path}: say --layer, it has: {', '.join(trace.names)}")
        return read_wide(trace, layer)
    if trace.name("ids"):
        return read_lists(trace, layer)
    if trace.name("token") and trace.name("expert"):
        return read_long(trace, layer)
    raise SystemExit(f"{trace.path}: {', '.join(trace.names)} is no form of trace: needed are "
                     "l<N>_experts, topk_ids, or token and expert")
