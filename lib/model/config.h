/*
 * config.h - the architecture of a model, as data.
 *
 * One decoder serves every family; a config says which parts its blocks have. Two kinds of
 * directory are read: "model_type": "gpt2" (Hugging Face's keys) and "attn" (ours: attention-only
 * toys and teaching models). Parts that other families need have their fields already; a value this
 * version cannot run is refused by name when it is read.
 */
#ifndef ATTN_MODEL_CONFIG_H
#define ATTN_MODEL_CONFIG_H

#include "attention/attention.h"
#include "base/status.h"
#include "trace/site.h"

#include <stdbool.h>
#include <stddef.h>

enum attn_norm { ATTN_NORM_NONE, ATTN_NORM_LAYERNORM, ATTN_NORM_RMSNORM };
enum attn_positions { ATTN_POSITIONS_NONE, ATTN_POSITIONS_LEARNED, ATTN_POSITIONS_ROTARY };
enum attn_output_layer {
    ATTN_OUTPUT_NONE,
    ATTN_OUTPUT_TIED, /* W_U is the transposed embedding */
    ATTN_OUTPUT_OWN
};

/* Rotary position embedding (Su et al. 2104.09864). */
struct attn_rope {
    size_t d_rotary; /* first components of a head that are turned */
    double base;     /* theta */
    double factor;   /* linear scaling of positions; 1: none */
};

struct attn_config {
    const char *model_type; /* "gpt2" or "attn"; constant */
    size_t n_layer, n_head;
    size_t n_kv_head; /* divides n_head; query head h uses key/value head h / (n_head/n_kv_head) */
    size_t d_model, d_head, d_value;
    size_t d_mlp;         /* 0: blocks have no MLP */
    size_t n_ctx;         /* longest sequence; SIZE_MAX when nothing limits it */
    size_t n_vocab;       /* rows of the embedding */
    const bool *is_cross; /* [n_layer]: keys and values come from the source, not from the stream */
    size_t d_source;      /* width of the source that such layers read */
    enum attn_norm norm;  /* before attention and before the MLP */
    float norm_eps;       /* added to the variance */
    bool has_final_norm;
    bool has_qk_norm; /* each head's q and k are normalized */
    enum attn_positions positions;
    struct attn_rope rope;
    const char *act_fn;   /* "gelu_new", ...; constant */
    bool has_gated_mlp;   /* mlp_post = act(x W_gate) * (x W_in) */
    bool has_projections; /* false: q = k = v = the block's input */
    bool has_qkv_bias;
    bool has_out_proj; /* W_O; without it heads are concatenated */
    bool has_out_bias; /* b_O */
    bool has_residual; /* resid_mid = resid_pre + attn_out, resid_post = resid_mid + mlp_out */
    bool has_parallel_residual; /* resid_post = resid_pre + attn_out + mlp_out */
    enum attn_output_layer output;
    const struct attn_attention *attention; /* [n_layer], each layer's own */
};

/*
 * The sizes that decide the shapes of a run over N_POSITION positions, and which sites there are.
 * A run with a source sets n_source in the result. Borrows from CONFIG.
 */
ATTN_API struct attn_dims attn_config_dims(const struct attn_config *config, size_t n_position);

#endif
