#!/usr/bin/env bash
# commit_msg.sh - refuses a commit message that is not in the form of CONTRIBUTING.md: git's hook
# commit-msg, which `make hooks` installs.
#
#   commit_msg.sh FILE
set -u
subject=$(grep -v '^#' "$1" | head -n 1)
case $subject in
Merge\ * | fixup!\ * | squash!\ * | Revert\ *) exit 0 ;;
esac

fail() {
    printf 'commit-msg: %s: "%s"\n' "$1" "$subject" >&2
    exit 1
}

[ ${#subject} -le 72 ] || fail "the subject has ${#subject} columns, expected at most 72"
[[ $subject =~ ^[a-z0-9_/.,+\ -]+:\ [a-z] ]] || fail 'the subject is not "room: imperative verb ..."'
[[ $subject != *. ]] || fail 'the subject ends with a full stop'
second=$(grep -v '^#' "$1" | sed -n 2p)
[ -z "$second" ] || fail 'the line after the subject is not empty'
long=$(grep -v '^#' "$1" | sed '/^diff --git /,$d' | awk 'length > 72' | head -n 1)
[ -z "$long" ] || fail "the body has a line of ${#long} columns, expected at most 72"
