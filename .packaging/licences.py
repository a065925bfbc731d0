#!/usr/bin/env python3
"""The libraries in packages, and their licences.

    licences.py collect FOLDER FILE...   copies the licence of each library in FILE... into FOLDER
    licences.py check PACKAGE...         compares the libraries in an archive (.whl, .tar.gz) with the licences in it
    licences.py sbom VERSION FILE...     prints a bill of materials of FILE... in SPDX 2.3, as JSON

A library is found by a text that it holds, however it was linked. LICENCES: the folder of licences that libraries.sh has written.
"""
import hashlib
import json
import os
import re
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MADE = Path(os.environ.get("LICENCES", ROOT / "build/release/module/libraries/licences"))
DOC = Path("/usr/share/doc")
ZIG = ROOT / "build/zig"

# Name: the licence in SPDX's words; a text that every file with the library holds (cJSON has none, and is in each program
# of ours); the files that its licence may be in.
LIBRARIES = {
    "cjson": ("MIT", rb"", [MADE / "cjson"]),
    "pcre2": ("BSD-3-Clause", rb"alpha\0lower\0upper\0alnum\0ascii\0", [MADE / "pcre2"]),
    "zlib": ("Zlib", rb"need dictionary\0", [MADE / "zlib"]),
    "libxsmm": ("BSD-3-Clause", rb"LIBXSMM_TARGET", [DOC / "libxsmm-dev/copyright"]),
    "nettle": ("LGPL-3.0-or-later OR GPL-2.0-or-later", rb"\0nettle[-_]", []),
    "glibc": ("LGPL-2.1-or-later", rb"GLIBC_TUNABLES", [DOC / "libc6-dev/copyright"]),
    "musl": ("MIT", rb"\0No error information\0", sorted(ZIG.glob("*/ziglang/lib/libc/musl/COPYRIGHT"))),
    "wasi-libc": ("Apache-2.0 WITH LLVM-exception", rb"^\0asm", [DOC / "wasi-libc/copyright"]),
}
# A dynamic program names a version of the C library; a static one is the library.
DYNAMIC = rb"\0GLIBC_2[.0-9]+\0|\0libc\.so\0"


def fail(text):
    sys.exit(f"licences.py: {text}")


def libraries_in(data):
    """The names of the libraries in a program, a shared library or a module of WebAssembly; none in other files."""
    if not data.startswith((b"\x7fELF", b"\0asm")):
        return set()
    found = {name for name, (_, mark, _) in LIBRARIES.items() if re.search(mark, data)}
    return found - {"glibc", "musl"} if re.search(DYNAMIC, data) else found


def libraries_of(files):
    return sorted(set().union(*(libraries_in(Path(file).read_bytes()) for file in files)))


def licence_of(name):
    """The text of the licence of the library NAME."""
    for path in LIBRARIES[name][2]:
        if path.exists():
            return path.read_bytes()
    fail(f"the licence of {name} is not in {' or '.join(map(str, LIBRARIES[name][2])) or 'any known place'}")


def expression(names):
    """The licence of a package with the libraries NAMES, as an expression of SPDX."""
    return " AND ".join(dict.fromkeys(["MIT", *(LIBRARIES[name][0] for name in names)]))


def collect(folder, *files):
    os.makedirs(folder, exist_ok=True)
    for name in libraries_of(files):
        Path(folder, name).write_bytes(licence_of(name))


def members(package):
    """The files of PACKAGE: their names and bytes."""
    if zipfile.is_zipfile(package):
        with zipfile.ZipFile(package) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(package) as archive:
        return {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()}


def check(*packages):
    for package in packages:
        files = members(package)
        held = set().union(*(libraries_in(data) for data in files.values()))
        named = {Path(name).name for name, data in files.items()
                 if re.search(r"(^|/)licen[cs]es/", name) and len(data) > 200} - {"LICENSE", "attn-cli"}
        if not held:
            fail(f"'{package}' has no program and no library")
        if held != named:
            fail(f"'{package}' holds {sorted(held)}, and has the licences of {sorted(named)}")
        print(f"licences: {Path(package).name}: {', '.join(sorted(held))}")


def pinned():
    """The version and the source of each library of sources.sha256."""
    table = {}
    for line in (ROOT / ".packaging/sources.sha256").read_text().splitlines():
        if not line.startswith("#"):
            digest, name, version, path = line.split()
            table[name] = version, f"http://deb.debian.org/debian/pool/main/{path}", digest
    return table


def sbom(version, date, *files):
    table, names = pinned(), libraries_of(files)
    parts = [{"SPDXID": "SPDXRef-attn-cli", "name": "attn-cli", "versionInfo": version, "licenseDeclared": "MIT",
              "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "copyrightText": "NOASSERTION"}]
    for name in names:
        number, source, digest = table.get(name, ("NOASSERTION", "NOASSERTION", None))
        part = {"SPDXID": f"SPDXRef-{name}", "name": name, "versionInfo": number, "downloadLocation": source,
                "licenseDeclared": LIBRARIES[name][0], "filesAnalyzed": False, "copyrightText": "NOASSERTION"}
        parts.append(part | ({"checksums": [{"algorithm": "SHA256", "checksumValue": digest}]} if digest else {}))
    digest = hashlib.sha256(b"".join(Path(file).read_bytes() for file in sorted(files))).hexdigest()
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"attn-cli-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/attn-cli-{version}-{digest}",
        "creationInfo": {"created": f"{date}T00:00:00Z", "creators": ["Tool: attn-cli-licences.py"]},
        "packages": parts,
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                           "relatedSpdxElement": "SPDXRef-attn-cli"}] +
                         [{"spdxElementId": "SPDXRef-attn-cli", "relationshipType": "STATIC_LINK",
                           "relatedSpdxElement": f"SPDXRef-{name}"} for name in names]}, indent=1))


if __name__ == "__main__":
    commands = {"collect": collect, "check": check, "sbom": sbom}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])
