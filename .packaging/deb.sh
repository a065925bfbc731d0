#!/usr/bin/env bash
# deb.sh - makes Debian packages of a source archive.
#
#   deb.sh ARCHIVE VERSION FOLDER     FOLDER, which is emptied, gets the packages
set -eu

archive=$(realpath "$1") version=$2 folder=$3
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
cp "$archive" "attn-cli_$version.orig.tar.gz"
tar -xzf "$archive"
cd "attn-cli-$version"
cp -r "$here/debian" debian
sed -e "s/@VERSION@/$version/" -e "s/@DATE@/$(date -R -u -d "@$(stat -c %Y lib/base/version.h)")/" \
    debian/changelog.in >debian/changelog
rm debian/changelog.in
dpkg-buildpackage -us -uc -F "${@:4}"
