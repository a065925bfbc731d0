/*
 * config.h - the architecture of a model, as data.
 *
 * One forward pass serves every family; a config specifies the parts of its blocks. A field that is
 * zero means that the part is absent, or that no number is added or multiplied.
 */
#ifndef ATTN_MODEL_CONFIG_H
#define ATTN_MODEL_CONFIG_H

#include "attention/attention.h"
#include "base/status.h"
#include "model/image_config.h"
#include "model/rope_config.h"
#include "trace/site.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All norms of a model are of one kind. RMSNorm: Zhang and Sennrich 1910.07467. */
enum attn_norm {
    ATTN_NORM_NONE = 0,
    ATTN_NORM_LAYERNORM = 1,        /* (x - mean) / sqrt(variance + eps) * w + b */
    ATTN_NORM_RMSNORM = 2,          /* x / sqrt(mean of x^2 + eps) * w */
    ATTN_NORM_RMSNORM_PLUS_ONE = 3, /* x / sqrt(mean of x^2 + eps) * (1 + w) */
    ATTN_NORM_LAYERNORM_NO_BIAS = 4,
};

/* Where a block normalizes. */
enum attn_norm_place {
    ATTN_NORM_PRE = 0,    /* the input of attention and the MLP */
    ATTN_NORM_POST = 1,   /* their outputs */
    ATTN_NORM_AROUND = 2, /* both */
    ATTN_NORM_SUM = 3,    /* the stream itself, after each sum */
};

/* Which rows of q and k are normalized, before they are turned. */
enum attn_qk_norm {
    ATTN_QK_NORM_NONE = 0,
    ATTN_QK_NORM_PER_HEAD = 1,  /* each head by itself, all heads with the same weights [E] */
    ATTN_QK_NORM_ALL_HEADS = 2, /* all heads of a position at once, with weights [H*E] and [G*E] */
};

enum attn_positions {
    ATTN_POSITIONS_NONE = 0,
    ATTN_POSITIONS_LEARNED = 1,
    ATTN_POSITIONS_ROTARY = 2
};
enum attn_output_layer {
    ATTN_OUTPUT_NONE = 0,
    ATTN_OUTPUT_TIED = 1, /* W_U is the transposed embedding */
    ATTN_OUTPUT_OWN = 2
};

enum { ATTN_CONFIG_N_END = 8 };

struct attn_config {
    size_t size;            /* of this struct, as the library knows it */
    const char *model_type; /* as in config.json: "gpt2", "llama", ...; constant */
    size_t n_layer, n_head;
    size_t n_kv_head; /* divides n_head; query head h uses key/value head h / (n_head/n_kv_head) */
    size_t d_model, d_head, d_value;
    size_t d_out;        /* width of attn_out: d_model, unless the model is attention alone */
    size_t d_mlp;        /* 0: blocks have no MLP */
    size_t n_ctx;        /* longest sequence; SIZE_MAX when nothing limits it */
    size_t n_vocab;      /* rows of the embedding; an image classifier's labels, else 0 */
    bool is_encoder;     /* every token sees all others: a sequence goes through in one feed, and a
                            token is predicted at its own position */
    size_t d_embed;      /* width of the embedding and of the output matrix: d_model, or less */
    bool has_embed_map;  /* resid_pre = x W + b of the embedding x, from d_embed to d_model */
    bool has_embed_norm; /* a norm of the embedding with its positions and types */
    size_t n_type;       /* token types, whose rows are added to the embedding; 0: none */
    size_t first_position; /* the first token has this learned position. Above 0, padding tokens,
                              whose id is first_position - 1, have that position and are not
                              counted */
    double embed_scale;    /* embedding rows are multiplied by it, in float32; 0: they are not */
    const bool *is_cross; /* [n_layer]: keys and values come from the source, not from the stream */
    size_t d_source;      /* width of the source that such layers read */
    size_t n_source;      /* longest source; 0: nothing limits it */
    enum attn_positions source_positions; /* none, or learned: added to the rows of a source */
    enum attn_norm norm;
    enum attn_norm_place norm_place;
    float norm_eps;           /* added to the variance, or to the mean of the squares */
    bool begins_without_norm; /* layer 0 has no norm before attention */
    bool has_single_norm;     /* one norm before both attention and the MLP */
    bool has_final_norm;
    enum attn_qk_norm qk_norm;
    enum attn_positions positions;
    const struct attn_rope *rope; /* [n_layer], of rotary positions */
    const char *act_fn;           /* "gelu_new", ...; constant */
    bool has_gated_mlp;           /* mlp_post = act(x W_gate) * (x W_in), else act(x W_in) */
    bool has_projections;         /* false: q = k = v = the block's input */
    bool has_qkv_bias;
    bool has_out_proj;    /* W_O; without it heads are concatenated */
    bool has_out_bias;    /* b_O */
    bool has_mlp_bias;    /* b_in, b_out, and of a gated MLP b_gate */
    bool has_layer_scale; /* attn_out and mlp_out are each multiplied by weights [D] */
    bool has_residual;    /* resid_mid = resid_pre + attn_out, resid_post = resid_mid + mlp_out */
    size_t n_group; /* layers of a group, which follow each other, have the same weights; 0: none */
    bool
        has_parallel_residual; /* resid_post = resid_pre + attn_out + mlp_out, with one resid_pre */
    const char *head_act_fn; /* an MLM head, norm(act(x W + b)), from d_model to d_embed, before the
                                output matrix; NULL: no MLM head */
    bool has_head_bias;      /* b */
    enum attn_output_layer output;
    bool has_output_bias; /* bias of the output layer, own or tied */
    bool has_two_towers;  /* its files hold another tower, too (enum attn_tower) */
    size_t d_projected;   /* width of text_embed or image_embed, a map of one row of ln_final; 0:
                             absent */
    int32_t projected_id; /* text_embed is made of the row of the first token with this id;
                             ATTN_LARGEST_ID: of the first token with the largest id in the text.
                             image_embed is made of the first row */
    struct attn_image_config image;
    const char *const *labels; /* [n_vocab] of an image classifier, from `id2label`; or NULL */
    double logits_cap;         /* logits become cap * tanh(logits / cap); 0: no cap */
    const struct attn_attention *attention; /* [n_layer], each layer's own: window, scale, cap */
    /* [n_end_id] the first few tokens that end a text (eos_token_id of generation_config.json, else
     * config.json) */
    int32_t end_ids[ATTN_CONFIG_N_END];
    size_t n_end_id;
};

/* The sizes that decide the shapes of a run over N_POSITION positions, and which sites there are. A
 * run with a source sets n_source in the result. Borrows from CONFIG. */
ATTN_API struct attn_dims attn_config_dims(const struct attn_config *config, size_t n_position);

#endif
