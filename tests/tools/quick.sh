#!/usr/bin/env bash
# quick.sh - what can be checked of a change in some seconds: format, layers, clang-tidy of the changed
# files, and their tests.
#
#   quick.sh [COMMIT]    what differs from COMMIT, default HEAD; from the commit before if nothing does
#
# The tests of lib/ROOM/NAME.c are tests/unit/test_NAME.c; changed tests run, too.
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build/release}

changed() { git diff --name-only --diff-filter=d "$1" && git ls-files --others --exclude-standard; }

mapfile -t files < <(changed "${1:-HEAD}")
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(changed HEAD~1)

sources=() stamps=() units=() cases=()
for file in "${files[@]}"; do
    case $file in
    *.[ch]) sources+=("$file") ;;
    tests/cli/*.test) cases+=("$file") ;;
    esac
    name=$(basename "${file%.[ch]}")
    case $file in
    tests/unit/test_*.c) units+=("$build/tests/unit/$name") ;;
    lib/*.c | cmd/*.c)
        stamps+=("$build/${file%.c}.tidy")
        [ ! -e "tests/unit/test_$name.c" ] || units+=("$build/tests/unit/test_$name")
        ;;
    esac
done

[ ${#sources[@]} -eq 0 ] || clang-format --dry-run -Werror "${sources[@]}"
[ ${#sources[@]} -eq 0 ] || tests/tools/check_comments.sh "${sources[@]}"
tests/tools/check_layers.sh
tests/tools/check_namesakes.sh
tests/tools/check_links.sh
mapfile -t units < <(printf '%s\n' "${units[@]}" | sort -u | grep .)
env -u MAKEFLAGS make -j"$(nproc)" --no-print-directory all tests/fixtures/.unpacked "${stamps[@]}" "${units[@]}"
[ ${#units[@]} -eq 0 ] || tests/run_unit.sh "${units[@]}"
[ ${#cases[@]} -eq 0 ] || tests/run_cli.sh "${cases[@]}"
