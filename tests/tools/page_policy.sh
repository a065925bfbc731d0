#!/usr/bin/env bash
# page_policy.sh SCRIPT STYLE - what the policy of a page (Content-Security-Policy) says of the files
# that stand in it as its script and its style: that these bytes are taken and no others.
set -eu

hash_of() {
    local hex
    hex=$(sha256sum <"$1")
    # shellcheck disable=SC2059 # the format is the bytes
    printf "$(sed 's/../\\x&/g' <<<"${hex%% *}")" | base64
}

printf "script-src 'sha256-%s'; style-src 'sha256-%s';" "$(hash_of "$1")" "$(hash_of "$2")"
