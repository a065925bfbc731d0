#!/usr/bin/env bash
# static.sh - packs the tool that needs no other file, with its manual, completions and licences.
#
#   static.sh PROGRAM LICENCES MODULE ARCHIVE MACHINE     LICENCES: the folder of libraries.sh; MODULE: attn.wasm
#
# TOOL: a tool of this machine, which prints manual and completions, default PROGRAM. Equal programs give equal
# archives.
set -eu
umask 022 # modes are in the archive

program=$1 licences=$2 module=$3 archive=$4 machine=$5
name=$(basename "$archive" .tar.gz)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
top=$work/$name
mkdir -p "$top/completions" "$top/licences"

install -m 755 "$program" "$top/attn-cli"
"${STRIP:-strip}" "$top/attn-cli"
install -m 644 "$module" "$top/attn.wasm"
"${TOOL:-$program}" help --man >"$top/attn-cli.1"
for shell in bash zsh fish; do
    "${TOOL:-$program}" completion $shell >"$top/completions/attn-cli.$shell"
done
cp LICENSE "$top/licences/attn-cli"
LICENCES="$licences" .packaging/licences.py collect "$top/licences" "$program" "$module"
cat >"$top/README" <<END
attn-cli for Linux on $machine: one file that needs no other. attn.wasm is the same for live pages.

    ./attn-cli run --sentence "Life is short, eat dessert first"

It cannot draw --png and --pdf, which take cairo from the system; --svg and --html work.
'attn-cli help' lists the commands, 'man ./attn-cli.1' is the manual.
Licences of what is inside are in licences/. To link with another C library, take the source archive of this version
and run 'make static'.
END
mkdir -p "$(dirname "$archive")"
tar -C "$work" --sort=name --mtime="@${SOURCE_DATE_EPOCH:-0}" --owner=0 --group=0 --numeric-owner \
    -cf - "$name" | gzip -n9 >"$archive.part"
mv "$archive.part" "$archive"
