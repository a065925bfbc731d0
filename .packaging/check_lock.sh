#!/usr/bin/env bash
# check_lock.sh - lets uv lock and install a project that needs attn-cli, from a folder with its wheels. A lock takes what
# one of them requires for all, so all must say the same.
#
#   check_lock.sh PYTHON WHEEL...    at least the wheel of this machine and the one for other systems; uv is in PATH or
#                                    beside PYTHON. What they require comes from PyPI
set -eu

python=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8 PATH=$PATH:$(dirname "$python")
unset LIBATTN PYTHONPATH VIRTUAL_ENV ATTN_CLI_MODEL_PATH

fail() {
    printf 'check_lock.sh: %s\n' "$@" >&2
    exit 1
}

command -v uv >/dev/null || { echo 'check_lock.sh: skipped, there is no uv' && exit 0; }
[ $# -ge 2 ] || fail 'one wheel alone cannot differ from others'
mkdir "$work/wheels" "$work/project"
cp "$@" "$work/wheels"
for wheel in "$work"/wheels/*; do
    unzip -p "$wheel" '*.dist-info/METADATA' | sed -n '/^Requires-/p; /^$/q' >"$work/requires"
    [ -e "$work/expected" ] || cp "$work/requires" "$work/expected"
    diff "$work/expected" "$work/requires" || fail "$(basename "$wheel") requires something else"
done

cd "$work/project"
cat >pyproject.toml <<END
[project]
name = "study"
version = "1"
requires-python = ">=3.9"
dependencies = ["attn-cli"]

[tool.uv]
find-links = ["$work/wheels"]
END
uv lock --quiet --python "$python" || fail 'uv lock failed'
for line in 'name = "numpy".*marker = ".*sys_platform == .linux.' 'name = "wasmtime", marker = ".*sys_platform != .linux.'; do
    grep -q "$line" uv.lock || fail "uv.lock lacks '$line'" "$(grep -A 12 '^name = "attn-cli"' uv.lock)"
done
uv sync --quiet --frozen --python "$python" || fail 'uv sync failed'
.venv/bin/python -c 'import attn, numpy; attn.open("fable").run("Life is short")' || fail 'the module does not run'
.venv/bin/attn-cli run -q 'Life is short' >screen && [ -s screen ] || fail 'the command does not run'
[ ! -e .venv/lib/python*/site-packages/wasmtime ] || fail 'wasmtime was installed on Linux'
for system in windows macos; do
    uv pip compile --quiet --python "$python" --python-platform $system --find-links "$work/wheels" pyproject.toml >"$system"
    grep -q '^wasmtime==' $system && ! grep -q '^numpy==' $system || fail "for $system it takes: $(grep == $system)"
done
echo "check_lock.sh: $# wheels require the same; uv lock and uv sync take them"
