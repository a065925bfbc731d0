#!/usr/bin/env bash
# run_readme.sh - runs the ```console blocks of the README, the manual and the models' README, so
# that they cannot drift. A picture NAME.svg that they write must equal data/pictures/NAME.svg, or
# models/NAME.svg for models/README.md, if that exists, but for the version in it; the gallery's commands must write each picture that it shows.
#
# In such a block a line that starts with `$ ` is a command, lines that start with `> ` continue it,
# and the rest is what a terminal would show. All blocks of a file run in one folder, in order, where
# models/, data/ and tests/ of the checkout are at hand. LINE is that of a command: those before it are run,
# because it may need what they made, and only its own output is compared.
#
# In a ```sh block (of models/README.md cli/init/models.test runs them), lines that begin with attn-cli or
# data/recipes must end with 0. They run with small models
# under the names of published ones (tests/tools/make_stand_ins.py); what a library or attn.wasm is missing for
# is skipped. A ```console published block needs the models of tests/tools/check_published.sh, which runs it with their folder as
# PUBLISHED.
#
#   run_readme.sh [FILE[:LINE]]...
#   run_readme.sh --refresh [FILE]...
#
# --refresh writes what was seen as what a terminal shows, and the pictures.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/support/part.sh

root=$PWD
tool=$(realpath "$build")
is_refreshing=no

# Runs the command that was read and compares what it printed.
finish_command() {
    [ -n "$command" ] && [ "$command_line" -le "${only:-$command_line}" ] || return
    (
        cd "$folder" || exit 1
        exec env -i PATH="$tool:/usr/local/bin:/usr/bin:/bin" LC_ALL=C.UTF-8 TERM=dumb \
            timeout "${CASE_SECONDS:-120}" bash -c "$command" </dev/null >"$scratch/seen" 2>&1
    )
    printf '%s' "$expected" >"$scratch/expected"
    [ $is_refreshing = no ] || cat "$scratch/seen" >>"$scratch/refreshed"
    [ "$command_line" -ge "${only:-0}" ] || return
    if grep -q 'hint: apt-get install' "$scratch/seen" && ! grep -q 'hint: apt-get install' "$scratch/expected"; then
        echo "skipped $file:$command_line: $(grep -m 1 error "$scratch/seen")"
        skipped+=$command
    elif diff -a -u --label "$file:$command_line: expected" --label "$file:$command_line: seen" \
        "$scratch/expected" "$scratch/seen"; then
        pass
    else
        fail "tests/run_readme.sh $file:$command_line"
    fi
}

# Makes the folder of the stand-ins, once. Returns whether python3 could.
make_stand_ins() {
    stand_ins=$scratch/stand_ins
    [ ! -d "$stand_ins" ] || return 0
    command -v python3 >/dev/null || return
    mkdir "$stand_ins" && tests/tools/make_stand_ins.py "$stand_ins" &&
        ln -s "$root/models" "$root/data" "$root/tests" "$stand_ins"
}

# Runs a line of a ```sh block.
run_plain() { # COMMAND
    [ "$line_number" -eq "${only:-$line_number}" ] && [ $is_refreshing = no ] || return
    make_stand_ins || { echo "skipped $file:$line_number: python3 makes the models for it" && return; }
    if (
        cd "$stand_ins" || exit 1
        exec env -i PATH="$tool:/usr/local/bin:/usr/bin:/bin" LC_ALL=C.UTF-8 HOME="$stand_ins/home" \
            HF_HUB_CACHE="$stand_ins/hub" timeout "${CASE_SECONDS:-120}" bash -c "$1" </dev/null >"$scratch/seen" 2>&1
    ); then
        pass
    elif grep -qE "apt-get install|'make wasm' makes" "$scratch/seen"; then
        echo "skipped $file:$line_number: $(grep -m 1 error "$scratch/seen")"
    else
        cat "$scratch/seen"
        fail "tests/run_readme.sh $file:$line_number"
    fi
}

# Whether two pictures are the same, whatever version drew them.
same_picture() { # FILE FILE
    local mask='s/Software: attn-cli [0-9][-0-9a-z.]*/Software: attn-cli VERSION/'
    diff -q <(sed "$mask" "$1") <(sed "$mask" "$2") >"$scratch/differ" || { echo "$1 and $2 differ" && return 1; }
}

# Draws the terminal of the gallery: the command below terminal.svg.
draw_terminal() {
    local command
    command -v python3 >/dev/null || { cp data/pictures/terminal.svg "$folder" && echo "skipped terminal.svg: python3 draws it" && return; }
    command=$(sed -n '/terminal\.svg/,/^```$/ s/^attn-cli/&/p' cmd/manual/gallery.md)
    PATH=$tool:$PATH tests/tools/draw_terminal.py "$command" >"$folder/terminal.svg"
}

# Compares the pictures that FILE's commands wrote, or renews those that it shows.
finish_pictures() {
    local picture name pictures=(data/pictures/*.svg)
    [[ $file != models/* ]] || pictures=(models/*.svg)
    [[ $file != */gallery.md ]] || draw_terminal || { fail "tests/run_readme.sh $file # terminal.svg" && return; }
    for picture in $({ grep -oE 'data/pictures/[a-z-]+\.svg' "$file"; printf '%s\n' "${pictures[@]}"; } | sort -u); do
        name=$(basename "$picture")
        if [ $is_refreshing = yes ]; then
            [ ! -e "$folder/$name" ] || same_picture "$folder/$name" "$picture" >"$scratch/differ" || cp "$folder/$name" "$picture"
        elif [ -e "$folder/$name" ]; then
            same_picture "$folder/$name" "$picture" && pass || fail "tests/run_readme.sh $file # $picture"
        elif [[ $file == */gallery.md && $skipped != *" $name"* ]] && grep -qF "$picture" "$file"; then
            fail "tests/run_readme.sh $file # no command writes $name"
        fi
    done
}

run_file() { # FILE [LINE]
    local file=$1 only=${2-} folder line line_number=0 command_line=0
    local in_block=no command='' expected='' skipped=''
    folder=$(mktemp -d "$scratch/folder.XXXXXX")
    if [ -d "$tool/../share/attn-cli" ]; then # of an installed tool the page itself says what is linked
        (cd "$folder" && PATH=$tool:$PATH bash -c "$(grep '^ln -s ' "$root/$file")")
    else
        ln -s "$root/models" "$root/data" "$root/tests" "$folder"
    fi
    [ -z "${PUBLISHED-}" ] || ln -s "$(realpath "$PUBLISHED")"/*.gguf "$folder"
    : >"$scratch/refreshed"
    while IFS= read -r line; do
        line_number=$((line_number + 1))
        if [ $in_block = no ]; then
            [[ $line == '```console' || ($line == '```console published' && -n ${PUBLISHED-}) ]] && in_block=yes
            if [[ $line == '```console published' && -z ${PUBLISHED-} ]]; then
                [[ $skipped == *published* ]] || echo "skipped $file:$line_number: make check-published runs it, with published models"
                in_block=skipped skipped+=published
            fi
            [[ $line == '```sh' && $file != models/* ]] && in_block=sh
        elif [ $in_block = skipped ]; then
            skipped+=$line
            [ "$line" != '```' ] || in_block=no
        elif [ $in_block = sh ]; then
            command+=$line
            if [[ $line == *\\ ]]; then
                command=${command%?}
            else
                [[ $command != 'attn-cli '* && ! $command =~ ^data/recipes/[a-z]+\.sh ]] || run_plain "$command"
                command=''
            fi
            [ "$line" != '```' ] || in_block=no
        elif [ "$line" = '```' ]; then
            finish_command
            in_block=no command=''
        elif [[ $line == '$ '* ]]; then
            finish_command
            command=${line#'$ '} command_line=$line_number expected=''
        elif [[ $line == '> '* && -z $expected ]]; then
            command+=$'\n'${line#'> '}
        else
            expected+=$line$'\n'
            continue
        fi
        printf '%s\n' "$line" >>"$scratch/refreshed"
    done <"$file"
    [ $is_refreshing = no ] || cat "$scratch/refreshed" >"$file"
    [ -n "$only" ] || finish_pictures
}

if [ "${1-}" = --refresh ]; then
    is_refreshing=yes
    shift
fi
if [ $# -eq 0 ]; then
    mapfile -t files < <(list_readmes)
    set -- "${files[@]}"
fi
for what; do
    case $what in
    *:*)
        [ $is_refreshing = no ] || { echo "run_readme.sh: --refresh writes whole files, not $what" >&2; exit 2; }
        run_file "${what%:*}" "${what##*:}"
        ;;
    *) run_file "$what" ;;
    esac
done
finish readme
