# damage_table.awk - means over texts of each head, from many tables of `attn-cli diff --csv` one after
# another, each with its header: layer,head,n_row,tv,tv_max,position,js. The first file has such tables of
# `attn-cli heads --csv`, whose column `type` is taken from the last that has one for the head.
BEGIN { FS = OFS = ","; CONVFMT = "%.9g" }
NR == FNR {
    if ($1 == "layer") { for (i = 1; i <= NF; i++) if ($i == "type") type_at = i }
    else if ($type_at != "") type[$1, $2] = $type_at
    next
}
$1 == "layer" || $4 == "" { next }
{
    if (!(($1, $2) in texts)) order[++n] = $1 SUBSEP $2
    texts[$1, $2]++; tv[$1, $2] += $4; js[$1, $2] += $7
    if ($5 + 0 > most[$1, $2] + 0) most[$1, $2] = $5
}
END {
    for (i = 1; i <= n; i++) {
        key = order[i]
        split(key, head, SUBSEP)
        print model, head[1], head[2], type[key], texts[key], tv[key] / texts[key], most[key] + 0, js[key] / texts[key]
    }
}
