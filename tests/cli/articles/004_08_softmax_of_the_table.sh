# of 0.1 0.3 0.8 1.0 0.6; the article's 0.05 0.10 0.35 0.40 0.10 are of no softmax
attn-cli attend --scores "$FIXTURES/../golden/attend/004_score_table/scores.npy" --precision 4 --csv -
