#!/usr/bin/env bash
# page_policy.sh [--live] FILE... - what the policy of a page (Content-Security-Policy) says of the
# files that stand in it as its scripts (.js) and its styles (.css): that these bytes are taken and
# no others. A page that is --live may run WebAssembly, in a worker that it makes itself.
set -eu

wasm='' worker=''
if [ "$1" = --live ]; then
    wasm=" 'wasm-unsafe-eval'" worker=' worker-src blob:;'
    shift
fi

# The hash of each FILE that ends in ENDING.
hashes_of() { # ENDING FILE...
    local hex file ending=$1
    for file in "${@:2}"; do
        [ "${file##*.}" = "$ending" ] || continue
        hex=$(sha256sum <"$file")
        # shellcheck disable=SC2059 # the format is the bytes
        printf " 'sha256-%s'" "$(printf "$(sed 's/../\\x&/g' <<<"${hex%% *}")" | base64)"
    done
}

printf "script-src%s%s; style-src%s;%s" "$(hashes_of js "$@")" "$wasm" "$(hashes_of css "$@")" "$worker"
