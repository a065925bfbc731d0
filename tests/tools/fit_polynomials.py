#!/usr/bin/env python3
"""Prints the coefficients of lib/core/kernels/elementary.h: Remez fits of the relative error.

Needs mpmath. Not part of any test: it documents where the numbers come from.
"""
import struct

import mpmath as mp

mp.mp.dps = 50


def remez(f, weight, low, high, degree):
    """c[0..degree] minimizing max |weight(x) (f(x) - sum c[j] x^j)| on [low, high], and that maximum."""
    n = degree + 2
    nodes = [(low + high) / 2 + (low - high) / 2 * mp.cos(mp.pi * i / (n - 1)) for i in range(n)]
    grid = [low + (high - low) * mp.mpf(i) / 600 for i in range(601)]
    while True:
        a, b = mp.matrix(n, n), mp.matrix(n, 1)
        for i, x in enumerate(nodes):
            for j in range(degree + 1):
                a[i, j] = x**j
            a[i, degree + 1] = (-1) ** i / weight(x)
            b[i] = f(x)
        c = list(mp.lu_solve(a, b))[: degree + 1]
        error = [weight(x) * (f(x) - mp.polyval(c[::-1], x)) for x in grid]
        extremes, start = [], 0
        for i in range(1, len(grid) + 1):
            if i == len(grid) or mp.sign(error[i]) != mp.sign(error[start]):
                extremes.append(grid[max(range(start, i), key=lambda k: abs(error[k]))])
                start = i
        if len(extremes) != n or extremes == nodes:
            return c, max(map(abs, error))
        nodes = extremes


def show(name, f, weight, low, high, degree):
    c, worst = remez(f, weight, mp.mpf(low), mp.mpf(high), degree)
    print(f"{name}: largest relative error before rounding {mp.nstr(worst, 3)}")
    for value in c:
        print("   ", struct.unpack("f", struct.pack("f", value))[0].hex())


def exp_tail(r):
    """(exp r - 1 - r) / r^2"""
    return mp.mpf(1) / 2 + r / 6 if abs(r) < mp.mpf(10) ** -20 else (mp.exp(r) - 1 - r) / r**2


def main():
    root, half = mp.sqrt, mp.log(2) / 2 * mp.mpf("1.0001")
    show("exp", exp_tail, lambda r: (r * r + mp.mpf(10) ** -30) / mp.exp(r), -half, half, 4)
    show("tanh below 0.6, in x^2", lambda s: (mp.tanh(root(s)) - root(s)) / root(s) ** 3,
         lambda s: root(s) ** 3 / mp.tanh(root(s)), "1e-6", "0.36", 4)
    show("erf below 1, in x^2", lambda s: (mp.erf(root(s)) - root(s)) / root(s),
         lambda s: root(s) / mp.erf(root(s)), "1e-8", 1, 6)
    show("-ln erfc, 1 to 4", lambda t: -mp.log(mp.erfc(t)), lambda t: mp.erfc(t) / mp.erf(t), 1, 4, 6)


if __name__ == "__main__":
    main()
