/* config_internal.h - shared by the readers of config.json (family.h): keys of most families of
 * Hugging Face, rotary positions, windows by layer. A family defines the values of absent keys. */
#ifndef ATTN_MODEL_CONFIG_INTERNAL_H
#define ATTN_MODEL_CONFIG_INTERNAL_H

#include "formats/json.h"
#include "model/config.h"

/* Ranges of sizes from files: enough for any model, small enough for every product of two. */
enum {
    ATTN_MAX_LAYER = 4096,
    ATTN_MAX_WIDTH = 1 << 24,
    ATTN_MAX_CTX = 1 << 30,
    ATTN_MAX_VOCAB = 1 << 30
};

/* The lists that a config points to, which are written while it is read. */
struct attn_config_layers {
    struct attn_attention *attention; /* owns; [n_layer] */
    bool *is_cross;                   /* owns; [n_layer] */
    struct attn_rope *rope;           /* owns; [n_layer] */
    float *divisors;                  /* owns; divisors from a GGUF file's rope_freqs, or NULL */
    const char **labels;              /* owns; [n_vocab] of an image classifier, or NULL */
    char *label_text;                 /* owns; the memory that they point to */
};

/* Makes the lists of CONFIG, whose n_layer is known: no layer reads a source, each has the
 * attention FIRST, and what `rope` holds is zeroed. */
enum attn_status attn_config_allocate_layers(struct attn_config *config,
                                             struct attn_config_layers *layers,
                                             const struct attn_attention *first,
                                             struct attn_error *err);
void attn_config_release(struct attn_config *config, struct attn_config_layers *layers);

/* Whether a config that was read can be run: no part is missing here, and sizes fit each other. */
enum attn_status attn_config_check(const struct attn_json *json, const struct attn_config *config,
                                   struct attn_error *err);

/* Fails if N of KEY do not divide WHOLE of WHOLE_KEY; the hint names a number that does. */
enum attn_status attn_config_check_divides(const struct attn_json *json, const char *key, size_t n,
                                           const char *whole_key, size_t whole,
                                           struct attn_error *err);

/* The largest number up to N that divides WHOLE, both above 0. For hints. */
size_t attn_config_nearest_divisor(size_t whole, size_t n);

/* Stores the known spelling of activation NAME in *ACT_FN; ATTN_UNSUPPORTED lists them. */
enum attn_status attn_config_set_activation(const struct attn_json *json, const char **act_fn,
                                            const char *key, const char *name,
                                            struct attn_error *err);

/* The number by which a file names the weights of LAYER: its own, or its group's. */
size_t attn_config_weights_layer(const struct attn_config *config, size_t layer);

/* --- fields ----------------------------------------------------------------------------------- */

enum attn_config_type {
    ATTN_CONFIG_TEXT,  /* const char * */
    ATTN_CONFIG_SIZE,  /* size_t */
    ATTN_CONFIG_WORD,  /* an enum */
    ATTN_CONFIG_FLAG,  /* bool */
    ATTN_CONFIG_REAL,  /* float */
    ATTN_CONFIG_FACTOR /* double; 0: none */
};

/* A field of a config, by which it is shown (inspection.h), and a key of model_type "attn". */
struct attn_config_field {
    const char *name; /* "n_layer", "has_residual" */
    const char *key;  /* "n_layer", "residual"; NULL: no key, or a key of another form */
    enum attn_config_type type;
    size_t offset;            /* in struct attn_config */
    bool is_of_source;        /* shown only where a layer attends to a source */
    bool is_of_encoder;       /* shown only for encoders */
    bool is_of_tower;         /* shown only for the towers of CLIP */
    bool is_of_image;         /* shown only for models that read pictures */
    size_t max;               /* largest value of a size with a key */
    const char *const *words; /* names of a word, in the order of its enum */
    int n_key_word;           /* the first of them that the key may be */
    const char *expected;     /* and those that have an effect, for messages */
};

/* All of them, in the order in which they are shown; ended by a NULL name. */
extern const struct attn_config_field attn_config_fields[];

/* Whether some layer attends to a source. */
bool attn_config_has_cross(const struct attn_config *config);

/* --- configs of Hugging Face ------------------------------------------------------------------ */

/* An alternative key, used if the first is absent; or NULL. */
struct attn_config_key {
    const char *name, *alias;
};

/* The keys of a family for the sizes; name NULL: no such key. */
struct attn_config_names {
    struct attn_config_key n_vocab, d_model, d_mlp, n_layer, n_head, n_ctx;
};

/* vocab_size, hidden_size, ... */
extern const struct attn_config_names attn_config_usual_names;

/* The keys of a family for the numbers of rotary positions at the top level of its configs, where
 * they are if the object (see attn_config_read_rope) lacks them, and their defaults. */
struct attn_rope_keys {
    const char *theta; /* NULL: the family has no rotary positions */
    double default_theta;
    const char *partial;    /* the share of a head's components that are turned */
    double default_partial; /* 1: the family turns all, and no other share is taken */
};

/* Which layers have a window. */
enum attn_window_rule {
    ATTN_WINDOWS_NONE,
    ATTN_WINDOWS_IN_ALL,   /* all layers, `sliding_window` wide; null: no window */
    ATTN_WINDOWS_BY_LIST,  /* the layers in `layer_types`, by default all but each full_every-th */
    ATTN_WINDOWS_SWITCHED, /* the same if `use_sliding_window` is true, but by default the layers
                              from `max_window_layers` on; null `sliding_window`: no window */
};

struct attn_windows {
    enum attn_window_rule rule;
    size_t width;      /* tokens that a query sees, with itself */
    bool is_centered;  /* it sees width / 2 to each side; the config has width as `local_attention`,
                          full_every as `global_attn_every_n_layers`, beginning with layer 0 */
    size_t first;      /* layers before it have no window, unless the list has it */
    size_t full_every; /* others lack it if this divides layer + 1; 0: none does */
    bool has_pattern;  /* the config has full_every as `sliding_window_pattern` */
};

/* How a family writes its configs: a row that attn_config_read_form reads by. */
struct attn_config_form {
    /* The defaults of the config, and the parts that every block has. n_kv_head 0: n_head, which
     * null always means; d_head 0: d_model / n_head; d_mlp 0: 4 d_model. */
    struct attn_config defaults;
    const struct attn_config_names *names; /* NULL: vocab_size, hidden_size, ... */
    const char *activation_key, *eps_key;
    bool has_no_heads_keys; /* neither num_key_value_heads nor head_dim is a key */
    bool is_divided;        /* n_head must divide d_model even when there is a head_dim */

    /* Further keys. */
    bool has_parallel_key;       /* use_parallel_residual */
    bool has_attention_bias_key; /* attention_bias: of q, k, v and the output projection */
    bool has_mlp_bias_key;       /* mlp_bias */
    bool has_qk_norm_key;        /* norms of each head: qk_layernorm */
    double query_scalar; /* query_pre_attn_scalar: replaces d_head under the root; 0: no such key */
    double score_cap;    /* attn_logit_softcapping; 0: no such key */
    bool has_logits_cap_key;  /* final_logit_softcapping */
    bool is_embedding_scaled; /* by sqrt(d_model) */
    struct attn_windows windows;
    struct attn_rope_keys rope;
    struct attn_rope_keys rope_of_windows; /* of layers with a window; theta NULL: the same */
};

/* Refuses parts that no family has: quantized weights, experts, another mask. */
enum attn_status attn_config_refuse_extras(const struct attn_json *json, struct attn_error *err);

/* Reads JSON into CONFIG, which holds the defaults of FORM, and makes its LAYERS: each attends to
 * all tokens before a query and to itself, with scores divided by sqrt(d_head), unless FORM defines
 * otherwise. Unsupported parts are refused by name. */
enum attn_status attn_config_read_form(const struct attn_json *json,
                                       const struct attn_config_form *form,
                                       struct attn_config *config,
                                       struct attn_config_layers *layers, struct attn_error *err);

/*
 * Reads rotary positions in all forms that transformers has written: `rope_parameters` since
 * version 5, `rope_scaling` and keys at the top level before. Needs d_head and n_ctx of CONFIG, and
 * fills LAYERS->rope. An unknown type of scaling is refused by name.
 *
 * If FORM has no rope_of_windows, all layers are the same: the object is `rope_scaling` if it is
 * filled, else `rope_parameters`. Otherwise layers with a window have the object
 * `sliding_attention` of `rope_parameters`, by default rope_of_windows; the others
 * `full_attention`, or `rope_scaling`, by default the numbers of rope.
 */
enum attn_status attn_config_read_rope(const struct attn_json *json,
                                       const struct attn_config_form *form,
                                       struct attn_config *config,
                                       struct attn_config_layers *layers, struct attn_error *err);

#endif
