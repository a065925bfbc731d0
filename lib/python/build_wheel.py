#!/usr/bin/env python3
"""Builds the wheel of `attn-cli`: the module `attn` with libattn.so in it. Only the standard library is used.

    lib/python/build_wheel.py FOLDER      writes FOLDER/attn_cli-VERSION-py3-none-PLATFORM.whl, prints its path

pip finds the same here (PEP 517), as pyproject.toml says. The library is built by `make` in the sources around this
folder. PLATFORM is manylinux where the library needs nothing but the C library, of the version that its symbols
name, and else linux: it then runs where it was built. The module of live pages is in it where `make wasm` has made it,
as `make wheel` does first.
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = os.environ.get("BUILD", "build/release")
NAME, MODULE = "attn-cli", "attn"
BUILT_IN = ("fable", "life-is-short")  # models that the library holds itself
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "librt.so.1", "libdl.so.2", "ld-linux-x86-64.so.2"}
LIVE_MODULE = ROOT / "build/wasm/attn.wasm"
COPYRIGHTS = {"libxsmm": "libxsmm-dev", "cJSON": "libcjson-dev", "PCRE2": "libpcre2-dev", "zlib": "zlib1g-dev"}

METADATA = """\
Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: Runs GPT-style models on a CPU and shows what their attention does
License: MIT
Requires-Python: >=3.9
Requires-Dist: numpy>=1.21
Classifier: Programming Language :: Python :: 3
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{readme}"""


def version():
    header = (ROOT / "lib/base/version.h").read_text()
    return re.search(r'#define ATTN_VERSION "(.*)"', header)[1], re.search(r'#define ATTN_VERSION_DATE "(.*)"', header)[1]


def build_library():
    library = f"{BUILD}/module/libattn.so"
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    subprocess.run(["make", "-C", ROOT, library], check=True, stdout=sys.stderr, env=environment)
    return ROOT / library


def platform(library):
    """The last part of the wheel's name: which systems LIBRARY runs on."""
    machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")  # linux_x86_64
    dynamic = subprocess.run(["readelf", "-d", "-V", "-W", library], check=True, capture_output=True, text=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    versions = [tuple(map(int, v.split("."))) for v in re.findall(r"Name: GLIBC_(\d+\.\d+)", dynamic)]
    if needed - SYSTEM or not versions:
        return machine
    return "manylinux_{}_{}_".format(*max(versions)) + machine.removeprefix("linux_")


class Wheel:
    """A zip archive that keeps a record of what it holds; the same bytes for the same files."""

    def __init__(self, path, date):
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.date = (*map(int, date.split("-")), 0, 0, 0)
        self.record = []

    def add(self, name, data):
        entry = zipfile.ZipInfo(name, self.date)
        entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100755 if name.endswith(".so") else 0o100644) << 16
        self.archive.writestr(entry, data, compresslevel=9)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, name):
        self.add(name, "\n".join([*self.record, f"{name},,", ""]).encode())
        self.archive.close()


def write(folder, files, platform_tag):
    """A wheel of FILES, {name: bytes}, in FOLDER; its name."""
    number, date = version()
    info, tag = f"{NAME.replace('-', '_')}-{number}.dist-info", f"py3-none-{platform_tag}"
    name = f"{NAME.replace('-', '_')}-{number}-{tag}.whl"
    os.makedirs(folder, exist_ok=True)
    wheel = Wheel(os.path.join(folder, name), date)
    for file, data in sorted(files.items()):
        wheel.add(file, data)
    wheel.add(f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())
    for library, package in COPYRIGHTS.items():
        copyright = Path("/usr/share/doc", package, "copyright")
        if copyright.exists():
            wheel.add(f"{info}/licenses/{library}.txt", copyright.read_bytes())
    if LIVE_MODULE.exists():
        wheel.add(f"{info}/licenses/attn.wasm.txt", (LIVE_MODULE.parent / "libraries/copyright.txt").read_bytes())
    readme = (HERE / "README.md").read_text()
    wheel.add(f"{info}/METADATA", METADATA.format(name=NAME, version=number, readme=readme).encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: build_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.add(f"{info}/top_level.txt", f"{MODULE}\n".encode())
    wheel.close(f"{info}/RECORD")
    return name


# --- What pip calls (PEP 517, PEP 660) ------------------------------------------------------------


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library = build_library()
    files = {f"{MODULE}/{path.name}": path.read_bytes() for path in (HERE / MODULE).iterdir()
             if path.suffix == ".py" or path.name == "py.typed"}
    files[f"{MODULE}/libattn.so"] = library.read_bytes()
    if LIVE_MODULE.exists():
        files[f"{MODULE}/attn.wasm"] = LIVE_MODULE.read_bytes()
    for path in (ROOT / "models").glob("*/*.*"):  # folders, like that of a training, have no dot
        if path.parent.name not in BUILT_IN:
            files[f"{MODULE}/models/{path.parent.name}/{path.name}"] = path.read_bytes()
    return write(wheel_directory, files, platform(library))


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The module stays here, and uses build/release/libattn.so."""
    subprocess.run(["make", "-C", ROOT, f"{BUILD}/libattn.so"], check=True, stdout=sys.stderr)
    machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return write(wheel_directory, {"attn_cli_editable.pth": f"{HERE}\n".encode()}, machine)


class UnsupportedOperation(Exception):
    """A hook that this backend has not."""


def build_sdist(sdist_directory, config_settings=None):
    raise UnsupportedOperation("the source archive of all of attn-cli is made by `make dist`")


if __name__ == "__main__":
    print(os.path.join(sys.argv[1], build_wheel(sys.argv[1])))
