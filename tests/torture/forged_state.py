"""forged_state.py - a run of items is resumed from files that were changed and signed again.

    forged_state.py BINARY FOLDER STEP    takes one in STEP of some thousand changes; prints "N passed, M failed"

A journal, a manifest, the kept rows (.state) or the rows lose lines or repeat them, have other counts, columns, digits or
bits; then all CRCs and digests are made to fit. A resumed run ends with the bytes of a fresh one, or it is refused in one line.
Numbers that only the kept rows have (the answer of the unchanged model) cannot be told from true ones and are left alone.
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zlib

binary, folder, step = sys.argv[1], sys.argv[2], int(sys.argv[3])
NOUNS = "keys dogs boys key".split()
TEXTS = ['{"text":"The %s near the door","target":" are","foil":" is","kind":"p"}' % n for n in NOUNS]
PAIRS = ['{"clean":"The keys to the %s","corrupted":"The key to the %s","target":" are","foil":" is"}' % (n, n) for n in NOUNS]
QUESTIONS = {
    "score": (["score"], TEXTS),
    "spans": (["spans", "--by", "span", "--positions", "a=0-1", "--positions", "b=2"], [text.replace('"target":" are","foil":" is",', '') for text in TEXTS]),
    "patch": (["patch"], PAIRS),
    "heads": (["heads", "--measures", "entropy"], TEXTS),
}
PART, KEPT_PART, ROWS, KEPT, JOURNAL, MANIFEST = (
    "r.csv.part", "r.csv.state.part", "r.csv", "r.csv.state", "r.csv.journal", "r.csv.run.json")


def read_all():
    return {name: open(os.path.join(folder, name), "rb").read() for name in os.listdir(folder)}


def write_all(files):
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


def run(words, *more):
    command = [binary, *words, "-q", "--items", "items.jsonl", "--each", "r.csv", *more]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300)
    return done, (done.returncode, done.stdout, *map(read_all().get, (ROWS, KEPT)))


def sha256(data):
    return hashlib.sha256(data).hexdigest().encode()


def unsign(journal):
    return [line.rsplit(b',"manifest_sha256"', 1)[0] for line in journal.splitlines()]


def sign(lines):
    return b"".join(b'%s,"manifest_sha256":"%s"}\n' % (line, sha256(line)) for line in lines)


def describe(text, files, names):
    """The sizes and digests of FILES in TEXT, made anew."""
    for name in names:
        text = re.sub(rb'("path": ?"%s", ?"bytes": ?)\d+(, ?"sha256": ?")\w+' % re.escape(name.encode()),
                      lambda m: m[1] + b"%d" % len(files[name]) + m[2] + sha256(files[name]), text)
    return text


def sign_journal(files):
    return files | {JOURNAL: sign([describe(line, files, (KEPT_PART, PART)) for line in unsign(files[JOURNAL])])}


def sign_manifest(files):
    text = describe(files[MANIFEST], files, (KEPT, ROWS))
    text = text[: text.rindex(b',\n"manifest_sha256"')]
    return files | {MANIFEST: text + b',\n"manifest_sha256": "%s"\n}\n' % sha256(text)}


def other_counts(value):
    return {0, 1, value + 1, max(value - 1, 0), 2 * value, 10**6, 2**63, 2**64 - 1} - {value}


def other_states(state):
    """Of the columns of the rows and the number of rows of an item, 1,5,6;1;"""
    columns, n_row = state.split(b";")[:2]
    places = columns.split(b",")
    for i in range(len(places)):
        yield b",".join(places[:i] + places[i + 1 :]) + b";" + n_row + b";"
        yield b",".join(places[:i] + [b"%d" % (int(places[i]) + 1)] + places[i + 1 :]) + b";" + n_row + b";"
    for n in other_counts(int(n_row)):
        yield columns + b";%d;" % n
    yield from (b"0," + state, b"", state[:-1], b";" + n_row + b";", state + b"1")


def other_rows(data):
    lines = data.splitlines(keepends=True)
    yield from (data[:-1], b"", lines[0], b"".join(lines[:-1]), b"".join(lines + lines[-1:]), b"".join(lines[:1] + lines[:0:-1]))
    for i in range(0, len(data), 7):
        yield data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :]


def other_kept(data):
    items, at = [], 8
    while at < len(data):
        size = 24 + int.from_bytes(data[at : at + 8], "little")
        items.append(data[at : at + size])
        at += size
    for change in (items + items[-1:], items[:1] + items, items[:-1], items[::-1], items[:1] * len(items), []):
        yield data[:8] + b"".join(change)
    yield from (data[:-1], data + bytes(24))
    at = 8
    for item in items:
        for i in range(24):
            yield data[: at + i] + bytes([data[at + i] ^ 1 << i % 8]) + data[at + i + 1 :]
        at += len(item)


def other_texts(text):
    """Of a line of the journal or a manifest: other numbers, digests and states."""
    for found in re.finditer(rb'(?<=[ :,[])\d+(?=[,}\]])|(?<=")[0-9a-f]{64}(?=")|(?<="state":")[^"]*|(?<="state": ")[^"]*', text):
        others = [b"0" * 64] if len(found[0]) == 64 else other_states(found[0])
        if found[0].isdigit() and len(found[0]) < 20:
            others = [b"%d" % n for n in other_counts(int(found[0]))]
        for other in others:
            yield f"has {other} at {found.start()}", text[: found.start()] + other + text[found.end() :]


def changes(ended, made):
    lines = unsign(ended[JOURNAL])
    for i, line in enumerate(lines):
        yield f"journal lacks line {i}", ended | {JOURNAL: sign(lines[:i] + lines[i + 1 :])}
        yield f"journal repeats line {i}", ended | {JOURNAL: sign(lines[: i + 1] + lines[i:])}
        for what, other in other_texts(line):
            yield f"journal {what}", ended | {JOURNAL: sign(lines[:i] + [other] + lines[i + 1 :])}
    members = re.split(rb',(?=")', lines[-1])
    for i in range(1, len(members)):
        for other in members[:i] + members[i + 1 :], members[: i + 1] + members[i:]:
            yield f"journal lacks or repeats {members[i]}", ended | {JOURNAL: sign(lines[:-1] + [b",".join(other)])}
    for files, rows, kept, resign in (ended, PART, KEPT_PART, sign_journal), (made, ROWS, KEPT, sign_manifest):
        for n, change in enumerate(other_rows(files[rows])):
            yield f"change {n} of {rows}", resign(files | {rows: change})
        for n, change in enumerate(other_kept(files[kept])):
            yield f"change {n} of {kept}", resign(files | {kept: change})
    for what, other in other_texts(made[MANIFEST]):
        yield f"manifest {what}", sign_manifest(made | {MANIFEST: other})
    lines = made[MANIFEST].splitlines(keepends=True)
    for i in range(1, len(lines) - 2):
        yield f"manifest lacks {lines[i]}", sign_manifest(made | {MANIFEST: b"".join(lines[:i] + lines[i + 1 :])})
        yield f"manifest repeats {lines[i]}", sign_manifest(made | {MANIFEST: b"".join(lines[:i] + lines[i - 1 :])})


n_passed, failed, n_case = 0, [], 0
for name, (words, items) in QUESTIONS.items():
    start = {"items.jsonl": "\n".join(items[:2] + ['{"id":9}'] + items[2:]).encode() + b"\n"}
    write_all(start)
    run(words, "--max-errors", "0")
    ended = read_all()
    write_all(start)
    _, expected = run(words)
    made = read_all()
    for what, files in changes(ended, made):
        n_case += 1
        if n_case % step:
            continue
        write_all(files)
        done, found = run(words, "--resume")
        message = done.stderr.decode()
        is_refused = done.returncode in (2, 5) and not done.stdout and message.count("attn-cli: error: ") == 1
        if found == expected or is_refused:
            n_passed += 1
        else:
            failed.append(f"{name}: {what}: exit {done.returncode}, {message[:200]}")
print("\n".join(failed[:20]), file=sys.stderr)
print(f"{n_passed} passed, {len(failed)} failed")
sys.exit(bool(failed))
