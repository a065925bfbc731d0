# dropout = 0.1 in training: a weight is 0, or divided by 0.9
attn-cli run -m "$FIXTURES/golden-002-multi-head" --dropout 0.1 --seed 2 --heads 0 \
    --sites pattern,pattern_dropped --precision 4 --csv . "x1 x2 x3 x4 x5"
head -n 9 *.csv
