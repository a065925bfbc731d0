#!/usr/bin/env python3
"""Builds the wheel of `attn-cli`: the command, and the module `attn` with libattn.so. Only the standard library is used.

    lib/python/build_wheel.py FOLDER         writes FOLDER/attn_cli-VERSION-py3-none-PLATFORM.whl, prints its path
    lib/python/build_wheel.py FOLDER any     the same of the command as WebAssembly, for any system with PyPI's wasmtime

pip finds the same here (PEP 517), as pyproject.toml says. All is built by `make` in the sources around this folder.
TARGET, in the environment, is one of .packaging/zig.sh. PLATFORM is manylinux of the version of glibc that the symbols
need, musllinux_1_2, or linux where other libraries are needed. The module of live pages is in the wheel where
`make wasm` has made it, as `make wheel` does first.
"""
import base64
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = os.environ.get("TARGET", "")
BUILD = os.environ.get("BUILD") or f"build/{TARGET or 'release'}"
PAGES = ROOT / "build/release"  # the manual and the completions, made by a tool of this machine
NAME, MODULE = "attn-cli", "attn"
BUILT_IN = ("fable", "life-is-short")  # models that the library holds itself
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "librt.so.1", "libdl.so.2", "ld-linux-x86-64.so.2",
          "ld-linux-aarch64.so.1", "libc.so"}
LIVE_MODULE = ROOT / "build/wasm/attn.wasm"
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
Requires-Dist: {needs}
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
NEEDS = {False: ("numpy>=1.21", "POSIX :: Linux"), True: ("wasmtime>=20", "OS Independent")}


def version():
    header = (ROOT / "lib/base/version.h").read_text()
    return re.search(r'#define ATTN_VERSION "(.*)"', header)[1], re.search(r'#define ATTN_VERSION_DATE "(.*)"', header)[1]


def make(*targets):
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    subprocess.run(["make", "-C", ROOT, *targets], check=True, stdout=sys.stderr, env=environment)


def platform(*programs):
    """The last part of the wheel's name: which systems PROGRAMS run on, those of the target, not of this machine."""
    machine = TARGET.partition("-")[0] or sysconfig.get_platform().rpartition("-")[2]
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
        mode = 0o100755 if name.endswith(".so") or "/scripts/" in name else 0o100644
        entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, mode << 16, 3
        self.archive.writestr(entry, data, compresslevel=9)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, name):
        self.add(name, "\n".join([*self.record, f"{name},,", ""]).encode())
        self.archive.close()


def urls():
    """Where the project is, as CITATION.cff says."""
    citation = (ROOT / "CITATION.cff").read_text()
    found = dict(re.findall(r'^(url|repository-code): "?([^"\n]+)', citation, re.M))
    names = {"url": "Homepage", "repository-code": "Source"}
    return "".join(f"Project-URL: {names[key]}, {url}\n" for key, url in found.items())


def information(programs, is_any):
    """The licences and METADATA of a wheel with PROGRAMS."""
    names = licences.libraries_of(programs)
    files = {"licenses/LICENSE": (ROOT / "LICENSE").read_bytes()}
    files.update({f"licenses/licenses/{name}": licences.licence_of(name) for name in names})
    files["licenses/licenses/NOTICE"] = (ROOT / ".packaging/NOTICE").read_bytes()
    needs, system = NEEDS[is_any]
    listed = "".join(f"License-File: {name.removeprefix('licenses/')}\n" for name in sorted(files))
    files["METADATA"] = METADATA.format(name=NAME, version=version()[0], expression=licences.expression(names), urls=urls(),
                                        files=listed.rstrip(), needs=needs, system=system,
                                        readme=(HERE / "README.md").read_text()).encode()
    return files


def write(folder, files, platform_tag, about):
    """A wheel of FILES, {name: bytes}, in FOLDER, with ABOUT in its information; its name."""
    number, date = version()
    stem, tag = f"{NAME.replace('-', '_')}-{number}", f"py3-none-{platform_tag}"
    name, info = f"{stem}-{tag}.whl", f"{stem}.dist-info"
    os.makedirs(folder, exist_ok=True)
    wheel = Wheel(os.path.join(folder, name), date)
    for file, data in sorted(files.items()):
        wheel.add(file.replace("DATA", f"{stem}.data"), data)
    pure = str(platform_tag == "any").lower()
    about["WHEEL"] = f"Wheel-Version: 1.0\nGenerator: build_wheel\nRoot-Is-Purelib: {pure}\nTag: {tag}\n".encode()
    for file, data in sorted(about.items()):
        wheel.add(f"{info}/{file}", data)
    wheel.close(f"{info}/RECORD")
    return name


def shared(files):
    """What an installation has in share/: models, attn.wasm, the manual, completions. Both command and module find it."""
    for path in (ROOT / "models").glob("*/*.*"):  # folders, like that of a training, have no dot
        if path.parent.name not in BUILT_IN:
            files[f"DATA/data/share/attn-cli/models/{path.parent.name}/{path.name}"] = path.read_bytes()
    if LIVE_MODULE.exists():
        files["DATA/data/share/attn-cli/attn.wasm"] = LIVE_MODULE.read_bytes()
    for made, name in (("attn-cli.1", "man/man1/attn-cli.1"), ("completion.bash", "bash-completion/completions/attn-cli"),
                       ("completion.zsh", "zsh/site-functions/_attn-cli"),
                       ("completion.fish", "fish/vendor_completions.d/attn-cli.fish")):
        files[f"DATA/data/share/{name}"] = (PAGES / made).read_bytes()


def module():
    return {f"{MODULE}/{path.name}": path.read_bytes() for path in (HERE / MODULE).iterdir()
            if path.suffix == ".py" or path.name == "py.typed"}


# --- What pip calls (PEP 517, PEP 660) ------------------------------------------------------------


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library, command = (f"{BUILD}/module/{name}" for name in ("libattn.so", "attn-cli"))
    make(library, command, *([f"TARGET={TARGET}"] if TARGET else []))
    make("TARGET=", "BUILD=build/release", "man", "completions")
    programs = [ROOT / library, ROOT / command]
    files = module()
    files[f"{MODULE}/libattn.so"], files["DATA/scripts/attn-cli"] = (path.read_bytes() for path in programs)
    shared(files)
    held = programs + [LIVE_MODULE] * LIVE_MODULE.exists()
    return write(wheel_directory, files, platform(*programs), information(held, False))


def build_any(folder):
    """The wheel for systems without one of their own: the command, which wasmtime runs."""
    files = {f"attn_wasm/{path.name}": path.read_bytes() for path in (HERE / "attn_wasm").glob("*.py")}
    files["attn_wasm/attn.wasm"] = LIVE_MODULE.read_bytes()
    for path in (ROOT / "models").glob("*/*.*"):  # attn.wasm has no built-in model
        files[f"attn_wasm/models/{path.parent.name}/{path.name}"] = path.read_bytes()
    about = information([LIVE_MODULE], True)
    about["entry_points.txt"] = b"[console_scripts]\nattn-cli = attn_wasm:main\n"
    return write(folder, files, "any", about)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The module stays here, and uses build/release/libattn.so."""
    make(f"{BUILD}/libattn.so")
    machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return write(wheel_directory, {"attn_cli_editable.pth": f"{HERE}\n".encode()}, machine, information([], False))


def build_sdist(sdist_directory, config_settings=None):
    """The archive of `make dist`, with the PKG-INFO that PyPI wants; only a checkout has what is committed."""
    make("dist")
    stem = f"{NAME.replace('-', '_')}-{version()[0]}"
    info = information([], False)["METADATA"]
    path = os.path.join(sdist_directory, f"{stem}.tar.gz")
    with tarfile.open(ROOT / f"build/{NAME}-{version()[0]}.tar.gz") as source, open(path, "wb") as file, \
            gzip.GzipFile("", "wb", 9, file, 0) as packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as made:
        entry = tarfile.TarInfo(f"{stem}/PKG-INFO")
        entry.size = len(info)
        made.addfile(entry, io.BytesIO(info))
        for entry in source:
            entry.name = stem + entry.name[len(stem):]
            made.addfile(entry, source.extractfile(entry) if entry.isfile() else None)
    return os.path.basename(path)


if __name__ == "__main__":
    builds = {"any": build_any, "sdist": build_sdist}
    print(os.path.join(sys.argv[1], builds[sys.argv[2]](sys.argv[1]) if len(sys.argv) > 2 else build_wheel(sys.argv[1])))
