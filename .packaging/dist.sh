#!/usr/bin/env bash
# dist.sh - makes the source archives of what is committed: equal commits give equal bytes.
#
#   dist.sh NAME FOLDER      writes FOLDER/NAME.tar.gz, which is built from, and FOLDER/NAME-tests.tar.gz with the models and
#                            corpora that `make test` needs; the files of both are in the folder NAME
#
# .gitattributes lists what the first one leaves out (export-ignore). .packaging/commit in the archive has the commit and its number, which a build without git takes its version from (facts.sh).
set -eu
cd "$(dirname "$0")/.."
name=$1 folder=$2
commit=$(git rev-parse HEAD) number=$(git rev-list --count HEAD) date=$(git log -1 --format=%ct)
mkdir -p "$folder"
work=$(mktemp -d -p "$folder")
trap 'rm -rf "$work"' EXIT

pack() { # ARCHIVE
    tar -C "$work" --sort=name --format=ustar --mtime="@$date" --owner=0 --group=0 --numeric-owner --mode=u+rwX,go=rX \
        -cf - "$name" | gzip -n9 >"$work/packed"
    mv "$work/packed" "$1"
    ls -l "$1"
}

git archive --format=tar --prefix="$name/" HEAD | tar -C "$work" -xf -
echo "$commit $number" >"$work/$name/.packaging/commit"
pack "$folder/$name.tar.gz"

rm -rf "${work:?}/$name"
mapfile -t tests < <(sed -n 's/^\(tests[^ ]*\) export-ignore$/\1/p' .gitattributes | grep -v former)
export GIT_INDEX_FILE=$work/index
git read-tree HEAD
git ls-files -z -- "${tests[@]}" | git checkout-index -z --stdin --prefix="$(realpath "$work")/$name/"
pack "$folder/$name-tests.tar.gz"
