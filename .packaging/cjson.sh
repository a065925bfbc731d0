#!/usr/bin/env bash
# cjson.sh - makes libcjson.a of Debian's source package, because Debian has no archive of cJSON.
#
#   cjson.sh FOLDER     writes FOLDER/libcjson.a and FOLDER/cjson.copyright, unless they are there
#
# The code is position independent, so that it can go into a shared library, too. apt checks the
# signature of what it fetches; its own lists and settings stay as they are.
set -eu

folder=$1
cc=${CC:-cc}
[ -e "$folder/libcjson.a" ] && [ -e "$folder/cjson.copyright" ] && exit 0

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/lists/partial "$work"/cache/archives/partial
chmod 755 "$work"
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
cat >"$work/sources" <<END
deb-src ${DEBIAN_MIRROR:-http://deb.debian.org/debian} $suite main
END
settings=(-qq -o "Dir::Etc::SourceList=$work/sources" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)

cd "$work"
apt-get "${settings[@]}" update
apt-get "${settings[@]}" source cjson >/dev/null
cd cjson-*/
"$cc" -O2 -g -fPIC -fvisibility=hidden -fstack-protector-strong -D_FORTIFY_SOURCE=2 -c cJSON.c \
    -o cJSON.o
cp debian/copyright "$folder/cjson.copyright"
rm -f "$folder/libcjson.a"
ar rcs "$folder/libcjson.a" cJSON.o
