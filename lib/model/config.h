/*
 * config.h - the architecture of a model, as data.
 *
 * One decoder serves every family; a config says which parts its blocks have. Two kinds of
 * directory are read: "model_type": "gpt2" (Hugging Face's keys) and "attn" (ours: attention-only
 * toys and teaching models).
 */
#ifndef ATTN_MODEL_CONFIG_H
#define ATTN_MODEL_CONFIG_H

#include "attention/attention.h"
#include "base/status.h"
#include "trace/site.h"

#include <stdbool.h>
#include <stddef.h>

enum attn_norm { ATTN_NORM_NONE, ATTN_NORM_LAYERNORM };
enum attn_positions { ATTN_POSITIONS_NONE, ATTN_POSITIONS_LEARNED };
enum attn_output_layer { ATTN_OUTPUT_NONE, ATTN_OUTPUT_TIED /* W_U = W_E^T */, ATTN_OUTPUT_OWN };

struct attn_config {
    const char *model_type; /* "gpt2" or "attn"; constant */
    size_t n_layer, n_head;
    size_t n_kv_head; /* divides n_head; query head h uses key/value head h / (n_head/n_kv_head) */
    size_t d_model, d_head, d_value;
    size_t d_mlp;        /* 0: blocks have no MLP */
    size_t n_ctx;        /* longest sequence; SIZE_MAX when nothing limits it */
    size_t n_vocab;      /* rows of the embedding */
    enum attn_norm norm; /* before attention, before the MLP, and at the end */
    float norm_eps;      /* added to the variance */
    enum attn_positions positions;
    int activation;       /* enum attn_activation of the kernels */
    bool has_projections; /* false: q = k = v = the block's input (article 002's simplified
                             attention) */
    bool has_qkv_bias;
    bool has_out_proj, has_out_bias; /* W_O and b_O; without W_O heads are concatenated */
    bool has_residual; /* resid_mid = resid_pre + attn_out, resid_post = resid_mid + mlp_out */
    enum attn_output_layer output;
    struct attn_attention *attention; /* [n_layer] */
};

/* The sizes that decide the shapes of a run over N_POSITION positions, and which sites the model
 * has. */
ATTN_API struct attn_dims attn_config_dims(const struct attn_config *config, size_t n_position);

#endif
