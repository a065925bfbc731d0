#!/usr/bin/env bash
# check_wheel.sh - installs the wheel into an empty virtual environment and uses it there.
#
#   check_wheel.sh WHEEL PYTHON
#
# The module and the command must run without the sources, need numpy alone, and have less than 10 MB; the command is
# also installed by pip into a folder, and by uv and pipx where these are.
set -eu

wheel=$(realpath "$1")
python=$2
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
unset LIBATTN PYTHONPATH ATTN_CLI_MODEL_PATH ATTN_LIVE_MODULE

fail() {
    echo "check_wheel.sh: $*" >&2
    exit 1
}

size=$(stat -c %s "$wheel")
[ "$size" -lt $((10 << 20)) ] || fail "the wheel has $size bytes, expected less than 10 MB"
case $wheel in
*manylinux*) ;;
*) fail "the tag of '$wheel' is not manylinux: it needs a library that other systems lack" ;;
esac

dead=$(unzip -p "$wheel" '*.dist-info/METADATA' | grep -oP '\]\((?!https?:|#)[^)]*\)') || :
[ -z "$dead" ] || fail "PyPI's page has links that lead nowhere: $dead"

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
attn.open("fable").run("Life is short").save_html("live.html", live=True)
print("attn", attn.__version__, attn.open("fable").run("Life is short").pattern[2, 2][1])'

# Runs what users run first, by the command at the start of the line; models and attn.wasm come from the wheel.
use() { # COMMAND...
    local folder
    folder=$(mktemp -d -p "$scratch")
    (cd "$folder" && export LC_ALL=C.UTF-8 && "$@" run -q -m interpreter --source 'The cat' 猫 >screen &&
        "$@" run -q --live --html page.html 'Life is short' &&
        [ -s screen ] && [ -s page.html ]) || fail "$* does not run"
}
use "$scratch/venv/bin/attn-cli"
[ -s "$scratch/venv/share/man/man1/attn-cli.1" ] && [ -s "$scratch/venv/share/man/man1/attn-cli-run.1" ] || fail 'the manual page is missing'
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$scratch/target" "$wheel"
use "$scratch/target/bin/attn-cli"
PYTHONPATH=$scratch/target "$scratch/venv/bin/python" -c 'import attn
assert "target" in attn.__file__
attn.open("interpreter").run("猫", source="The cat")
attn.open("fable").run("Life is short").save_html("live.html", live=True)'
for tool in uvx pipx; do
    command -v $tool >/dev/null || { echo "check_wheel.sh: skipped $tool, which is not installed" && continue; }
    case $tool in
    uvx) use "$(command -v uvx)" --from "$wheel" attn-cli ;;
    pipx) use "$(command -v pipx)" run --spec "$wheel" attn-cli ;;
    esac
done
env -u ATTN_CLI "$scratch/venv/bin/python" -m unittest discover -s tests 2>&1 | tail -3 | tee "$scratch/log"
grep -q '^OK' "$scratch/log" || fail 'a test failed: run it with make check-module'
echo "check_wheel.sh: $(basename "$wheel"), $((size / 1024)) KB, runs in an empty environment of $("$python" --version)"
