#!/usr/bin/env python3
"""check_interface.py - compares what scripts rely on with tests/interface, one fact a line, so that no change of it happens unseen.

    check_interface.py TOOL               tells of lines that are new or gone, and does --grows with the newest tag from v1.0.0-rc1 on
    check_interface.py TOOL --keep        writes tests/interface anew
    check_interface.py TOOL --grows REF   fails if a line of tests/interface of the commit REF is gone that is not preview, if what was
                                          stable is preview, or if an option needs or excludes another that it did not

Facts: command, argument; option (with its type), letter, default, word, form, repeats, requires, excludes of an option; column of a
table; schema and its version; json, a key of a document; exit, code of a failure; site (shape, name in archives); item, a key of items;
record, a key of a line of results; metadata of tensors; topic, variable; value, a word of a closed set; attention, a kind; python, a
function, a member, a parameter with its default; preview, what may change.
cmd/manual/reference/stability.md says which changes a version may make."""
import difflib
import inspect
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "tests" / "interface"
FIXTURES = ROOT / "tests" / "fixtures"
KEYS = "The keys to the cabinet"
ANSWER = ["--target", " are", "--foil", " is"]
LABEL = ["-m", str(FIXTURES / "sentences"), "--label", "A dog"]
PAIR = ["--clean", KEYS, "--corrupted", "The key to the cabinet"]
DOCUMENTS = {  # commands that write JSON, besides tables, which name their columns
    "run": ["run", "--top", "1", "--sites", "pattern,z", KEYS], "generate": ["generate", "-n", "1", KEYS],
    "inspect": ["inspect", "fable"], "tokenize": ["tokenize", KEYS],
    "score": ["score", KEYS], "ablate": ["ablate", *ANSWER, KEYS], "patch": ["patch", *ANSWER, *PAIR, "--site", "z"],
    "circuit": ["circuit", *ANSWER, *PAIR, "--size", "5"], "help": ["help"], "diff": ["diff", KEYS, "The key to the cabinet"],
    "run --next": ["run", "--next", " are", KEYS], "run --label": ["run", *LABEL, KEYS], "failure": ["run", "-m", "fable", "--heads", "9.9", KEYS],
    "inspect quantized": ["inspect", FIXTURES / "quantized-awq"], "inspect gguf": ["inspect", FIXTURES / "gguf/tiny.gguf"],
    "inspect encoder": ["inspect", FIXTURES / "family-nomic-bert"],
}
MOST_PREVIEW = 12  # options that may change in a MINOR
TYPES = {int: "number", float: "number", bool: "boolean", str: "string", type(None): "null"}


def keys_of(value, path):
    """The paths of the keys in VALUE with the types of their values."""
    if isinstance(value, dict):
        for key, member in value.items():
            name = re.sub(r"\d+", "N", key) if "." in key else key
            yield from keys_of(member, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for member in value:
            yield from keys_of(member, path + "[]")
        if not value:
            yield path + "[]"
    else:
        yield f"{path} {TYPES[type(value)]}"


def options_of(command):
    """The facts about the options, those of former names too."""
    for option in [{**option, "name": name} for option in command["options"] for name in [option["name"], *option["aliases"]]]:
        name = f"{command['name']} {option['name']}"
        yield f"option {name} {option['type']}"
        if option["short"]:
            yield f"letter {name} {option['short']}"
        if option["default"] is not None:
            yield f"default {name} {json.dumps(option['default'], ensure_ascii=False)}"
        for word in option["values"] or []:
            yield f"word {name} {word}"
        for form in option["forms"]:
            yield f"form {name} {form}"
        if option["repeats"]:
            yield f"repeats {name}"
        for kind in ("requires", "excludes"):
            yield from (f"{kind} {name} {other}" for other in option[kind])


def documents(run):
    for name, arguments in DOCUMENTS.items():
        to = "--json" if arguments[0] in ("inspect", "help") else "--json=-"
        document = json.loads(run(*arguments, to, *(["-q"] if name != "help" else []), check=name != "failure"))
        yield f"schema {document['kind']} {document['schema']}"
        yield from (f"json {name} {key}" for key in keys_of(document, ""))


def files(run):
    """The keys of lines of results, of one that failed, and of the metadata of tensors."""
    with tempfile.TemporaryDirectory() as folder:
        items, tensors = pathlib.Path(folder, "items.jsonl"), pathlib.Path(folder, "a.safetensors")
        items.write_text(json.dumps({"text": KEYS}) + "\n" + json.dumps({"text": ""}) + "\n")
        for command in (["run", "--top", "1", "--next", " are", "--sites", "pattern"], ["run", *LABEL], ["generate", "-n", "1"]):
            for line in run(*command, "--items", items, "--jsonl", "-", "-q", check=False).splitlines():
                for key in keys_of(json.loads(line), ""):
                    yield f"record {command[0]} {key}"
        run("run", "-q", "--sites", "z", "--safetensors", tensors, KEYS)
        data = tensors.read_bytes()
        header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
        yield from (f"metadata {key}" for key in header["__metadata__"])


def texts_of(path, pattern):
    return re.findall(pattern, (ROOT / path).read_text().replace("\\\n", " "), re.M)


def sources():
    """Words that are in tables of C alone."""
    reasons = (ROOT / "lib/ground/base/status.h").read_text().partition("ATTN_REASON_MAP(X)")[2].partition("enum")[0]
    yield from (f"code {code}" for code in re.findall(r"\"(\w+)\"", reasons))
    keys = texts_of("lib/ask/stream/record_keys.c", r"^    (?:\w+_KEYS?|KEY|ROW|\w+_ROW)\(\"(\w+)\"")
    yield from (f"item {key}" for key in {*keys, "target", "foil", "at", "pos.NAME"})
    yield from (f"item sentence_{key} = {key}" for key in ("good", "bad") if f"sentence_{key}" in keys)
    for word in texts_of("lib/ground/tables/column.h", r"#define ATTN_ROW_(?!TYPE)\w+ \"(\w+)\""):
        yield f"value * row_type {word}"
    for word in texts_of("lib/questions/score/generate.h", r"X\([A-Z_]+, \d+, \"(\w+)\"\)"):
        yield f"value generate end {word}"
    for words in texts_of("lib/ask/frame/stream.c", r"names\[\] = \{([^}]*)\}"):
        yield from (f"value * metric {word}" for word in re.findall(r'"(\w+)"', words))


def python(tool):
    """The functions, classes and keywords of the module."""
    os.environ.setdefault("LIBATTN", str(pathlib.Path(tool).resolve().parent / "libattn.so"))
    sys.path.insert(0, str(ROOT / "lib/python"))
    import attn
    from attn import items, request
    for name in attn.__all__:
        value = getattr(attn, name)
        yield f"python {name}"
        yield from members(name, value) if inspect.isclass(value) else parameters(name, value)
    for name in (*request.OPTIONS, *inspect.signature(request.Request).parameters):
        if name not in ("text", "given", "asked", "host"):
            yield f"python **options {name}"
    yield from (f"python **options {name}" for name in items.OPTIONS)
    model = attn.Model("fable")
    result = model.run(KEYS, sites="pattern", top=1)
    for sample in (model, result, result.cache, result.pattern, model.ablate(KEYS, target=" are")):
        yield from (f"python {type(sample).__name__}.{name}" for name in vars(sample) if not name.startswith("_"))


def members(name, cls):
    """The methods, properties and fields of CLS that it has from the module itself. Few constructors are for users."""
    for member in {member for base in cls.__mro__ if base.__module__.startswith("attn") for member in vars(base)}:
        value = inspect.getattr_static(cls, member)
        if not member.startswith("_") or member == "__init__" and name in ("Model", "Edit", "Error"):
            yield f"python {name}.{member}"
            if callable(value) or isinstance(value, (staticmethod, classmethod)):
                yield from parameters(f"{name}.{member}", getattr(cls, member))


def parameters(name, function):
    for arg in inspect.signature(function).parameters.values():
        if arg.name not in ("self", "cls") and arg.kind is not arg.VAR_KEYWORD:
            yield f"python {name} {arg.name}{'' if arg.default is arg.empty else f'={arg.default!r}'}"


def interface(tool):
    def run(*arguments, check=True):
        return subprocess.run([tool, *map(str, arguments)], check=check, capture_output=True, text=True).stdout

    help_ = json.loads(run("help", "--json"))
    for command in help_["commands"]:
        yield f"command {command['name']}"
        for argument in command["arguments"]:
            yield f"argument {command['name']} {argument['name']} {'required' if argument['required'] else ''}".rstrip()
            if argument["repeats"]:
                yield f"repeats {command['name']} {argument['name']}"
        yield from options_of(command)
        if command.get("stability") == "preview":
            yield f"preview command {command['name']}"
        for option in command["options"]:
            if option.get("stability") == "preview":
                yield f"preview option {command['name']} {option['name']}"
    for table in help_["tables"]:
        yield f"value * table {table['name']}"
        for column in table["columns"]:
            yield f"column {table['name']} {column['name']} {column['type']} {column['unit'] or ''}".rstrip()
            if column.get("stability") == "preview":
                yield f"preview column {table['name']} {column['name']}"
    for kind in ("topics", "environment"):
        yield from (f"{'topic' if kind == 'topics' else 'variable'} {row['name']}" for row in help_[kind])
    yield from (f"exit {code['code']} {str(code['retry']).lower()}" for code in help_["exit_codes"])
    for site in help_["sites"]:
        yield f"site {site['name']} [{site['shape']}] {site['archive']}"
    for form in re.findall(r"(?m)^  (\w+[^ ]*)  ", run("run", "--attention", "help")):
        yield f"attention {form}"
    yield from documents(run)
    yield from files(run)
    yield from sources()
    yield from python(tool)


def name_of(line):
    """What LINE is about: "option run --top"; of a value of an option, the option."""
    kind, *words = line.split(" ")
    n = {"option": 2, "letter": 2, "default": 2, "word": 2, "form": 2, "repeats": 2, "requires": 2, "excludes": 2, "column": 2, "command": 1}
    if len(words) > 2 and not words[2].startswith("-") and words[1] in ("--style", "--attention", "--stats"):
        n = dict.fromkeys(n, 3)  # a setting: --style dpi
    of = kind if kind in ("column", "command") else "option"
    return " ".join([of, *words[:n[kind]]]) if kind in n else line


def lost(old, new):
    """The lines of OLD that are gone, but for those that OLD names as preview."""
    preview = {line[len("preview "):] for line in old if line.startswith("preview ")}
    columns = {(name.split(" ")[1].split(".")[0], name.split(" ")[2]) for name in preview if name.startswith("column ")}
    for line in old:
        kind, *words = line.split(" ")
        key = re.search(r"rows\[\]\.([^ .\[]+)", line)
        is_preview = name_of(line) in preview or f"command {words[0]}" in preview or kind == "json" and key and (words[0], key[1]) in columns
        if line not in new and kind not in ("preview", "requires", "excludes") and not is_preview:
            yield line


def tightened(old, new):
    """The lines that NEW adds and that may break a script of OLD: an option or a column became preview, or an option needs or
    excludes another one of OLD."""
    kept, names = set(old), {name_of(line) for line in old}
    for line in new:
        kind, *words = line.split(" ")
        what = line[len("preview "):] if kind == "preview" else name_of(line)
        if line in kept or what not in names or f"preview {what}" in kept or not any(one.startswith(kind + " ") for one in old):
            continue
        other = line[len(what) - len("option") + len(kind) + 1:]
        if kind == "preview" or kind in ("requires", "excludes") and f"option {words[0]} {other}" in names:
            yield line


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True).stdout


def grows(lines, ref):
    """Tells which lines of the commit REF are gone."""
    old = git("show", f"{ref}:tests/interface").splitlines()
    gone, more = list(lost(old, set(lines))), list(tightened(old, lines))
    print("\n".join([*(f"-{line}" for line in gone), *(f"+{line}" for line in more),
                     f"interface: {len(gone)} of {len(old)} lines of {ref} are gone, {len(more)} new ones bind what was free"]))
    return bool(gone or more) or not old


def main(tool, *options):
    lines = sorted(set(interface(tool)))
    preview = [line for line in lines if line.startswith("preview option ")]
    if len(preview) > MOST_PREVIEW:
        sys.exit("\n".join([*preview, f"interface: {len(preview)} options are preview, expected at most {MOST_PREVIEW}"]))
    if options == ("--keep",):
        KEPT.write_text("\n".join(lines) + "\n")
        return
    if options[:1] == ("--grows",):
        sys.exit(grows(lines, options[1]))
    changes = [line for line in difflib.unified_diff(KEPT.read_text().splitlines(), lines, lineterm="", n=0)
               if line[0] in "+-" and line[:3] not in ("+++", "---")]
    print("\n".join(changes + [f"interface: {len(changes)} lines changed, 'make interface' keeps them"] if changes else
                    [f"interface: {len(lines)} lines, as kept"]))
    tags = git("tag", "--list", "v1.*", "--sort=-creatordate").split()
    sys.exit(bool(changes) or (bool(tags) and grows(lines, tags[0])))


if __name__ == "__main__":
    main(*sys.argv[1:])
