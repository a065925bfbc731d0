#!/usr/bin/env bash
# page_policy.sh FILE... - what the policy of a page (Content-Security-Policy) says of the files that
# stand in it as its scripts, FILE.js, and its styles, FILE.css: that these bytes are taken and no
# others.
set -eu

hash_of() {
    local hex
    hex=$(sha256sum <"$1")
    # shellcheck disable=SC2059 # the format is the bytes
    printf "$(sed 's/../\\x&/g' <<<"${hex%% *}")" | base64
}

# sources_of ENDING FILE... - the hashes of those files that have it.
sources_of() {
    local ending=$1 file
    shift
    for file; do
        if [[ $file == *"$ending" ]]; then printf " 'sha256-%s'" "$(hash_of "$file")"; fi
    done
}

printf "script-src%s; style-src%s;" "$(sources_of .js "$@")" "$(sources_of .css "$@")"
