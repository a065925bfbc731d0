#!/usr/bin/env python3
"""check_interface.py - compares what scripts rely on with tests/interface, so that no change of it happens unseen: commands,
options with their types and values, columns of tables, keys of JSON, exit codes, variables and sites.

    check_interface.py TOOL           tells of lines that are new or gone
    check_interface.py TOOL --keep    writes tests/interface anew: CHANGELOG.md names what changed

cmd/manual/reference/stability.md says which changes a version may make."""
import difflib
import json
import pathlib
import re
import subprocess
import sys

KEPT = pathlib.Path(__file__).resolve().parents[1] / "interface"
KEYS = "The keys to the cabinet"
ANSWER = ["--target", " are", "--foil", " is"]
PAIR = ["--clean", KEYS, "--corrupted", "The key to the cabinet"]
DOCUMENTS = {  # commands that write JSON, besides tables, which name their columns
    "run": ["run", "--top", "1", "--sites", "pattern,z", KEYS], "generate": ["generate", "-n", "1", KEYS],
    "inspect": ["inspect", "fable"], "tokenize": ["tokenize", KEYS],
    "score": ["score", KEYS], "ablate": ["ablate", *ANSWER, KEYS], "patch": ["patch", *ANSWER, *PAIR, "--site", "z"],
    "circuit": ["circuit", *ANSWER, *PAIR, "--size", "5"], "help": ["help"],
}


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


def interface(tool):
    def run(*arguments, **how):
        return subprocess.run([tool, *arguments], check=True, capture_output=True, **how).stdout

    help_ = json.loads(run("help", "--json"))
    options = {}  # the commands that have an option in this form
    for command in help_["commands"]:
        yield f"command {command['name']}"
        for option in command["options"]:
            form = " ".join(filter(None, (option["name"], option["short"], option["type"], "|".join(option["values"] or []),
                                          *option["forms"], f"default={json.dumps(option['default'])}")))
            options.setdefault(form, []).append(command["name"])
    for form, commands in options.items():
        yield f"option {form}: {' '.join(commands)}"
    for table in help_["tables"]:
        for column in table["columns"]:
            yield f"column {table['name']} {column['name']} {column['type']} {column['unit'] or ''}".rstrip()
    for code in help_["exit_codes"]:
        yield f"exit {code['code']}"
    for variable in help_["environment"]:
        yield f"variable {variable['name']}"
    for line in run("run", "--sites", "help", text=True).splitlines()[1:]:
        yield "site " + " ".join(line.split())
    for name, arguments in DOCUMENTS.items():
        document = json.loads(run(*arguments, "--json" if name in ("inspect", "help") else "--json=-", *(["-q"] if name != "help" else [])))
        for key in keys_of(document, ""):
            yield f"json {name} {key}"


def main(tool, *options):
    lines = sorted(set(interface(tool)))
    if options == ("--keep",):
        KEPT.write_text("\n".join(lines) + "\n")
        return
    changes = [line for line in difflib.unified_diff(KEPT.read_text().splitlines(), lines, lineterm="", n=0)
               if line[0] in "+-" and line[:3] not in ("+++", "---")]
    print("\n".join(changes + [f"interface: {len(changes)} lines changed, 'make interface' keeps them"] if changes else
                    [f"interface: {len(lines)} lines, as kept"]))
    sys.exit(bool(changes))


main(*sys.argv[1:])
