#!/usr/bin/env bash
# check_layers.sh - the rules of the layers, as far as a command can see them.
#
#   check_layers.sh OBJECT...      the objects of the library, BUILD/lib/FOLDER/ROOM/FILE.o
#
# Includes point down, and calls between the files of a layer go one way; a foreign library is known
# to one layer alone; memory, maps and threads belong to base; the library neither prints nor exits
# nor looks at the environment, and keeps no state of its own; names of files are nouns. What is
# used and kept is read off the objects, so that no macro hides it. Texts name fields and no options.
# Lengths of functions are clang-tidy's.
set -u
cd "$(dirname "$0")/../.." || exit 1

found=$(mktemp)
trap 'rm -f "$found"' EXIT

most_internal_tests=45

# The rooms of lib in order, FOLDER/ROOM: each may include those above it. The folders are a border that the compiler holds
# (lib/folders). Of the questions each sees ask, and no other question but those named below.
rooms=(ground/{base,params,formats,tables} core/{kernels,trace,attention,tokenizer,model,forward,input,edits,tensors,predict,run}
    checkpoints/{families,vocabularies,gguf,foreign,quantized,drawn,catalog} chat/{template,talk} analysis/{gradient,kinds,measures,sites}
    media/{image,sound,towers} views/{pictures,figures,terminal,page} ask/{trials,stream,means,frame})
questions=(heads attribute circuit ablate lens diff spans align features explain score inspect live)
ties=(attribute:score heads:score heads:attribute heads:ablate heads:circuit lens:attribute spans:attribute)

# Sets BELOW[ROOM] to the rooms that ROOM may include, itself aside, and FOLDER_OF[ROOM].
declare -A below=() folder_of=()
for room in "${rooms[@]}"; do
    below[${room##*/}]=${above-}
    folder_of[${room##*/}]=${room%/*}
    above="${above-}${above:+ }${room##*/}"
done
for room in "${questions[@]}"; do
    below[$room]=$above
    folder_of[$room]=questions
    for tie in "${ties[@]}"; do
        [ "${tie%:*}" != "$room" ] || below[$room]+=" ${tie#*:}"
    done
done

# Foreign headers and the one place that may include them: an expression over paths.
declare -A home=(
    [libxsmm.h]='lib/core/kernels/gemm_xsmm\.c'
    [cJSON.h]='lib/ground/formats/.*'
    [pcre2.h]='lib/core/tokenizer/.*'
    [zlib.h]='lib/(checkpoints/foreign|ground/formats|ask/stream|views/(page|pictures))/.*'
    [immintrin.h]='lib/(core/kernels/.*|media/towers/sha256\.c)'
)

# Headers of a system, and who may include them: sources that are named by one (lib/ground/base/os/os.h). libxsmm and the tiles of
# AMX are there on Linux alone. signal.h has a type of C, too, which headers need.
of_system='(unistd|fcntl|poll|dirent|termios|pthread|sched|dlfcn|locale|xlocale|windows|io)\.h|(sys|linux|arpa|netinet|mach)/.*'
system_files='.*_(linux|macos|posix|windows|wasm)\.[ch]|lib/ground/base/(api\.h|os/dynamic\.[ch])|lib/core/kernels/(amx|gemm_xsmm)\.c'
names_of_system='__(linux|gnu_linux|APPLE|MACH|wasi|unix|MINGW(32|64))__|_WIN(32|64)'

report() { echo "$*" >>"$found"; }

# One line an include: FILE:LINE KIND NAME, KIND is " or <.
list_includes() {
    grep -nE '^[[:space:]]*#[[:space:]]*include' "$@" /dev/null |
        sed -nE 's/^([^:]+:[0-9]+):[^"<]*(["<])([^">]+)[">].*$/\1 \2 \3/p'
}

check_layer_of() {
    local place=$1 layer=$2 target=$3
    case $target in
    */*) ;;
    *) report "$place: includes '$target', expected 'room/file.h'" && return ;;
    esac
    local other=${target%%/*}
    [ "$other" = "$layer" ] && return
    [[ " ${below[$layer]} " == *" $other "* ]] ||
        report "$place: '$layer' includes '$target', may include: ${below[$layer]:-nothing}"
}

check_includes() {
    local place kind target file layer
    while read -r place kind target; do
        file=${place%:*}
        if [ "$kind" = '<' ]; then
            local header=${target##*/}
            [[ -z ${home[$header]-} || $file =~ ^(${home[$header]})$ ]] ||
                report "$place: '$target' belongs to ${home[$header]}"
            [[ ! $target =~ ^($of_system)$ && ($target != signal.h || $file = *.h) ]] || [[ $file =~ ^($system_files)$ ]] ||
                report "$place: '$target' is of a system, expected lib/ground/base/os/os.h, or a file that is named by the system"
            continue
        fi
        case $file in
        lib/attn.h | lib/extra.h | lib/ask.h | lib/tool.h | lib/parts.[ch] | lib/core_parts.c) ;; # these list the rows of all rooms
        lib/*)
            layer=${file#lib/*/} layer=${layer%%/*}
            if [ "lib/${folder_of[$layer]-}/$layer" = "${file:0:$((5 + ${#folder_of[$layer]} + ${#layer}))}" ]; then
                check_layer_of "$place" "$layer" "$target"
            else
                report "$place: '$layer' is not a room of tests/tools/check_layers.sh"
            fi
            ;;
        cmd/*)
            [[ $target =~ ^(attn|extra|tool|parts)\.h$ ]] || [ -e "cmd/${target#cmd/}" ] ||
                report "$place: cmd includes '$target', may include attn.h, extra.h, tool.h and parts.h"
            ;;
        esac
    done < <(list_includes "$@")
}

check_systems() {
    local line
    while read -r line; do
        [[ ${line%%:*} =~ ^($system_files)$ ]] ||
            report "$(cut -d: -f1,2 <<<"$line"): asks for a system, expected a file that is named by it"
    done < <(grep -nE "^[[:space:]]*#.*\<($names_of_system)\>" "$@" /dev/null)
}

check_file_names() {
    local name
    while read -r name; do
        report "$name: is named by no noun of its own"
    done < <(printf '%s\n' "$@" | grep -E '(^|[/_])(utils?|common|misc|helpers?|managers?)([_.]|$)')
}

# Callers of the library have fields, and only the tool has options: texts name a field in
# backquotes (cmd/line/field_names.h). A command of another program, the options that a figure says it
# was made with, and the command on a page without scripts are none of ours.
check_texts() {
    local line
    while read -r line; do
        [[ $line == lib/checkpoints/catalog/hub.c:* || $line == lib/checkpoints/catalog/catalog.c:*--include* ||
            $line == lib/views/figures/figure.c:*option-\>name* || $line == lib/views/page/page_frame.c:*'--svg FILE'* ]] ||
            report "$(cut -d: -f1,2 <<<"$line"): names an option in a text, expected a field in backquotes"
    done < <(printf '%s\n' "$@" | grep '^lib/.*\.c$' | grep -v '^lib/examples/' | xargs grep -nE '"([^"\\]|\\.)*--[a-z%]')
}

# Numbers of blocks, of which a layer of a decoder with a source has two, are known to four rooms; the
# others ask by location (trace/places_extra.h). The blocks of kernels are those of quantized weights.
check_blocks() {
    local line
    local known='#include "trace/blocks_internal\.h"|\battn_location_(of_)?block\b|\battn_model_stack_of\b|\bdims(\.|->)(has_pairs\b|is_cross\[)'
    known+='|\bblocks\[|\bint block\b'
    while read -r line; do
        report "$(cut -d: -f1,2 <<<"$line"): knows numbers of blocks, expected a location"
    done < <(printf '%s\n' "$@" | grep -vE '^lib/(core/(trace|model|forward|kernels)|analysis/gradient)/' | xargs grep -nE "$known" /dev/null)
}

# Functions that the library must not need; those of the second list only outside base.
banned='v?f?printf|v?dprintf|f?puts|f?putc|putchar|perror|stdout|stderr|exit|_exit|_Exit|quick_exit'
banned+='|atexit|abort|(secure_)?getenv|setenv|putenv|unsetenv|environ|signal|sigaction|sigprocmask'
banned+='|raise|kill|system|popen|fork|execv.*|setlocale'
of_base='(m|c|re)alloc|reallocarray|free|(aligned_|mem)alloc|memalign|posix_memalign|v?asprintf'
of_base+='|strn?dup|getline|m(un|re)?map|mprotect|madvise|pthread_.*'
# gemm_xsmm.c tries once whether memory can be made executable.
of_gemm='mmap|munmap|mprotect'

check_uses() {
    local object name
    while read -r object name; do
        object=${object##*/lib/}
        object=lib/${object%.o}
        if [[ $name =~ ^(__)?($banned)(_chk|_unlocked)?$ ]]; then
            report "$object: uses '$name', which the library must not"
        elif [[ $name =~ ^(__)?($of_base)(_chk)?$ && $object != lib/ground/base/* ]]; then
            [[ $object == lib/core/kernels/gemm* && $name =~ ^($of_gemm)$ ]] ||
                report "$object: uses '$name', which belongs to base"
        fi
    done < <(nm -A -u "$@" | sed -E 's/^(.*):[[:space:]]+[a-zA-Z] ([^@]+).*$/\1 \2/')
}

# Anything in a section that can be written is state; tables of pointers (.data.rel.ro) are not, nor is what the processor
# can do.
check_state() {
    local object name
    while read -r object name; do
        [[ $object != */kernels/kernels || $name != detected ]] || continue
        report "lib/${object##*/lib/}: '$name' is state of the whole process"
    done < <(for object; do
        objdump -t "$object" | awk -v object="${object%.o}" '
            match($0, / (\.t?data|\.t?bss|\*COM\*)[^ \t]*\t/) {
                if ($0 !~ /\.data\.rel\.ro/ && $NF !~ /^\./) print object, $NF
            }'
    done)
}

check_names() {
    local object name
    while read -r object name; do
        [[ $name == attn_* ]] || report "lib/${object##*/lib/}: '$name' does not start with attn_"
    done < <(nm -A -g --defined-only "$@" | sed -E 's/^(.*)\.o:.* ([^ ]+)$/\1 \2/')
}

# Calls between the files of a room go one way: no file calls another that calls it, directly or
# through others. Tables of rows (data) are no calls. A system's files serve headers of several
# others, and are not looked at.
list_calls() {
    nm -A -g "$@" | awk '
        { file = $1; sub(/:.*/, "", file); sub(/.*\/lib\//, "", file); sub(/\.o$/, "", file) }
        file ~ /^ground\/base\/os\/(system|os)_/ { next }
        $(NF - 1) == "T" { defined[$NF] = file }
        $(NF - 1) == "U" { user[++n] = file; name[n] = $NF }
        END {
            for (i = 1; i <= n; i++) {
                split(user[i], from, "/")
                split(defined[name[i]], to, "/")
                if (from[1] == to[1] && from[2] == to[2]) print user[i], defined[name[i]]
            }
        }' | sort -u
}

check_circles() {
    local line
    while read -r line; do
        report "lib/${line#tsort: }: is in a circle of calls between the files of its room"
    done < <(list_calls "$@" | tsort 2>&1 >/dev/null | grep '/' | sort -u)
}

# Unit tests use public headers and tests/support; internal ones are for tests of what no public function shows.
check_tests() {
    local n
    n=$(grep -lE '^#include "[a-z]+/[a-z_]*_internal\.h"' tests/unit/*.c | wc -l)
    [ "$n" -le "$most_internal_tests" ] ||
        report "tests/unit: $n files include internal headers, expected at most $most_internal_tests: see tests/support"
}

# The code of ground and core names no family, format or program: what is about one is in a row. Families are those of
# families.h, without their number and what follows it: qwen2_moe is "qwen". They are words, or begin one, as in BertProcessing.
# tests/core_names has what may stay, a line a reason: NAMES FILES REASON, with commas. Comments may name what they like. No row
# of a family is in the core.
list_families() {
    sed -n '/define ATTN_FAMILY_MAP/,/^$/p' lib/checkpoints/families/families.h | grep -oE '\<X\([a-z0-9_]{3,}\)' | tr -d 'X()' | grep -vx attn |
        sed -E 's/^([a-z][a-z_]+[a-z])_?v?[0-9].*$/\1/' | LC_ALL=C sort -u
}

list_names() { # FILE...: lines FILE NAME
    # shellcheck disable=SC2016 # Perl's own variables
    FAMILIES=$(list_families | paste -sd'|') perl -0ne '
        BEGIN {
            $others = "gguf|sentencepiece|spiece|nanochat|siglip|transformer_lens|tekken|residue";
            ($families, $begins) = ($ENV{FAMILIES}, join "|", map { ucfirst } split /\|/, $ENV{FAMILIES});
        }
        s{/\*.*?\*/}{ }gs;
        my %seen = map { lc, 1 } /((?i:$others)|CLIP|(?<![A-Za-z])(?:(?i:$families)(?![A-Za-z])|(?:$begins)(?=[A-Z])))/g;
        print map { "$ARGV $_\n" } keys %seen' "$@"
}

check_core() {
    diff <(awk '{ n = split($1, name, ","); m = split($2, file, ","); for (i = 1; i <= n; i++) for (j = 1; j <= m; j++) print file[j], name[i] }' \
        tests/core_names | LC_ALL=C sort) <(list_names "$@" | LC_ALL=C sort) |
        sed -nE 's|^> (.*) (.*)|\1: names '"'\2'"', expected a row outside of the core, or a line of tests/core_names|p
                 s|^< (.*) (.*)|tests/core_names: \1 does not name '"'\2'"'|p' >>"$found"
    [ "$(wc -l <tests/core_names)" -le 20 ] || report "tests/core_names: more than 20 lines"
    ! grep -nE '^const struct attn_family attn_family_[a-z]' "$@" /dev/null | sed 's/:.*/: has the row of a family/' | grep . >>"$found"
}

mapfile -t sources < <(find lib cmd -name '*.[ch]' | LC_ALL=C sort)
check_tests
check_includes "${sources[@]}"
check_systems "${sources[@]}"
check_file_names "${sources[@]}"
check_texts "${sources[@]}"
check_blocks "${sources[@]}"
mapfile -t core < <(find lib/ground lib/core -name '*.[ch]' | LC_ALL=C sort)
check_core "${core[@]}"
if [ $# -gt 0 ]; then
    check_uses "$@"
    check_state "$@"
    check_names "$@"
    check_circles "$@"
fi

cat "$found"
[ ! -s "$found" ]
