#!/usr/bin/env python3
"""check_upgrade.py - what users of a former release have works with today's build.

    check_upgrade.py keep TREE BUILD FOLDER    writes into FOLDER what users of TREE have, whose tool and library are in BUILD
    check_upgrade.py pack FOLDER ARCHIVE       the same as a tar: equal files give equal bytes, at most 2 MiB
    check_upgrade.py check FOLDER|ARCHIVE BUILD [WHEEL|DEB...]    tells what does not work with today's BUILD

What is kept, and what must hold of it:

    examples     commands of README and the manual that run alone, with what they wrote as JSON, CSV or archive. Today they end with the
                 same exit code, and each former key, column and array has the same texts and, within 1e-5, the same numbers. New ones may be there
    files        tensors, circuits, items, stories, models, options of a file: commands that read them end with 0
    resume       the rows of a run that was stopped: continued by the same version, refused by others, and never changed then
    programs     lib/examples, compiled with the former headers (ELF for x86-64): the same output with today's library of that ABI
    attn         the former Python module: the same output with a library of its MAJOR.MINOR, else one ImportError
    WHEEL, DEB   today's versions are newer for pip and dpkg
"""
import ast
import concurrent.futures
import csv
import io
import json
import math
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES, MOST_KEPT, MOST_SECONDS, TOLERANCE = 2 << 20, 16 << 10, 5, 1e-5
KEPT_CODES = (0, 6, 7)  # done; items failed; a check failed
DATA = {".json", ".jsonl", ".csv", ".npz", ".npy"}
SENTENCE = "The keys to the cabinet"
# Commands that write files, by the former tool, and commands that read these, by today's.
MAKERS = [
    "attn-cli run -q --sites z,resid_post,pattern --npz clean.npz 'The keys to the cabinet'",
    "attn-cli run -q --sites z,resid_post --safetensors clean.safetensors 'The keys to the cabinet'",
    "attn-cli run -q --sites q,k,v,pattern --heads 2.5 --npy arrays 'The keys to the cabinet'",
    "attn-cli circuit -q --clean 'The keys to the cabinet' --corrupted 'The key to the cabinet' --target ' are' --foil ' is' --csv circuit.csv",
    "attn-cli init model --set d_model=8 --set n_head=2 --set n_layer=2 --vocab-from 'the keys to the cabinet are'",
]
READERS = [
    "attn-cli attend --q arrays/blocks.2.attn.hook_q.npy --k arrays/blocks.2.attn.hook_k.npy --v arrays/blocks.2.attn.hook_v.npy --npz attended.npz",
    "attn-cli run -q --patch z:2.5@-1=clean.npz --top 1 'The key to the cabinet'",
    "attn-cli run -q --steer resid_post:2@-1=vector.npy --top 1 'The keys'",
    "attn-cli circuit -q --evaluate circuit.csv --clean 'The keys to the cabinet' --corrupted 'The key to the cabinet' --target ' are' --foil ' is'",
    "attn-cli inspect clean.safetensors",
    "attn-cli run -q --items items.jsonl --top 1 --jsonl -",
    "attn-cli score -q --items items.csv",
    "attn-cli run -q --live --story story.json --html page.html",
    "attn-cli run -q -m model 'the keys to the'",
    "ATTN_CLI_CONFIG=options attn-cli run 'The keys'",
]
ITEMS = [{"id": f"i{i}", "text": f"The keys to the cabinet {i}", "target": " are", "foil": " is"} for i in range(6)]
RESUME = "attn-cli score -q --items items.jsonl --each rows.csv"


def fail(text):
    sys.exit(f"check_upgrade: {text}")


def run(command, tool, folder, seconds=60, **environment):
    """Runs COMMAND in FOLDER with the attn-cli of TOOL."""
    env = {"PATH": f"{tool}:/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TERM": "dumb", **environment}
    try:
        return subprocess.run(["bash", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(command, 124, late.stdout or b"", b"it takes too long")


def workplace(tree):
    """A folder with what commands of the manual take from a checkout."""
    folder = Path(tempfile.mkdtemp())
    for name in ("models", "data", "tests"):
        (folder / name).symlink_to(tree / name)
    return folder


def last_line(done):
    return (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"])[0]


# --- Commands of the manual -----------------------------------------------------------------------


def commands_of(tree):
    """The commands of README and the manual, each with its place: lines of console and sh blocks that begin with attn-cli."""
    for path in [tree / "README.md", *sorted((tree / "cmd/manual").rglob("*.md"))]:
        block, command, place = None, None, None
        for number, line in enumerate([*path.read_text().splitlines(), "```"], 1):
            start = re.match(r"\$ (?=attn-cli )|(?=attn-cli )", line) if block else None
            if command and block == "console" and line.startswith("> "):
                command += "\n" + line[2:]
                continue
            if command and block == "sh" and command.endswith("\\"):
                command += "\n" + line
                continue
            if command:
                yield place, command
            command = line[start.end():] if start and (line[0] == "$") == (block == "console") else None
            place = f"{path.relative_to(tree)}:{number}"
            if line.startswith("```"):
                block = line[3:] if not block and line[3:] in ("console", "sh") else None


def lacks_library(done):
    """Whether a library or attn.wasm is missing on this machine."""
    return done.returncode == 5 and (b"attn.wasm" in done.stderr or b"hint: apt-get install" in done.stderr)


def written(folder, command, done):
    """What COMMAND wrote that programs read: {name: bytes}."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*"))
             if path.suffix in DATA and path.is_file() and not path.is_symlink()}
    out = done.stdout
    if out.startswith(b"{"):
        for name in ("stdout.jsonl", "stdout.json"):
            if is_content(name, out):
                found[name] = out
                break
    elif "|" not in command and re.search(r"--csv[= ]-(\s|$)", command):
        found["stdout.csv"] = out
    return {name: data for name, data in found.items() if len(data) <= MOST_KEPT}


def try_example(tree, tool, command):
    """The exit code of COMMAND, alone, and what it wrote. None if it needs more than itself."""
    folder = workplace(tree)
    try:
        start = time.monotonic()
        done = run(command, tool, folder, MOST_SECONDS)
        if done.returncode not in KEPT_CODES or time.monotonic() - start > MOST_SECONDS:
            return None
        return done.returncode, written(folder, command, done)
    finally:
        shutil.rmtree(folder)


def in_parallel(function, items):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))


def keep_examples(tree, tool, kept):
    found = list(commands_of(tree))
    results = in_parallel(lambda pair: try_example(tree, tool, pair[1]), found)
    rows = []
    for (place, command), result in zip(found, results):
        if result is None:
            continue
        for name, data in result[1].items():
            path = kept / f"examples/{len(rows):03d}/{name}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        rows.append(f"{result[0]}\t{place}\t{json.dumps(command, ensure_ascii=False)}\n")
    (kept / "examples.tsv").write_text("".join(rows))
    return len(rows)


# --- Comparing ------------------------------------------------------------------------------------


def differs(old, new, at=""):
    """Where NEW lacks what OLD has, or has something else; None if it does not."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key == "version":
                continue
            if key not in new:
                return f"{at}.{key} is gone"
            problem = differs(value, new[key], f"{at}.{key}")
            if problem:
                return problem
        return None
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return f"{at} has {len(new)} members, had {len(old)}"
        return next((problem for i, pair in enumerate(zip(old, new)) if (problem := differs(*pair, f"{at}[{i}]"))), None)
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (old, new)):
        near = old == new or (math.isnan(old) and math.isnan(new)) or abs(old - new) <= TOLERANCE * max(1, abs(old))
        return None if near else f"{at} is {new}, was {old}"
    return None if old == new else f"{at} is {new!r}, was {old!r}"


def number(text):
    try:
        return float(text)
    except ValueError:
        return text


def table_of(data):
    """The rows of a CSV, each as {column: text or number}; columns of one name are numbered."""
    rows = list(csv.reader(io.StringIO(data.decode())))
    names = [f"{name}#{rows[0][:i].count(name)}" for i, name in enumerate(rows[0])] if rows else []
    return [dict(zip(names, map(number, row))) for row in rows[1:]]


FORMATS = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "|u1": "B", "|b1": "?", "|i1": "b"}


def array_of(data):
    """The shape and the numbers of an .npy file; its bytes, if it has no numbers."""
    size, start = (struct.unpack_from("<H", data, 8)[0], 10) if data[6] == 1 else (struct.unpack_from("<I", data, 8)[0], 12)
    header = ast.literal_eval(data[start:start + size].decode("latin-1"))
    body, code = data[start + size:], FORMATS.get(header["descr"])
    values = [value for (value,) in struct.iter_unpack(f"<{code}", body)] if code else body.hex()
    return {"shape": list(header["shape"]), "order": header["fortran_order"], "descr": header["descr"], "values": values}


def content_of(name, data):
    kind = Path(name).suffix
    if kind == ".json":
        return json.loads(data)
    if kind == ".jsonl":
        return [json.loads(line) for line in data.splitlines()]
    if kind == ".csv":
        return table_of(data)
    if kind == ".npy":
        return array_of(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {member: array_of(archive.read(member)) for member in archive.namelist()}


def is_content(name, data):
    try:
        return bool(content_of(name, data))
    except ValueError:
        return False


def check_example(kept, tool, row):
    """What is wrong today with line ROW of examples.tsv; None if nothing."""
    index, (code, place, command) = row
    folder = workplace(ROOT)
    try:
        done = run(json.loads(command), tool, folder)
        if lacks_library(done):
            return None
        if done.returncode != int(code):
            return f"{place}: {json.loads(command)}\n    exit code {done.returncode}, was {code}: {last_line(done)}"
        seen, former = written(folder, json.loads(command), done), kept / f"examples/{index:03d}"
        for path in sorted(path for path in former.rglob("*") if path.is_file()):
            name = path.relative_to(former).as_posix()
            problem = "it is not written" if name not in seen else differs(content_of(name, path.read_bytes()), content_of(name, seen[name]))
            if problem:
                return f"{place}: {json.loads(command)}\n    {name}: {problem}"
    finally:
        shutil.rmtree(folder)
    return None


def check_examples(kept, tool):
    rows = [line.split("\t", 2) for line in (kept / "examples.tsv").read_text().splitlines()]
    problems = [problem for problem in in_parallel(lambda row: check_example(kept, tool, row), enumerate(rows)) if problem]
    refused = sum("exit code 2" in problem for problem in problems)
    print(f"check_upgrade: {len(rows)} commands of the manual, {refused} are refused, {len(problems) - refused} write something else")
    return problems


# --- Files ----------------------------------------------------------------------------------------


def vector(path, values):
    """Writes VALUES as an .npy file of float32."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values))


def keep_files(tree, tool, kept):
    folder = kept / "files"
    folder.mkdir()
    for command in MAKERS:
        done = run(command, tool, folder)
        if done.returncode:
            print(f"check_upgrade: not kept: {command}: {last_line(done)}")
    vector(folder / "vector.npy", [0.01 * (i % 7 - 3) for i in range(128)])
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in ITEMS))
    (folder / "items.csv").write_text("".join(",".join(row) + "\n" for row in [ITEMS[0].keys(), *(item.values() for item in ITEMS)]))
    (folder / "options").write_text("# defaults\n--top=2\n--quiet\n")
    shutil.copy(tree / "data/stories/five-heads.json", folder / "story.json")


def keep_resume(tool, kept):
    """The rows of a run that stopped at an item without a text, and those of the whole run."""
    folder = kept / "resume"
    folder.mkdir()
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in [*ITEMS[:3], {}, *ITEMS[3:]]))
    run(RESUME, tool, folder)
    (folder / "rows.csv").rename(folder / "whole.csv")
    run(RESUME + " --max-errors 0", tool, folder)


def check_files(kept, tool):
    problems, folder = [], Path(tempfile.mkdtemp())
    shutil.copytree(kept / "files", folder, dirs_exist_ok=True)
    for command in READERS:
        needed = [word for word in re.findall(r"[\w/.]+\.\w+\b|(?<==)options|(?<=-m )model", command) if (kept / "files" / word).exists()]
        if not needed:
            print(f"check_upgrade: not kept, not tried: {command}")
            continue
        done = run(command, tool, folder)
        if done.returncode and not lacks_library(done):
            problems.append(f"files: {command}\n    exit code {done.returncode}: {last_line(done)}")
    shutil.rmtree(folder)
    return problems


def check_resume(kept, tool, is_same):
    folder = Path(tempfile.mkdtemp())
    shutil.copytree(kept / "resume", folder, dirs_exist_ok=True)
    if not (folder / "rows.csv.part").exists():
        print("check_upgrade: there is no rows.csv.part")
        return []
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = run(RESUME + " --resume", tool, folder)
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    shutil.rmtree(folder)
    if is_same:
        good = done.returncode == 6 and after.get("rows.csv") == before["whole.csv"]
        return [] if good else [f"resume: rows of the same version are not continued, exit code {done.returncode}: {last_line(done)}"]
    if done.returncode not in (2, 4):
        return [f"resume: rows of another version are not refused, exit code {done.returncode}: {last_line(done)}"]
    return [] if all(after.get(name) == data for name, data in before.items()) else ["resume: files of another version were changed"]


# --- Programs and the module ----------------------------------------------------------------------

PROGRAMS = {"one_head": ["models/tiny-gpt2", "2.1", "The cat sat on the mat"], "first_number": []}
PYTHON = "import attn; print(attn.open('fable').run('Life is short').pattern[2, 2].round(4).tolist())"


def soname_of(path):
    found = subprocess.run(["readelf", "-d", path], capture_output=True, text=True).stdout
    return (re.findall(r"\[(libattn\.so\.\d+)\]", found) or [None])[0]


def call(program, library, tree):
    """Runs PROGRAM with LIBRARY under the name that it asks for."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, soname_of(program)).symlink_to(library.resolve())
        return subprocess.run([program, *PROGRAMS[Path(program).stem]], cwd=tree, env={**os.environ, "LD_LIBRARY_PATH": folder},
                              capture_output=True, timeout=60)


def call_python(module, library):
    env = {**os.environ, "LIBATTN": str(library.resolve()), "PYTHONPATH": str(module), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, "-c", PYTHON], env=env, capture_output=True, timeout=60)


def keep_programs(tree, build, kept):
    folder, includes = kept / "programs", workplace(tree)
    folder.mkdir()
    (includes / "attn").mkdir()
    for path in [*tree.glob("lib/*.h"), *tree.glob("lib/*/*/")]:  # as they are installed
        (includes / "attn" / path.name).symlink_to(path)
    for name in PROGRAMS if platform.machine() == "x86_64" else ():
        program = folder / name
        # no line and path of this machine: equal sources give equal bytes
        subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O1", "-s", "-Wl,--build-id=none", f"lib/examples/{name}.c", "@lib/folders", "-Ilib",
                        f"-I{includes}", "-o", program, f"-L{build}", "-l:libattn.so"], cwd=tree, check=True)
        (folder / f"{name}.out").write_bytes(call(program, build / "libattn.so", tree).stdout)
    shutil.rmtree(includes)
    shutil.copytree(tree / "lib/python/attn", kept / "module/attn", ignore=shutil.ignore_patterns("__pycache__"))
    done = call_python(kept / "module", build / "libattn.so")
    (kept / "module.out").write_bytes(done.stdout)


def check_programs(kept, build):
    problems, library = [], build / "libattn.so"
    for program in sorted((kept / "programs").glob("*[!.out]")):
        if program.suffix or platform.machine() != "x86_64":
            continue
        if soname_of(program) != soname_of(library):
            print(f"check_upgrade: {program.name} needs {soname_of(program)}, and today's is {soname_of(library)}: it must be compiled again")
            continue
        program.chmod(0o755)
        done = call(program, library, ROOT)
        if done.stdout != program.with_suffix(".out").read_bytes():
            problems.append(f"programs: {program.name}, compiled with the former headers, ends with {done.returncode} and other output: {last_line(done)}")
    return problems


def release_of(version):
    return re.match(r"(\d+\.\d+)\.\d+(?:-?(rc\d+))?", version).groups()


def check_module(kept, build, version, today):
    if subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True).returncode:
        print("check_upgrade: the former module is skipped, numpy is missing")
        return []
    if not (kept / "module/attn/version.py").exists():
        print("check_upgrade: the former module does not compare versions, and is not tried")
        return []
    done = call_python(kept / "module", build / "libattn.so")
    if release_of(version) == release_of(today):
        good = done.returncode == 0 and done.stdout == (kept / "module.out").read_bytes()
        return [] if good else [f"module: the former module has other output: {done.stderr.decode().strip()[-300:]}"]
    lines = done.stderr.decode().strip().splitlines() or ["it was imported"]
    return [] if lines[-1].startswith("ImportError: attn ") else [f"module: with a library of another release: {lines[-1]}"]


def check_packages(packages, build):
    """Installs the former wheel, then today's; lets dpkg compare."""
    problems = []
    for package in map(Path, packages):
        if package.suffix == ".deb":
            former = subprocess.run(["dpkg-deb", "-f", package, "Version"], check=True, capture_output=True, text=True).stdout.strip()
            forms = dict(line.split() for line in subprocess.run([ROOT / ".packaging/facts.sh", "versions"], check=True, capture_output=True,
                                                                 text=True).stdout.splitlines())
            if subprocess.run(["dpkg", "--compare-versions", former, "lt", forms["debian"] + "-1"]).returncode:
                problems.append(f"{package.name}: {former} is not older than {forms['debian']}-1 for dpkg")
            continue
        today = sorted((build / "wheel").glob("*.whl"))
        if not today:
            fail(f"there is no wheel in {build}/wheel: make wheel")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            pip = [f"{folder}/bin/pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check"]
            subprocess.run([*pip, package], check=True, capture_output=True)
            done = subprocess.run([*pip, today[-1]], capture_output=True, text=True)
            if "Successfully installed" not in done.stdout:
                problems.append(f"{package.name}: pip does not upgrade it to {today[-1].name}: {done.stdout.strip().splitlines()[-1:]}")
    return problems


# --- The three commands ---------------------------------------------------------------------------


def version_of(tree):
    return re.search(r'#define ATTN_VERSION "(.*)"', (tree / "lib/ground/base/version.h").read_text())[1]


def keep(tree, build, kept):
    tree, build, kept = tree.resolve(), build.resolve(), kept.resolve()
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    (kept / "version").write_text(version_of(tree) + "\n")
    n = keep_examples(tree, build, kept)
    keep_files(tree, build, kept)
    keep_resume(build, kept)
    keep_programs(tree, build, kept)
    print(f"check_upgrade: kept {n} commands of {version_of(tree)} and their files in {kept}")


def pack(folder, archive):
    """A tar of FOLDER, without dates and owners."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "w", format=tarfile.USTAR_FORMAT) as made:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            entry.size, entry.mode = path.stat().st_size, 0o644
            made.addfile(entry, io.BytesIO(path.read_bytes()))
    size = archive.stat().st_size
    print(f"check_upgrade: {archive} has {size} bytes")
    if size > MOST_BYTES:
        fail(f"{archive} has {size} bytes, expected at most {MOST_BYTES}")


def check(former, build, packages):
    build, scratch = build.resolve(), Path(tempfile.mkdtemp())
    try:
        kept = former.resolve()
        if former.is_file():
            kept = scratch
            with tarfile.open(former) as archive:
                archive.extractall(scratch)  # of this repository
        version, today = (kept / "version").read_text().strip(), version_of(ROOT)
        problems = [*check_examples(kept, build), *check_files(kept, build), *check_resume(kept, build, version == today),
                    *check_programs(kept, build), *check_module(kept, build, version, today), *check_packages(packages, build)]
    finally:
        shutil.rmtree(scratch)
    print("\n".join(problems + [f"check_upgrade: from {version} to {today}: {len(problems) or 'no'} difference{'s' * (len(problems) != 1)}"]))
    return bool(problems)


def main(what="", *arguments):
    paths = list(map(Path, arguments))
    if what == "keep" and len(paths) == 3:
        return keep(*paths)
    if what == "pack" and len(paths) == 2:
        return pack(*paths)
    if what == "check" and len(paths) >= 2:
        return check(paths[0], paths[1], paths[2:])
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
