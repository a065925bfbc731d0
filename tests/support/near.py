"""near.py EXPECTED FOLDER - compares a tree of JSON files with expected numbers.

EXPECTED maps the names of files in FOLDER to what is in them. Numbers that are not whole may differ by 1e-4, twice half of their
last decimal; an object may have more keys. near.awk compares tables.
"""
import json
import sys

ROUNDED = 1.0001e-4
problems = []


def check(is_right, *what):
    if not is_right:
        problems.append(" ".join(map(str, what)))


def compare(wanted, found, place):
    if isinstance(wanted, dict):
        for key in wanted:
            check(key in found, place, "lacks", key)
            compare(wanted[key], found.get(key), f"{place}/{key}")
    elif isinstance(wanted, list):
        check(len(wanted) == len(found), place, "has", len(found), "values, expected", len(wanted))
        for i, (a, b) in enumerate(zip(wanted, found)):
            compare(a, b, f"{place}/{i}")
    elif isinstance(wanted, float):
        check(abs(wanted - found) <= ROUNDED, place, found, "expected", wanted)
    else:
        check(wanted == found, place, repr(found), "expected", repr(wanted))


expected, folder = sys.argv[1:]
with open(expected) as file:
    for name, wanted in json.load(file).items():
        with open(f"{folder}/{name}") as other:
            compare(wanted, json.load(other), name)
print("\n".join(problems[:10]) or "near")
