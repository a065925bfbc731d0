/* part_config.h - the kinds of norms, positions, mixtures and output layers (config_fields.h). */
#ifndef ATTN_MODEL_PART_CONFIG_H
#define ATTN_MODEL_PART_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

/* The kind of all norms of a model. RMSNorm: Zhang and Sennrich 1910.07467. */
enum attn_norm {
    ATTN_NORM_NONE = 0,
    ATTN_NORM_LAYERNORM = 1,        /* (x - mean) / sqrt(variance + eps) * w + b */
    ATTN_NORM_RMSNORM = 2,          /* x / sqrt(mean of x^2 + eps) * w */
    ATTN_NORM_RMSNORM_PLUS_ONE = 3, /* x / sqrt(mean of x^2 + eps) * (1 + w) */
    ATTN_NORM_LAYERNORM_NO_BIAS = 4,
    ATTN_NORM_LAYERNORM_NO_WEIGHT = 5, /* (x - mean) / sqrt(variance + eps) */
    ATTN_NORM_LAYERNORM_PLUS_ONE = 6,  /* (x - mean) / sqrt(variance + eps) * (1 + w) + b */
    ATTN_NORM_RMSNORM_NO_WEIGHT = 7,   /* x / sqrt(mean of x^2 + eps) */
    ATTN_N_NORM
};

/* The factors of Falcon-H1; 0: no factor. */
struct attn_factor_config {
    double attn_in, key, attn_out; /* of the input of q, k and v, of k, and of attn_out */
    double mixer_in, mixer_out;    /* of the input of Mamba2, and of mixer_out */
    float mixer_parts[5]; /* of mixer_gate, the channels of v, k and q, and the time steps */
    double mlp_pre, mlp_out;
};

/* Where a block normalizes. */
enum attn_norm_place {
    ATTN_NORM_PRE = 0,    /* the input of attention and the MLP */
    ATTN_NORM_POST = 1,   /* their outputs */
    ATTN_NORM_AROUND = 2, /* the inputs and the outputs */
    ATTN_NORM_SUM = 3,    /* the stream itself, after each addition */
    ATTN_N_NORM_PLACE
};

/* How q and k are normalized before rotation. */
enum attn_qk_norm {
    ATTN_QK_NORM_NONE = 0,
    ATTN_QK_NORM_PER_HEAD = 1,  /* each head separately; all heads share the weights [E] */
    ATTN_QK_NORM_ALL_HEADS = 2, /* all heads of a position at once, with weights [H*E] and [G*E] */
    ATTN_QK_NORM_EACH_HEAD = 3, /* each head separately, with separate weights: [H, E] and [G, E] */
    ATTN_N_QK_NORM
};

enum attn_positions {
    ATTN_POSITIONS_NONE = 0,
    ATTN_POSITIONS_LEARNED = 1,
    ATTN_POSITIONS_ROTARY = 2,
    ATTN_POSITIONS_ALIBI = 3, /* a bias of the scores (struct attn_score_bias) */
    ATTN_N_POSITIONS
};

/* How the weights of the chosen experts are computed from router_logits. */
enum attn_expert_weights {
    /* Softmax over all experts, so that the weights sum to less than 1. */
    ATTN_EXPERTS_SOFTMAX_ALL = 0,
    /* The same, divided by the sum over the chosen experts. */
    ATTN_EXPERTS_SOFTMAX_ALL_NORMALIZED = 1,
    ATTN_EXPERTS_SOFTMAX_CHOSEN = 2,
    /* Two experts. The weight of the best one is its share of a softmax over the logits that are
     * not far below its own, by config->router_jitter; that of the second the same over the others.
     * The weights do not sum to 1 (SparseMixer: Liu et al. 2310.00811). */
    ATTN_EXPERTS_SOFTMAX_NEAR = 3,
    /* Sigmoids (struct attn_router_config); the choice goes by them plus a correction. */
    ATTN_EXPERTS_SIGMOID = 4,
    ATTN_N_EXPERT_WEIGHTS
};

/* How sigmoids choose experts: in the N_GROUP_USED of N_GROUP groups of neighbours whose two best
 * have the largest sums. Their weights are divided by their sum, if is_normalized, then multiplied
 * by FACTOR. */
struct attn_router_config {
    size_t n_group, n_group_used;
    double factor;
    bool is_normalized;
};

enum attn_output_layer {
    ATTN_OUTPUT_NONE = 0,
    ATTN_OUTPUT_TIED = 1, /* W_U is the transposed embedding */
    ATTN_OUTPUT_OWN = 2,
    ATTN_OUTPUT_STREAM = 3, /* the components of the residual stream, without W_U */
    ATTN_N_OUTPUT_LAYER
};

#endif
