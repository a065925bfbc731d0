"""arrays.py A.npz B.npz [TOLERANCE] - compares the arrays of two archives by name, without numpy.

Prints NAME,ELEMENTS,DIFFERENCE,yes|no for each array of numbers that both have. DIFFERENCE is the largest |a - b|; equal infinities do
not differ, nor does NaN from NaN. "yes": at most TOLERANCE, which is 0 unless given. Leading sizes of 1 do not count.
"""
import array
import ast
import math
import sys
import zipfile

CODES = {"f4": "f", "f8": "d", "i4": "i", "i8": "q", "u1": "B", "b1": "B"}


def read(path):
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            begin = 10 if data[6] == 1 else 12
            end = begin + int.from_bytes(data[8:begin], "little")
            header = ast.literal_eval(data[begin:end].decode())
            if header["descr"][1:] in CODES:
                shape = [size for size in header["shape"]]
                while shape[:1] == [1]:
                    shape.pop(0)
                arrays[name.removesuffix(".npy")] = shape, array.array(CODES[header["descr"][1:]], data[end:])
    return arrays


def difference(a, b):
    if a == b or (a != a and b != b):
        return 0
    return abs(a - b) if math.isfinite(a - b) else math.inf


ours, theirs = read(sys.argv[1]), read(sys.argv[2])
if not ours.keys() & theirs.keys():
    sys.exit("no array is in both")
tolerance = float(sys.argv[3]) if len(sys.argv) > 3 else 0
for name, (shape, values) in ours.items():
    if name not in theirs:
        continue
    if shape != theirs[name][0]:
        sys.exit(f"{name} is {shape} and {theirs[name][0]}")
    largest = max(map(difference, values, theirs[name][1]), default=0)
    print(name, len(values), f"{largest:.6g}", "yes" if largest <= tolerance else "no", sep=",")
