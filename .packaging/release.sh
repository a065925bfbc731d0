#!/usr/bin/env bash
# release.sh - gathers what make has built into one folder, with notes, sums, a bill of materials and,
# if wanted, a signature.
#
#   release.sh VERSION DATE FOLDER FILE...
#
# MINISIGN_KEY: the secret key of minisign that signs SHA256SUMS; it stays where it is.
set -eu

version=$1 date=$2 folder=$3
shift 3
cd "$(dirname "$0")/.."
rm -rf "$folder"
mkdir -p "$folder"
cp "$@" "$folder"
awk '/^## / { n++ } n == 1' CHANGELOG.md >"$folder/attn-cli-$version.md" # the notes
grep -q "^## $version$" "$folder/attn-cli-$version.md" || echo "release.sh: CHANGELOG.md does not begin with '## $version'" >&2
.packaging/licences.py check "$folder"/*.whl "$folder"/*-linux-*.tar.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The bill lists every library in any of the programs.
for wheel in "$folder"/*.whl; do
    name=$(basename "$wheel" .whl)
    mkdir "$work/$name"
    python3 -m zipfile -e "$wheel" "$work/$name"
done
for archive in "$folder"/*-linux-*.tar.gz; do
    name=$(basename "$archive")
    mkdir "$work/$name"
    tar -C "$work/$name" -xzf "$archive"
done
find "$work" -type f \( -name '*.so' -o -name attn-cli -o -name attn.wasm \) -print0 | LC_ALL=C sort -z |
    xargs -0 .packaging/licences.py sbom "$version" "$date" >"$folder/attn-cli-$version.spdx.json"
(cd "$folder" && find . -type f ! -name 'SHA256SUMS*' -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum >SHA256SUMS)
if [ -n "${MINISIGN_KEY-}" ]; then
    command -v minisign >/dev/null || { echo 'release.sh: MINISIGN_KEY is set, and minisign is not installed' >&2 && exit 1; }
    minisign -S -s "$MINISIGN_KEY" -m "$folder/SHA256SUMS" -t "attn-cli $version"
else
    echo 'release.sh: not signed: MINISIGN_KEY is not set' >&2
fi
(cd "$folder" && sha256sum -c --quiet SHA256SUMS)
ls -l "$folder"
