#!/usr/bin/env python3
"""The libraries in packages, what the sources have of others (NOTICE), and the licences of both.

    licences.py collect FOLDER FILE...   copies the licence of each library in FILE... into FOLDER
    licences.py check PACKAGE...         compares the libraries in an archive (.whl, .tar.gz) with the licences in it
    licences.py sbom VERSION DATE FILE...    prints a bill of materials of FILE... in SPDX 2.3, as JSON
    licences.py validate FILE...         checks such bills with PyPI's spdx-tools

A library is found by a text that it holds, however it was linked. LICENCES: the folder of licences that libraries.sh has written.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from urllib.parse import quote

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
    "mingw-w64": ("ZPL-2.1", rb"Mingw-w64 runtime failure", sorted(ZIG.glob("*/ziglang/lib/libc/mingw/COPYING"))),
    "wasi-libc": ("Apache-2.0 WITH LLVM-exception", rb"^\0asm", [DOC / "wasi-libc/copyright"]),
}
# What the sources themselves have of others: the licence; the version that it is of; and the package, as a URL (purl). All
# programs have it. Its licence is in notices/.
PORTS = {
    "gguf": ("MIT", "0.19.0", "pkg:pypi/gguf@0.19.0"),
    "llm-viz": ("MIT", "9da93742", "pkg:github/bbycroft/llm-viz@9da93742382f1bf36c020c38a1ace454e82c4490"),
    "mersenne-twister": ("BSD-3-Clause", "2002-01-26", "pkg:generic/mt19937ar@2002-01-26"),
    "pillow": ("MIT-CMU", "12.3.0", "pkg:pypi/pillow@12.3.0"),
    "pytorch": ("BSD-3-Clause", "2.13.0", "pkg:pypi/torch@2.13.0"),
    "unicode": ("Unicode-3.0", "17.0.0", "pkg:generic/unicode-character-database@17.0.0"),
}
# A dynamic program names a version of the C library; a static one is the library.
DYNAMIC = rb"\0GLIBC_2[.0-9]+\0|\0libc\.so\0"


def fail(text):
    sys.exit(f"licences.py: {text}")


def libraries_in(data):
    """The names of the libraries in a program, a shared library or a module of WebAssembly; none in other files."""
    if not data.startswith((b"\x7fELF", b"\0asm", b"MZ", b"\xcf\xfa\xed\xfe")):
        return set()
    found = {name for name, (_, mark, _) in LIBRARIES.items() if re.search(mark, data)}
    return found - {"glibc", "musl"} if re.search(DYNAMIC, data) else found


def libraries_of(files):
    """The libraries in programs, and the parts of others in all of them."""
    return sorted(set(PORTS).union(*(libraries_in(Path(file).read_bytes()) for file in files)))


def licence_of(name):
    """The text of the licence of the library NAME."""
    if name in PORTS:
        return (ROOT / ".packaging/notices" / name).read_bytes()
    for path in LIBRARIES[name][2]:
        if path.exists():
            return path.read_bytes()
    fail(f"the licence of {name} is not in {' or '.join(map(str, LIBRARIES[name][2])) or 'any known place'}")


def expression(names):
    """The licence of a package with the libraries NAMES, as an expression of SPDX."""
    parts = dict.fromkeys((LIBRARIES | PORTS)[name][0] for name in names)
    return " AND ".join(dict.fromkeys(["MIT", *(f"({part})" if " OR " in part else part for part in parts)]))


def collect(folder, *files):
    os.makedirs(folder, exist_ok=True)
    for name in libraries_of(files):
        Path(folder, name).write_bytes(licence_of(name))
    Path(folder, "NOTICE").write_bytes((ROOT / ".packaging/NOTICE").read_bytes())


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
                 if re.search(r"(^|/)licen[cs]es/", name) and len(data) > 200} - {"LICENSE", "NOTICE", "attn-cli"}
        texts = {Path(name).name for name in files}
        if not held:
            fail(f"'{package}' has no program and no library")
        held |= set(PORTS)
        if held != named:
            fail(f"'{package}' holds {sorted(held)}, and has the licences of {sorted(named)}")
        if "NOTICE" not in texts:
            fail(f"'{package}' has no NOTICE")
        print(f"licences: {Path(package).name}: {', '.join(sorted(held))}")


def pinned():
    """The version and the source of each library of sources.sha256."""
    table = {}
    for line in (ROOT / ".packaging/sources.sha256").read_text().splitlines():
        if not line.startswith("#"):
            digest, name, version, path, _ = line.split()
            table[name] = version, f"http://deb.debian.org/debian/pool/main/{path}", digest
    return table


def installed(package):
    """The version of a Debian package of this machine."""
    found = subprocess.run(["dpkg-query", "-W", "-f", "${Version} ${Architecture}\n", package], capture_output=True, text=True).stdout
    versions = [line.split()[0] for line in found.splitlines() if line.split()[-1] != "arm64"]
    return versions[0] if versions else fail(f"the version of {package} is not known here: Debian's package is not installed")


def origin(name):
    """The version of the library NAME in packages; where it is from; its purl; its digest or None."""
    if name in PORTS:
        _, version, purl = PORTS[name]
        return version, "NOASSERTION", purl, None
    if name in pinned():
        version, source, digest = pinned()[name]
        return version, source, f"pkg:deb/debian/{name}@{quote(version)}?arch=source", digest
    if name in ("musl", "mingw-w64"):  # zig has its own copy, which has no number of its own
        version = re.search(r"^version=(.*)$", (ROOT / ".packaging/zig.sh").read_text(), re.M)[1]
        return f"ziglang-{version}", "NOASSERTION", f"pkg:pypi/ziglang@{version}", None
    package = {"libxsmm": "libxsmm-dev", "glibc": "libc6-dev", "wasi-libc": "wasi-libc"}[name]
    version = installed(package)
    return version, "NOASSERTION", f"pkg:deb/debian/{package}@{quote(version)}", None


def described(name, version, source, purl, digest, licence):
    """A package of the bill."""
    part = {"SPDXID": f"SPDXRef-{name}", "name": name, "versionInfo": version, "downloadLocation": source,
            "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION", "filesAnalyzed": False,
            "supplier": "NOASSERTION", "externalRefs": [
                {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]}
    return part | ({"checksums": [{"algorithm": "SHA256", "checksumValue": digest}]} if digest else {})


def sbom(version, date, *files):
    names = libraries_of(files)
    parts = [described("attn-cli", version, "NOASSERTION", f"pkg:pypi/attn-cli@{version}", None, "MIT"),
             *(described(name, *origin(name), (LIBRARIES | PORTS)[name][0]) for name in names)]
    digest = hashlib.sha256(b"".join(Path(file).read_bytes() for file in sorted(files))).hexdigest()
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"attn-cli-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/attn-cli-{version}-{digest}",
        "creationInfo": {"created": f"{date}T00:00:00Z", "creators": ["Tool: attn-cli-licences.py"]},
        "packages": parts,
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                           "relatedSpdxElement": "SPDXRef-attn-cli"}] +
                         [{"spdxElementId": "SPDXRef-attn-cli", "relationshipType": "CONTAINS" if name in PORTS else "STATIC_LINK",
                           "relatedSpdxElement": f"SPDXRef-{name}"} for name in names]}, indent=1))


def validate(*files):
    try:
        from spdx_tools.spdx.parser.parse_anything import parse_file
        from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
    except ImportError:
        fail("PyPI's spdx-tools is missing, which validates the bill of materials")
    for file in files:
        for message in validate_full_spdx_document(parse_file(file)):
            fail(f"'{file}': {message.validation_message}")
        parts = json.loads(Path(file).read_text())["packages"]
        lacking = [part["name"] for part in parts if "NOASSERTION" in part["versionInfo"] or not part["externalRefs"]]
        if lacking:
            fail(f"'{file}': no version or package URL of {', '.join(lacking)}")
        print(f"licences: {Path(file).name}: valid, {', '.join(part['name'] + ' ' + part['versionInfo'] for part in parts)}")


if __name__ == "__main__":
    commands = {"collect": collect, "check": check, "sbom": sbom, "validate": validate}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])
