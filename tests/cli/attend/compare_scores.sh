# The errors of a row can be counted on one's fingers: 0.2 of the weight is left out.
printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 5), }" >scores.npy
printf '\0\0\0\0%.0s' {1..5} >>scores.npy
attn-cli attend --scores scores.npy --attention window:4 --compare --csv -
