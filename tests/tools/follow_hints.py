#!/usr/bin/env python3
"""follow_hints.py [--step N] [--verbose] [FILE.test...] - does what the hints of tests/cli say, and reports what is refused again.

Runs the scripts of all cases whose kept standard error has a hint, notes each command that fails with one, and changes its
command line as the hint says: the option, value, word or command that it names. Each option of a hint is followed by itself
and with the others, beside the options that the message names or instead of them. A hint has a fault if all these ways end with exit
code 2 and the same message, or one that names what was followed. Hints that name no command, option or word of the line (files to fetch, lists of tokens) are counted and left out.
--step N takes one case of N. The exit status is 0 if nothing was refused.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Runs the tool, and notes a command that fails with a hint: its arguments, environment, folder and message.
WRAPPER = """#!/bin/bash
seen=$FOLLOW_LOG/$BASHPID
"$FOLLOW_TOOL" "$@" 2>"$seen.err"
code=$?
cat "$seen.err" >&2
if [ $code != 0 ] && grep -q '^hint: ' "$seen.err"; then
    cp -a . "$seen.folder" 2>/dev/null && env -0 >"$seen.env" && printf '%s\\0' "$@" >"$seen.args"
fi
exit $code
"""

# Values for options that a hint names without one, by option, or by what stands for the value.
VALUES = {"--csv": "seen.csv", "--npy": "seen/", "--npz": "seen.npz", "--json": "seen.json", "--jsonl": "seen.jsonl", "--tidy": "t.csv",
          "--html": "seen.html", "--svg": "seen.svg", "--png": "seen.png", "--pdf": "seen.pdf", "--latex": "seen.tex", "--file": "a.txt",
          "--markdown": "seen.md", "--safetensors": "s.safetensors", "--heads": "0.0", "--queries": "-1", "--layers": "0",
          "--sites": "pattern", "--limit": "3", "--sort": "-value", "--target": " are", "--next": " are", "--label": "0", "--top": "1",
          "--fields": "measures,tensors", "--threads": "1", "--source": "The cat", "-o": "o.jsonl", "--output": "o.jsonl", "-n": "3",
          "--ids": "1,2,3", "--types": "0,0,0", "--items": "items.jsonl", "--each": "each.jsonl", "--window": "4",
          "--attention": "window:2", "--set": "0.0"}
WORDS = {"TEXT": "The keys to the cabinet", "TOKEN": " are", "FILE": "a.file", "LIST": "0", "N": "3", "DIR": "folder", "HEADS": "0.0",
         "SITE": "z", "SPEC": "0", "MODEL": "fable", "KEY=VALUE": "d_model=8", "W": "4", "MEASURE": "entropy", "dropout=P": "dropout=0.1", "dropout=P[:SEED]": "dropout=0.1", "L.H": "0.0", "L.h": "0.0"}

# Hints that say what they should and cannot be followed by a program, or not with what a test typed.
EXCUSED = (
    ("masks the third of three keys", "the mask has the length of the text"),
    ("an atlas of all heads", "which a text has not"),
    ("--style 'dpi=300'", "the new form of an option, which needs a picture in both forms"),
    ("--style 'figure-width=LENGTH'", "likewise"),
    ("did you mean 'logit_diff'", "which needs a foil"),
    ("these keys of an item", "the items are texts"),
    ("is an option", "the value is wrong, too"),
    ("takes a file of several proteins", "instead of --file"),
    ("with --grad it has gradients", "beside --top"),
    ("makes a run of each", "instead of the picture and its text"),
    ("'NAME>0' uses such a name", "the name has control characters"),
    ("puts a text into the form of a conversation", "the text was taken as the value of --chat"),
    ("--heatmap, --svg FILE, --html FILE", "the text was taken as the value of --plot"),
    ("give the model's file as the model", "the file that was given is the one that reads pictures"),
)


def cases(files):
    for path in files:
        with open(path, encoding="utf-8") as lines:
            text = lines.read()
        for case in re.split(r"^=== ", text, flags=re.M)[1:]:
            name, _, rest = case.partition("\n")
            parts = re.split(r"^--- ", rest, flags=re.M)
            errors = [part for part in parts[1:] if part.startswith("stderr")]
            if any(re.search(r"^hint: ", part, re.M) for part in errors) and not re.search(r"\b(kill|timeout|script|ulimit)\b", parts[0]):
                yield f"{os.path.relpath(path, ROOT)}:{name}", parts[0]


class Options:
    """The options of all commands."""

    def __init__(self, tool):
        found = json.loads(subprocess.run([tool, "help", "--json"], capture_output=True, check=True).stdout)
        self.of = {}
        for command in found["commands"]:
            options = self.of[command["name"]] = {}
            for option in command["options"]:
                options[option["name"]] = option
                if option["short"]:
                    options[option["short"]] = option

    def find(self, command, name):
        return self.of.get(command, {}).get(name)


def split(hint):
    """The words of HINT, quoted ones whole and marked by a NUL in front."""
    words = []
    for found in re.finditer(r"""([^\s'"]*)(?:'((?:[^']|'(?=\w))*)'|"([^"]*)")([^\s]*)|(\S+)""", hint):
        if found[5] is not None:
            words.append(found[5].rstrip(",;:."))
        else:
            quoted = found[2] if found[2] is not None else found[3]
            words.append("\0" + found[1] + quoted + found[4].rstrip(",;:."))
    return words


def is_value(option, word):
    """Whether WORD of a hint may be a value of OPTION, and not prose."""
    if not word or word.startswith("-") and not re.match(r"-\d|-$", word):
        return False
    if option["values"]:
        return word.lstrip("\0").split(":")[0] in option["values"]
    if word.startswith("\0") or word in WORDS:
        return True
    if option["type"] == "path":
        return "." in word or word.endswith("/") or word in ("-", "fable")
    return not re.fullmatch(r"[a-zA-Z]*[a-z]{2,}", word) or word in ("pattern", "keys", "ig", "induction", "bars", "grid", "points",
                                                                     "tokens", "all", "ce", "none", "atp", "contrast")


def options_in(options, command, hint):
    """The options that HINT names, as arguments."""
    words, found, i = split(hint), [], 0
    while i < len(words):
        name, equal, value = words[i].lstrip("\0").partition("=")
        option = options.find(command, name) if re.match(r"-[a-zA-Z]$|--[a-z]", name) else None
        i += 1
        if not option:
            continue
        if option["type"] == "flag":
            found.append([name])
            continue
        if not equal and i < len(words) and is_value(option, words[i]):
            value, i = words[i].lstrip("\0"), i + 1
        if not value or value in WORDS and name in VALUES:
            value = "seen/" if option["metavar"] == "DIR" else VALUES.get(name) or (option["values"] or [None])[0] or WORDS.get(option["metavar"] or "", "1")
        value = re.sub(r"\|.*", "", WORDS.get(value, value)).replace("=P:", "=0.1:")
        found.append([f"{name}={value}"] if name.startswith("--") else [name, value])
    return found


def without(options, command, args, name):
    """ARGS without the option NAME and its value."""
    option, left, i = options.find(command, name), [], 0
    while i < len(args):
        if args[i] == name or option and args[i] in (option["name"], option["short"]):
            has_value = option["type"] != "flag" if option else args[i + 1:i + 2] and not args[i + 1].startswith("--")
            i += 2 if has_value else 1
        elif args[i].startswith(name + "="):
            i += 1
        else:
            left.append(args[i])
            i += 1
    return left


def named_in(message, args):
    """The options of ARGS that MESSAGE names, and those which have a value that it names."""
    names = [name for name in re.findall(r"--[a-z][a-z_-]*|(?<=')-[a-zA-Z](?=')", message)]
    quoted = re.findall(r"'((?:[^']|'(?=\w))*)'", message)
    for i, arg in enumerate(args):
        if arg.startswith("--") and (arg.partition("=")[2] in quoted or i + 1 < len(args) and args[i + 1] in quoted):
            names.append(arg.partition("=")[0])
    return list(dict.fromkeys(names))


def replaced(args, old, new):
    """ARGS with the word OLD, or where it stands in one, as NEW."""
    for test in (lambda arg: arg == old, lambda arg: arg.startswith(old + "="), lambda arg: old in arg):
        for i, arg in enumerate(args):
            if old and test(arg):
                return [*args[:i], arg.replace(old, new, 1), *args[i + 1:]]
    return None


def command_of(hint, args):
    """The command line with which HINT begins."""
    words = split(hint)[1:]
    if "..." in words:
        words = words[:-1] + args[1:] if words[1] == args[0] or args[0].startswith(words[1] + "=") else words[:-1]
    bare = len(words)
    while bare > 0 and re.fullmatch(r"[a-z]+", words[bare - 1]):
        bare -= 1
    if len(words) - bare > 1:  # prose behind the command
        words = words[:bare]
    return [WORDS.get(word, word.lstrip("\0")) for word in words]


def ways(options, args, message, hint):
    """Lists of command lines of which one must not be refused, each with what it follows; None: nothing can be followed."""
    quoted = re.findall(r"'((?:[^']|'(?=\w))*)'", message)
    found = re.match(r"did you mean '(.*)'\?", hint) or re.match(r"(?:the column|rename the column) '.*?' (?:is called|to) '(.*)'", hint)
    if found:
        new = found[1]
        if new.endswith("=...") or not any(replaced(args, old, new) for old in quoted):
            return None
        return [(new, [line for old in quoted for line in [replaced(args, old, new)] if line and line != args])]
    if hint.startswith("attn-cli ") and "[OPTIONS]" not in hint:
        return [(hint, [command_of(hint, args)])]
    found = re.findall(r"'attn-cli ([a-z]+)'", hint)
    if found and re.search("have it|has it", hint):
        return [(f"'{quoted[0]}' is no option", [[name, *args[1:]]]) for name in found]
    if "[OPTIONS]" in hint:
        return None
    found = re.match(r"(?:see )?'attn-cli ([a-z -]+?)'(?= (?:lists|and cmd/manual))", hint)
    if found and "--" in found[1] and not found[1].endswith(("--help", "--help-all", "--json")):
        return None
    if found:
        return [(found[1], [found[1].split()])]
    if hint.startswith("without --"):
        return [(hint, [without(options, args[0], args, hint.split()[1])])]
    if hint.startswith("remove it, and"):
        return None
    if hint.startswith("leave it out"):
        return [("leave it out", [without(options, args[0], args, name) for name in named_in(message, args)])]
    command, base, names = args[0], args, named_in(message, args)
    if "was given twice" in message and quoted[0] in args:  # the first stays
        last = len(args) - 1 - args[::-1].index(quoted[0])
        base = [*args[:last], *args[last + 2:]]
    if "of a run" in hint:
        command, base = "run", ["run", *(["-m", model] if (model := value_of(args, "-m", "--model")) else []), "The keys"]
    new = options_in(options, command, hint)
    names += [name for option in new if (name := option[0].partition("-id=")[0]) in args]  # --target beside --target-id
    if "with a picture" in hint:
        base = [*base, "--image=cat.npy"]
    if not new:
        return None
    bases = [base, *(without(options, command, base, name) for name in names)]
    if len(names) > 1:
        bases.append([arg for arg in base if all(arg in one for one in bases[1:])])
    if re.search(r"\bfiles?\b|figure", hint):
        bases.append([*base, "--svg=seen.svg"])
    if re.search("text|takes no argument|card|--image is not", message):  # instead of the texts
        bases.append(without_texts(options, command, base))
    lines = []
    for option in new:
        every = [one for one in bases]
        for other in new:
            every = [without(options, command, one, other[0].partition("=")[0]) for one in every]
        name = option[0].partition("=")[0]
        lines.append((name, [[*without(options, command, one, name), *option] for one in bases] +
                      [[*one, *sum(new, [])] for one in every]))
    return lines


def without_texts(options, command, args):
    left, i = [command], 1
    while i < len(args):
        option = options.find(command, args[i].partition("=")[0])
        n = 2 if option and option["type"] != "flag" and "=" not in args[i] else 1
        if option and option["type"] != "text":
            left += args[i:i + n]
        i += n
    return left


def value_of(args, *names):
    return next((args[i + 1] for i, arg in enumerate(args[:-1]) if arg in names), None)


def message_of(error):
    found = re.search(r"^attn-cli: error: (.*)$", error, re.M)
    return found[1] if found else ""


def is_refused(what, before, after):
    """Whether the message AFTER shows that WHAT was followed in vain."""
    return after == before or re.search(rf"(?<![\w-]){re.escape(what)}(?![\w-])", after)


def follow(options, tool, record, log):
    """Returns how many things the hint of RECORD names, and those that were refused."""
    args, env, folder, error = record
    hint, message = re.search(r"^hint: (.*)$", error, re.M)[1], message_of(error)
    wanted = ways(options, args, message, hint) if args else None
    refused = []
    if any(words in hint for words, _ in EXCUSED):
        wanted = None
    for what, lines in wanted or []:
        errors = []
        for line in lines:
            copy = tempfile.mkdtemp(dir=log)
            shutil.copytree(folder, copy, symlinks=True, dirs_exist_ok=True)
            try:
                done = subprocess.run([tool, *line], cwd=copy, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
                code, text = done.returncode, done.stderr.decode("utf-8", "replace")
            except subprocess.TimeoutExpired:
                code, text = 0, ""
            shutil.rmtree(copy, ignore_errors=True)
            if code != 2 or not is_refused(what, message, message_of(text)):
                break
            errors.append((shlex.join(line), text.strip().replace("\n", " / ")))
        else:
            refused.append((what, errors))
    return None if wanted is None else len(wanted), hint, message, refused


def records_of(script, tool, folder):
    """Runs SCRIPT, and yields the commands that failed with a hint."""
    log, bin_, empty = (os.path.join(folder, name) for name in ("log", "bin", "empty"))
    for path in (log, bin_, empty):
        os.mkdir(path)
    with open(os.path.join(bin_, "attn-cli"), "w", encoding="utf-8") as file:
        file.write(WRAPPER)
    os.chmod(file.name, 0o755)
    env = {"PATH": f"{bin_}:/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TERM": "dumb", "MODELS": f"{ROOT}/models",
           "FIXTURES": f"{ROOT}/tests/fixtures", "FOLLOW_LOG": log, "FOLLOW_TOOL": tool}
    try:
        subprocess.run(["bash", "-c", script], cwd=empty, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        pass
    for name in sorted(os.listdir(log)):
        if name.endswith(".args"):
            stem = os.path.join(log, name.removesuffix(".args"))
            read = [open(stem + end, "rb").read().decode("utf-8", "surrogateescape") for end in (".args", ".env", ".err")]
            variables = dict(pair.split("=", 1) for pair in read[1].split("\0") if "=" in pair)
            yield read[0].split("\0")[:-1], variables, stem + ".folder", read[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("files", nargs="*")
    given = parser.parse_args()
    tool = shutil.which("attn-cli")
    options = Options(tool)
    files = given.files or sorted(os.path.join(folder, name) for folder, _, names in os.walk(f"{ROOT}/tests/cli") for name in names
                                  if name.endswith(".test"))
    n_hint, n_followed, n_named, seen, faults = 0, 0, 0, set(), []
    for case, script in list(cases(files))[::given.step]:
        with tempfile.TemporaryDirectory() as folder:
            for record in records_of(script, tool, folder):
                key = (tuple(record[0]), record[3])
                if key in seen:
                    continue
                seen.add(key)
                n, hint, message, refused = follow(options, tool, record, os.path.join(folder, "log"))
                n_hint += 1
                n_followed += n is not None
                n_named += n or 0
                if given.verbose and n is None:
                    print(f"not followed: {hint}")
                for what, errors in refused:
                    faults.append(case)
                    print(f"{case}: {shlex.join(record[0])}\n  {message}\n  hint: {hint}\n  refused: {what}")
                    for line, text in errors:
                        print(f"    attn-cli {line}\n      {text}")
    if given.verbose:
        print(f"{n_hint} hints, {n_followed} followed, {n_named} commands, options and words in them, {len(faults)} refused")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
