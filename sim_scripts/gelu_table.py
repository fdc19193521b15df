#!/usr/bin/env python3
"""The polynomial behind GELU in model/ops/activation.cpp, from its definition.

    g(t) = Phi(-t) e^(t^2/2),  0 <= t <= 16,  as a polynomial of degree 18 in u = (t - 4) / (t + 4)

Interpolates g at the Chebyshev nodes of u's range in 150-digit arithmetic and prints the
coefficients as doubles, lowest power first. With --check FILE it fails unless FILE holds them.
"""
import argparse
import re
import sys
from decimal import Decimal, getcontext

DEGREE = 18
CENTRE = Decimal(4)
LIMIT = Decimal(16)


def pi():
    """Machin: pi / 4 = 4 atan(1/5) - atan(1/239)."""
    def atan_inverse(n):
        total, power, k = Decimal(0), Decimal(1) / n, 0
        while abs(power) > Decimal(10) ** -160:
            total += power / (2 * k + 1) * (-1) ** k
            power, k = power / (n * n), k + 1
        return total
    return 4 * (4 * atan_inverse(5) - atan_inverse(239))


def cosine(x):
    total, term, k = Decimal(0), Decimal(1), 0
    while abs(term) > Decimal(10) ** -160:
        total += term
        k += 2
        term *= -x * x / (k * (k - 1))
    return total


def scaled_tail(t, root_two_pi):
    """e^(t^2/2) / 2 - (t + t^3/3 + t^5/15 + ...) / sqrt(2 pi), digits enough to cancel."""
    total, term, k = Decimal(0), t, 1
    while abs(term) > Decimal(10) ** -160:
        total += term
        k += 2
        term *= t * t / k
    return (t * t / 2).exp() / 2 - total / root_two_pi


def coefficients():
    half_turn = pi()
    root_two_pi = (2 * half_turn).sqrt()
    low, high = Decimal(-1), (LIMIT - CENTRE) / (LIMIT + CENTRE)
    nodes = [low + (high - low) * (cosine(half_turn * (2 * i + 1) / (2 * DEGREE + 2)) + 1) / 2
             for i in range(DEGREE + 1)]
    # Newton's divided differences, then expansion into powers of u.
    table = [scaled_tail(CENTRE * (1 + u) / (1 - u), root_two_pi) for u in nodes]
    for j in range(1, DEGREE + 1):
        for i in range(DEGREE, j - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (nodes[i] - nodes[i - j])
    powers = [table[DEGREE]]
    for i in range(DEGREE - 1, -1, -1):
        shifted = [Decimal(0)] + powers
        for k, value in enumerate(powers):
            shifted[k] -= nodes[i] * value
        shifted[0] += table[i]
        powers = shifted
    return [float(value) for value in powers]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", metavar="FILE")
    arguments = parser.parse_args()
    getcontext().prec = 150
    expected = coefficients()
    if arguments.check is None:
        print(",\n".join(value.hex() for value in expected))
        return 0
    with open(arguments.check, encoding="utf-8") as source:
        body = re.search(r"kCoefficients\[\d+\] = \{(.*?)\}", source.read(), re.S).group(1)
    found = [float.fromhex(word) for word in body.replace(",", " ").split()]
    if found == expected:
        return 0
    print(f"{arguments.check}: the table of kCoefficients differs from the computed one",
          file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
