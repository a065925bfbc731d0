/*
 * config_keys.h - the keys that most families of Hugging Face share: sizes, activation, epsilon,
 * tying. A family says what they are when they are absent.
 */
#ifndef ATTN_MODEL_CONFIG_KEYS_H
#define ATTN_MODEL_CONFIG_KEYS_H

#include "model/config_internal.h"

/* The defaults of a family. */
struct attn_config_keys {
    size_t n_vocab;   /* vocab_size */
    size_t d_model;   /* hidden_size */
    size_t d_mlp;     /* intermediate_size */
    size_t n_layer;   /* num_hidden_layers */
    size_t n_head;    /* num_attention_heads */
    size_t n_kv_head; /* num_key_value_heads; 0: n_head, which null always means */
    size_t d_head;    /* head_dim; 0: d_model / n_head */
    size_t n_ctx;     /* max_position_embeddings */
    bool is_plain;    /* the family has neither num_key_value_heads nor head_dim */
    bool is_divided;  /* n_head must divide d_model even when there is a head_dim */
    bool is_tied;     /* tie_word_embeddings */
    const char *activation_key, *activation;
    const char *eps_key;
    double eps;
};

/*
 * Reads them into CONFIG, and makes its LAYERS: each attends to all tokens before a query and to
 * itself, with scores divided by sqrt(d_head). What no family has is refused (config_extras.h).
 */
enum attn_status attn_config_read_keys(const struct attn_json *json,
                                       const struct attn_config_keys *keys,
                                       struct attn_config *config,
                                       struct attn_config_layers *layers, struct attn_error *err);

#endif
