#!/usr/bin/env python3
"""Opens what attn-cli writes with the programs that its users have.

    check_python.py FOLDER      FOLDER is made anew; attn-cli is the one in PATH

numpy loads every NPY and NPZ without pickles, pandas both forms of CSV, Python's json (strictly: no
NaN, no duplicate keys) and jq the JSON, unzip tests the archives; and all say the same numbers.
Strings that break programs come back from CSV as they were. What `run --items` writes is read by numpy,
pandas, Python's json and, where it is installed, DuckDB, and all say the same numbers. Then the manual is followed: its console
blocks are run for the files they leave, its python blocks too.
"""
import contextlib
import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

try:
    import numpy as np
    import pandas as pd
    import safetensors
except ImportError as error:
    sys.exit(f"check-python: {error}; install all with: pip install numpy pandas safetensors\n"
             "(make check-python PYTHON=venv/bin/python uses another Python)")

ROOT = pathlib.Path(__file__).resolve().parents[2]
TINY = ROOT / "models" / "tiny-gpt2"
TEXT = 'keys, "a" =NA\n\N{GRINNING FACE} is'
TOKENS = ["-m", TINY, "-p", TEXT]

# What is run, beside the outputs: everything, selections, one matrix, a model with other shapes.
RUNS = {
    "everything": TOKENS + ["--sites", "*"],
    "selection": TOKENS + ["--sites", "*", "--heads", "1.1,1.2,2.0", "--queries", "0,3-5,-1"],
    "default": ["-m", TINY, "-p", "The keys", "--top", "5", "--next", " are", "--next", ' "is"'],
    "ablated": TOKENS + ["--ablate", "0.1,pattern:1", "-q"],
    "words": ["Life is short, eat dessert first"],
    "ids": ["-m", ROOT / "tests" / "fixtures" / "attn-grouped", "--ids", "1,2,3,2", "--sites", "*"],
}
FORMS = {"--npz": "all.npz", "--npy": "npy", "--json": "all.json", "--csv": "csv",
         "--tidy": "tidy.csv", "--safetensors": "all.safetensors"}
MATRICES = ("qk", "attn_scores", "pattern")


def attn(*arguments):
    return subprocess.run(["attn-cli", *map(str, arguments)], check=True,
                          stdout=subprocess.PIPE).stdout


def same(a, b, where):
    """The same shape and the same float32 in every cell, NaN and -0 included."""
    a, b = np.ascontiguousarray(a, np.float32), np.ascontiguousarray(b, np.float32)
    assert a.shape == b.shape, f"{where}: shapes {a.shape} and {b.shape}"
    nan = np.isnan(a) & np.isnan(b)
    assert (nan | (a.view(np.uint32) == b.view(np.uint32))).all(), f"{where}: numbers differ"


# --- Arrays -----------------------------------------------------------------------------------

def load_arrays(path):
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def check_arrays(folder, streamed):
    arrays = load_arrays(folder / "all.npz")
    for other in (load_arrays(streamed),
                  {f.stem: np.load(f, allow_pickle=False) for f in (folder / "npy").glob("*.npy")}):
        assert other.keys() == arrays.keys(), arrays.keys() ^ other.keys()
        for name, array in arrays.items():
            assert array.dtype == other[name].dtype, name
            assert array.tobytes() == other[name].tobytes(), name
            assert array.shape == other[name].shape, name
    if shutil.which("unzip"):
        for archive in (folder / "all.npz", streamed):
            subprocess.run(["unzip", "-tqq", archive], check=True)
    return arrays


def undone(text):
    """The bytes that an escaped text stands for."""
    letters = {b"\\": b"\\", b"n": b"\n", b"t": b"\t", b"r": b"\r"}
    return re.sub(rb"\\(\\|[ntr]|x[0-9a-f]{2})",
                  lambda m: letters.get(m[1]) or bytes.fromhex(m[1][1:].decode()), text.encode())


def in_json(texts):
    """Escaped texts as JSON has them: themselves, but for bytes that are not UTF-8."""
    return [undone(str(text)).decode("utf-8", "backslashreplace") for text in texts]


def check_safetensors(folder, arrays):
    """The same numbers and shapes; what are no numbers is in the metadata."""
    with safetensors.safe_open(folder / "all.safetensors", framework="np") as file:
        texts, metadata = {"tokens", "source_tokens"}, file.metadata()
        assert set(file.keys()) == arrays.keys() - texts, set(file.keys()) ^ arrays.keys()
        for name in file.keys():
            tensor, array = file.get_tensor(name), arrays[name]
            assert tensor.dtype == array.dtype and tensor.shape == array.shape, name
            assert tensor.tobytes() == array.tobytes(), name
    for name in texts:
        assert json.loads(metadata.get(name, "[]")) == in_json(arrays.get(name, [])), name
    assert metadata["version"] and metadata["model"] and metadata["format"] == "pt"
    return json.loads(metadata["options"])


# --- JSON -------------------------------------------------------------------------------------

def refuse_constant(name):
    raise ValueError(f"JSON has {name}")


def no_duplicates(pairs):
    assert len(dict(pairs)) == len(pairs), "a key comes twice"
    return dict(pairs)


def is_masked(name, shape, queries):
    """Which cells of an array are masked in JSON and CSV: later keys, in patterns and scores."""
    mask = np.zeros(shape, bool)
    if name.endswith(("hook_pattern", "hook_attn_scores")):
        mask[:] = np.arange(shape[-1]) > queries[:, None]
    return mask


def check_json(folder, arrays):
    data = (folder / "all.json").read_bytes()
    document = json.loads(data.decode("utf-8", "strict"), parse_constant=refuse_constant,
                          object_pairs_hook=no_duplicates)
    if shutil.which("jq"):
        names = subprocess.run(["jq", "-r", ".tensors | keys_unsorted[]"], input=data, check=True,
                               stdout=subprocess.PIPE).stdout.decode().split()
        assert names == list(document["tensors"]), "jq sees other tensors"
    assert document["schema"] == 1
    if "tokens" in arrays:
        assert document["tokens"] == in_json(arrays["tokens"]), "tokens differ"
    assert document["ids"] == arrays["ids"].tolist(), "ids differ"
    assert document["tensors"].keys() == arrays.keys() - {"ids", "tokens"}
    queries = arrays.get("queries", np.arange(len(arrays["ids"])))
    for name, values in document["tensors"].items():
        array = arrays[name]
        seen = np.array(values, np.float64)  # null is NaN
        if array.dtype == np.float32:
            mask = is_masked(name, array.shape, queries)
            assert (np.isnan(seen) == mask).all(), f"{name}: null in the wrong places"
            array = np.where(mask, np.float32("nan"), array)
        same(array, seen, f"{name} in JSON")
    return document


def check_offsets(document, text):
    assert len(document["offsets"]) == len(document["ids"])
    pieces = [text.encode()[begin:end] for begin, end in document["offsets"]]
    assert b"".join(pieces) == text.encode(), "offsets do not cover the text"


def check_predictions(document, printed):
    """What JSON says beside what was printed."""
    top, following = (block.splitlines() for block in printed.decode().split("\n\n"))
    seen = document["predictions"]
    assert [f"{p['prob']:.6f}\t{p['id']}\t{p['token']}" for p in seen["top"]] == in_json(top)
    assert [f"{p['log_prob']:.6f}\t{p['text']}" for p in seen["next"]] == in_json(following)


# --- CSV --------------------------------------------------------------------------------------

def labels_of(arrays):
    tokens = arrays.get("tokens")
    return [str(p) if tokens is None else f"{p}|{tokens[p]}" for p in range(len(arrays["ids"]))]


def array_of(stem, arrays):
    """The array that a CSV file L00H03.site holds a slice of, and the slice's head or None."""
    layer, head, site = re.fullmatch(r"(?:L(\d+))?(?:H(\d+))?\.?(\w+)", stem).groups()
    layer = "" if layer is None else f"blocks.{int(layer)}."
    name = next(layer + middle for middle in (
        f"hook_{site}", f"attn.hook_{site}", f"mlp.hook_{site.removeprefix('mlp_')}",
        "ln_final.hook_normalized" if site == "ln_final" else site) if layer + middle in arrays)
    if head is None:
        return site, arrays[name]
    heads = arrays.get(f"{layer}heads")
    heads = list(range(99)) if heads is None else heads.tolist()  # GPT-2 has a k and v for each
    index = heads.index(int(head))
    return site, arrays[name][index] if site in MATRICES else arrays[name][:, index]


def check_csv(folder, arrays):
    """Each file, read by pandas as the README says, beside the slice of its array."""
    labels = labels_of(arrays)
    queries = arrays.get("queries", np.arange(len(labels)))
    for path in (folder / "csv").glob("*.csv"):
        site, array = array_of(path.stem, arrays)
        frame = pd.read_csv(path, index_col=0)
        rows = labels if site in "kv" else [labels[q] for q in queries]
        assert [str(label) for label in frame.index] == rows, f"{path}: row labels"
        if site in MATRICES:
            assert list(frame.columns) == labels, f"{path}: column labels"
        if site in ("attn_scores", "pattern"):
            array = np.where(np.arange(len(labels)) > queries[:, None], np.float32("nan"), array)
        same(array, frame.to_numpy(), path)
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.reader(file, strict=True):
                assert len(row) == array.shape[1] + 1, f"{path}: a row has {len(row)} cells"
                assert not row[0].startswith(("=", "+", "-", "@")), f"{path}: {row[0]}"


def check_tidy(folder, arrays):
    frame = pd.read_csv(folder / "tidy.csv", keep_default_na=False)
    assert list(frame.columns) == ["id", "layer", "head", "query", "key", "query_token",
                                   "key_token", "weight"]
    queries = arrays.get("queries", np.arange(len(arrays["ids"])))
    n_line = 0
    for (layer, head), lines in frame.groupby(["layer", "head"]):
        array = arrays[f"blocks.{layer}.attn.hook_pattern"]
        heads = arrays.get(f"blocks.{layer}.heads", np.arange(array.shape[0]))
        matrix = array[list(heads).index(head)]
        rows = np.searchsorted(queries, lines["query"])
        same(matrix[rows, lines["key"]], lines["weight"], f"tidy, head {layer}.{head}")
        n_line += int((queries + 1).sum())
        if "tokens" in arrays: # but what a spreadsheet would run is escaped
            tokens = np.array([re.sub("^[-=+@]", lambda c: f"\\x{ord(c[0]):02x}", token)
                               for token in arrays["tokens"]])
            assert (lines["query_token"] == tokens[lines["query"]]).all()
            assert (lines["key_token"] == tokens[lines["key"]]).all()
    assert len(frame) == n_line, f"tidy has {len(frame)} lines, expected {n_line}"


def check_run(name, arguments, folder):
    folder.mkdir()
    outputs = [part for option, path in FORMS.items() for part in (option, folder / path)]
    printed = attn("run", *arguments, *outputs)
    streamed = folder / "streamed.npz"
    if "--top" not in arguments:
        streamed.write_bytes(attn("run", *arguments, "--npz", "-"))
    else:
        shutil.copy(folder / "all.npz", streamed)
    arrays = check_arrays(folder, streamed)
    document = check_json(folder, arrays)
    assert check_safetensors(folder, arrays) == document["options"]
    if "-p" in arguments:
        check_offsets(document, arguments[arguments.index("-p") + 1])
    if "--top" in arguments:
        check_predictions(document, printed)
    check_csv(folder, arrays)
    check_tidy(folder, arrays)
    print(f"check-python: {name}: {len(arrays)} arrays, the same in every form")


# --- Naughty strings --------------------------------------------------------------------------

NAUGHTY = ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", '=","', '"', '""', '","', "a,b",
           "'", "a\nb", "\n", "\r\n", "\t=1", "\x1b[2J", "\x1b]52;c;\x07", "\u202egpj", "\u200b",
           "\ufeff", "\u2028", "\x85", "\x7f", "\\", "\\x3d", "\\n", "<script>", "%s", ";", "|",
           "NA", "", "\u00e9", "\u7231", "\U0001f469\u200d\U0001f467"]


def check_naughty(folder):
    """A vocabulary of strings that break programs reads back equal with Python's csv, and no cell
    of text begins as a formula."""
    model, n = folder / "model", len(NAUGHTY)
    folder.mkdir()
    attn("init", model, "--vocab-from", " ".join(f"w{i}" for i in range(n)), "--set", "d_model=4")
    (model / "vocab.json").write_text(json.dumps({text: i for i, text in enumerate(NAUGHTY)}))
    attn("run", "-m", model, "--ids", ",".join(map(str, range(n))), "--id", "=1+1", "--csv",
         folder / "csv", "--tidy", folder / "tidy.csv")
    rows = {}
    for path in (folder / "csv" / "L00H00.pattern.csv", folder / "tidy.csv"):
        with open(path, newline="", encoding="utf-8") as file:
            rows[path.name] = list(csv.reader(file, strict=True))
        for cell in (cell for row in rows[path.name] for cell in row):
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")), f"{path}: {cell}"
    matrix, tidy = rows.values()
    labels = [f"{i}|{text}" for i, text in enumerate(NAUGHTY)]
    assert in_json(matrix[0][1:]) == labels
    assert in_json(row[0] for row in matrix[1:]) == labels
    for name, _, _, query, key, query_token, key_token, _ in tidy[1:]:
        assert in_json([name, query_token, key_token]) == [
            "=1+1", NAUGHTY[int(query)], NAUGHTY[int(key)]], (query, key)
    assert len(tidy) == 1 + n * (n + 1) // 2
    print(f"check-python: {n} naughty strings read back equal from CSV")


# --- Records of many texts ----------------------------------------------------------------------

def check_items(folder):
    """JSON Lines, CSV and the archive of many texts say the same, to the bit."""
    folder.mkdir()
    texts = ["keys are", "", "The \N{LINE SEPARATOR} keys", "is \x85 is", "The keys The keys are"]
    (folder / "in.jsonl").write_text("".join(json.dumps({"id": "r%d,\"x\"" % i, "text": text}) + "\n" for i, text in enumerate(texts)))
    asked = ["attn-cli", "run", "-q", "-m", str(TINY), "--items", "in.jsonl", "--sites", "pattern"]
    for output in (["--jsonl", "out.jsonl"], ["--csv", "out.csv"], ["--npz", "out.npz"]):
        code = subprocess.run([*asked, *output], cwd=folder, check=False).returncode
        assert code == 6, code  # some of the texts have failed
    lines = (folder / "out.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == len(texts), "splitlines cuts a line of JSON"
    records = [json.loads(line, parse_constant=refuse_constant, object_pairs_hook=no_duplicates) for line in lines]
    table = pd.read_csv(folder / "out.csv", dtype={"id": str}).set_index("id")
    archive = np.load(folder / "out.npz")
    for i, record in enumerate(records):
        has_failed = "error" in record
        assert any(name.startswith("%09d/" % i) for name in archive.files) != has_failed
        if has_failed:
            assert isinstance(table.loc[record["id"]]["error"], str)
            continue
        assert list(archive["%09d/ids" % i]) == record["ids"]
        for name, rows in record["tensors"].items():
            if name == "source_ids":
                continue
            wanted = np.array([[[0 if x is None else x for x in row] for row in head] for head in rows], dtype=np.float32)
            same(wanted, archive[f"{i:09d}/{name}"], f"{name} of record {i}")
            layer = int(name.split(".")[1])
            cells = table.loc[[record["id"]]].query(f"layer == {layer}")
            found = wanted[cells["head"].astype(int), cells["query"].astype(int), cells["key"].astype(int)]
            same(found, cells["weight"].to_numpy(dtype=np.float32), f"{name} of record {i} in CSV")
    check_duckdb(folder, len(texts), table)
    print(f"check-python: {len(records)} texts are the same in every output")


def check_duckdb(folder, n, table):
    """The manual's line to Parquet, where DuckDB is installed."""
    try:
        import duckdb
    except ImportError:
        print("check-python: skipped DuckDB, which is not installed")
        return
    parquet = folder / "out.parquet"
    duckdb.sql(f"copy (from '{folder}/out.csv') to '{parquet}' (compression zstd)")
    mean, = duckdb.sql(f"select avg(weight) from '{parquet}'").fetchall()[0]
    assert np.isclose(mean, table["weight"].mean(), rtol=1e-6)
    assert duckdb.sql(f"select count(*) from '{folder}/out.jsonl'").fetchall() == [(n,)]
    print("check-python: DuckDB reads CSV and JSON Lines of many texts, and makes Parquet of them")


# --- GGUF -------------------------------------------------------------------------------------

def check_quantized(folder):
    """fable as GGUF files, where the package gguf is installed: the same ids; in F16 the same
    patterns, in fewer bits patterns that differ more."""
    try:
        import gguf  # noqa: F401
    except ImportError:
        print("check-python: skipped GGUF files, the package gguf is not installed")
        return
    damage = []
    for kind in ("F16", "Q8_0", "Q4_0"):
        (folder / kind).mkdir(parents=True)
        subprocess.run([sys.executable, ROOT / "tests/tools/quantize_gpt2.py", ROOT / "models/fable", kind,
                        folder / kind / "model.gguf"], check=True)
        assert json.loads(attn("inspect", "--json", folder / kind))["mixture"] == kind
        text = "Anna gave the keys to the cabinet to Tom because he didn't have them."
        table = attn("diff", "-q", "-m", "fable", "--with", folder / kind, "--csv", "-", text)
        damage.append(pd.read_csv(io.BytesIO(table))["tv"].mean())
    assert damage[0] == 0 and 0 < damage[1] < 0.01 < damage[2] < 0.2, damage
    print("check-python: fable as GGUF: tv of F16, Q8_0 and Q4_0 is " + ", ".join(f"{tv:.4f}" for tv in damage))


# --- Manual -----------------------------------------------------------------------------------

def check_page(page, folder):
    """Runs the console and python blocks of a page of the manual, in order, in one folder. Returns
    the number of python blocks. tests/run_readme.sh compares what the console shows."""
    folder.mkdir()
    for name in ("models", "data", "tests"):
        (folder / name).symlink_to(ROOT / name)
    os.chdir(folder)
    n_block = 0
    blocks = re.findall(r"^```(console|python)\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    for language, block in blocks:
        if language == "console":
            for command in re.findall(r"^\$ (.*(?:\n> .*)*)", block, re.M):
                subprocess.run(["bash", "-c", command.replace("\n> ", "\n")], check=False,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            continue
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(block, str(page), "exec"), {})
        assert out.getvalue().strip(), "a python block of the manual prints nothing"
        n_block += 1
    return n_block


def check_manual(folder):
    folder.mkdir()
    pages = [page for page in sorted(ROOT.glob("cmd/manual/**/*.md")) if "\n```python\n" in page.read_text("utf-8")]
    n_block = sum(check_page(page, folder / page.stem) for page in pages)
    print(f"check-python: {n_block} python blocks of the manual run")


def main(path):
    folder = pathlib.Path(path).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, arguments in RUNS.items():
        check_run(name, arguments, folder / name)
    check_naughty(folder / "naughty")
    check_items(folder / "items")
    check_quantized(folder / "quantized")
    check_manual(folder / "readme")


if __name__ == "__main__":
    main(sys.argv[1])
