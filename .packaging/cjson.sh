#!/usr/bin/env bash
# cjson.sh - makes libcjson.a of Debian's source package, because Debian has no archive of cJSON.
#
#   cjson.sh FOLDER     writes FOLDER/libcjson.a and FOLDER/cjson.copyright, unless they are there
#
# The code is position independent, so that it can go into a shared library, too.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=$1
cc=${CC:-cc}
[ -e "$folder/libcjson.a" ] && [ -e "$folder/cjson.copyright" ] && exit 0

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/source.sh" "$work" cjson

cd "$work"/cjson-*/
"$cc" -O2 -g -fPIC -fvisibility=hidden -fstack-protector-strong -D_FORTIFY_SOURCE=2 -c cJSON.c \
    -o cJSON.o
cp debian/copyright "$folder/cjson.copyright"
rm -f "$folder/libcjson.a"
ar rcs "$folder/libcjson.a" cJSON.o
