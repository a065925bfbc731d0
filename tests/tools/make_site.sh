#!/usr/bin/env bash
# make_site.sh - makes build/site: the manual, README and all other Markdown files as HTML, with Debian's
# pandoc, and the files that they link. Links between Markdown files lead to the pages. Those of build/reference, which
# `make reference` writes, become part of the manual.
set -eu
cd "$(dirname "$0")/../.."
command -v pandoc >/dev/null || { echo 'make_site.sh: pandoc is missing (apt-get install pandoc)' >&2 && exit 1; }
site=build/site
rm -rf "$site"
mkdir -p "$site"

make_page() { # FILE [PAGE]
    local file=$1 page=$site/${2-${1%.md}}.html up
    mkdir -p "$(dirname "$page")"
    up=$(realpath --relative-to="$(dirname "$page")" "$site")
    pandoc -f gfm -t html5 --standalone --toc --toc-depth=2 --wrap=preserve --css "$up/site.css" \
        --metadata pagetitle="$(sed -n 's/^# //p' "$file" | head -n 1)" "$file" |
        sed -E "s,(href=\"[^:\"#]*)\.md(#[^\"]*)?\",\1.html\2\",g; s,<body>,<body><nav class=\"top\"><a href=\"$up/README.html\">attn-cli</a> <a href=\"$up/cmd/manual/README.html\">manual</a> <a href=\"$up/cmd/manual/gallery.html\">gallery</a> <a href=\"$up/cmd/manual/reference/commands.html\">commands</a> <a href=\"$up/cmd/manual/reference/c.html\">C</a></nav>,; s,^<nav id=\"TOC\",<nav id=\"TOC\" class=\"toc\"," >"$page"
}

# Copies what the pages link and is no Markdown: pictures, sources, folders not.
copy_linked() { # FILE
    grep -oE '\]\([^) ]+\)|(src|srcset|href)="[^"]+"' "$1" | sed -E 's/^\]\(|\)$|^[a-z]+="|"$|#.*//g' | while read -r target; do
        [[ $target != *: && $target != *://* && $target != *.md ]] || continue
        path=$(realpath -m --relative-to=. "$(dirname "$1")/$target")
        [ -f "$path" ] || continue
        mkdir -p "$site/$(dirname "$path")"
        cp "$path" "$site/$path"
    done
}

mapfile -t files < <(find . -name build -prune -o -name .git -prune -o -name '*.md' -print | sed 's|^\./||' | LC_ALL=C sort)
for file in "${files[@]}"; do
    make_page "$file"
    copy_linked "$file"
done
for file in build/reference/*.md build/reference/*/*.md; do
    page=${file%.md}
    make_page "$file" "cmd/manual/${page#build/}"
done
cp "$site/README.html" "$site/index.html"
cat >"$site/site.css" <<'CSS'
:root { color-scheme: light dark }
body { max-width: 900px; margin: 0 auto; padding: 0 20px 60px; font: 16px/1.55 system-ui, sans-serif; overflow-wrap: break-word }
nav.top { display: flex; gap: 20px; padding: 14px 0; border-bottom: 1px solid #8884 }
nav.toc { font-size: 14px; columns: 2; margin: 16px 0 } nav.toc ul { margin: 0; padding-left: 18px }
h1, h2, h3 { line-height: 1.25; margin: 1.5em 0 .6em }
pre { overflow: auto; padding: 14px; border-radius: 6px; background: #8881; font-size: 13.5px; line-height: 1.45 }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .875em } pre code { font-size: 1em }
table { border-collapse: collapse; display: block; overflow: auto; font-size: 15px } td, th { border: 1px solid #8884; padding: 5px 10px; text-align: left; vertical-align: top }
img { max-width: 100%; background: #fff }
CSS
echo "$site: ${#files[@]} pages; open $site/index.html"
