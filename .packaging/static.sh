#!/usr/bin/env bash
# static.sh - packs the tool that needs no other file, with its manual, completions and licences.
#
#   static.sh BUILD MODULE ARCHIVE     BUILD/attn-cli and BUILD/libraries/cjson.copyright; MODULE: attn.wasm, beside
#                                      its libraries/copyright.txt
#
# Equal programs give equal archives.
set -eu

program=$1/attn-cli libraries=$1/libraries module=$2 archive=$3
name=$(basename "$archive" .tar.gz)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
top=$work/$name
mkdir -p "$top/completions" "$top/licences"

install -m 755 "$program" "$top/attn-cli"
strip "$top/attn-cli"
install -m 644 "$module" "$top/attn.wasm"
"$program" help --man >"$top/attn-cli.1"
for shell in bash zsh fish; do
    "$program" completion $shell >"$top/completions/attn-cli.$shell"
done
cp LICENSE "$top/licences/attn-cli"
cp "$libraries/cjson.copyright" "$top/licences/cjson"
cp "$(dirname "$module")/libraries/copyright.txt" "$top/licences/attn.wasm"
packages=(libc6-dev libpcre2-dev zlib1g-dev)
[ "${XSMM-}" = no ] || packages+=(libxsmm-dev)
for package in "${packages[@]}"; do
    cp "/usr/share/doc/$package/copyright" "$top/licences/${package%-dev}"
done
cat >"$top/README" <<END
attn-cli for Linux on x86-64: one file that needs no other. attn.wasm is the same for live pages.

    ./attn-cli run --sentence "Life is short, eat dessert first"

It cannot draw --png and --pdf, which take cairo from the system; --svg and --html work.
'attn-cli help' lists the commands, 'man ./attn-cli.1' is the manual.
Licences of what is inside are in licences/. The GNU C library is under the LGPL: to link with
another one, take the source archive of this version and run 'make static'.
END
mkdir -p "$(dirname "$archive")"
tar -C "$work" --sort=name --mtime="@${SOURCE_DATE_EPOCH:-0}" --owner=0 --group=0 --numeric-owner \
    -cf - "$name" | gzip -n9 >"$archive.part"
mv "$archive.part" "$archive"
