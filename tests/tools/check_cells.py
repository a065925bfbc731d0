#!/usr/bin/env python3
"""check_cells.py - the table of commands, kinds of models and outputs: no cell may crash.

    tests/tools/check_cells.py BINARY [--sample N] [--seed S] [--only WORD]... [--table FILE]

A cell is a command on a model with an input and an output. Each input is tried with each output: a few ids, one id,
the largest id, an id beyond, a text of tokens that are no whole characters, a picture. What is no answer is one error
with a documented exit code, and what is written is what its name says: XML, JSON, CSV, PNG, a page in UTF-8. Run it on
a build with AddressSanitizer, whose arenas have red zones then (`make MODE=asan`). N cells are drawn with the seed S;
else all run. What is printed has a line for each model and a sign for each command: `X` a cell failed, `.` one was
answered, `-` all that were tried are refused, ` ` none was tried. FILE has a line for each model and command, and a
sign for each cell. It needs Python 3 alone.
"""
import argparse, collections, concurrent.futures, csv, io, json, os, pathlib, random, struct, subprocess, sys, tempfile, xml.dom.minidom

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
ROOT = FIXTURES.parent.parent
TEXT = "\u732b \u00fcber"

# name of an archive, or "" for folders that lie open: models in it
TEXTS = {
    "": "gpt2-gelu opt-narrow opt-wide attn-plain attn-mlp attn-rms attn-grouped attn-multi-query attn-one-head attn-values "
        "attn-bidirectional family-gemma2 family-gemma3-text family-gemma4-text family-cohere2 family-gptj "
        "family-gpt-neo family-gpt-neox-parallel family-phi3-longrope family-qwen3 family-qwen3-5-text family-qwen3-next "
        "family-falcon-h1 family-bamba family-lfm2 family-nemotron-h family-granitemoehybrid family-mpnet family-nomic-bert "
        "family-eurobert family-eurobert-class family-deberta-v3 family-deberta-v2-class family-jina-embeddings-v3 "
        "decoder-bloom decoder-falcon-7b decoder-gpt-oss decoder-mixtral decoder-mpt decoder-olmoe row-apertus row-xglm "
        "words-bert albert-square classifier proteins truth-tl-solu torch-llama2c-shared".split(),
    "encoders": "albert bert distilbert electra modernbert roberta".split(),
    "built in": "fable life-is-short tiny-gpt2 letters reverse".split(),
}
SOURCES = {"stacks": "bart marian t5 whole_opus".split(), "stack-rows": "m2m_100 pegasus umt5".split(), "": ["attn-cross", "attn-stack"],
           "built in": ["cross-attention"]}
SEEING = {"vision": "gemma3 llava paligemma qwen2_5_vl qwen2_vl smolvlm".split(),
          "sight": "sight/internvl sight/llava_next sight/llava_onevision sight/mistral3 sight/pixtral sight/qwen3_vl".split()}
PICTURES = {"": "names-dinov2 names-vit family-dinov3-vit family-deit family-siglip".split(), "clip": ["clip"],
            "image-encoders": "clip_vision_model dinov2_with_registers".split()}

AT = ["--target", "ids:1", "--at", "-1"]
COMMANDS = {
    "run": ["run"], "run bf16": ["run", "--compute", "bf16", "--sites", "z"], "run top": ["run", "--top", "3", "--queries", "-1"],
    "run sites": ["run", "--sites", "*"], "run sinks": ["run", "--sites", "pattern", "--heads", "0.0", "--hide", "sinks", "--attention", "log"],
    "run explain": ["run", "--explain", "--heads", "0.0", "--queries", "-1"], "run grad": ["run", "--grad", "--sites", "pattern", *AT],
    "heads": ["heads"], "heads map": ["heads", "--figure", "map"], "heads effect": ["heads", "--measures", "ablated,direct", *AT],
    "sinks": ["sinks"], "lens": ["lens", "--queries", "-1"], "lens life": ["lens", "--figure", "life", "--target", "ids:1"],
    "score": ["score"], "ablate": ["ablate", *AT], "ablate whole": ["ablate", "--target", "ids:1"],
    "ablate estimate": ["ablate", "--estimate", *AT],
    "attribute": ["attribute", *AT], "attribute ig": ["attribute", "--method", "ig:2", *AT],
    "attribute pairs": ["attribute", "--by", "pair", "--score", "0>0@0.0"], "generate": ["generate", "-n", "2"],
    "spans": ["spans", "--positions", "a=0"], "align": ["align"], "patch": ["patch", *AT], "circuit": ["circuit", *AT], "diff": ["diff"],
    "tokenize": ["tokenize"], "inspect": ["inspect"], "inspect tower": ["inspect", "--tower", "image"],
}
OUTPUTS = {"t": [], "c": ["--csv", "{}.csv"], "j": ["--json", "{}.json"], "s": ["--svg", "{}.svg"], "p": ["--png", "{}.png"],
           "h": ["--html", "{}.html"]}
DOCUMENTED = range(8)


def largest(folder):
    """The number of ids of a model, by its embedding; None where nobody knows."""
    config = folder / "config.json"
    if not config.exists():
        return None
    stack = [json.loads(config.read_text())]
    while stack:
        at = stack.pop()
        for key in ("vocab_size", "d_vocab", "n_vocab"):
            if isinstance(at.get(key), int):
                return at[key]
        stack += [value for value in at.values() if isinstance(value, dict)]
    return None


def inputs_of(kind, folder, name):
    """(name, options, whether they name an id that is not there)"""
    n = largest(folder) if folder else None
    of = lambda *ids: ["--ids", ",".join(map(str, ids))]
    if kind == PICTURES:
        picture = ["--image", str(PICTURE)] + (["--tower", "image"] if name == "clip" else [])
        return [("picture", picture, False)]
    found = [("ids", of(1, 2, 3, 2, 1), False), ("one", of(1), False)]
    if any(name.startswith(("tokenizer", "vocab")) for name in os.listdir(folder)):
        found += [("text", [TEXT], False)]
    if n:
        found += [("last", of(n - 1), False), ("beyond", of(n), True), ("far", of(1, 2, 2**31 - 1), True)]
    if kind == SOURCES:
        found = [(word, options + (["--source", TEXT] if word == "text" else ["--source", "ids:1,2,3"]), bad) for word, options, bad in found]
    if kind == SEEING:
        picture = ["--image", str(folder / "picture_0.png")]
        found += [("picture", picture + ["What?"], False), ("tower", picture + ["--tower", "image"], False)]
    return found


def adapt(command, given):
    """The input GIVEN as COMMAND takes it: two texts for those that compare them, none for those that read none."""
    pair = {"patch": ("--clean", "--corrupted"), "circuit": ("--clean", "--corrupted"), "diff": ("--a", "--b")}.get(command)
    if command == "inspect":
        return []
    if not pair:
        return given
    if "--ids" not in given:
        return given[:-1] + ([given[-1], given[-1][::-1]] if command == "diff" else [pair[0], given[-1], pair[1], given[-1][::-1]])
    at = given.index("--ids")
    ids = given[at + 1]
    return given[:at] + [pair[0] + "-ids", ids, pair[1] + "-ids", ",".join(["2"] + ids.split(",")[1:])] + given[at + 2:]


def check_file(path):
    """Raises what a reader of the file would raise."""
    if path.is_dir():
        for one in path.iterdir():
            check_file(one)
        return
    data = path.read_bytes()
    if path.suffix == ".png":
        assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[-8:-4] == b"IEND", "is no PNG"
        return
    text = data.decode("utf-8")
    if path.suffix == ".svg":
        xml.dom.minidom.parseString(data)
    elif path.suffix == ".json":
        json.loads(text)
    elif path.suffix == ".html":
        assert text.startswith("<!") and text.rstrip().endswith("</html>"), "is no page"
    elif path.suffix == ".csv":
        rows = list(csv.reader(io.StringIO(text)))
        assert rows and all(len(row) == len(rows[0]) for row in rows), "has rows of several lengths"


def run_cell(cell):
    """Returns the sign of a cell, and what is wrong with it."""
    binary, scratch, model, command, (word, given, is_beyond), output = cell
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        out = pathlib.Path(folder) / "out"
        args = [binary, *COMMANDS[command], "-q", "-m", model, *[x.format(out) for x in OUTPUTS[output][:1 if COMMANDS[command][0] in ("inspect", "tokenize") else 2]],
                *adapt(COMMANDS[command][0], given)]
        if output == "c" and COMMANDS[command][0] in ("run", "generate"):
            args[args.index("--csv") + 1] = str(out)  # a folder with a file for each matrix
        line = " ".join(f"'{a}'" if " " in a else a for a in args)
        try:
            ran = subprocess.run(args, capture_output=True, timeout=240, stdin=subprocess.DEVNULL,
                                 env=os.environ | {"ASAN_OPTIONS": "allocator_may_return_null=1:" + os.environ.get("ASAN_OPTIONS", "")})
        except subprocess.TimeoutExpired:
            return "X", f"{line}\n    takes more than four minutes"
        said = ran.stderr.decode("utf-8", "replace")
        wrong = None
        if ran.returncode not in DOCUMENTED or "Sanitizer" in said or "runtime error" in said:
            frames = [x.strip() for x in said.splitlines() if "ERROR: " in x or "runtime error" in x or x.strip().startswith("#")]
            wrong = "\n    ".join([f"ends with {ran.returncode}"] + frames[:6])
        elif ran.returncode == 0 and is_beyond and "--ids" in args:
            wrong = "takes an id that is not there"
        elif ran.returncode != 0 and said.count("error: ") != 1:
            wrong = f"ends with {ran.returncode} and {said.count('error: ')} errors"
        try:
            if COMMANDS[command][0] not in ("generate", "tokenize"):  # these write the bytes of tokens
                ran.stdout.decode("utf-8")
            for path in pathlib.Path(folder).iterdir():
                if ran.returncode == 0:
                    check_file(path)
                elif not path.is_dir():
                    wrong = wrong or f"ends with {ran.returncode} and leaves {path.name}"
        except Exception as problem:  # pylint: disable=broad-except
            wrong = wrong or f"writes what cannot be read: {problem}"
        return ("X", f"{line}\n    {wrong}") if wrong else ("." if ran.returncode == 0 else "-", None)


def main():
    global PICTURE  # pylint: disable=global-statement
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--table")
    args = parser.parse_args()
    args.binary = os.path.abspath(args.binary)

    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as scratch:
        os.chdir(scratch)
        cells = []
        PICTURE = pathlib.Path(scratch) / "vision" / "smolvlm" / "picture_0.png"
        for archive in {name for kind in (TEXTS, SOURCES, SEEING, PICTURES) for name in kind if name not in ("", "built in")}:
            os.mkdir(archive)
            subprocess.run(["tar", "-xf", FIXTURES / f"{archive}.tar", "-C", archive], check=True)
        for kind in (TEXTS, SOURCES, SEEING, PICTURES):
            for archive, names in kind.items():
                for name in names:
                    folder = None if archive == "built in" else pathlib.Path(scratch) / archive / name if archive else FIXTURES / name
                    model = str(folder) if folder else name
                    for command in COMMANDS:
                        verb = COMMANDS[command][0]
                        for given in inputs_of(kind, folder or ROOT / "models" / name, name):
                            if verb == "tokenize" and given[0] != "text" or verb == "inspect" and given[0] not in ("ids", "picture") \
                                    or verb == "align" and kind != SOURCES or "--tower" in given[1] and verb in ("patch", "generate", "score"):
                                continue
                            if verb == "inspect" or given[2]:
                                outputs = "tj"
                            else:
                                outputs = "sph" if "--figure" in COMMANDS[command] else "tj" if verb == "tokenize" else OUTPUTS
                            for output in outputs:
                                cells.append((args.binary, scratch, model, command, given, output))
        if args.only:
            cells = [cell for cell in cells if all(word in " ".join((*cell[2:4], cell[4][0], *cell[4][1])) for word in args.only)]
        n_all = len(cells)
        if args.sample:
            cells = random.Random(args.seed).sample(cells, min(args.sample, len(cells)))
        signs, n, failures = collections.defaultdict(dict), collections.Counter(), []
        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("ATTN_TEST_JOBS", os.cpu_count()))) as pool:
            for cell, (sign, wrong) in zip(cells, pool.map(run_cell, cells)):
                signs[pathlib.PurePath(cell[2]).name, cell[3]][cell[4][0], cell[5]] = sign
                n[sign] += 1
                if wrong:
                    failures.append(wrong)
        lines = ["model and command; of each input (ids, one, last, beyond, far, text, picture, tower): text CSV JSON SVG PNG HTML"]
        for (model, command), row in sorted(signs.items()):
            words = [w for w in ("ids", "one", "last", "beyond", "far", "text", "picture", "tower") if any(key[0] == w for key in row)]
            lines.append(f"{model:28} {command:16} " + "  ".join(f"{w} " + "".join(row.get((w, o), " ") for o in OUTPUTS) for w in words))
        if args.table:
            pathlib.Path(ROOT, args.table).write_text("\n".join(lines) + "\n")
        print(*(f"{chr(97 + i) if i < 26 else chr(39 + i)} {command}" for i, command in enumerate(COMMANDS)), sep=", ")
        print(f"{'':28} " + "".join(chr(97 + i) if i < 26 else chr(39 + i) for i in range(len(COMMANDS))))
        for model in sorted({model for model, _ in signs}):
            tried = ["".join(signs.get((model, command), {}).values()) for command in COMMANDS]
            print(f"{model:28} " + "".join("X" if "X" in t else "." if "." in t else "-" if t else " " for t in tried))
        print(*sorted(failures), sep="\n")
        print(f"cells: {len(cells)} of {n_all} tried: {n['.']} answered, {n['-']} refused, {n['X']} failed")
        return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
