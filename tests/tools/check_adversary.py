#!/usr/bin/env python3
"""Lets independent readers judge what the grammars of tests/adversary make.

    check_adversary.py PROGRAM FOLDER    PROGRAM is build/release/tests/adversary/adversary, FOLDER is
                                         made anew; attn-cli is the one in PATH

The library must never take what the other reader refuses, and both must read the same: numpy judges
.npy files, the safetensors package containers, Python's json (strictly: no NaN, no key twice) JSON
files, tokenizers the ids of byte-level BPE. What the grammars call valid the others must take, too.
What attn-cli writes of the texts is read back with json and csv. A package that is not there is named
and left out.
"""
import collections
import csv
import importlib.util
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import warnings

N_CASE = 2000
N_TOOL = 200  # of these with attn-cli
VERBOSE = "V" in os.environ  # names the defects that others take
program = folder = None


def attn(*arguments, cwd):
    return subprocess.run(["attn-cli", *map(str, arguments)], check=True, cwd=cwd,
                          stdout=subprocess.PIPE).stdout


def cases(name):
    """Folder, what it is meant to be and with which defect, whether the library took it."""
    path = folder / name
    path.mkdir()
    out = subprocess.run([program, "judge", name, "0", str(N_CASE), path], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    for line in out.splitlines():
        number, meant, taken, defect = (line + " ").split(" ", 3)
        yield path / number, (meant, defect.strip()), taken == "taken"


def refuse(name):
    raise ValueError(f"{name} is no JSON")


def no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError("a key twice")
    return dict(pairs)


def read_json(data):
    return json.loads(data.decode("utf-8"), parse_constant=refuse, object_pairs_hook=no_duplicates)


class Count:
    """Compares verdicts and says how many there were."""

    def __init__(self, name, judge):
        self.name, self.judge = name, judge
        self.both = self.neither = 0
        self.stricter = collections.Counter()

    def compare(self, path, meant, taken, other):
        """OTHER is what the other reader made of it, or an exception."""
        refused = isinstance(other, Exception)
        assert not (taken and refused), f"{path} is taken, and {self.judge} says {other!r}"
        assert not (meant[0] == "valid" and refused), f"{path} is valid, and {self.judge}: {other!r}"
        self.both += taken
        self.neither += not taken and refused
        if not taken and not refused:
            self.stricter[meant[1]] += 1

    def tell(self, more=""):
        print(f"check-adversary: {self.name}: {self.judge} and the library take {self.both} cases, "
              f"both refuse {self.neither}, the library alone refuses {self.stricter.total()}{more}")
        if VERBOSE:
            for defect, n in self.stricter.most_common():
                print(f"    {n} with {defect}")


def tried(reader, *arguments):
    try:
        return reader(*arguments)
    except Exception as error:  # whatever a reader raises is its refusal
        return error
    except BaseException as error:  # a panic in Rust is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return RuntimeError(str(error))


def check_npy(np):
    count, n_same = Count("npy", "numpy"), 0
    for path, meant, taken in cases("npy"):
        array = tried(lambda: np.load(path / "a.npy", allow_pickle=False))
        if taken and isinstance(array, ValueError) and "header" in str(array):
            array = np.lib.format.read_array((path / "a.npy").open("rb"), allow_pickle=False,
                                             max_header_size=1 << 16)
        count.compare(path, meant, taken, array)
        if not taken or array.dtype.kind != "f" or array.ndim < 2 or array.size == 0 or n_same >= N_TOOL:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            expected = array.astype(np.float32)
        if not np.isfinite(expected).all():
            continue
        attn("attend", "-q", "--scores", "a.npy", "--sites", "attn_scores", "--npz", "out.npz", cwd=path)
        read = np.load(path / "out.npz")
        read = [read[name] for name in read.files if "attn_scores" in name][0]
        assert (read.reshape(expected.shape) == expected).all(), f"{path}: other numbers"
        n_same += 1
    count.tell(f"; attn-cli reads the same numbers in {n_same}")


def check_safetensors(safetensors):
    def read(path):
        with safetensors.safe_open(path, "numpy") as file:
            return {key: (file.get_slice(key).get_dtype(), file.get_slice(key).get_shape())
                    for key in file.keys()}

    count, n_same = Count("safetensors", "the package"), 0
    for path, meant, taken in cases("safetensors"):
        tensors = tried(read, path / "model.safetensors")
        count.compare(path, meant, taken, tensors)
        if taken and n_same < N_TOOL:
            document = read_json(attn("inspect", "--json", "model.safetensors", cwd=path))
            told = {tensor["name"]: (tensor["dtype"], tensor["shape"])
                    for tensor in document["tensors"]}
            assert told == tensors, f"{path}: other tensors"
            n_same += 1
    count.tell(f"; attn-cli tells of the same tensors in {n_same}")


def check_json(name, file):
    count = Count(name, "Python's json")
    for path, meant, taken in cases(name):
        if (path / file).exists():
            count.compare(path, meant, taken, tried(lambda: read_json((path / file).read_bytes())))
    count.tell()


def check_ids(tokenizers):
    """Over the cases that check_json has made."""
    n = 0
    for path in sorted((folder / "vocab").iterdir())[:N_TOOL * 2]:
        text = (path / "text.txt").read_bytes()[:-1]  # without the newline
        ran = subprocess.run(["attn-cli", "tokenize", "-m", ".", "-f", "text.txt", "--json",
                              "-"], cwd=path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if ran.returncode != 0 or not (path / "merges.txt").exists():
            continue
        bpe = tokenizers.models.BPE.from_file(str(path / "vocab.json"), str(path / "merges.txt"))
        tokenizer = tokenizers.Tokenizer(bpe)
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        ids = tokenizer.encode(text.decode("utf-8")).ids
        assert read_json(ran.stdout)["ids"] == ids, f"{path}: other ids"
        n += 1
    print(f"check-adversary: vocab: tokenizers gives the same ids in {n}")


def check_tokenizers(tokenizers):
    """tokenizer.json: the library tokenizers reads what is taken, and gives the same ids."""
    count, n_same = Count("tokenizer", "tokenizers"), 0
    for path, meant, taken in cases("tokenizer"):
        text = (path / "text.txt").read_bytes()[:-1]
        other = tried(tokenizers.Tokenizer.from_file, str(path / "tokenizer.json"))
        count.compare(path, meant, taken, other)
        if not taken or n_same >= N_TOOL or not is_utf8(text):
            continue
        ran = subprocess.run(["attn-cli", "tokenize", "-m", ".", "-f", "text.txt", "--json",
                              "-"], cwd=path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if ran.returncode == 0:
            ids = other.encode(text.decode("utf-8")).ids
            assert read_json(ran.stdout)["ids"] == ids, f"{path}: other ids"
            n_same += 1
    count.tell(f"; attn-cli gives the same ids in {n_same}")


def check_texts():
    n = 0
    for path, meant, taken in cases("text"):
        text = (path / "text.txt").read_bytes()[:-1]
        if n == N_TOOL or not taken or len(text) not in range(1, 200) or not is_utf8(text):
            continue
        written = read_json(attn("tokenize", "-f", "text.txt", "--json", "-", cwd=path))
        told = attn("run", "-q", "-f", "text.txt", "--heads", "0.0", "--sites", "pattern",
                    "--json", "out.json", "--tidy", "out.csv", cwd=path)
        assert told == b"", f"{path}: standard output"
        document = read_json((path / "out.json").read_bytes())
        rows = list(csv.reader(io.StringIO((path / "out.csv").read_bytes().decode("utf-8"), newline="")))
        n_token = len(written["ids"])
        assert document["ids"] == written["ids"], f"{path}: ids"
        assert len({len(row) for row in rows}) == 1, f"{path}: ragged CSV"
        assert len(rows) - 1 == n_token * (n_token + 1) // 2, f"{path}: rows of CSV"
        n += 1
    print(f"check-adversary: text: json and csv read what attn-cli writes of {n} texts")


def is_utf8(text):
    try:
        text.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False


def with_package(name, check):
    if importlib.util.find_spec(name) is None:
        print(f"check-adversary: skipped: no {name} (pip install {name})")
    else:
        check(importlib.import_module(name))


def main(arguments):
    global program, folder
    program, folder = pathlib.Path(arguments[0]).resolve(), pathlib.Path(arguments[1]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    warnings.simplefilter("ignore")  # numpy's, of headers that Python 2 could have written
    with_package("numpy", check_npy)
    with_package("safetensors", check_safetensors)
    check_json("index", "model.safetensors.index.json")
    check_json("config", "config.json")
    check_json("vocab", "vocab.json")
    with_package("tokenizers", check_ids)
    with_package("tokenizers", check_tokenizers)
    check_texts()


if __name__ == "__main__":
    main(sys.argv[1:])
