#!/usr/bin/env bash
# same_bits.sh BINARY [--refresh] - compares what BINARY writes with the sums of tests/golden/same_bits.sha256.
#
# All sites in every form, the kinds of attention and the experiments: the sums hold for every compiler,
# C library, processor and number of threads. So run it with other builds; RUNNER is an emulator:
# RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" same_bits.sh build/aarch64/attn-cli
# Of a page it takes the data, without the viewer; the version, and how long slow questions take, are left out. --refresh
# writes the sums, after a change of what is computed or written.
set -u
cd "$(dirname "$0")/../.." || exit 1
binary=$(realpath "$1") sums=$PWD/tests/golden/same_bits.sha256 models=$PWD/models
runner=${RUNNER-}
version=$(sed -nE 's/^#define ATTN_VERSION "(.*)"$/\1/p' lib/ground/base/version.h)
folder=$(mktemp -d)
trap 'rm -rf "$folder" "$folder".*' EXIT
cd "$folder" || exit 1
sentence='Once upon a time there was a little girl who lived in a house near the wood.'

# Runs COMMAND; its output is the file NAME.
keep() { # NAME COMMAND...
    # shellcheck disable=SC2086 # words of their own
    $runner "$binary" "${@:2}" >"$1" 2>&1 && return
    echo "same-bits: '$2' fails: $(head -n 1 "$1")" >&2
    exit 1
}
write() { # NAME ARGUMENT...: all forms of a run
    keep "$1.txt" run "${@:2}" --sites '*' --npz "$1.npz" --json "$1.json" --csv "$1" --html "$1.html"
    keep "$1.svg.txt" run "${@:2}" --heads 0.0 --svg "$1.svg"
}

write fable -m "$models/fable" "$sentence"
write tiny-gpt2 -m "$models/tiny-gpt2" 'The cat sat on the mat'
write life-is-short -m "$models/life-is-short" 'Life is short, eat dessert first'
write interpreter -m "$models/interpreter" --source 'The cat sat on the mat' '猫坐在垫子上'
for kind in window:3 strided:2 log random:2:7 block:2 hybrid:3:2 sink:1:2 linear linear:relu \
    linear:exp linear:elu:raw; do
    name=kind-${kind//:/-} # no name of Windows has a colon
    keep "$name.txt" run -m "$models/fable" --attention $kind "$sentence" \
        --sites pattern,z,logits --npz "$name.npz"
done
fable=(-m "$models/fable")
keep heads.txt heads "${fable[@]}" "$sentence" --csv heads.csv
keep atp.txt patch "${fable[@]}" --estimate atp --clean "$sentence" --corrupted "${sentence/girl/boy}" --target ' wood' --csv atp.csv
keep ig.txt attribute "${fable[@]}" --method ig --metric ce "$sentence" --csv ig.csv
keep ablate.txt ablate "${fable[@]}" --metric ce "$sentence" --csv ablate.csv
keep lens.txt lens "${fable[@]}" "$sentence" --csv lens.csv
keep score.txt score "${fable[@]}" "$sentence" --csv score.csv
keep diff.txt diff "${fable[@]}" "$sentence" --with-attention window:3 --csv diff.csv
keep kind-lowrank.txt run "${fable[@]}" --attention lowrank:2:7 --mask none "$sentence" --npz kind-lowrank.npz
keep generate.txt generate -m "$models/fable" "$sentence" -n 20
keep tokenize.txt tokenize -m "$models/tiny-gpt2" "$sentence naïve 中文 ① Ꟁ 𞤀 ⁂"
keep init.txt init randn --set d_model=64 --set n_vocab=300 --draw embed=randn@3 --draw heads=linear
keep init3.txt init randn3 --set d_model=3 --set n_vocab=5 --draw embed=randn:0.5@7

found=$folder.found
# A directory has one sum, of its files in order.
for file in *; do
    case $file in
    *.html) sed -n '/^"tensors"/,/^"parks"/p' "$file" ;;
    *) find "$file" -type f | LC_ALL=C sort | xargs -d '\n' tail -v -c +1 ;;
    esac | LC_ALL=C sed "/: note: .* took .*, all take about /d; s/${version//./\\.}/VERSION/g; s|$models|MODELS|g; s|$folder|FOLDER|g" |
        sha256sum | sed "s|-\$|$file|"
done | LC_ALL=C sort -k 2 >"$found"
[ "${2-}" != --refresh ] || cp "$found" "$sums"
if ! diff "$sums" "$found" >"$folder.differences"; then
    grep '^[<>]' "$folder.differences" | awk '{ print $3 }' | sort -u | sed 's/^/same-bits: other bytes in /'
    exit 1
fi
echo "same-bits: all $(wc -l <"$found") files and directories are the same"
