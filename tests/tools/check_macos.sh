#!/usr/bin/env bash
# check_macos.sh - looks into programs for macOS, which nothing here can run: what they need, and what the library exports.
#
#   check_macos.sh MODULE    the folder that make module or make static has filled: attn-cli, bin/attn-cli, attn/libattn.dylib
set -u
cd "$(dirname "$0")/../.." || exit 1
module=$1
status=0

fail() { printf 'check-macos: FAILED: %s\n' "$*" && status=1; }
headers() { llvm-objdump --macho --private-headers "$1"; }

for file in "$module/attn-cli" "$module/bin/attn-cli" "$module/attn/libattn.dylib"; do
    [ -e "$file" ] || { fail "'$file' is not there" && continue; }
    text=$(headers "$file")
    machine=$(sed -nE 's/^MH_MAGIC_64 +([A-Z0-9_]+) .*/\1/p' <<<"$text")
    grep -qE '^ +minos 11\.0$' <<<"$text" || fail "'$file' is for another version than macOS 11.0"
    needed=$(llvm-objdump --macho --dylibs-used "$file" | sed -nE 's/^\t([^ ]+) .*/\1/p' | grep -v '^@rpath/libattn.dylib$')
    [ "$needed" = /usr/lib/libSystem.B.dylib ] || fail "'$file' needs $needed, expected libSystem alone"
    [[ $file == *.dylib || $text == *PIE* ]] || fail "'$file' has no random place in memory (PIE)"
    [ "$machine" != ARM64 ] || grep -q LC_CODE_SIGNATURE <<<"$text" || fail "'$file' has no signature, which ARM needs"
    printf 'check-macos: %s: %s, %s bytes\n' "$file" "$machine" "$(stat -c %s "$file")"
done
exported=$(llvm-objdump --macho --exports-trie "$module/attn/libattn.dylib" | sed -nE 's/^0x[0-9A-Fa-f]+ +_(attn_)/\1/p' | LC_ALL=C sort)
expected=$({ awk '{ print $2 }' tests/install/symbols && echo attn_cli_main; } | LC_ALL=C sort)
[ "$exported" = "$expected" ] || fail "libattn.dylib exports others than tests/install/symbols: $(diff <(echo "$expected") <(echo "$exported") | head -5)"
exit $status
