#!/usr/bin/env bash
# hardening.sh - prints those of the flags that make exploiting a fault harder which this compiler
# takes without a warning, beside the FLAGS that it is given anyway.
#
#   hardening.sh compile|link FLAGS...
#
# _FORTIFY_SOURCE needs optimization and is left alone where FLAGS define it; level 3 needs gcc 12.
set -u

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cat >"$folder/try.c" <<'END'
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    char copy[16];
    memcpy(copy, argv[0], (size_t)argc);
    return puts(copy) < 0;
}
END

kind=$1
shift
found=()

take_if_accepted() { # FLAGS...
    "${CC:-cc}" "${flags[@]}" -Werror "${found[@]}" "$@" "$folder/try.c" -o "$folder/try" \
        2>/dev/null && found+=("$@")
}

flags=("$@")
case $kind in
compile)
    take_if_accepted -fstack-protector-strong
    take_if_accepted -fcf-protection # x86
    take_if_accepted -mbranch-protection=standard # ARM
    take_if_accepted -D_FORTIFY_SOURCE=3 || take_if_accepted -D_FORTIFY_SOURCE=2
    ;;
link) take_if_accepted -Wl,-z,relro,-z,now ;;
esac
echo "${found[*]-}"
