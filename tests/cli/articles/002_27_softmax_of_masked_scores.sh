# [[0.35, -inf, -inf, -inf], [-0.75, 1.21, -inf, -inf], ...] are scores, which the article calls weights;
# the weights of -inf are exactly 0
attn-cli attend --scores "$FIXTURES/../golden/002_mask4/masked_scores_example.npy" --precision 4 --csv -
attn-cli attend --scores "$FIXTURES/../golden/002_mask4/masked_scores_example.npy" --tidy - |
    awk -F , '$5 > $4 && NR > 1 { later++; zero += $8 == "0" } END { print zero, "of", later, "are 0" }'
