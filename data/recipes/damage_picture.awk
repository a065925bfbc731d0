# damage_picture.awk - scores.csv and damage.csv of damage.sh as one SVG: for each model a grid of layers
# and heads. The shade is the square root of tv, from white at 0 to dark at the largest of all grids.
function escape(text) {
    gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text)
    return text
}
# The model of a line that begins with it in quotes; what comes after it is in rest[].
function read_line(line,    at) {
    at = match(line, /^"([^"]|"")*",/)
    model = substr(line, 2, RLENGTH - 3)
    gsub(/""/, "\"", model)
    split(substr(line, RLENGTH + 1), rest, ",")
}
FNR == 1 { file++; next }
{ read_line($0) }
file == 1 { scores[model] = sprintf("%s bits a weight, perplexity %.4g", rest[1], rest[5]); next }
{
    if (!(model in seen)) { seen[model] = 1; models[++n_model] = model }
    if (rest[1] + 1 > n_layer) n_layer = rest[1] + 1
    if (rest[2] + 1 > n_head) n_head = rest[2] + 1
    if (rest[5] + 0 > high) high = rest[5] + 0
    tv[model, rest[1], rest[2]] = rest[5]; type[model, rest[1], rest[2]] = rest[3]; most[model, rest[1], rest[2]] = rest[6]
}
function cell(model, layer, head, x, y,    share, kind) {
    kind = type[model, layer, head]
    share = high > 0 ? sqrt(tv[model, layer, head] / high) : 0
    printf "<g><title>head %d.%d%s: tv %.4g, at most %.4g</title>", layer, head, (kind == "" ? "" : ", " kind), \
        tv[model, layer, head], most[model, layer, head]
    printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"rgb(%d,%d,%d)\"/>", x, y, width - 1, height - 1,
        255 - 247 * share, 255 - 207 * share, 255 - 148 * share
    if (has_numbers)
        printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"%s\">%.1f%s</text>", x + width / 2, y + 14, \
            (share > 0.45 ? "#fff" : "#000"), 100 * tv[model, layer, head], (kind == "" ? "" : " " substr(kind, 1, 1))
    print "</g>"
}
function grid(model, y,    layer, head) {
    printf "<text x=\"8\" y=\"%d\" font-weight=\"bold\">%s</text>", y + 14, escape(model)
    printf "<text x=\"8\" y=\"%d\" fill=\"#555\">%s</text>\n", y + 30, escape(scores[model])
    for (head = 0; head < n_head; head += has_numbers ? 1 : 4)
        printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#555\">%d</text>", 32 + head * width + width / 2, y + 48, head
    print ""
    for (layer = 0; layer < n_layer; layer++) {
        printf "<text x=\"26\" y=\"%d\" text-anchor=\"end\" fill=\"#555\">%d</text>", y + 67 + layer * height, layer
        for (head = 0; head < n_head; head++) cell(model, layer, head, 32 + head * width, y + 53 + layer * height)
    }
}
END {
    has_numbers = n_head <= 16
    width = has_numbers ? 46 : 16
    height = 20
    step = 53 + n_layer * height + 24
    wide = 48 + n_head * width
    if (wide < 620) wide = 620
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n", \
        wide, 92 + n_model * step
    print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    printf "<text x=\"8\" y=\"22\" font-size=\"15\">%s</text>\n", escape(title)
    split("Rows are layers, columns heads: mean total variation of a row of the pattern, in percent.;" \
        "Type of a head: p previous token, i induction, s self, f first, d duplicate token.;" \
        "Shade: square root, the same scale in all.", words, ";")
    for (i = 1; i <= 3; i++) printf "<text x=\"8\" y=\"%d\" fill=\"#555\">%s</text>\n", 26 + 16 * i, words[i]
    for (i = 1; i <= n_model; i++) grid(models[i], 88 + (i - 1) * step)
    print "</svg>"
}
