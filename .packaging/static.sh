#!/usr/bin/env bash
# static.sh - packs the tool that needs no other file, with its manual pages, completions and licences.
#
#   static.sh PROGRAM LICENCES MODULE ARCHIVE SYSTEM MACHINE
#
# LICENCES: the folder of libraries.sh; MODULE: attn.wasm; ARCHIVE: .tar.gz or .zip; SYSTEM: Linux, macOS or Windows.
# TOOL: a tool of this machine, which prints manual and completions, default PROGRAM. Equal programs give equal
# archives.
set -eu
umask 022 # modes are in the archive

program=$1 licences=$2 module=$3 archive=$4 system=$5 machine=$6
name=$(basename "$archive")
name=${name%.tar.gz} name=${name%.zip}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
top=$work/$name
command=attn-cli
[ "$system" != Windows ] || command=attn-cli.exe
mkdir -p "$top/completions" "$top/licences"

install -m 755 "$program" "$top/$command"
"${STRIP:-strip}" "$top/$command"
install -m 644 "$module" "$top/attn.wasm"
.packaging/man.sh "${TOOL:-$program}" "$top/man"
for shell in bash zsh fish; do
    "${TOOL:-$program}" completion $shell >"$top/completions/attn-cli.$shell"
done
cp LICENSE "$top/licences/attn-cli"
LICENCES="$licences" .packaging/licences.py collect "$top/licences" "$program" "$module"

first=./attn-cli more='It cannot draw --png and --pdf, which take cairo from the system; --svg and --html work.'
case $system in
Windows)
    first='attn-cli'
    more="It draws no --png and --pdf, and reads no PNG, JPEG, WebP and sound; --svg, --html and arrays (.npy) work.
It was run under wine 8 alone, never on Windows."
    ;;
macOS)
    more="--png and --pdf take cairo from the system, as Homebrew installs it; --svg and --html need nothing.
It was built by a cross-compiler and never run. A downloaded file is in quarantine:
xattr -d com.apple.quarantine attn-cli"
    ;;
esac
cat >"$top/README" <<END
attn-cli for $system on $machine: one file that needs no other. attn.wasm is the same for live pages.

    $first run --sentence "Life is short, eat dessert first"

$more
'attn-cli help' lists the commands$([ "$system" = Windows ] || echo ", 'man man/attn-cli.1' is the manual").
Licences of what is inside are in licences/. To link with another C library, take the source archive of this version
and run 'make static'.
END
mkdir -p "$(dirname "$archive")"
case $archive in
*.zip) python3 - "$work" "$name" "$archive.part" <<'END' ;;
import pathlib
import sys
import zipfile

work, name, archive = sys.argv[1:]
with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
    for path in sorted(pathlib.Path(work, name).rglob("*")):
        if path.is_file():
            entry = zipfile.ZipInfo(path.relative_to(work).as_posix())  # of 1980
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, path.stat().st_mode << 16
            made.writestr(entry, path.read_bytes(), compresslevel=9)
END
*) tar -C "$work" --sort=name --mtime="@${SOURCE_DATE_EPOCH:-0}" --owner=0 --group=0 --numeric-owner \
    -cf - "$name" | gzip -n9 >"$archive.part" ;;
esac
mv "$archive.part" "$archive"
