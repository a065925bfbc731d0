attn-cli inspect --length 7 --source-length 4 "$FIXTURES/attn-cross" | sed -n '/attention 0/,/^$/p;/^Multiply/,$p'
attn-cli inspect --length 7 "$FIXTURES/attn-cross" | grep -A 3 '^Multiply'
attn-cli inspect --length 7 --source-length 4 --json "$FIXTURES/attn-cross" | grep -e n_source -e '"pattern"' -e is_cross
