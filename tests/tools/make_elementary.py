#!/usr/bin/env python3
"""Writes tests/support/elementary_values.inc: values of the functions of lib/ground/base/elementary.h to 106
bits, by mpmath, as the nearest double and the rest; with --constants the constants of elementary.c.
"""
import random
import sys

from mpmath import mp, mpf

mp.prec = 400

# Name, and ranges of arguments; "near 0" has exponents from -60 to -1.
RANGES = {
    "exp": [(-1, 1), (-708, 709), (-745, -708), "near 0"],
    "expm1": [(-1, 1), (-64, 64), (-0.05, 0.05), "near 0"],
    "log": [(0, 2), (0.99, 1.01), (0, 1e9), "near 0", "any"],
    "log1p": [(-1, 1), (0, 1e9), (-0.01, 0.01), "near 0"],
    "log10": [(0, 10), (0.99, 1.01), "any"],
    "tanh": [(-1, 1), (-22, 22), (-0.05, 0.05), "near 0"],
    "sin": [(-7, 7), (-2**31, 2**31), "turns", "near 0"],
    "cos": [(-7, 7), (-2**31, 2**31), "turns", "near 0"],
    "pow": ["powers"],
}
EXACT = {"log": mp.log, "exp": mp.exp, "expm1": mp.expm1, "log1p": lambda x: mp.log(1 + x),
         "log10": mp.log10, "tanh": mp.tanh, "sin": mp.sin, "cos": mp.cos}


def pair(value):
    near = float(value)
    return near.hex(), float(value - mpf(near)).hex()


def draw(span, chance):
    if span == "near 0":
        x = chance.uniform(1, 2) * 2.0 ** chance.randrange(-60, -1)
    elif span == "any":
        x = chance.uniform(1, 2) * 2.0 ** chance.randrange(-1022, 1023)
    elif span == "turns":  # the doubles next to multiples of pi / 2
        x = float(chance.randrange(1, 2**30) * mp.pi / 2)
    else:
        x = chance.uniform(*span)
    return x


def write_values():
    chance = random.Random(45)
    print("/* Made by tests/tools/make_elementary.py. */")
    for name, spans in RANGES.items():
        for span in spans:
            for _ in range(80 if span == "powers" else 20):
                if span == "powers":
                    x = chance.uniform(1, 2) * 2.0 ** chance.randrange(-20, 20)
                    y = chance.uniform(-1, 1) * 700 / abs(float(mp.log(x)))
                    value = mpf(x) ** mpf(y)
                else:
                    x, y = draw(span, chance), 0.0
                    value = EXACT[name](mpf(x))
                near, rest = pair(value)
                line = f"VALUE({name}, {x.hex()}, {y.hex()}, {near}, {rest})"
                print(line if len(line) <= 100 else line.replace(f" {rest}", f"\n      {rest}"))


def cut(value, bits):
    mantissa, exponent = mp.frexp(value)
    return mp.ldexp(mp.floor(mantissa * 2**bits), exponent - bits)


def write_constants():
    for i in range(8):
        print(f"2^({i}/8)", *pair(mpf(2) ** (mpf(i) / 8)))
    for name, value, bits in [("ln 2 / 8", mp.log(2) / 8, 38), ("ln 2", mp.log(2), 42)]:
        first = cut(value, bits)
        print(name, float(first).hex(), float(value - first).hex())
    print("8 / ln 2", float(8 / mp.log(2)).hex())
    print("1 / ln 10", *pair(1 / mp.log(10)))
    first, second = (float.fromhex(part) for part in pair(mp.pi / 2))
    print("pi / 2", first.hex(), second.hex(), float(mp.pi / 2 - mpf(first) - mpf(second)).hex())


write_constants() if sys.argv[1:] == ["--constants"] else write_values()
