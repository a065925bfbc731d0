#!/usr/bin/env bash
# deb.sh - makes Debian packages of the source archives (dist.sh), and of the sources of the libraries in attn.wasm, of which Debian
# has no archive for WebAssembly: a component of its own, because a build has no network.
#
#   deb.sh NAME.tar.gz VERSION FOLDER     VERSION is Debian's form (facts.sh). FOLDER, which is emptied, gets the packages
set -eu

archive=$(realpath "$1") version=$2 folder=$3 tree=$(basename "$1" .tar.gz)
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
tar -xzf "$archive"
tar -xzf "${archive%.tar.gz}-tests.tar.gz"
tar --sort=name --owner=0 --group=0 --numeric-owner -cf - "$tree" | gzip -n9 >"attn-cli_$version.orig.tar.gz"
"$here/source.sh" --needed libraries cjson pcre2 zlib
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -czf "attn-cli_$version.orig-libraries.tar.gz" libraries
mv libraries "$tree"
cd "$tree"
cp -r "$here/debian" debian
sed "s/@DATE@/$(date -R -u -d "@$(stat -c %Y lib/ground/base/version.h)")/" debian/changelog.in >debian/changelog
rm debian/changelog.in
# Debian wants the texts of licences in one file, indented, with a dot for an empty line.
for notice in .packaging/notices/* libraries/*/LICEN[CS]E*; do
    name=${notice#libraries/} name=${name%/LICEN*}
    sed -e 's/^[[:space:]]*$/./' -e 's/^/ /' "$notice" >notice
    sed -i -e "/^@${name##*/}@$/{r notice" -e 'd}' debian/copyright
done
rm notice
! grep '^@' debian/copyright || exit 1 # a licence without its text
.packaging/facts.sh fill debian/changelog debian/control
# dpkg-gensymbols refuses a library that lacks one of them.
{
    echo "libattn.so.1 libattn1 #MINVER#"
    printf ' %s@LIBATTN_1 %s\n' LIBATTN_1 "${version%~dev*}~" $(sed 's/.* //' tests/install/symbols | sed "s/$/ ${version%~dev*}~/")
} >debian/libattn1.symbols
dpkg-buildpackage -us -uc -F "${@:4}"
