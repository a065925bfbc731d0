# The article says vocab_size = 6 and prints six rows of a table of 50000:
#     [ 0.3374, -0.1778, -0.3035], [ 0.1794,  1.8951,  0.4954], [ 0.2692, -0.0770, -1.0205],
#     [-0.2196, -0.3792,  0.7671], [-0.5880,  0.3486,  0.6603], [-1.1925,  0.6984, -1.4097]
LIFE="Life is short, eat dessert first"
attn-cli init printed --vocab-from "$LIFE" --drop , --set d_model=3 --draw embed=randn@123 --embedding-rows 50000
attn-cli run -m printed --sites embed --precision 4 --csv - "$LIFE"
# What its code as written gives: only the first two numbers are the same.
attn-cli init written --vocab-from "$LIFE" --drop , --set d_model=3 --draw embed=randn@123
attn-cli run -m written --sites embed --precision 4 --csv - "$LIFE"
