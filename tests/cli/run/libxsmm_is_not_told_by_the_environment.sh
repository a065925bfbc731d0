export LIBXSMM_VERBOSE=3 LIBXSMM_DUMP_BUILD=1 ATTN_CLI_GEMM=jit
attn-cli run --csv - --sites pattern "Life is"
ls -A
