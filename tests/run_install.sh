#!/usr/bin/env bash
# run_install.sh - installs into a scratch folder and uses what is there as other programs would.
#
#   run_install.sh [TEST...]    of those below, in their order; the first one installs
#
# BUILD names the build folder, whose sources are compiled; `make test` gives it.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/support/part.sh

prefix=$scratch/prefix
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
pkg_config=${PKG_CONFIG:-pkg-config}
form() { .packaging/facts.sh versions | sed -n "s/^$1 //p"; }
version=$(form header)
soname=libattn.so.$(sed -nE 's/^#define ATTN_ABI (.*)/\1/p' lib/ground/base/version.h)

make_target() { make "$@" BUILD="$build" >"$scratch/log" 2>&1 || { cat "$scratch/log" && return 1; }; }
same() { diff -u --label "expected${3:+ $3}" --label "seen${3:+ $3}" "$1" "$2"; }
files_of() { (cd "$1" && find . ! -type d | LC_ALL=C sort); }

# Runs both examples.
run_examples() {
    "$scratch/one_head" models/tiny-gpt2 2.1 'The cat sat on the mat' >"$scratch/seen" &&
        same tests/install/one_head.out "$scratch/seen" && [ "$("$scratch/first_number")" = 0.8114 ]
}
# Compiles both with ARGUMENT...
compile_examples() {
    for name in one_head first_number; do
        "${CC:-cc}" -std=c11 -Wall -Wextra -Werror "lib/examples/$name.c" -o "$scratch/$name" "$@" || return
    done
}
needed() { readelf -d "$1" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p'; }

installs_the_listed_files() {
    make_target install PREFIX="$prefix" || return
    files_of "$prefix" | grep -vE '^\./(include|share/attn-cli/models)/' >"$scratch/seen"
    { cat tests/install/files; [ "$(tests/tools/wasm_age.sh)" != new ] || echo ./share/attn-cli/attn.wasm; } |
        sed -e "s/VERSION/$version/" -e "s/SONAME/$soname/" | LC_ALL=C sort >"$scratch/expected"
    same "$scratch/expected" "$scratch/seen"
}

# What --version, pkg-config, Python's module and dpkg say of the same build; and that its number raises each of them.
has_one_version_in_four_forms() {
    local form before after
    [ "$("$prefix/bin/attn-cli" --version | cut -d ' ' -f 2)" = "$(form program)" ] &&
        [ "$("$pkg_config" --modversion attn)" = "$(form debian)" ] || return
    mkdir "$scratch/module" && cp -R lib/python/attn "$scratch/module" && .packaging/facts.sh dist-info "$scratch/module" test &&
        [ "$(sed -n 's/^VERSION = "\(.*\)"/\1/p' "$scratch/module/attn/version.py")" = "$(form python)" ] &&
        grep -qx "Version: $(form python)" "$scratch/module/attn_cli-$(form python).dist-info/METADATA" || return
    # Each line: two versions of which the second one is newer.
    while read -r before after; do
        for form in debian python; do
            printf '%s\n' "$before" "$after" | while read -r name; do .packaging/facts.sh versions "$name"; done | sed -n "s/^$form //p"
        done | paste -sd' ' >"$scratch/seen"
        read -r before after python_before python_after <"$scratch/seen"
        ! command -v dpkg >/dev/null || dpkg --compare-versions "$before" lt "$after" || { cat "$scratch/seen" && return 1; }
        printf '%s\n' "$before" "$after" | sort -VC || { cat "$scratch/seen" && return 1; }
        ! python3 -c 'import pip' 2>/dev/null || python3 -c 'import sys
from pip._vendor.packaging.version import Version
sys.exit(not Version(sys.argv[1]) < Version(sys.argv[2]))' "$python_before" "$python_after" || { cat "$scratch/seen" && return 1; }
    done <<'VERSIONS'
1.0.0-rc1.dev0 1.0.0-rc1.dev9+gd0b333da5
1.0.0-rc1.dev9+gd0b333da5 1.0.0-rc1.dev4548+g0b333da5d
1.0.0-rc1.dev4548+gd0b333da5 1.0.0-rc1
1.0.0-rc1 1.0.0-rc2.dev4600+gd0b333da5
1.0.0-rc2 1.0.0
1.0.0 1.1.0.dev5000+gd0b333da5
1.1.0.dev5000+gd0b333da5 1.1.0
VERSIONS
    # A folder without git and without the file of an archive has no number; that of an archive has it there.
    mkdir -p "$scratch/archive" && cp --parents -R .packaging lib/ground/base/version.h CITATION.cff "$scratch/archive" &&
        echo '$Format:%H$' >"$scratch/archive/.packaging/commit" && [ "$(GIT_DIR=/nowhere "$scratch/archive/.packaging/facts.sh" versions | sed -n 's/^program //p')" = "$version" ] &&
        echo 'd0b333da58d0b333da58d0b333da58d0b333da58 4548' >"$scratch/archive/.packaging/commit" &&
        sed -i 's/\(ATTN_VERSION "\).*"/\11.0.0-rc1.dev0"/' "$scratch/archive/lib/ground/base/version.h" &&
        [ "$("$scratch/archive/.packaging/facts.sh" versions | sed -n 's/^debian //p')" = '1.0.0~rc1~dev4548+gd0b333da5' ]
}

# A commit changes the number of the build, and no object but that of cmd/main.c.
compiles_one_file_for_a_commit() {
    make -n all BUILD="$build" COMMIT=0123456789ab V=1 2>"$scratch/log" | grep -oE -- '-c [^ ]+' >"$scratch/seen"
    [ "$(cat "$scratch/seen")" = '-c cmd/main.c' ] && return
    cat "$scratch/seen" "$scratch/log"
    return 1
}

# Compiles all installed headers, each of which is named once: compile_headers COMPILER ARGUMENT...
# That each stands alone is what `make headers` checks.
compile_headers() {
    local flags
    read -ra flags < <("$pkg_config" --cflags attn)
    [ -s "$prefix/include/attn/attn.h" ] || return
    { (cd "$prefix/include" && find attn -name '*.h' | sed 's/.*/#include <&>/') && echo 'int unit;'; } |
        "$@" -Wall -Wextra -Wpedantic -Werror "${flags[@]}" -fsyntax-only -
}

installs_headers_that_are_whole() { compile_headers "${CC:-cc}" -std=c11 -x c; }

# shellcheck disable=SC2046
runs_a_program_in_another_language() {
    command -v g++ >/dev/null || { echo "skipped ${FUNCNAME[0]}: there is no g++" && return; }
    compile_headers g++ -std=c++11 -x c++ || return
    printf '#include <attn/attn.h>\n#include <cstdio>\nint main() { std::puts(attn_version()); }\n' |
        g++ -std=c++11 -x c++ - -o "$scratch/version" $("$pkg_config" --cflags --libs attn) &&
        [ "$(LD_LIBRARY_PATH=$prefix/lib "$scratch/version")" = "$version" ]
}

# shellcheck disable=SC2046
lays_out_structs_as_the_python_binding_does() {
    tests/tools/make_layout.sh >"$scratch/layout.c" &&
        "${CC:-cc}" -std=c11 "$scratch/layout.c" -o "$scratch/layout" $("$pkg_config" --cflags attn) &&
        "$scratch/layout" >"$scratch/seen" && same tests/install/layout.out "$scratch/seen" && return
    echo 'the public structs have changed: make binding'
    return 1
}

# In a copy of the headers, whose ABI 8 was released as 9.0.0, each line makes a change: file, sed, what must be said of it.
keeps_the_abi_of_a_release() {
    local tree=$scratch/tree file edit expected
    [ -n "${TORTURE-}" ] || { echo "skipped ${FUNCNAME[0]}: needs TORTURE=more" && return; }
    command -v abidiff >/dev/null || { echo "skipped ${FUNCNAME[0]}: abidiff is missing" && return; }
    mkdir "$tree" && cp --parents $(find lib -name '*.h') lib/folders tests/tools/check_abi.sh tests/install/* .packaging/{facts.sh,commit} CITATION.cff "$tree" || return
    set_abi() { sed -i -E "s/(define ATTN_ABI ).*/\1$1/; s/(define ATTN_VERSION ).*/\1\"$2\"/" "$tree/lib/ground/base/version.h"; }
    echo 'ATTN_API struct attn_encode_options attn_value(int x);' >>"$tree/lib/attn.h" # begins with size, and is a value
    echo 'attn.h  attn_value' >>"$tree/tests/install/symbols"
    set_abi 8 9.0.0
    "$tree/tests/tools/check_abi.sh" --keep >"$scratch/seen" && [ -e "$tree/tests/install/abi-8-9.0.0.xml.gz" ] || return
    while IFS='|' read -r file edit expected; do
        cp "$tree/$file" "$scratch/whole" && sed -i "$edit" "$tree/$file"
        ! cmp -s "$tree/$file" "$scratch/whole" || { echo "$file: nothing to change by $edit" && return 1; }
        if "$tree/tests/tools/check_abi.sh" >"$scratch/seen" 2>&1; then
            [ "$expected" = nothing ]
        else
            grep -q "$expected" "$scratch/seen"
        fi || { echo "$edit: expected $expected" && cat "$scratch/seen" && return 1; }
        cp "$scratch/whole" "$tree/$file"
    done <<'CHANGES'
lib/core/run/request.h|s/attn_progress_fn on_progress;/int more;&/|on_progress__at.*from value
lib/core/run/request.h|/struct attn_request.{/,/}/s/^};/int more;};/|nothing
lib/core/run/request.h|s/void \*user;.*/int user;/|attn_request__user.*was changed
lib/core/trace/dims.h|s/const void \*later/int more;&/|attn_dims__sizeof.*from value
lib/core/trace/dims.h|s/const void \*later.4./const void *more, *later[3]/|nothing
lib/core/trace/dims.h|s/size_t n_layer/int n_layer/|attn_dims__n_layer.*was changed
lib/core/trace/model_stack.h|s/ATTN_STACK_CROSS = 3/ATTN_STACK_CROSS = 4/|ATTN_STACK_CROSS.*from value
lib/core/trace/model_stack.h|s/ATTN_STACK_CROSS = 3/&,ATTN_STACK_MORE=4/|nothing
lib/core/trace/location.h|s/int head;/&int more;/|attn_location.*changed
lib/ground/tables/table.h|/^struct attn_cell {/,/^};/s/^};/int more;};/|attn_cell__sizeof.*from value
lib/core/tokenizer/encoding.h|/^struct attn_encode_options {/,/^};/s/^};/int more;};/|attn_encode_options__sizeof.*from value
lib/core/trace/selection.h|s/attn_site_set sites/attn_site_set *sites/|attn_selection_set_sites.*was changed
lib/ground/base/version.h|s/attn_version.void/attn_version(int more/|attn_version.*was changed
tests/install/symbols|/attn_version/d|function__attn_version
lib/ground/base/version.h|s/ABI 8/ABI 7/|ATTN_ABI is 7, that of 9.0.0 was 8
CHANGES
    ! "$tree/tests/tools/check_abi.sh" --keep >"$scratch/seen" && grep -q 'expected one after 9.0.0' "$scratch/seen" || return
    sed -i 's/attn_progress_fn on_progress;/int more;&/' "$tree/lib/core/run/request.h" && set_abi 8 9.0.1
    ! "$tree/tests/tools/check_abi.sh" --keep >"$scratch/seen" && grep -q 'compiled with 9.0.0 breaks' "$scratch/seen" || return
    set_abi 8 9.1.0.dev0 # no release: compared with the last one; it may keep what the next one will have, more than once
    sed -i 's/int more;attn_progress/attn_progress/' "$tree/lib/core/run/request.h" && "$tree/tests/tools/check_abi.sh" >"$scratch/seen" &&
        "$tree/tests/tools/check_abi.sh" --keep && [ -e "$tree/tests/install/abi-8-9.1.0.xml.gz" ] &&
        "$tree/tests/tools/check_abi.sh" --keep || return
    mv "$tree/tests/install/abi-8-9.1.0.xml.gz" "$tree/tests/install/abi-8-9.1.0-rc1.xml.gz" && set_abi 8 9.1.0 # follows its candidate
    ! "$tree/tests/tools/check_abi.sh" >"$scratch/seen" && grep -q "that of 9.1.0-rc1: make abi" "$scratch/seen" && "$tree/tests/tools/check_abi.sh" --keep &&
        [ -e "$tree/tests/install/abi-8-9.1.0.xml.gz" ] || return
    set_abi 8 9.1.0-rc2.dev0
    ! "$tree/tests/tools/check_abi.sh" >"$scratch/seen" && grep -q '9.1.0-rc2.dev0, expected one of 9.1.0 or later' "$scratch/seen" || return
    set_abi 8 9.0.1.dev0
    ! "$tree/tests/tools/check_abi.sh" >"$scratch/seen" && grep -q '9.0.1.dev0, expected one of 9.1.0 or later' "$scratch/seen" || return
    set_abi 9 9.1.0
    "$tree/tests/tools/check_abi.sh" >"$scratch/seen" && ! "$tree/tests/tools/check_abi.sh" --keep >"$scratch/seen" || return
    set_abi 9 9.1.1
    ! "$tree/tests/tools/check_abi.sh" >"$scratch/seen" && grep -q 'make abi' "$scratch/seen" &&
        "$tree/tests/tools/check_abi.sh" --keep >"$scratch/seen" && (cd "$tree" && ls tests/install/abi*) >"$scratch/seen" &&
        [ "$(cat "$scratch/seen")" = tests/install/abi-9-9.1.1.xml.gz ]
}

# To a user without root or sudo, where the compiler, unzip and check are missing.
asks_once_for_all_packages() {
    local tool bin=$scratch/few
    mkdir "$bin" || return
    for tool in bash env sort paste sed mktemp rm cat grep; do ln -s "$(command -v $tool)" "$bin" || return; done
    printf '#!/usr/bin/env bash\necho 1000\n' >"$bin/id"
    printf '#!/usr/bin/env bash\nfalse\n' >"$bin/apt-get"
    cp "$bin/apt-get" "$bin/pkg-config"
    chmod +x "$bin"/{id,apt-get,pkg-config} # not where links lead
    ! env -u CC XSMM=no PATH="$bin" tests/tools/dependencies.sh install build 2>"$scratch/seen" &&
        grep -qx 'attn-cli: as root: apt-get install --no-install-recommends gcc .* check unzip' "$scratch/seen" && return
    cat "$scratch/seen"
    return 1
}

# In a repository with the files that are looked at; each line makes a change: file, sed, what must be said of it, and nothing else.
# `make`, `python3` and other tools of the test fail for the targets or files of FAILING.
refuses_a_release_that_is_not_ready() {
    local tree=$scratch/release file edit expected git=(git -C "$scratch/release" -c user.name=x -c user.email=x@localhost)
    command -v git >/dev/null || { echo "skipped ${FUNCNAME[0]}: git is missing" && return; }
    mkdir -p "$tree/tests/tools" "$tree/tests/install" "$scratch/tools" &&
        cp --parents -R .packaging lib/ground/base/version.h lib/python/attn/version.py CITATION.cff .gitignore "$tree" && "${git[@]}" init -q || return
    sed -i -E 's/example\.org/attn.dev/; s/the attn-cli authors/Ada/; s/^version: .*/version: 9.0.0.dev0/; /^date-released/d' "$tree/CITATION.cff"
    sed -i -E 's/(define ATTN_VERSION ).*/\1"9.0.0.dev0"/' "$tree/lib/ground/base/version.h"
    "$tree/.packaging/facts.sh" module lib/python/attn 9.0.0.dev0
    printf '# Changes\n\n## 9.0.0, not released yet\n\n- One.\n\n## 8.0.0\n\n- Two.\n' >"$tree/CHANGELOG.md"
    printf 'Windows is untested.\npip install ./attn_cli-8.0.0-py3-none-any.whl\nApt: attn-cli_8.0.0-1_amd64.deb.\nCite: x, version 8.0.0.\n' >"$tree/README.md"
    printf '# 9\n\n## Breaking\n\n## New\n\n- One: `attn-cli run`\n\n## Numbers that changed\n\n## Security\n\n## Not yet\n' >"$tree/.packaging/notes/9.0.0.md"
    printf 'attn.h   attn_one\nattn.h   attn_two\nextra.h  attn_three\n' >"$tree/tests/install/symbols"
    printf 'attn_one 16\n    size 0\n    more 8\nattn_two 8\n    size 0\n' >"$tree/tests/install/layout.out"
    touch "$tree/tests/install/abi-1" "$tree/attn-cli.pub.none" && echo key >"$tree/attn-cli.pub"
    printf '#!/bin/sh\nwhile case $1 in -C) shift ;; -*) ;; *) false ;; esac; do shift; done\n[ "$1" = packages ] && set -- packages\necho "make $1"\n%s\n[ "$1" != "$FAILING" ]\n' \
        'mkdir -p build/release data/pictures && printf "#!/bin/sh\necho page >data/pictures/live.html\n" >build/release/attn-cli && chmod +x build/release/attn-cli
[ "$1" != keep-former ] || { mkdir -p tests/former && echo former >tests/former/9.tar; }' >"$scratch/tools/make"
    printf '#!/bin/sh\n[ "$1" != missing ] || [ "$FAILING" != lacking ] || echo lintian\n' >"$tree/tests/tools/dependencies.sh"
    printf '#!/bin/sh\necho "seen by ${0##*/}"\ncase ${0##*/},$* in "$FAILING",* | *"/$FAILING "*) [ -z "$FAILING" ] ;; esac\n' |
        tee "$scratch/tools/python3" "$scratch/tools/abidiff" "$tree/tests/tools/check_abi.sh" "$tree/tests/tools/check_symbols.sh" >"$tree/tests/run_install.sh"
    chmod +x "$scratch"/tools/* "$tree"/tests/tools/* "$tree/tests/run_install.sh"
    "${git[@]}" config user.name x && "${git[@]}" config user.email x@localhost && "${git[@]}" add -A && "${git[@]}" commit -qm x || return
    release() { ! env -u MINISIGN_KEY SIGN="${SIGN-no}" FAILING="${FAILING-}" PATH="$scratch/tools:$PATH" "$tree/.packaging/release.sh" >"$scratch/seen" 2>&1; }
    is_said() { # LINE... and nothing else
        [ "$(grep -c '^release.sh: ' "$scratch/seen")" -eq $# ] && [ -z "$("${git[@]}" tag)" ] || return
        for expected; do grep -qF "$expected" "$scratch/seen" || return; done
    }
    while IFS='|' read -r file edit expected; do
        cp "$tree/$file" "$scratch/whole" && sed -i "$edit" "$tree/$file" && "${git[@]}" add -A || return
        [ "$expected" = 'changes that are not committed' ] || "${git[@]}" commit -q --allow-empty -m x || return
        FAILING=${edit##*FAILING=} # or no target of this name
        release && is_said "$expected" || { echo "$edit: expected $expected" && cat "$scratch/seen" && return 1; }
        cp "$scratch/whole" "$tree/$file" && "${git[@]}" add -A && "${git[@]}" commit -q --allow-empty -m x || return
    done <<'CHANGES'
CHANGELOG.md|s/One/Three/|changes that are not committed
CITATION.cff|s/^url: .*/url: "https:\/\/example.org\/a"/|'url' is 'https://example.org/a'
CITATION.cff|/repository-code/d|'repository-code' is ''
CITATION.cff|s/Ada/the attn-cli authors/|the authors are 'the attn-cli authors'
CHANGELOG.md|/One/d|no line of a change
CHANGELOG.md|s/One/& a b c d e f g h i j k l m n o p q r s t u v w x y z/|27 words, expected at most 25
CHANGELOG.md|s/^- One/### Runs\n&/|the heading
CHANGELOG.md|s/9.0.0, .*/9.0.0, 2026-01-01/|expected '## 9.0.0, not released yet'
CITATION.cff|s/^version: .*/version: 8.0.0/|version is '8.0.0', expected '9.0.0.dev0'
lib/python/attn/version.py|s/9/8/|version.py has another version, expected 9.0.0.dev0
.packaging/notes/9.0.0.md|s/Not yet/Later/|has the headings
.packaging/notes/9.0.0.md|s/`//|a line without a command
README.md|s/untested/tested/|does not say what is untested
attn-cli.pub.none|#FAILING=lacking|missing, by the names of packages: lintian
attn-cli.pub.none|#FAILING=all|it is not built: make all
attn-cli.pub.none|#FAILING=check_interface.py|tests/interface: seen by python3
attn-cli.pub.none|#FAILING=check_symbols.sh|tests/install/symbols: seen by check_symbols.sh
attn-cli.pub.none|#FAILING=run_install.sh|tests/install/layout.out: seen by run_install.sh
attn-cli.pub.none|#FAILING=check-upgrade|check-upgrade: make check-upgrade
CHANGES
    FAILING=
    # All at once; a key; what the last tag had.
    "${git[@]}" checkout -q --detach && "${git[@]}" rm -q --cached attn-cli.pub && mv "$tree/attn-cli.pub" "$scratch" &&
        "${git[@]}" commit -qm x && sed -i '/untested/d' "$tree/README.md" && SIGN= release &&
        is_said 'not committed' 'names no key' 'attn-cli.pub is missing' 'untested' 'HEAD is detached' || { cat "$scratch/seen" && return 1; }
    "${git[@]}" checkout -q -f - && "${git[@]}" tag v9.0.0 && release && grep -qF 'v9.0.0 is there already' "$scratch/seen" &&
        "${git[@]}" tag -d v9.0.0 >/dev/null && "${git[@]}" tag v8.5.0 && sed -i '/attn_t/d' "$tree/tests/install/symbols" &&
        "${git[@]}" commit -qam x && release && grep -qF 'symbols lost since v8.5.0: attn.h   attn_two' "$scratch/seen" &&
        [ "$(grep -c lost "$scratch/seen")" -eq 1 ] && "${git[@]}" tag v9.0.0-rc1 HEAD~ && "${git[@]}" tag -d v8.5.0 >/dev/null &&
        sed -i 's/more 8/less 8/' "$tree/tests/install/layout.out" && "${git[@]}" commit -qam x && release &&
        grep -qF 'layout.out lost since v9.0.0-rc1: attn_one.    more 8' "$scratch/seen" &&
        "${git[@]}" tag -d v9.0.0-rc1 >/dev/null || { cat "$scratch/seen" && return 1; }
    # Tests that fail change nothing; a package that fails leaves no tag, and is made first then.
    FAILING=test release && grep -qF 'the tests fail' "$scratch/seen" &&
        [ -z "$("${git[@]}" status --porcelain lib)$("${git[@]}" tag)" ] && rm -rf "$tree/data" || { cat "$scratch/seen" && return 1; }
    FAILING=packages release && grep -q '^make test$' "$scratch/seen" && [ -z "$("${git[@]}" tag)" ] &&
        [ "$("${git[@]}" log -1 --format=%s)" = 'build: release 9.0.0' ] || { cat "$scratch/seen" && return 1; }
    [ "$("${git[@]}" show HEAD:data/pictures/live.html HEAD:tests/former/9.tar | paste -sd' ')" = 'page former' ] &&
        "${git[@]}" show HEAD:README.md | paste -sd' ' | grep -q 'attn_cli-9.0.0-py3.*attn-cli_9.0.0-1_.*, version 9.0.0\.$' || return
    FAILING=packages release && ! grep -q '^make test$' "$scratch/seen" && grep -q '^make packages$' "$scratch/seen" || { cat "$scratch/seen" && return 1; }
    # A package of a release, by itself.
    "$tree/.packaging/facts.sh" require && sed -i 's/attn\.dev/example.org/' "$tree/CITATION.cff" &&
        ! "$tree/.packaging/facts.sh" require 2>"$scratch/seen" && [ "$(wc -l <"$scratch/seen")" -eq 3 ]
}

finds_the_installed_models() {
    (cd "$scratch" && env -i "$prefix/bin/attn-cli" completion words -- run -m '' | tail -n +2) |
        LC_ALL=C sort >"$scratch/seen"
    (cd models && printf '%s\n' */ | tr -d /) | LC_ALL=C sort >"$scratch/expected"
    same "$scratch/expected" "$scratch/seen" &&
        (cd "$scratch" && env -i "$prefix/bin/attn-cli" run -m tiny-gpt2 'The cat') >"$scratch/seen"
}

# Outside of the checkout: with what is installed, in the folder that each page names.
runs_the_tutorials() { # one, or all in CI
    local tutorials=(cmd/manual/tutorial/*.md)
    [ -n "${TORTURE-}" ] || tutorials=("${tutorials[0]}")
    BUILD=$prefix/bin tests/run_readme.sh "${tutorials[@]}" >"$scratch/seen" || { cat "$scratch/seen" && return 1; }
}

# With a PREFIX of ~/.local, ../../models is a folder of the user's.
finds_no_models_of_a_stranger() {
    local home=$scratch/home
    make_target install PREFIX="$home/.local" || return
    mkdir -p "$home/models" && cp -R models/tiny-gpt2 "$home/models/mine" || return
    (cd "$scratch" && env -i "$home/.local/bin/attn-cli" models) >"$scratch/seen" &&
        grep -q '^tiny-gpt2 *shipped' "$scratch/seen" && ! grep mine "$scratch/seen" &&
        ! (cd "$scratch" && env -i "$home/.local/bin/attn-cli" run -m mine 'The cat') 2>"$scratch/seen" &&
        grep -qF "'mine' is neither a directory, nor in '$home/.local/share/attn-cli/models'" "$scratch/seen"
}

# The word splitting of its output is how pkg-config is used.
# shellcheck disable=SC2046
runs_programs_linked_with_the_shared_library() {
    compile_examples $("$pkg_config" --cflags --libs attn) || return
    needed "$scratch/one_head" | grep -qxF "$soname" || return
    LD_LIBRARY_PATH=$prefix/lib run_examples
}

# shellcheck disable=SC2046
runs_programs_linked_with_the_archive() {
    compile_examples $("$pkg_config" --cflags attn) \
        $("$pkg_config" --static --libs attn | sed 's/-lattn/-l:libattn.a/') || return
    ! needed "$scratch/one_head" | grep -F libattn || return
    run_examples
}

# In a shell of its own, after the lines that `make install` prints.
runs_a_program_after_the_printed_lines() {
    env -u PKG_CONFIG_PATH -u LD_LIBRARY_PATH make install PREFIX="$prefix" BUILD="$build" >"$scratch/log" 2>&1 &&
        grep '^  export ' "$scratch/log" >"$scratch/exports" || { cat "$scratch/log" && return 1; }
    env -i PATH="$PATH" HOME="$HOME" bash -euc '. "$1/exports"
        "$2" -std=c11 lib/examples/first_number.c -o "$1/first_number" $('"$pkg_config"' --cflags --libs attn)
        attn-cli --version && command -v attn-cli && "$1/first_number"' bash "$scratch" "${CC:-cc}" >"$scratch/seen" &&
        [ "$(tail -n 2 "$scratch/seen")" = "$prefix/bin/attn-cli
0.8114" ] && return
    cat "$scratch/exports" "$scratch/seen"
    return 1
}

strips_what_it_installs() {
    has_symbols() { readelf -SW "$1" | grep -qF .debug_info; }
    has_symbols "$build/attn-cli" || { echo "skipped ${FUNCNAME[0]}: CFLAGS has no -g" && return; }
    ! has_symbols "$prefix/bin/attn-cli" && ! has_symbols "$prefix/lib/libattn.so" && ! has_symbols "$prefix/lib/libattn.a" || return
    make_target install-debug PREFIX="$scratch/debug" || return
    has_symbols "$scratch/debug/bin/attn-cli" && has_symbols "$scratch/debug/lib/libattn.so" &&
        has_symbols "$scratch/debug/lib/libattn.a" && files_of "$prefix" >"$scratch/expected" &&
        files_of "$scratch/debug" >"$scratch/seen" && same "$scratch/expected" "$scratch/seen"
}

names_no_DESTDIR_in_what_it_installs() {
    make_target install DESTDIR="$scratch/stage" PREFIX=/opt/attn || return
    files_of "$prefix" >"$scratch/expected"
    files_of "$scratch/stage/opt/attn" >"$scratch/seen"
    same "$scratch/expected" "$scratch/seen" && ! grep -rIF "$scratch" "$scratch/stage"
}

lets_everybody_read_what_it_installs() {
    (umask 077 && make_target install PREFIX="$scratch/private" &&
        chmod 600 "$scratch/private/lib/pkgconfig/attn.pc" "$scratch/private/include/attn/attn.h" &&
        make_target install PREFIX="$scratch/private") || return
    find "$scratch/private" -type d ! -perm 755 -printf '%m %P\n' -o \
        -type f ! -perm 644 ! -path '*/bin/*' -printf '%m %P\n' >"$scratch/seen"
    same /dev/null "$scratch/seen" && [ "$(stat -c %a "$scratch/private/bin/attn-cli")" = 755 ]
}

# With the newest file of tests/former; and with a copy of it in which an exit code, a column, a number and a program are others.
works_for_users_of_a_former_release() {
    local former kept=$scratch/former
    former=$(ls tests/former/*.tar 2>/dev/null | tail -n 1)
    [ -n "$former" ] || { echo "skipped ${FUNCNAME[0]}: tests/former has no file" && return; }
    command -v python3 >/dev/null || { echo "skipped ${FUNCNAME[0]}: python3 is missing" && return; }
    BUILD=$build tests/tools/check_upgrade.sh >"$scratch/seen" 2>&1 || { cat "$scratch/seen" && return 1; }
    mkdir "$kept" && tar -C "$kept" -xf "$former" &&
        printf '0\tA.md:1\t"attn-cli run --cvs - Life"\n0\tA.md:2\t"attn-cli run -q --top 1 --csv - \\"The keys\\""\n' >"$kept/examples.tsv" &&
        rm -r "$kept/examples" && mkdir -p "$kept/examples/001" && printf 'place\n1\n' >"$kept/examples/001/stdout.csv" || return
    ! python3 tests/tools/check_upgrade.py check "$kept" "$build" >"$scratch/seen" 2>&1 && grep -q '2 commands of the manual, 1 are refused' "$scratch/seen" &&
        grep -q "exit code 2, was 0: .*'--cvs'" "$scratch/seen" && grep -q 'place#0 is gone' "$scratch/seen" || { cat "$scratch/seen" && return 1; }
    PYTHONPATH=tests/tools PYTHONDONTWRITEBYTECODE=1 python3 - <<'END'
from check_upgrade import differs as same
assert same({"a": [1.0, "x"]}, {"a": [1.000001, "x"], "b": 2}) is None
assert same({"a": [1.0, "x"]}, {"a": [1.001, "x"]}) == ".a[0] is 1.001, was 1.0"
assert same({"a": 1}, {"b": 1}) == ".a is gone"
assert same([1], [1, 2]) == " has 2 members, had 1"
assert same({"a": "x"}, {"a": "y"}) == ".a is 'y', was 'x'"
assert same({"a": True}, {"a": 1}) is None
END
}

# Both archives together have all that is committed but the live page and bundles of former releases. The first one is built from:
# what names the second one is `make test`.
makes_two_source_archives() {
    local tree=$scratch/sources
    [ -e .git ] && command -v git >/dev/null || { echo "skipped ${FUNCNAME[0]}: this is no checkout" && return; }
    .packaging/dist.sh attn-cli-9 "$scratch/dist" >"$scratch/log" && mkdir "$tree" &&
        tar -C "$tree" --strip-components=1 -xzf "$scratch/dist/attn-cli-9.tar.gz" &&
        [ "$(cat "$tree/.packaging/commit")" = "$(git rev-parse HEAD) $(git rev-list --count HEAD)" ] || { cat "$scratch/log" && return 1; }
    env -u MAKEFLAGS -u MAKELEVEL -u BUILD make -C "$tree" test >"$scratch/log" 2>&1
    [ $? -eq 2 ] && grep -q 'unpack attn-cli-.*-tests.tar.gz over' "$scratch/log" || { cat "$scratch/log" && return 1; }
    env -u MAKEFLAGS -u MAKELEVEL -u BUILD make -C "$tree" -n all >"$scratch/log" 2>&1 || { cat "$scratch/log" && return 1; }
    tar -C "$tree" --strip-components=1 -xzf "$scratch/dist/attn-cli-9-tests.tar.gz" || return
    git ls-tree -r --name-only HEAD | grep -vE '^(data/pictures/live.html$|tests/former/)' | LC_ALL=C sort >"$scratch/expected"
    (cd "$tree" && find . ! -type d ! -path './build/*' -printf '%P\n' | LC_ALL=C sort) >"$scratch/seen"
    same "$scratch/expected" "$scratch/seen" && rm -r "$tree" "$scratch/dist"
}

# Unquoted, each of them would be two words, and the first one a folder that uninstall deletes.
refuses_a_path_that_the_shell_would_split() {
    local target path setting
    for target in install uninstall; do
        for path in 'mine and yours' 'mine&yours' 'mine;yours'; do
            for setting in "PREFIX=$scratch/$path" "DESTDIR=$scratch/$path"; do
                mkdir -p "$scratch/mine/include/attn"
                ! env -u MAKEFLAGS -u MAKELEVEL make $target "$setting" BUILD="$build" >"$scratch/log" 2>&1 &&
                    grep -qF "'$scratch/$path'" "$scratch/log" && [ "$(wc -l <"$scratch/log")" -eq 1 ] &&
                    [ -e "$scratch/mine/include/attn" ] && continue
                echo "make $target $setting" && cat "$scratch/log"
                return 1
            done
        done
    done
}

uninstalls_every_file_and_folder() {
    make_target uninstall PREFIX="$prefix" || return
    [ -e "$prefix" ] || return 0
    (cd "$prefix" && find .) # what is left
    return 1
}

tests=(installs_the_listed_files has_one_version_in_four_forms compiles_one_file_for_a_commit installs_headers_that_are_whole runs_a_program_in_another_language
    lays_out_structs_as_the_python_binding_does keeps_the_abi_of_a_release refuses_a_release_that_is_not_ready
    asks_once_for_all_packages
    finds_the_installed_models runs_the_tutorials
    finds_no_models_of_a_stranger runs_programs_linked_with_the_shared_library runs_programs_linked_with_the_archive
    runs_a_program_after_the_printed_lines strips_what_it_installs
    names_no_DESTDIR_in_what_it_installs lets_everybody_read_what_it_installs
    works_for_users_of_a_former_release makes_two_source_archives refuses_a_path_that_the_shell_would_split uninstalls_every_file_and_folder)
[ $# -eq 0 ] || tests=("$@")
[ "${tests[0]}" = installs_the_listed_files ] || installs_the_listed_files || exit
for test in "${tests[@]}"; do
    if $test; then
        pass
    else
        fail "tests/run_install.sh $test"
    fi
done
finish install
