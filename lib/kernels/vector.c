/* vector.c - the table of one instruction set. */
#include "kernels/vector.h"

const struct attn_kernels ATTN_FOR_ISA(attn_kernels) = {
#if defined __AVX512F__
    .isa = ATTN_ISA_AVX512,
#elif defined __AVX2__
    .isa = ATTN_ISA_AVX2,
#elif defined __ARM_NEON
    .isa = ATTN_ISA_NEON,
#else
    .isa = ATTN_ISA_BASELINE,
#endif
    .gemm = ATTN_FOR_ISA(attn_vector_gemm),
    .gemm_ahead = ATTN_FOR_ISA(attn_vector_gemm_ahead),
    .gemm_bf16 = ATTN_FOR_ISA(attn_vector_gemm_bf16),
    .round_bf16 = ATTN_FOR_ISA(attn_vector_round_bf16),
    .pair_bf16 = ATTN_FOR_ISA(attn_vector_pair_bf16),
    .split_bf16 = ATTN_FOR_ISA(attn_vector_split_bf16),
    .pack_panel = ATTN_FOR_ISA(attn_vector_pack_panel),
    .convert = ATTN_FOR_ISA(attn_vector_convert),
    .decode = ATTN_FOR_ISA(attn_vector_decode),
    .pack_keys = ATTN_FOR_ISA(attn_vector_pack_keys),
    .add = ATTN_FOR_ISA(attn_vector_add),
    .scale = ATTN_FOR_ISA(attn_vector_scale),
    .stream = ATTN_FOR_ISA(attn_vector_stream),
    .drain = ATTN_FOR_ISA(attn_vector_drain),
    .activate = ATTN_FOR_ISA(attn_vector_activate),
    .gate = ATTN_FOR_ISA(attn_vector_gate),
    .soft_cap = ATTN_FOR_ISA(attn_vector_soft_cap),
    .finish = ATTN_FOR_ISA(attn_vector_finish),
    .elu_plus_one = ATTN_FOR_ISA(attn_vector_elu_plus_one),
    .relu_plus_tiny = ATTN_FOR_ISA(attn_vector_relu_plus_tiny),
    .exp = ATTN_FOR_ISA(attn_vector_exp),
    .layer_norm = ATTN_FOR_ISA(attn_vector_layer_norm),
    .rms_norm = ATTN_FOR_ISA(attn_vector_rms_norm),
    .turn = ATTN_FOR_ISA(attn_vector_turn),
    .rotate = ATTN_FOR_ISA(attn_vector_rotate),
    .softmax = ATTN_FOR_ISA(attn_vector_softmax),
    .softmax_block = ATTN_FOR_ISA(attn_vector_softmax_block),
    .add_outer = ATTN_FOR_ISA(attn_vector_add_outer),
    .multiply_row = ATTN_FOR_ISA(attn_vector_multiply_row),
    .sum = ATTN_FOR_ISA(attn_vector_sum),
    .is_finite = ATTN_FOR_ISA(attn_vector_is_finite),
    .encipher = ATTN_FOR_ISA(attn_vector_encipher),
    .decipher = ATTN_FOR_ISA(attn_vector_decipher),
    .spin = ATTN_FOR_ISA(attn_vector_spin),
    .log_sum_exp = ATTN_FOR_ISA(attn_vector_log_sum_exp),
    .entropy = ATTN_FOR_ISA(attn_vector_entropy),
    .divergence = ATTN_FOR_ISA(attn_vector_divergence),
};
