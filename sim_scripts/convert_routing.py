#!/usr/bin/python3
"""Turns a routing trace into the CSV that `bwmm run --routing` reads: token,slot,expert,weight.

Forms of a trace (CSV with a header, or JSON lines, by the first character that is no space):

  wide   domain,token_id,l0_experts,l7_experts,..    ids separated by spaces, one column a layer,
         as in allenai/OLMoE's scripts/routing_output
  lists  token,topk_ids,topk_weights                 one line a token, lists as "3 5" or "[3, 5]"
         {"layer_id": 7, "topk_ids": [[3, 5], ..], "topk_weights": [[.6, .4], ..]}
                                                     one line a token or, nested, one a step, as a
                                                     serving engine logs its batches
  long   token,slot,expert,weight                    one line a slot; slot and weight may be missing

Names may differ as the table KEYS of routing_trace.py says. A column or key `layer` is chosen from
by --layer.
Tokens of lists are renumbered in the order of the file: engines number those of each step from 0.
Long traces are renumbered too, a new token beginning where token (or step) changes. Weights are 1/k
where a trace has none.

    convert_routing.py trace.csv --layer 7 --count 512 --output olmoe_layer7.csv
    convert_routing.py trace.jsonl --layer 7 --offset 1000 --count 256
    convert_routing.py trace.csv --layer 7 --domain github --stats
"""

import argparse
import sys

from routing_trace import Trace, read_tokens

def interleave(tokens):
    """The first tokens of every domain in turn, so that a short excerpt sees all of them."""
    domains = {}
    for token in tokens:
        domains.setdefault(token[0], []).append(token)
    return [rows[turn] for turn in range(max(map(len, domains.values())))
            for rows in domains.values() if turn < len(rows)]


def select(trace, args):
    tokens = read_tokens(trace, args.layer)
    if args.domain is not None:
        tokens = [token for token in tokens if token[0] == args.domain]
        if not tokens:
            raise SystemExit(f"{trace.path}: no token of domain {args.domain}")
    tokens = interleave(tokens)
    last = args.offset + args.count if args.count else len(tokens)
    if args.offset < 0 or args.offset >= len(tokens) or last > len(tokens):
        behind = f" behind {args.offset}" if args.offset else ""
        raise SystemExit(f"{trace.path}: {len(tokens)} tokens, {last - args.offset}{behind} are "
                         "wanted")
    return tokens[args.offset:last]


def gini(loads):
    ordered = sorted(loads)
    n = len(ordered)
    return sum((2 * i - n + 1) * load for i, load in enumerate(ordered)) / (n * sum(ordered))


def print_stats(rows):
    experts = 1 + max(max(row) for row in rows)
    loads = [0] * experts
    for row in rows:
        for expert in row:
            loads[expert] += 1
    mean = sum(loads) / experts
    print(f"{len(rows)} tokens, {experts} experts, top-{max(map(len, rows))}: max/mean load "
          f"{max(loads) / mean:.2f}, Gini {gini(loads):.3f}, idle experts {loads.count(0)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--layer", type=int, help="needed where a trace has several")
    parser.add_argument("--offset", type=int, default=0, help="tokens to leave out (default: 0)")
    parser.add_argument("--count", "--tokens", type=int, help="how many tokens (default: all)")
    parser.add_argument("--domain", help="only this domain (default: all in turn)")
    parser.add_argument("--output", help="CSV to write (default: standard output)")
    parser.add_argument("--stats", action="store_true", help="print the load instead of a CSV")
    args = parser.parse_args()

    if args.count is not None and args.count < 1:
        raise SystemExit(f"--count {args.count}: 1 or more is needed")
    tokens = select(Trace(args.trace), args)
    if len({len(experts) for _, experts, _ in tokens}) != 1 or not tokens[0][1]:
        raise SystemExit(f"{args.trace}: tokens differ in their number of experts, or have none")
    if args.stats:
        print_stats([experts for _, experts, _ in tokens])
        return
    lines = ["token,slot,expert,weight"]
    for token, (_, experts, weights) in enumerate(tokens):
        for slot, expert in enumerate(experts):
            weight = f"{1 / len(experts):g}" if weights is None else repr(weights[slot])
            lines.append(f"{token},{slot},{expert},{weight}")
    text = "\n".join(lines) + "\n"
    if args.output:
        with open(args.output, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
