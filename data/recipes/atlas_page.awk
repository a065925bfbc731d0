# atlas_page.awk - a page of the table of atlas_table.awk: for each measure a grid of layers and heads,
# from the smallest mean (white) to the largest (dark). One file, without scripts.
function escape(text) {
    gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text)
    return text
}
BEGIN { FS = ","; n_layer = n_head = 0 }
NR == 1 { n = (NF - 2) / 3; for (i = 1; i <= n; i++) name[i] = $(3 * i); next }
{
    if ($1 + 1 > n_layer) n_layer = $1 + 1
    if ($2 + 1 > n_head) n_head = $2 + 1
    for (i = 1; i <= n; i++) {
        mean[i, $1, $2] = $(3 * i); sd[i, $1, $2] = $(3 * i + 1); texts[i, $1, $2] = $(3 * i + 2)
        if ($(3 * i) == "") continue
        if (!(i in low) || $(3 * i) + 0 < low[i]) low[i] = $(3 * i) + 0
        if (!(i in high) || $(3 * i) + 0 > high[i]) high[i] = $(3 * i) + 0
    }
}
function cell(i, layer, head,    share, tip) {
    if (!((i, layer, head) in mean) || mean[i, layer, head] == "") return "<td class=none></td>"
    share = high[i] > low[i] ? (mean[i, layer, head] - low[i]) / (high[i] - low[i]) : 0
    tip = sprintf("head %d.%d: %.4g, standard deviation %.2g, %d texts", layer, head, mean[i, layer, head],
        sd[i, layer, head], texts[i, layer, head])
    return sprintf("<td style=\"background:rgb(%d,%d,%d);color:%s\" title=\"%s\">%.2f</td>", 255 - 247 * share,
        255 - 207 * share, 255 - 148 * share, share > 0.45 ? "#fff" : "#000", tip, mean[i, layer, head])
}
END {
    print "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    print "<meta name=\"viewport\" content=\"width=device-width\"><title>" escape(title) "</title>\n<style>"
    print "body{font:14px sans-serif;margin:1em;background:#fff;color:#000}"
    print "div{overflow-x:auto}table{border-collapse:collapse}h2{font-size:1em;margin:1.5em 0 .5em}"
    print "td,th{padding:.2em .4em;text-align:right;font-variant-numeric:tabular-nums;font-weight:normal}"
    print "th{color:#555}td{border:1px solid #fff}.none{background:#eee}"
    print "</style></head><body>\n<h1>" escape(title) "</h1>"
    print "<p>Means over texts. Rows are layers and columns are heads; a cell tells more under the mouse."
    print "Attention is not by itself an explanation of what the model does.</p>"
    for (i = 1; i <= n; i++) {
        if (name[i] ~ /^n_/ || !(i in low)) continue
        printf "<h2>%s, from %.3g to %.3g</h2>\n<div><table><tr><th></th>", escape(name[i]), low[i], high[i]
        for (head = 0; head < n_head; head++) printf "<th>%d</th>", head
        print "</tr>"
        for (layer = 0; layer < n_layer; layer++) {
            printf "<tr><th>%d</th>", layer
            for (head = 0; head < n_head; head++) printf "%s", cell(i, layer, head)
            print "</tr>"
        }
        print "</table></div>"
    }
    print "</body></html>"
}
