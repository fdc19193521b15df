#!/usr/bin/python3
"""Turns a published routing trace into the CSV that `bwmm run --routing` reads.

Input: one line per token with the chosen expert ids of some layers, as in allenai/OLMoE's
scripts/routing_output: domain,token_id,l0_experts,l7_experts,...; ids separated by spaces.
Output: token,slot,expert,weight, with the weight 1/k where the trace publishes none.

    convert_routing.py trace.csv --layer 7 --tokens 512 --output olmoe_layer7.csv
    convert_routing.py trace.csv --layer 7 --domain github --tokens 256
    convert_routing.py trace.csv --layer 7 --stats
"""

import argparse
import csv
import sys


def read_tokens(path, layer, domain):
    """Expert ids of each token, in the order of the file."""
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        column = f"l{layer}_experts"
        for needed in ("domain", column):
            if needed not in (reader.fieldnames or []):
                known = ", ".join(reader.fieldnames or [])
                raise SystemExit(f"{path}: no column {needed}, it has: {known}")
        tokens = []
        for row in reader:
            if domain is None or row["domain"] == domain:
                tokens.append((row["domain"], [int(expert) for expert in row[column].split()]))
    if not tokens:
        raise SystemExit(f"{path}: no token of domain {domain}")
    return tokens


def interleave(tokens, count):
    """The first tokens of every domain in turn, so that a short excerpt sees all of them."""
    domains = {}
    for domain, experts in tokens:
        domains.setdefault(domain, []).append(experts)
    picked = []
    for turn in range(max(map(len, domains.values()))):
        picked.extend(rows[turn] for rows in domains.values() if turn < len(rows))
        if len(picked) >= count:
            break
    return picked[:count]


def gini(loads):
    ordered = sorted(loads)
    n = len(ordered)
    total = sum(ordered)
    return sum((2 * i - n + 1) * load for i, load in enumerate(ordered)) / (n * total)


def print_stats(rows):
    experts = 1 + max(max(row) for row in rows)
    loads = [0] * experts
    for row in rows:
        for expert in row:
            loads[expert] += 1
    mean = sum(loads) / experts
    print(f"{len(rows)} tokens, {experts} experts, top-{len(rows[0])}: max/mean load "
          f"{max(loads) / mean:.2f}, Gini {gini(loads):.3f}, idle experts {loads.count(0)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--layer", type=int, required=True)
    parser.add_argument("--tokens", type=int, help="how many (default: all)")
    parser.add_argument("--domain", help="only this domain (default: all in turn)")
    parser.add_argument("--output", help="CSV to write (default: standard output)")
    parser.add_argument("--stats", action="store_true", help="print the load instead of a CSV")
    args = parser.parse_args()

    tokens = read_tokens(args.trace, args.layer, args.domain)
    rows = interleave(tokens, args.tokens or len(tokens))
    if args.tokens and len(rows) < args.tokens:
        raise SystemExit(f"{args.trace}: {len(rows)} tokens, {args.tokens} are wanted")
    if len({len(row) for row in rows}) != 1:
        raise SystemExit(f"{args.trace}: tokens differ in their number of experts")
    if args.stats:
        print_stats(rows)
        return
    lines = ["token,slot,expert,weight"]
    for token, row in enumerate(rows):
        for slot, expert in enumerate(row):
            lines.append(f"{token},{slot},{expert},{1 / len(row):g}")
    text = "\n".join(lines) + "\n"
    if args.output:
        with open(args.output, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
