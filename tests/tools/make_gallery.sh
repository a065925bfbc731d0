#!/usr/bin/env bash
# make_gallery.sh - renews the pictures of cmd/manual/gallery.md and writes build/gallery.html: thumbnails,
# each with its command, which a click copies. The page holds the pictures and needs no network.
set -eu
cd "$(dirname "$0")/../.."
page=build/gallery.html

tests/run_readme.sh --refresh cmd/manual/gallery.md >build/gallery.log || { cat build/gallery.log && exit 1; }

as_html() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; }
keep_options() { sed -E 's| (-[^ ]*)| <span>\1</span>|g'; } # no line ends within one
type_of() { case $1 in *.svg) echo image/svg+xml ;; *) echo image/png ;; esac }

{
    cat <<'HTML'
<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>attn-cli: gallery</title>
<style>
:root { color-scheme: light; font: 16px/1.45 system-ui, sans-serif; color: #1f2328; background: #fff }
body { max-width: 1500px; margin: 0 auto; padding: 16px 20px 40px }
h1 { margin: 0 } h2 { margin: 32px 0 8px; font-size: 20px }
section { display: grid; gap: 16px; grid-template-columns: repeat(auto-fill, minmax(min(330px, 100%), 1fr)) }
figure { margin: 0; border: 1px solid #d1d9e0; border-radius: 8px; overflow: hidden; display: flex; flex-direction: column; break-inside: avoid }
.picture { display: flex; height: 230px; width: 100%; padding: 12px; border: 0; align-items: center; justify-content: center; background: #fff; cursor: zoom-in }
.picture img { max-width: 100%; max-height: 100% }
dialog { border: 0; padding: 0; width: 96vw; height: 96vh; max-width: none; max-height: none; background: #fff; cursor: zoom-out }
dialog img { width: 100%; height: 100%; object-fit: contain }
dialog::backdrop { background: #000a }
figcaption { padding: 10px 12px 4px; border-top: 1px solid #d1d9e0 }
.command { font: 12px/1.5 ui-monospace, monospace; text-align: left; border: 0; background: #f6f8fa; padding: 8px 12px; margin: auto 0 0; cursor: copy; white-space: pre-wrap; overflow-wrap: anywhere; color: inherit; width: 100% }
.command span { white-space: nowrap }
.command:hover, .command:focus-visible { background: #ddf4ff }
.command.copied::after { content: "  copied"; color: #1a7f37 }
@media print { .picture { height: 150px } section { grid-template-columns: repeat(4, 1fr) } .command { font-size: 8px } }
</style>
<h1>attn-cli: gallery</h1>
<p>A click enlarges a picture, or copies the command below it. The built-in model makes nearly all of them, so they run as they stand.</p>
HTML
    while IFS= read -r line; do
        case $line in
        '## '*) printf '%s<h2>%s</h2>\n<section>\n' "${section-}" "$(as_html <<<"${line#'## '}")" && section='</section>' ;;
        *'<br>') caption=$(as_html <<<"${line%'<br>'}" | sed 's|\*\([^*]*\)\*|<em>\1</em>|g') ;;
        '<img '*) picture=${line#*data/pictures/} picture=data/pictures/${picture%%\"*} command='' ;;
        '```')
            printf '<figure><button class="picture" aria-label="enlarge"><img alt="" src="data:%s;base64,%s"></button>' \
                "$(type_of "$picture")" "$(base64 -w 0 "$picture")"
            printf '<figcaption>%s</figcaption><button class="command">%s</button></figure>\n' "$caption" \
                "$(printf %s "${command%$'\n'}" | as_html | keep_options)"
            ;;
        '$ '* | 'attn-cli '*) command+=${line#'$ '}$'\n' ;;
        esac
    done <cmd/manual/gallery.md
    cat <<'HTML'
</section>
<dialog><img alt=""></dialog>
<script>
const dialog = document.querySelector("dialog");
dialog.onclick = () => dialog.close();
for (const button of document.querySelectorAll(".picture"))
    button.onclick = () => {
        dialog.firstChild.src = button.firstChild.src;
        dialog.showModal();
    };
for (const button of document.querySelectorAll(".command"))
    button.onclick = async () => {
        await navigator.clipboard.writeText(button.textContent);
        button.classList.add("copied");
        setTimeout(() => button.classList.remove("copied"), 1500);
    };
</script>
HTML
} >"$page"
echo "$page: $(grep -c '<figure>' "$page") pictures"
