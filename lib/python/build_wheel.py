#!/usr/bin/env python3
"""Builds the wheel of `attn-cli`: the module `attn` with libattn.so, and the command, which is in that library, too. Only
the standard library is used.

    lib/python/build_wheel.py FOLDER         writes FOLDER/attn_cli-VERSION-py3-none-PLATFORM.whl, prints its path
    lib/python/build_wheel.py FOLDER any     the same of the command as WebAssembly, for any system with PyPI's wasmtime
    lib/python/build_wheel.py FOLDER sdist   the source distribution

All is built by `make` in the sources around this folder. TARGET, in the environment, is one of .packaging/zig.sh. PLATFORM is
manylinux of the version of glibc that the symbols need, musllinux_1_2, or linux where other libraries are needed; of Windows
and macOS it is that of TARGET. The module of live pages is in the wheel where `make wasm` has made it, as `make wheel` does first.

pip finds it here (PEP 517), as pyproject.toml says. It links with the libraries of the system. Where these are missing, it
compiles those that the source distribution has in the folder libraries. It downloads nothing.
"""
import base64
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = os.environ.get("TARGET", "")
LIBRARY = "attn.dll" if "windows" in TARGET else "libattn.dylib" if "macos" in TARGET else "libattn.so"
EXE = ".exe" if "windows" in TARGET else ""
BUILD = os.environ.get("BUILD") or f"build/{TARGET or 'release'}"
NAME, MODULE = "attn-cli", "attn"
BUILT_IN = ("fable", "life-is-short")  # models that the library holds itself
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "librt.so.1", "libdl.so.2", "ld-linux-x86-64.so.2",
          "ld-linux-aarch64.so.1", "libc.so"}
LIVE_MODULE = ROOT / "build/wasm/attn.wasm"
LEFT_OUT = r"(tests|data|\.ci|\.github)(/|$)|\.clang|\.git"  # of a source distribution, but for:
BUILD_TOOLS = {f"tests/tools/{name}.sh" for name in ("dependencies", "hardening", "page_policy", "wasm_age")}
os.environ.setdefault("LICENCES", str(ROOT / BUILD / ("libraries/licences" if TARGET else "module/libraries/licences")))
sys.path.insert(0, str(ROOT / ".packaging"))
import licences  # noqa: E402

METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: Runs GPT-style models on a CPU and shows what their attention does
Author: the attn-cli authors
License-Expression: {expression}
{files}
Requires-Python: >=3.9
Requires-Dist: numpy>=1.21; sys_platform == "linux" or sys_platform == "darwin" or platform_machine == "AMD64"
Requires-Dist: wasmtime>=20; sys_platform != "darwin" and platform_machine != "AMD64" and (sys_platform != "linux" or (platform_machine != "x86_64" and platform_machine != "aarch64"))
Keywords: transformers,attention,interpretability,GGUF,safetensors
Classifier: Development Status :: 4 - Beta
Classifier: Environment :: Console
Classifier: Intended Audience :: Science/Research
Classifier: Programming Language :: Python :: 3
Classifier: Operating System :: {system}
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Classifier: Typing :: Typed
{urls}Description-Content-Type: text/markdown

{readme}"""
SYSTEMS = {"attn.dll": "Microsoft :: Windows", "libattn.dylib": "MacOS", "libattn.so": "POSIX :: Linux"}
GIVEN = ROOT / "PKG-INFO"  # a source distribution has it
LIBRARIES = ROOT / "libraries"  # and the sources of these


def version(form="python"):
    """The version in a FORM of .packaging/facts.sh, which needs bash; a source distribution says that of Python."""
    if form == "python" and GIVEN.exists():
        return re.search(r"^Version: (.*)$", GIVEN.read_text(), re.M)[1]
    try:
        forms = subprocess.run([ROOT / ".packaging/facts.sh", "versions"], check=True, stdout=subprocess.PIPE, text=True).stdout
    except OSError as problem:
        fail(f"building it needs bash: {problem}")
    return dict(line.split() for line in forms.splitlines())[form]


def date():
    return re.search(r'#define ATTN_VERSION_DATE "(.*)"', (ROOT / "lib/ground/base/version.h").read_text())[1]


def make(*targets):
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    if subprocess.run(["make", "-C", ROOT, *targets], stdout=sys.stderr, env=environment).returncode:
        fail(f"'make {' '.join(targets)}' failed: its messages are above")


def fail(text):
    sys.exit(f"attn-cli: {text}")


def require():
    """Ends with one line that says what is missing here for building."""
    if sys.platform != "linux":
        fail("its sources are built on Linux alone; for other systems PyPI has the wheel *-none-any.whl")
    missing = [name for name in ("bash", "make", "readelf", "sed", "awk", "find") if not shutil.which(name)]
    compiler = os.environ.get("CC", "cc").split() or ["cc"]
    if not shutil.which(compiler[0]):
        missing.append(f"the C compiler '{compiler[0]}'")
    else:
        missing += [f"the headers of {whose}, such as {name}"
                    for name, whose in (("stdlib.h", "the C library"), ("linux/futex.h", "Linux"))
                    if subprocess.run([*compiler, "-E", "-"], input=f"#include <{name}>\n".encode(), capture_output=True).returncode]
    if not missing:
        packages = subprocess.run(["tests/tools/dependencies.sh", "missing", "build"], cwd=ROOT, text=True,
                                  capture_output=True, env={**os.environ, "XSMM": "no"}).stdout.split()
        missing = [f"{name} (as Debian calls it)" for name in packages]
    if missing:
        fail(f"building it needs {', '.join(missing)}, which this system lacks")


def platform(*programs):
    """The last part of the wheel's name: which systems PROGRAMS run on, those of the target, not of this machine."""
    machine = TARGET.partition("-")[0] or sysconfig.get_platform().rpartition("-")[2]
    if "windows" in TARGET:
        return {"x86_64": "win_amd64", "aarch64": "win_arm64"}[machine]
    if "macos" in TARGET:
        return "macosx_{}_{}_{}".format(*TARGET.split("macos.")[1].split("."), machine.replace("aarch64", "arm64"))
    if "musl" in TARGET:
        return f"musllinux_1_2_{machine}"
    dynamic = "".join(subprocess.run(["readelf", "-d", "-V", "-W", program], check=True, capture_output=True, text=True).stdout
                      for program in programs)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    versions = [tuple(map(int, v.split("."))) for v in re.findall(r"Name: GLIBC_(\d+\.\d+)", dynamic)]
    if needed - SYSTEM or not versions:
        return f"linux_{machine}"
    return "manylinux_{}_{}_{}".format(*max(*versions, (2, 17)), machine)


class Wheel:
    """A zip archive that keeps a record of what it holds; the same bytes for the same files."""

    def __init__(self, path, date):
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.date = (*map(int, date.split("-")), 0, 0, 0)
        self.record = []

    def add(self, name, data):
        entry = zipfile.ZipInfo(name, self.date)
        mode = 0o100755 if name.endswith((".so", ".dll", ".dylib")) or "/scripts/" in name else 0o100644
        entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, mode << 16, 3
        self.archive.writestr(entry, data, compresslevel=9)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, name):
        self.add(name, "\n".join([*self.record, f"{name},,", ""]).encode())
        self.archive.close()


def urls():
    """Where the project is, as CITATION.cff says, unless that is the place holder."""
    citation = (ROOT / "CITATION.cff").read_text()
    found = dict(re.findall(r'^(url|repository-code): "?([^"\n]+)', citation, re.M))
    names = {"url": "Homepage", "repository-code": "Source"}
    return "".join(f"Project-URL: {names[key]}, {url}\n" for key, url in found.items() if "example.org" not in url)


def description():
    """README.md as PyPI shows it, where a relative link is dead: it leads to the project's address, if there is one."""
    source = re.search(r"^Project-URL: Source, (.*?)(\.git)?$", urls(), re.M)

    def link(match):
        path = os.path.normpath(f"lib/python/{match[2]}")
        return f"[{match[1]}]({source[1]}/blob/HEAD/{path})" if source else match[1]

    return re.sub(r"\[([^]]*)\]\((?!https?:|#)([^)]*)\)", link, (HERE / "README.md").read_text())


def given_information():
    """The licences and METADATA that the source distribution says its wheel has."""
    text = GIVEN.read_bytes()
    listed = re.findall(r"^License-File: (.*)$", text.partition(b"\n\n")[0].decode(), re.M)
    return {"METADATA": text, **{f"licenses/{name}": (ROOT / name).read_bytes() for name in listed}}


def information(programs, is_any):
    """The licences and METADATA of a wheel with PROGRAMS."""
    names = licences.libraries_of(programs)
    files = {"licenses/LICENSE": (ROOT / "LICENSE").read_bytes()}
    files.update({f"licenses/licenses/{name}": licences.licence_of(name) for name in names})
    files["licenses/licenses/NOTICE"] = (ROOT / ".packaging/NOTICE").read_bytes()
    listed = "".join(f"License-File: {name.removeprefix('licenses/')}\n" for name in sorted(files))
    files["METADATA"] = METADATA.format(name=NAME, version=version(), expression=licences.expression(names), urls=urls(),
                                        files=listed.rstrip(), system="OS Independent" if is_any else SYSTEMS[LIBRARY],
                                        readme=description()).encode()
    return files


def stem_of(number):
    return f"{NAME.replace('-', '_')}-{number}"


def write(folder, files, platform_tag, about):
    """A wheel of FILES, {name: bytes}, in FOLDER, with ABOUT in its information; its name."""
    stem, tag = stem_of(version()), f"py3-none-{platform_tag}"
    name, info = f"{stem}-{tag}.whl", f"{stem}.dist-info"
    os.makedirs(folder, exist_ok=True)
    wheel = Wheel(os.path.join(folder, name), date())
    for file, data in sorted(files.items()):
        wheel.add(file.replace("DATA", f"{stem}.data"), data)
    pure = str(platform_tag == "any").lower()
    about["WHEEL"] = f"Wheel-Version: 1.0\nGenerator: build_wheel\nRoot-Is-Purelib: {pure}\nTag: {tag}\n".encode()
    for file, data in sorted(about.items()):
        wheel.add(f"{info}/{file}", data)
    wheel.close(f"{info}/RECORD")
    return name


def pages(command):
    """The manual and the completions, as the COMMAND of this machine prints them; without one it is built."""
    if command is None:
        make("TARGET=", "BUILD=build/release", "build/release/attn-cli")
        command = ROOT / "build/release/attn-cli"
    manual = subprocess.run([command, "help", "--man"], check=True, stdout=subprocess.PIPE, text=True).stdout
    asked = {"man/man1/attn-cli.1": ("help", "--man"),
             **{f"man/man1/attn-cli-{name}.1": ("help", name, "--man")
                for name in re.findall(r"^\.BR attn\\-cli\\-([a-z]+) \(1\)$", manual, re.M)},
             "bash-completion/completions/attn-cli": ("completion", "bash"),
             "zsh/site-functions/_attn-cli": ("completion", "zsh"),
             "fish/vendor_completions.d/attn-cli.fish": ("completion", "fish")}
    return {f"DATA/data/share/{name}": subprocess.run([command, *words], check=True, stdout=subprocess.PIPE).stdout
            for name, words in asked.items()}


def shared(files):
    """What an installation has in share/: models, files of tutorials, and attn.wasm. Both command and module find it."""
    for pattern in ("experiments/*.csv", "experiments/*.jsonl", "microgpt/*.*", "microgpt/model/*.*", "stories/*.json"):
        for path in sorted((ROOT / "data").glob(pattern)):
            files[f"DATA/data/share/attn-cli/{path.relative_to(ROOT)}"] = path.read_bytes()
    for path in (ROOT / "models").glob("*/*.*"):  # folders, like that of a training, have no dot
        if path.parent.name not in BUILT_IN:
            files[f"DATA/data/share/attn-cli/models/{path.parent.name}/{path.name}"] = path.read_bytes()
    if LIVE_MODULE.exists():
        files["DATA/data/share/attn-cli/attn.wasm"] = LIVE_MODULE.read_bytes()


def module():
    files = {f"{MODULE}/{path.name}": path.read_bytes() for path in (HERE / MODULE).iterdir()
             if path.suffix == ".py" or path.name == "py.typed"}
    own = f"{MODULE}/version.py"
    files[own] = re.sub(rb'"[^"]*"$', f'"{version()}"'.encode(), files[own].rstrip()) + b"\n"
    return files


def build(folder, libraries):
    """A wheel linked with LIBRARIES: pinned, for other machines, or system."""
    module_folder = ROOT / BUILD / ("module" if libraries == "pinned" else "module-system")
    make("module", f"WHEEL={libraries}", *([f"TARGET={TARGET}"] if TARGET else [f"BUILD={BUILD}"]))
    library, command = module_folder / "attn" / LIBRARY, module_folder / f"bin/attn-cli{EXE}"
    files = module()
    files[f"{MODULE}/{LIBRARY}"], files[f"DATA/scripts/attn-cli{EXE}"] = library.read_bytes(), command.read_bytes()
    shared(files)
    files.update(pages(None if TARGET else command))
    held = [library] + [LIVE_MODULE] * LIVE_MODULE.exists()
    return write(folder, files, platform(library, command), information(held, False) if libraries == "pinned" else here())


def here():
    """The information of a wheel for this machine, whose libraries are known only when it is built."""
    return given_information() if GIVEN.exists() else information([], False)


def build_any(folder):
    """The wheel for systems without one of their own: the command, which wasmtime runs."""
    files = {f"attn_wasm/{path.name}": path.read_bytes() for path in (HERE / "attn_wasm").glob("*.py")}
    files["attn_wasm/attn.wasm"] = LIVE_MODULE.read_bytes()
    for path in (ROOT / "models").glob("*/*.*"):  # attn.wasm has no built-in model
        files[f"attn_wasm/models/{path.parent.name}/{path.name}"] = path.read_bytes()
    about = information([LIVE_MODULE], True)
    about["entry_points.txt"] = b"[console_scripts]\nattn-cli = attn_wasm:main\n"
    return write(folder, files, "any", about)


# --- What pip calls (PEP 517, PEP 660) ------------------------------------------------------------


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    require()
    return build(wheel_directory, "system")


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """What the wheel will say of itself: nothing is built for it."""
    name = f"{stem_of(version())}.dist-info"
    for file, data in here().items():
        path = Path(metadata_directory, name, file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return name


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The module stays here, and uses build/release/libattn.so."""
    require()
    make(f"{BUILD}/libattn.so")
    machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return write(wheel_directory, {"attn_cli_editable.pth": f"{HERE}\n".encode()}, machine, here())


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_sdist(sdist_directory, config_settings=None):
    """What is committed and takes part in building; sources of libraries; attn.wasm, with PyPI's PKG-INFO."""
    if not (ROOT / ".git").exists() or not LIVE_MODULE.exists():
        fail("a source distribution is made in a git checkout, after 'make wasm'")
    stem = stem_of(version())
    make("dist")
    about = information([LIVE_MODULE], False)
    files = {f"{stem}/{name.removeprefix('licenses/')}": data for name, data in about.items() if name.startswith("licenses/licenses/")}
    files[f"{stem}/PKG-INFO"] = about["METADATA"]
    files[f"{stem}/{LIVE_MODULE.relative_to(ROOT)}"] = LIVE_MODULE.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ROOT / ".packaging/source.sh", "--needed", folder, "cjson", "pcre2", "zlib"], check=True)
        files.update({f"{stem}/libraries/{path.relative_to(folder)}": path.read_bytes()
                      for path in Path(folder).rglob("*") if path.is_file()})
    path = os.path.join(sdist_directory, f"{stem}.tar.gz")
    with tarfile.open(ROOT / f"build/{NAME}-{version('program')}.tar.gz") as source, open(path, "wb") as file, \
            gzip.GzipFile("", "wb", 9, file, 0) as packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as made:
        newest = 0
        for entry in source:
            name, newest = entry.name.partition("/")[2], max(newest, entry.mtime)
            if re.match(LEFT_OUT, name) and name not in BUILD_TOOLS:
                continue
            entry.name = f"{stem}/{name}".rstrip("/")
            made.addfile(entry, source.extractfile(entry) if entry.isfile() else None)
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(data), newest, 0o644
            made.addfile(entry, io.BytesIO(data))
    return os.path.basename(path)


if __name__ == "__main__":
    builds = {"any": build_any, "sdist": build_sdist}
    folder, *kind = sys.argv[1:]
    print(os.path.join(folder, builds[kind[0]](folder) if kind else build(folder, "pinned")))
