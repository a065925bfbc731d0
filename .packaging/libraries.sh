#!/usr/bin/env bash
# libraries.sh - makes archives of the libraries that libattn is linked with, for any compiler, from pinned sources.
#
#   libraries.sh FOLDER [SOURCES]     writes FOLDER/libNAME.a, FOLDER/include and FOLDER/licences/NAME, unless they are
#                                     newer than the pins. SOURCES: a folder where source.sh has been
#
# CC and AR are used; LIBRARY_FLAGS go to the compiler. LIBRARIES: which ones, default "cjson pcre2 zlib". PCRE2 has its
# compiler of patterns except on WebAssembly and without its sources, which source.sh --needed leaves out. Equal sources give equal bytes.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
read -ra wanted <<<"${LIBRARIES:-cjson pcre2 zlib}"
read -ra cc <<<"${CC:-cc} ${LIBRARY_FLAGS--O2 -fPIC -fvisibility=hidden -fstack-protector-strong} -w"
ar=${AR:-ar}
[[ ${cc[0]} != */* ]] || cc[0]=$(realpath "${cc[0]}")
[[ $ar != */* ]] || ar=$(realpath "$ar")
missing=()
for library in "${wanted[@]}"; do
    made=$1/licences/$library
    [[ $made -nt $here/sources.sha256 && $made -nt $here/patches/$library.patch ]] || missing+=("$library")
done
[ ${#missing[@]} -gt 0 ] || exit 0

mkdir -p "$1/include/cjson" "$1/licences"
folder=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ $# -gt 1 ]; then
    cp -R "$2"/. "$work"
else
    "$here/source.sh" "$work" "${missing[@]}"
fi

# Debug information and assertions name files relative to the source.
compile() { # ARCHIVE LICENCE SOURCE... -- FLAG...
    local archive=$1 licence=$2 source sources=() objects=()
    shift 2
    while [ "$1" != -- ]; do sources+=("$1") && shift; done
    shift
    for source in "${sources[@]}"; do
        "${cc[@]}" "-ffile-prefix-map=$PWD=." "$@" -c "$source" -o "$work/${source%.c}.o"
        objects+=("$work/${source%.c}.o")
    done
    rm -f "$folder/$archive"
    "$ar" rcs "$folder/$archive" "${objects[@]}"
    cp "$licence" "$folder/licences/$library"
}

make_cjson() {
    cp cJSON.h "$folder/include/cjson"
    compile libcjson.a LICENSE cJSON.c -- -DCJSON_HIDE_SYMBOLS # else a DLL exports them
}

make_zlib() {
    cp zlib.h zconf.h "$folder/include"
    compile libz.a LICENSE {adler32,crc32,deflate,inffast,inflate,inftrees,trees,zutil,compress,uncompr}.c --
}

make_pcre2() {
    local jit=-DSUPPORT_JIT
    [[ ${cc[*]} != *wasm* && -d deps/sljit ]] || jit=-USUPPORT_JIT
    cd src
    cp pcre2.h.generic "$folder/include/pcre2.h"
    cp pcre2.h.generic pcre2.h
    cp config.h.generic config.h
    cp pcre2_chartables.c.dist pcre2_chartables.c
    compile libpcre2-8.a ../LICENCE.md pcre2_{auto_possess,chkdint,chartables,compile,compile_class,config,context}.c \
        pcre2_{convert,dfa_match,error,extuni,find_bracket,jit_compile,maketables,match,match_data,newline}.c \
        pcre2_{ord2utf,pattern_info,script_run,serialize,string_utils,study,substitute,substring,tables}.c \
        pcre2_{ucd,valid_utf,xclass}.c -- \
        -DHAVE_CONFIG_H -DPCRE2_CODE_UNIT_WIDTH=8 -DPCRE2_STATIC -DSUPPORT_UNICODE $jit
}

for library in "${missing[@]}"; do
    cd "$work/$library"
    "make_$library"
done
