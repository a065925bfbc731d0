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
#include "model/label_config.h"
#include "model/part_config.h"
#include "model/rope_config.h"
#include "model/stack_config.h"
#include "trace/site.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    size_t n_vocab;      /* columns of the logits: tokens, or the labels of a classifier; for
                            pictures without one 0 */
    bool is_encoder;     /* every token sees all others: a sequence goes through in one feed, and a
                            token is predicted at its own position */
    size_t d_embed;      /* width of the embedding and of the output matrix: d_model, or less */
    bool has_embed_map;  /* resid_pre = x W + b of the embedding x, from d_embed to d_model */
    bool has_embed_norm; /* a norm of the embedding with its positions and types */
    bool embeds_normed;  /* a norm of each row of the embedding, which `embed` shows */
    size_t n_type;       /* token types, whose rows are added to the embedding; 0: none */
    size_t first_position; /* the first token has this learned position. Above 0, an encoder's
                              padding tokens, whose id is first_position - 1, have that position
                              and are not counted */
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
    const char *head_act_fn;   /* a head, norm(act(x W + b)), before the output matrix: of an MLM to
                                  d_embed, of classes to d_model, perhaps without the norm; NULL: no
                                  head */
    bool has_head_bias;        /* b */
    enum attn_output_layer output;
    bool has_output_bias; /* bias of the output layer, own or tied */
    bool has_two_towers;  /* its files hold another tower, too (enum attn_tower) */
    size_t d_projected;   /* width of text_embed or image_embed, a map of one row of ln_final; 0:
                             absent */
    int32_t projected_id; /* text_embed is made of the row of the first token with this id;
                             ATTN_LARGEST_ID: of the first token with the largest id in the text.
                             image_embed is made of the first row */
    struct attn_image_config image;
    const char *const *labels; /* [n_vocab] of a classifier, from `id2label`; or NULL */
    double logits_cap;         /* logits become cap * tanh(logits / cap); 0: no cap */
    const struct attn_attention *attention; /* [n_layer], each layer's own: window, scale, cap */
    /* [n_end_id] the first few tokens that end a text (eos_token_id of generation_config.json, else
     * config.json) */
    int32_t end_ids[ATTN_CONFIG_N_END];
    size_t n_end_id;
    size_t n_token; /* rows of the embedding; 0 for pictures */
    enum attn_task task;
    enum attn_label_kind label_kind; /* of a classifier */
    enum attn_pooling pooling;       /* rows that one row of logits reads; none: a row each */
    bool is_sentence;                /* sentence_embed is made of the rows after the last layer */
    int64_t pad_id;                  /* not read by ATTN_POOLING_LAST; -1: none */
    double residual_scale; /* attn_out and mlp_out are multiplied by it; 0: they are not */
    double logits_scale;   /* logits are multiplied by it, before the cap; 0: they are not */
    double qkv_clip;       /* q, k and v are kept within -qkv_clip and qkv_clip; 0: no limits */
    struct attn_stack_config stack; /* of a model with an encoder and a decoder */
    bool has_output_map;            /* a map from d_model to d_embed before the output matrix */
    const attn_site_set *lacking;   /* [n_layer] sites that a layer does not have, but others do */
    /* A mixture of experts in place of the MLP: a router chooses n_expert_used of n_expert MLPs for
     * each token, whose weighted outputs are added. */
    size_t n_expert, n_expert_used; /* 0: no mixture */
    size_t d_expert;                /* width of an expert */
    size_t d_shared_expert;         /* width of an MLP for every token, times a gate; 0: none */
    enum attn_expert_weights expert_weights;
    bool has_expert_bias; /* of the router, too */
    double expert_limit;  /* experts are (u + 1) g sigmoid(alpha g) of g and u within this limit; 0:
                             they are gated MLPs as elsewhere */
    double expert_alpha;
    const bool *is_dense;   /* [n_layer]: the layer has an MLP, not experts */
    bool has_sinks;         /* each head has a score without a key (struct attn_attention) */
    bool has_token_dropout; /* rows of mask_id are 0, the others are multiplied by 0.88 / (1 - the
                               share of masks in the text) */
    int64_t mask_id;        /* of such a model */
    bool has_residues;      /* tokens are residues of a protein; messages call them K17 */
    bool has_contacts;      /* a regression from its patterns to contacts of residues */
};

/* The sizes that decide the shapes of a run over N_POSITION positions, and which sites there are. A
 * run with a source sets n_source in the result. Borrows from CONFIG. */
ATTN_API struct attn_dims attn_config_dims(const struct attn_config *config, size_t n_position);

#endif
