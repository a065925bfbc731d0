export LIBXSMM_VERBOSE=3 LIBXSMM_DUMP_BUILD=1 ATTN_CLI_GEMM=jit
attn-cli run -m life-is-short --csv - --sites pattern "Life is"
ls -A
