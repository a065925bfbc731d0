#!/usr/bin/env bash
# source.sh - gets the source of Debian's packages.
#
#   source.sh FOLDER PACKAGE...     the source of each lies in FOLDER/PACKAGE-VERSION then
#
# apt checks the signature of what it fetches; its own lists and settings stay as they are.
set -eu

folder=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$folder" "$work"/lists/partial "$work"/cache/archives/partial
chmod 755 "$work"
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
cat >"$work/sources" <<END
deb-src ${DEBIAN_MIRROR:-http://deb.debian.org/debian} $suite main
END
settings=(-qq -o "Dir::Etc::SourceList=$work/sources" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)

cd "$folder"
apt-get "${settings[@]}" update
apt-get "${settings[@]}" source "$@" >/dev/null
