attn-cli --version | sed -E 's/\((baseline|avx2|avx512), (libxsmm|portable matrix products)[ 0-9.]*\)/(ISA, PRODUCTS)/'
