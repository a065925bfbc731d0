# damage_summary.awk - scores.csv and damage.csv of damage.sh in a line per model: bits a weight,
# perplexity, the mean of all heads, and the heads that changed most.
FNR == 1 { file++; next }
{
    match($0, /^"([^"]|"")*",/)
    model = substr($0, 1, RLENGTH - 1)
    split(substr($0, RLENGTH + 1), rest, ",")
}
file == 1 { models[++n] = model; weight[model] = rest[1]; perplexity[model] = rest[5]; next }
{
    sum[model] += rest[5]; count[model]++
    name = rest[1] "." rest[2] (rest[3] == "" ? "" : " (" rest[3] ")")
    for (i = 1; i <= 3; i++) # the three largest, in order
        if (!((model, i) in best) || rest[5] > best[model, i]) {
            for (j = 3; j > i; j--) if ((model, j - 1) in best) { best[model, j] = best[model, j - 1]; names[model, j] = names[model, j - 1] }
            best[model, i] = rest[5]; names[model, i] = name
            break
        }
}
END {
    for (m = 1; m <= n; m++) {
        model = models[m]
        name = substr(model, 2, length(model) - 2)
        gsub(/""/, "\"", name)
        printf "%s: %.4g bits a weight, perplexity %.4f", name, weight[model], perplexity[model]
        if (model in sum) {
            printf ", mean tv %.4f, most in", sum[model] / count[model]
            for (i = 1; i <= 3 && (model, i) in best; i++) printf "%s head %s %.4f", (i > 1 ? "," : ""), names[model, i], best[model, i]
        }
        print ""
    }
}
