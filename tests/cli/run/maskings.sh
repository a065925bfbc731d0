# The second way of the articles is the first written otherwise; the third leaves rows below 1.
run() { attn-cli run -m life-is-short "Life is short, eat dessert" --csv - --precision 4 --sites pattern --masking "$@"; }
run inf >inf
run renormalize | diff inf - && cat inf
run zero
