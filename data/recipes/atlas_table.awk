# atlas_table.awk - mean, standard deviation and number of texts of each measure of each head, from the
# CSV of `attn-cli batch --csv`: id,layer,head,n_token, then the measures. A text without a value of a
# measure does not count for it. Welford's sums: each text counts once.
BEGIN { FS = OFS = ","; CONVFMT = "%.9g" }
# An id may be quoted and hold commas: the columns are counted from the end.
NR == 1 { n = NF - 4; for (i = 1; i <= n; i++) name[i] = $(4 + i); next }
{
    first = NF - n - 2
    if (first < 2 || $first !~ /^[0-9]+$/) next # an id with a line break
    head = $first OFS $(first + 1)
    if (!(head in seen)) { seen[head] = 1; order[++n_head] = head }
    for (i = 1; i <= n; i++) {
        x = $(first + 2 + i)
        if (x == "") continue
        count = ++texts[head, i]
        delta = x - mean[head, i]
        mean[head, i] += delta / count
        squares[head, i] += delta * (x - mean[head, i])
    }
}
END {
    line = "layer,head"
    for (i = 1; i <= n; i++) line = line OFS name[i] OFS name[i] "_sd" OFS name[i] "_n"
    print line
    for (h = 1; h <= n_head; h++) {
        head = order[h]
        line = head
        for (i = 1; i <= n; i++) {
            count = texts[head, i] + 0
            line = line OFS (count > 0 ? mean[head, i] + 0 : "") \
                OFS (count > 1 ? sqrt(squares[head, i] / (count - 1)) + 0 : "") OFS count
        }
        print line
    }
}
