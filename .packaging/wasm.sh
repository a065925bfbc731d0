#!/usr/bin/env bash
# wasm.sh - makes the libraries that libattn is linked with, for WebAssembly, of Debian's source
# packages: cJSON, PCRE2 without its compiler, and zlib.
#
#   wasm.sh FOLDER [SOURCES]     writes FOLDER/libraries.o, FOLDER/include and FOLDER/copyright.txt,
#                                unless they are there. SOURCES: a folder where source.sh has been
#
# Equal sources give equal bytes.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=$1
cc=(clang-19 --target=wasm32-wasi -O2 -msimd128 -w)
[ -e "$folder/libraries.o" ] && exit 0

mkdir -p "$folder/include/cjson"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ $# -gt 1 ]; then
    cp -R "$2"/. "$work"
else
    "$here/source.sh" "$work" cjson pcre2 zlib
fi
cd "$work"

(cd cjson-*/ && cp cJSON.h "$folder/include/cjson" && "${cc[@]}" -c cJSON.c -o "$work/cjson.o")

cd zlib-*/
cp zlib.h zconf.h "$folder/include"
for file in adler32 crc32 deflate inffast inflate inftrees trees zutil compress uncompr; do
    "${cc[@]}" -c $file.c -o "$work/zlib_$file.o"
done

cd "$work"/pcre2-*/src
cp pcre2.h.generic pcre2.h
cp config.h.generic config.h
cp pcre2_chartables.c.dist pcre2_chartables.c
cp pcre2.h "$folder/include"
for file in auto_possess chartables compile config context convert dfa_match error extuni \
    find_bracket maketables match match_data newline ord2utf pattern_info script_run serialize \
    string_utils study substitute substring tables ucd valid_utf xclass jit_compile; do
    "${cc[@]}" -DHAVE_CONFIG_H -DPCRE2_CODE_UNIT_WIDTH=8 -DPCRE2_STATIC -DSUPPORT_UNICODE \
        -c pcre2_$file.c -o "$work/pcre2_$file.o"
done

cd "$work"
for package in cjson pcre2 zlib; do
    printf '=== %s\n\n' "$package"
    cat $package-*/debian/copyright
done >"$folder/copyright.txt"
for package in wasi-libc libclang-rt-19-dev-wasm32; do
    printf '=== %s\n\n' "$package"
    cat /usr/share/doc/$package/copyright
done >>"$folder/copyright.txt"
wasm-ld-19 -r ./*.o -o "$folder/libraries.o"
