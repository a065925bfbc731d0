/* config_internal.h - shared by the readers of config.json (family.h): keys of most families of
 * Hugging Face, rotary positions, windows by layer. A family defines the values of absent keys. */
#ifndef ATTN_MODEL_CONFIG_INTERNAL_H
#define ATTN_MODEL_CONFIG_INTERNAL_H

#include "base/escape.h"
#include "formats/json.h"
#include "model/config.h"

/* Ranges of sizes from files: enough for any model, small enough for every product of two. */
enum {
    ATTN_MAX_LAYER = 4096,
    ATTN_MAX_WIDTH = 1 << 24,
    ATTN_MAX_CTX = 1 << 30,
    ATTN_MAX_VOCAB = 1 << 30
};

/* The name of JSON, for messages. */
static inline struct attn_quote attn_config_quote(const struct attn_json *json)
{
    return attn_quote_string(attn_json_name(json));
}

/* The lists that a config points to, which are written while it is read. */
struct attn_config_layers {
    struct attn_attention *attention; /* owns; [n_layer] */
    bool *is_cross;                   /* owns; [n_layer] */
    struct attn_rope *rope;           /* owns; [n_layer] */
    float *divisors;                  /* owns; of rotary frequencies, or these as a file has them;
                                         or NULL */
    struct attn_score_bias *bias;     /* owns; of all layers, or NULL */
    uint16_t *buckets;                /* owns; those of its distances, or NULL */
    attn_site_set *lacking;           /* owns; [n_layer] */
    bool *is_dense;                   /* owns; [n_layer] */
    const char **labels;              /* owns; [n_vocab] of a classifier, or NULL */
    char *label_text;                 /* owns; the memory that they point to */
};

/* Makes the lists of CONFIG, whose n_layer is known: no layer reads a source, each has the
 * attention FIRST, and what `rope` holds is zeroed. */
enum attn_status attn_config_allocate_layers(struct attn_config *config,
                                             struct attn_config_layers *layers,
                                             const struct attn_attention *first,
                                             struct attn_error *err);
/* Whether gradients of q and k need these before norm and rotation. */
static inline bool attn_config_reads_raw_qk(const struct attn_config *config)
{
    return config->qk_norm != ATTN_QK_NORM_NONE || config->qkv_clip > 0;
}

/* The most components between the maps of an MLP, an expert or a shared one. */
static inline size_t attn_config_widest_mlp(const struct attn_config *config)
{
    const size_t most = config->d_mlp > config->d_expert ? config->d_mlp : config->d_expert;

    return most > config->d_shared_expert ? most : config->d_shared_expert;
}

/* How many layers of CONFIG are one of the model: two of a decoder with an encoder. */
static inline size_t attn_config_n_part(const struct attn_config *config)
{
    return config->stack.has_encoder ? 2 : 1;
}

static inline size_t attn_config_n_whole_layer(const struct attn_config *config)
{
    return config->n_layer / attn_config_n_part(config);
}

/* Whether LAYER has an MLP. */
static inline bool attn_config_has_mlp(const struct attn_config *config, size_t layer)
{
    return config->d_mlp > 0 && (!config->stack.has_encoder || layer % 2 == 1);
}

/* Notes that LAYER lacks SITES, and their gradients. */
void attn_config_lack(struct attn_config_layers *layers, size_t layer, attn_site_set sites);

/* Makes each second layer of CONFIG one that attends to the source; the others have no MLP. */
void attn_config_pair_layers(const struct attn_config *config, struct attn_config_layers *layers);

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

/* The position of a sequence of N whose row is pooled: 0, or the last one that is no padding. For
 * text_embed and image_embed: [CLS] of pictures; the end token of a text IDS or, as in
 * transformers, its first token if it has no end token; the last row of embeddings, IDS NULL. */
size_t attn_config_pooled_row(const struct attn_config *config, const int32_t *ids, size_t n);

/* The number of rows of such a sequence that the answer depends on after the last layer: that row,
 * *FIRST, alone; or all N. */
size_t attn_config_pooled_rows(const struct attn_config *config, const int32_t *ids, size_t n,
                               size_t *first);

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
    bool is_of_mixture;       /* shown only for mixtures of experts */
    bool is_of_image;         /* shown only for models that read pictures */
    bool is_of_classes;       /* shown only for classifiers of texts */
    bool is_rare;             /* a factor that is shown only where there is one */
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

/* The keys of a family for the sizes; NULL: no such key. Where one is absent but the MLP's, the
 * usual name counts. */
struct attn_config_names {
    const char *n_vocab, *d_model, *d_mlp, *n_layer, *n_head, *n_ctx;
};

/* vocab_size, hidden_size, ... */
extern const struct attn_config_names attn_config_usual_names;

/* attn_json_get_bool, but null is false, as where transformers asks for the truth of a value. */
enum attn_status attn_config_get_truth(const struct attn_json *json, const struct attn_node *object,
                                       const char *key, bool *value, struct attn_error *err);

/* Refuses KEY and ALIAS if transformers stores them as one size and a file has two. */
enum attn_status attn_config_check_alias(const struct attn_json *json, const char *key,
                                         const char *alias, struct attn_error *err);

/* The keys of a family for the numbers of rotary positions at the top level of its configs, where
 * they are if the object (see attn_config_read_rope) lacks them, and their defaults. */
struct attn_rope_keys {
    const char *theta; /* NULL: the family has no rotary positions */
    double default_theta;
    const char *partial;    /* the share of a head's components that are turned */
    double default_partial; /* 1: the family turns all, and takes no other share */
    bool takes_share;       /* it does take another */
    const char *count;      /* the only key of rotary positions: how many components are turned */
    size_t default_count;
    bool has_longrope;                      /* other families do not */
    const struct attn_rope *without_object; /* theta and width aside; NULL: "default" */
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
    bool may_be_null;  /* of ATTN_WINDOWS_BY_LIST: null means that no layer has one */
};

/* Which layers turn no positions. */
enum attn_unturned {
    ATTN_UNTURNED_NONE,
    ATTN_UNTURNED_LIST, /* the layers with 0 in `no_rope_layers`, by default each
                           `no_rope_layer_interval`-th */
    ATTN_UNTURNED_FULL, /* the layers without a window, if others have one */
};

/* A key that sets a part of the config. A list of them ends with a NULL key. */
struct attn_config_switch {
    const char *key;
    enum attn_config_type type; /* SIZE: a width. FLAG, or WORD: true or false. FACTOR: a number
                                   above 0, or null, which leaves the factor out */
    size_t offset;              /* of the field in struct attn_config */
    int words[2];               /* of a WORD: the values of the field for false and true */
    bool divides;               /* a FACTOR is 1 over the number */
};

#define ATTN_SWITCH(name, of_type, field, for_false, for_true, is_divisor)                         \
    {                                                                                              \
        name, ATTN_CONFIG_##of_type, offsetof(struct attn_config, field), {for_false, for_true},   \
            is_divisor                                                                             \
    }
#define ATTN_WIDTH(name, field) ATTN_SWITCH(name, SIZE, field, 0, 0, false)
#define ATTN_FLAG(name, field) ATTN_SWITCH(name, FLAG, field, 0, 0, false)
#define ATTN_CHOICE(name, field, for_false, for_true)                                              \
    ATTN_SWITCH(name, WORD, field, for_false, for_true, false)
#define ATTN_FACTOR(name, field) ATTN_SWITCH(name, FACTOR, field, 0, 0, false)
#define ATTN_DIVISOR(name, field) ATTN_SWITCH(name, FACTOR, field, 0, 0, true)
/* For a family: its switches, each in braces. */
#define ATTN_SWITCHES(...)                                                                         \
    .switches = (const struct attn_config_switch[])                                                \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            .key = NULL                                                                            \
        }                                                                                          \
    }
/* Those of several families. */
#define ATTN_QKV_BIAS(name) ATTN_FLAG(name, has_qkv_bias)
#define ATTN_QKV_OUT_BIAS(name) ATTN_QKV_BIAS(name), ATTN_FLAG(name, has_out_bias)
#define ATTN_MLP_BIAS(name) ATTN_FLAG(name, has_mlp_bias)
#define ATTN_ATTENTION_BIAS ATTN_QKV_OUT_BIAS("attention_bias")
#define ATTN_PARALLEL ATTN_FLAG("use_parallel_residual", has_parallel_residual)

/* How a family writes its configs: a row that attn_config_read_form reads by. */
struct attn_config_form {
    /* The defaults of the config, and the parts that every block has. n_kv_head 0: n_head, which
     * null always means; d_head 0: d_model / n_head; d_mlp 0: 4 d_model. */
    struct attn_config defaults;
    const struct attn_config_names *names; /* NULL: vocab_size, hidden_size, ... */
    const char *activation_key, *eps_key;
    bool has_no_heads_keys; /* neither num_key_value_heads nor head_dim is a key */
    bool has_no_width_key;  /* head_dim is not a key */
    bool is_of_two_stacks;
    bool reads_mxfp4;                        /* a quantization_config of this method */
    const struct attn_config_extra *refused; /* keys, as of attn_config_refuse; NULL: none */
    const char *width_key; /* d_head has this key, whatever the flags above are; or NULL */
    bool gelu_is_tanh;     /* "gelu" means its form with tanh */
    bool is_divided;       /* n_head must divide d_model even when there is a head_dim */

    /* Further keys. */
    const struct attn_config_switch *switches; /* NULL: none */
    double query_scalar; /* query_pre_attn_scalar: replaces d_head under the root; 0: no such key */
    double score_cap;    /* attn_logit_softcapping; 0: no such key */
    bool is_embedding_scaled; /* by sqrt(d_model) */
    struct attn_windows windows;
    const char *score_factor_key; /* scores are multiplied by it, by default 1, and not divided by
                                     sqrt(d_head); NULL: no such key */
    enum attn_unturned unturned;
    bool turns_neighbours; /* rotary positions turn 2i with 2i + 1 */
    struct attn_rope_keys rope;
    struct attn_rope_keys rope_of_windows; /* of layers with a window; theta NULL: the same */
};

/* The parameters of what reads the config JSON by FORM into CONFIG and LAYERS. */
#define ATTN_CONFIG_ARGS                                                                           \
    const struct attn_json *json, const struct attn_config_form *form, struct attn_config *config, \
        struct attn_config_layers *layers, struct attn_error *err

/* Notes which layers of `no_rope_layers` turn no positions, where FORM has that list. */
enum attn_status attn_config_read_unturned(ATTN_CONFIG_ARGS);

/* Multiplies the scores of all layers by FACTOR, and not by 1 / sqrt(d_head), if it is above 0. */
void attn_config_set_factor(const struct attn_config *config, struct attn_config_layers *layers,
                            double factor);

/* The member KEY of OBJECT; NULL when it is absent or null, or OBJECT is NULL. */
const struct attn_node *attn_config_find_given(const struct attn_node *object, const char *key);

/* The member KEY of OBJECT, which must be an object; NULL when it is absent, null or empty. */
enum attn_status attn_config_find_object(const struct attn_json *json,
                                         const struct attn_node *object, const char *key,
                                         const struct attn_node **found, struct attn_error *err);

/* A width at the top of a config, from 1 on; absent it stays. */
enum attn_status attn_config_get_width(const struct attn_json *json, const char *key, size_t *width,
                                       struct attn_error *err);

/* Gives ATTENTION a window of WIDTH. */
void attn_config_set_window(struct attn_attention *attention, size_t width);

/* The value of a key that requires a part which is not read. */
enum attn_config_wish {
    ATTN_WISH_PRESENT, /* any value but null */
    ATTN_WISH_FILLED,  /* a list or object that is not empty */
    ATTN_WISH_TRUE,
    ATTN_WISH_FALSE,
    ATTN_WISH_ABOVE_ZERO, /* a whole number */
    ATTN_WISH_FOREIGN,    /* any value, of a key that other families have */
    ATTN_WISH_FACTOR,     /* such a number, but not 1 */
    ATTN_WISH_HAS_ZERO    /* such a list, if 0 is in it */
};

struct attn_config_extra {
    const char *key;
    enum attn_config_wish wish;
};

/* Refuses OBJECT of JSON if a key has a value of LIST, which ends with a NULL key. */
enum attn_status attn_config_refuse(const struct attn_json *json, const struct attn_node *object,
                                    const struct attn_config_extra *list, struct attn_error *err);

/* Refuses parts that models of FORM lack, or no model has: quantized weights, another mask. */
enum attn_status attn_config_refuse_extras(const struct attn_json *json,
                                           const struct attn_config_form *form,
                                           struct attn_error *err);

/* Reads the list KEY, if there is one, of one of WORDS [2] for each layer: ARE_SECOND [n_layer]. */
enum attn_status attn_config_read_words(const struct attn_json *json, const char *key,
                                        const char *const *words, size_t n_layer, bool *are_second,
                                        struct attn_error *err);

/* Whether KEY is among the switches of FORM. */
bool attn_config_has_switch(const struct attn_config_form *form, const char *key);

/* Reads the parts that SWITCHES name from OBJECT of JSON; absent ones stay. */
enum attn_status attn_config_read_switches(const struct attn_json *json,
                                           const struct attn_node *object,
                                           const struct attn_config_switch *switches,
                                           struct attn_config *config, struct attn_error *err);

/* Reads JSON into CONFIG, which holds the defaults of FORM, and makes its LAYERS: each attends to
 * all tokens before a query and to itself, with scores divided by sqrt(d_head), unless FORM defines
 * otherwise. Unsupported parts are refused by name. */
enum attn_status attn_config_read_form(ATTN_CONFIG_ARGS);

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
enum attn_status attn_config_read_rope(ATTN_CONFIG_ARGS);

/* Refuses rotary positions of another type than default. */
enum attn_status attn_config_refuse_stretched(const struct attn_json *json,
                                              const struct attn_config *config,
                                              const struct attn_config_layers *layers,
                                              struct attn_error *err);

/* --- heads of classes (config_classes.c) ------------------------------------------------------ */

struct attn_class_heads; /* family.h */

/* Reads the head of classes that JSON asks for, after all else of CONFIG; what HEADS lack is
 * ATTN_UNSUPPORTED. */
enum attn_status attn_config_read_classes(const struct attn_json *json,
                                          const struct attn_class_heads *heads,
                                          struct attn_config *config,
                                          struct attn_config_layers *layers,
                                          struct attn_error *err);

/* Its steps for pictures: the labels, as many as id2label has, or num_labels, or 2; and how their
 * logits are read. */
enum attn_status attn_config_read_labels(const struct attn_json *json, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err);
enum attn_status attn_config_read_kind(const struct attn_json *json, struct attn_config *config,
                                       struct attn_error *err);

#endif
