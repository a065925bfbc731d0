#!/usr/bin/env bash
# check_wheel.sh - installs the wheel into an empty virtual environment and uses it there.
#
#   check_wheel.sh WHEEL PYTHON
#
# What the wheel holds must run without the sources, need numpy alone, and have less than 8 MB.
set -eu

wheel=$(realpath "$1")
python=$2
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
unset LIBATTN PYTHONPATH

fail() {
    echo "check_wheel.sh: $*" >&2
    exit 1
}

size=$(stat -c %s "$wheel")
[ "$size" -lt $((8 << 20)) ] || fail "the wheel has $size bytes, expected less than 8 MB"
case $wheel in
*manylinux*) ;;
*) echo "check_wheel.sh: the wheel runs on this system only: it needs libcjson.so" ;;
esac

"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel" 2>"$scratch/log" || fail "$(cat "$scratch/log")"
installed=$("$scratch/venv/bin/pip" list --format=freeze --exclude pip --exclude setuptools | LC_ALL=C sort | sed 's/==.*//' | paste -sd ' ')
[ "$installed" = 'attn-cli numpy' ] || fail "installed are $installed, expected attn-cli and numpy"

# The tests, away from the sources.
mkdir "$scratch/tests"
cp ./*.py "$scratch/tests"
cd "$scratch"
"$scratch/venv/bin/python" -c 'import attn; assert "site-packages" in attn.__file__, attn.__file__
attn.open("interpreter").run("猫", source="The cat")
import os
assert os.path.exists(os.path.join(os.path.dirname(attn.__file__), "attn.wasm"))
attn.open("fable").run("Life is short").save_html("live.html", live=True)
print("attn", attn.__version__, attn.open("fable").run("Life is short").pattern[2, 2][1])'
env -u ATTN_CLI "$scratch/venv/bin/python" -m unittest discover -s tests 2>&1 | tail -3 | tee "$scratch/log"
grep -q '^OK' "$scratch/log" || fail 'a test failed: run it with make check-module'
echo "check_wheel.sh: $(basename "$wheel"), $((size / 1024)) KB, runs in an empty environment of $("$python" --version)"
