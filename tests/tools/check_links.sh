#!/usr/bin/env bash
# check_links.sh - every relative link of a Markdown file leads to a file and, with `#`, to a heading
# of it; and no file of the manual has more than 350 lines.
#
# Sources and folders that the guides of lib/README.md name are there, too: `pictures/picture.h`, `picture.h`, `checkpoints/families`;
# `kinds/NAME.c` if there is any file that NAME may stand for.
#
# Anchors are those of GitHub: lower case, without punctuation, `-` for each space, and `-1` after the
# second heading of the same text. Code blocks and `code` hold no links.
set -u
cd "$(dirname "$0")/../.." || exit 1

longest=350

mapfile -t files < <(find . -name build -prune -o -name .git -prune -o -name '*.md' -print | sed 's|^\./||' | LC_ALL=C sort)

# `heading FILE ANCHOR` for each heading, `link FILE LINE TARGET` for each relative link.
list_headings_and_links() {
    LC_ALL=C.UTF-8 awk '
    FNR == 1 { in_code = 0; split("", seen) }
    /^ *```/ { in_code = !in_code; next }
    in_code { next }
    /^#+ / {
        anchor = tolower($0)
        sub(/^#+ +/, "", anchor)
        gsub(/[^[:alnum:]_ -]/, "", anchor)
        gsub(/ /, "-", anchor)
        print "heading", FILENAME, anchor (seen[anchor]++ ? "-" seen[anchor] - 1 : "")
    }
    {
        line = $0
        gsub(/`[^`]*`/, "", line)
        while (match(line, /\]\([^) ]+\)|(src|srcset|href)="[^"]+"/)) {
            target = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            gsub(/^\]\(|\)$|^(src|srcset|href)="|"$/, "", target)
            if (target !~ /^[a-z]+:/) print "link", FILENAME, FNR, target
        }
    }' "${files[@]}"
}

found=$(list_headings_and_links | while read -r kind file rest; do
    [ "$kind" = link ] || { echo "anchor $file#$rest" && continue; }
    read -r line target <<<"$rest"
    path=${target%%#*} anchor=
    [[ $target != *'#'* ]] || anchor=${target#*#}
    path=$(realpath -m --relative-to=. "${path:+$(dirname "$file")/}${path:-$file}")
    [ -e "$path" ] || echo "offender $file:$line: '$target' leads to no file"
    [[ -z $anchor || $path != *.md ]] || echo "wanted $path#$anchor $file:$line: '$target' leads to no heading"
done | awk '
    $1 == "anchor" { known[$2] = 1 }
    $1 == "offender" { sub(/^offender /, ""); print }
    $1 == "wanted" { place = $2; sub(/^wanted [^ ]+ /, ""); wanted[++n] = $0; at[n] = place }
    END { for (i = 1; i <= n; i++) if (!(at[i] in known)) print wanted[i] }')
found+=$(wc -l "${files[@]}" | awk -v longest="$longest" '
    $2 ~ /^cmd\/manual\// && $1 > longest { printf "\n%s: %d lines, expected at most %d", $2, $1, longest }')
sources=$(find lib cmd tests data models)
for name in $(sed -n '/^## How to add/,$p' lib/README.md | grep -oE '`[a-z][A-Za-z0-9_]*(\.[ch]|/[A-Za-z0-9_./]*)`' | tr -d '`' | LC_ALL=C sort -u); do
    grep -qE "(^|/)$(sed 's|/$||; s|\.|\\.|g; s|NAME|[a-z0-9_]+|g' <<<"$name")\$" <<<"$sources" || found+=$'\n'"lib/README.md: there is no '$name'"
done
[ -z "$found" ] || { echo "$found" | sed '/^$/d' && exit 1; }
