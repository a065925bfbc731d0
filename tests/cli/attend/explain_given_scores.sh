# the table of an article; a row of which some, and one of which all are -inf
attn-cli attend --scores "$FIXTURES/../golden/attend/004_score_table/scores.npy" --explain
attn-cli attend --scores "$FIXTURES/../golden/002_mask4/masked_scores_example.npy" --queries 1 --explain
npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" && cat; } >"$1"; }
printf '\0\0\x80\xff\0\0\x80\xff' | npy hidden.npy '<f4' '(1, 2)'
attn-cli attend --scores hidden.npy --explain
