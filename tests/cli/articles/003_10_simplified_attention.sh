# (8.6)-(8.8): score = x_i . x_j, a softmax over j <= i, a_i the weighted sum of x_j: no matrices, no scale
attn-cli run -m "$MODELS/your-journey" --mask causal --sites attn_scores,pattern,z --precision 4 --csv . "Your journey starts with one step"
head -n 9 *.csv
