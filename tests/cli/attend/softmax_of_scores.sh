# The table of an article, which says it is a softmax and is not: these are the true weights.
attn-cli attend --scores "$FIXTURES/../golden/attend/004_score_table/scores.npy" --csv - --precision 4
