#!/usr/bin/env bash
# gather.sh - puts what make has built into one folder, with notes, sums, a bill of materials, the recipes of other
# packagers and, if wanted, a signature.
#
#   gather.sh VERSION DATE FOLDER FILE...
#
# MINISIGN_KEY: the secret key of minisign that signs SHA256SUMS; it stays where it is.
set -eu

version=$1 date=$2 folder=$3
shift 3
cd "$(dirname "$0")/.."
.packaging/facts.sh require
rm -rf "$folder"
mkdir -p "$folder/recipes"
cp "$@" "$folder"
note=$(.packaging/check_notes.sh)
cp "$note" "$folder/attn-cli-$version.md"
shopt -s nullglob
programs=("$folder"/*.whl "$folder"/*-{linux,macos}-*.tar.gz "$folder"/*-windows-*.zip)
[ ${#programs[@]} -gt 0 ] || { echo 'gather.sh: there is no wheel and no static archive' >&2 && exit 1; }
.packaging/licences.py check "${programs[@]}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The bill lists every library in any of the programs.
for package in "${programs[@]}"; do
    name=$work/$(basename "$package")
    mkdir "$name"
    case $package in
    *.whl | *.zip) python3 -m zipfile -e "$package" "$name" ;;
    *) tar -C "$name" -xzf "$package" ;;
    esac
done
find "$work" -type f \( -name '*.so' -o -name '*.dll' -o -name '*.dylib' -o -name attn-cli -o -name attn-cli.exe -o -name attn.wasm \) -print0 | LC_ALL=C sort -z |
    xargs -0 .packaging/licences.py sbom "$version" "$date" >"$folder/attn-cli-$version.spdx.json"
cp .packaging/recipes/* "$folder/recipes"
.packaging/facts.sh fill "$folder"/recipes/*
digest=$(sha256sum <"$folder/attn-cli-$version.tar.gz")
sed -i "s/@SHA256@/${digest%% *}/" "$folder"/recipes/*
(cd "$folder" && find . -type f ! -name 'SHA256SUMS*' -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum >SHA256SUMS)
if [ -n "${MINISIGN_KEY-}" ]; then
    command -v minisign >/dev/null || { echo 'gather.sh: MINISIGN_KEY is set, and minisign is not installed' >&2 && exit 1; }
    minisign -S -s "$MINISIGN_KEY" -m "$folder/SHA256SUMS" -t "attn-cli $version" -c "attn-cli $version"
else
    echo 'gather.sh: not signed: MINISIGN_KEY is not set' >&2
fi
(cd "$folder" && sha256sum -c --quiet SHA256SUMS)
ls -l "$folder"
