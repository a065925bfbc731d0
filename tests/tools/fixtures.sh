#!/usr/bin/env bash
# fixtures.sh - the models and arrays of tests/fixtures and tests/golden that are kept in archives, so
# that a checkout has few files.
#
#   fixtures.sh unpack    puts what the archives hold beside them, where git ignores it; make tests does
#   fixtures.sh pack      makes the archives of what lies there: call it after what made a fixture
#   fixtures.sh check     tells of archives that pack would change; make lint does
#   fixtures.sh remove    takes away what was unpacked; make clean does
#
# The same files give the same bytes. Archives are not compressed: git does that, and stores what changed.
set -eu
cd "$(dirname "$0")/../.."

unpacked=tests/fixtures/.unpacked # the names of what was
archives=(tests/fixtures/{attn,decoder,family,features,golden,gpt2,names,quantized,row,score,tokenizers,torch,truth,words}.tar tests/golden/{arrays,outputs}.tar)

for archive in "${archives[@]}"; do
    [ -e "$archive" ] || [ "${1-}" = pack ] ||
        { echo "$archive is missing, and nothing was changed: git checkout -- $archive brings it back" >&2 && exit 1; }
done

# The files of ARCHIVE, as they are named in its folder, which we are in; each ends with NUL.
list_files() { # ARCHIVE
    case $1 in
    tests/golden/arrays.tar) find -- * -name '*.np[yz]' ! -path 'outputs/*' -print0 ;;
    tests/fixtures/tokenizers.tar | tests/golden/outputs.tar) find "$(basename "$1" .tar)" ! -type d -print0 ;;
    *) find -- "$(basename "$1" .tar)"-* ! -type d -print0 ;;
    esac | LC_ALL=C sort -z
}

pack() { # ARCHIVE INTO
    (cd "$(dirname "$1")" && list_files "$1") |
        tar -cf "$2" -C "$(dirname "$1")" --null -T - --format=ustar --mtime=@0 --owner=0 --group=0 \
            --numeric-owner --mode=u=rw,go=r
}

remove() {
    [ ! -e $unpacked ] || xargs rm -f $unpacked <$unpacked
    find tests/fixtures tests/golden -mindepth 1 -type d -empty -delete
}

unpack() {
    local archive
    remove
    for archive in "${archives[@]}"; do
        tar -xmf "$archive" -C "$(dirname "$archive")"
        tar -tf "$archive" | sed "s|^|$(dirname "$archive")/|"
    done >$unpacked.tmp
    mv $unpacked.tmp $unpacked
}

case ${1-} in
unpack | remove) $1 ;;
pack)
    for archive in "${archives[@]}"; do
        pack "$archive" "$archive"
    done
    ;;
check)
    [ -e $unpacked ] || unpack
    for archive in "${archives[@]}"; do
        pack "$archive" - | cmp -s - "$archive" ||
            { echo "$archive is not what lies beside it: tests/tools/fixtures.sh pack, or unpack" && exit 1; }
    done
    ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
