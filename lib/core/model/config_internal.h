/* config_internal.h - what the readers of config.json (family.h) share: the keys of most Hugging
 * Face families, rotary positions, windows of layers. A family defines the values of absent keys.
 */
#pragma once

#include "base/text/escape.h"
#include "formats/json.h"
#include "model/config.h"
#include "model/config_fields.h"
#include "model/model_extra.h"

/* Limits for sizes from files: large enough for any model, and small enough that the product of two
 * fits into size_t. */
enum {
    ATTN_MAX_LAYER = 4096,
    ATTN_MAX_WIDTH = 1 << 24,
    ATTN_MAX_CTX = 1 << 30,
    ATTN_MAX_VOCAB = 1 << 30
};

/* Returns the quoted name of JSON, for messages. */
static inline struct attn_quote attn_config_quote(const struct attn_json *json)
{
    return attn_quote_string(attn_json_name(json));
}

/* The lists that a config points to. They are filled while the config is read. */
struct attn_config_layers {
    struct attn_attention *attention; /* owns; [n_layer] */
    bool *is_cross;                   /* owns; [n_layer] */
    struct attn_rope *rope;           /* owns; [n_layer] */
    float *divisors; /* owns; divisors of rotary frequencies, or the frequencies themselves if the
                        file has them; or NULL */
    /* Owns; the bias of scores that all layers share, or one for each layer, bias_size bytes each;
     * or NULL. */
    struct attn_score_bias *bias;
    size_t bias_size;
    uint16_t *buckets;             /* owns; the bucket of each distance, for that bias; or NULL */
    struct attn_site_set *lacking; /* owns; [n_layer] */
    bool *is_dense;                /* owns; [n_layer] */
    struct attn_xielu *xielu;      /* owns; [n_layer], or NULL */
    struct attn_mixer_dims *mixer; /* owns; or NULL */
    bool *is_mixer;                /* owns; [n_layer], or NULL */
    struct attn_layer_dims *dims;  /* owns; [n_layer], or NULL */
    bool *is_mlp;                  /* owns; [n_layer], or NULL */
    const char **labels;           /* owns; [n_vocab] labels of a classifier, or NULL */
    char *label_text;              /* owns; the text that they point to */
};

/* Allocates the lists of CONFIG, whose n_layer must be set. Initially no layer reads a source, each
 * has the attention FIRST, and `rope` is zeroed. */
enum attn_status attn_config_allocate_layers(struct attn_config *config,
                                             struct attn_config_layers *layers,
                                             const struct attn_attention *first,
                                             struct attn_error *err);
/* Whether the backward pass needs q and k as they were before norm, clipping and rotation. */
static inline bool attn_config_reads_raw_qk(const struct attn_config *config)
{
    return config->qk_norm != ATTN_QK_NORM_NONE || config->qkv_clip > 0;
}

/* Whether CONFIG is of a tower with learned positions that normalizes q and k by RMSNorm: its
 * layers are those of rotary positions, and turn nothing. */
static inline bool attn_config_turns_nothing(const struct attn_config *config)
{
    return config->image.patch_height > 0 && config->qk_norm != ATTN_QK_NORM_NONE;
}

/* Whether CONFIG is of a decoder whose tokens see those after them, too. */
static inline bool attn_config_looks_both_ways(const struct attn_config *config)
{
    return !config->is_encoder && config->task == ATTN_TASK_VOCABULARY && config->n_layer > 0 &&
           !config->is_cross[0] && config->attention[0].mask == ATTN_MASK_NONE;
}

/* Whether the logits of a classifier are computed from the mean of all positions. */
static inline bool attn_config_has_mean(const struct attn_config *config)
{
    return config->pooling == ATTN_POOLING_MEAN || config->pooling == ATTN_POOLING_MEAN_OF_HEADS;
}

/* Whether a classifier's matrix reads two rows, next to each other. */
static inline bool attn_config_pools_wide(const struct attn_config *config)
{
    return config->pooling == ATTN_POOLING_FIRST_AND_MEAN ||
           config->pooling == ATTN_POOLING_FIRST_TWO;
}

/* Returns the largest width of an MLP, an expert or a shared expert. */
static inline size_t attn_config_widest_mlp(const struct attn_config *config)
{
    const size_t most = config->d_mlp > config->d_expert ? config->d_mlp : config->d_expert;

    return most > config->d_shared_expert ? most : config->d_shared_expert;
}

/* Returns the width of what experts read and write. */
static inline size_t attn_config_d_routed(const struct attn_config *config)
{
    return config->d_latent > 0 ? config->d_latent : config->d_model;
}

/* Returns how many layers of CONFIG make one layer of the model: two for a decoder with an encoder,
 * else one. */
static inline size_t attn_config_n_part(const struct attn_config *config)
{
    return config->stack.has_encoder ? 2 : 1;
}

static inline size_t attn_config_n_whole_layer(const struct attn_config *config)
{
    return config->n_layer / attn_config_n_part(config);
}

/* Whether LAYER has experts in place of an MLP. */
static inline bool attn_config_has_experts(const struct attn_config *config, size_t layer)
{
    return config->n_expert > 0 && !config->is_dense[layer];
}

/* Whether norms of kind NORM multiply by 1 + w. */
static inline bool attn_norm_adds_one(enum attn_norm norm)
{
    return norm == ATTN_NORM_RMSNORM_PLUS_ONE || norm == ATTN_NORM_LAYERNORM_PLUS_ONE;
}

static inline bool attn_config_has_mlp(const struct attn_config *config, size_t layer)
{
    return config->d_mlp > 0 && (!config->stack.has_encoder || layer % 2 == 1) &&
           (!config->is_mlp || config->is_mlp[layer]);
}

static inline struct attn_score_bias *attn_config_bias(const struct attn_config_layers *layers,
                                                       size_t i)
{
    return (struct attn_score_bias *)(void *)((char *)layers->bias + i * layers->bias_size);
}

/* Records that LAYER lacks SITES and their gradients. */
void attn_config_lack(struct attn_config_layers *layers, size_t layer, struct attn_site_set sites);

/* Lets each layer lack the sites of an MLP or those of experts, as layers->is_dense says. */
void attn_config_lack_mixtures(const struct attn_config *config, struct attn_config_layers *layers);

/* Makes each second layer of CONFIG attend to the source; the layers between have no MLP. */
void attn_config_pair_layers(const struct attn_config *config, struct attn_config_layers *layers);

/* Makes the layers in IS_MIXER [n_layer] layers of kind DIMS, without attention. If there are none,
 * CONFIG is unchanged. NULL: all layers have DIMS beside attention. */
enum attn_status attn_config_set_mixers(struct attn_config *config,
                                        struct attn_config_layers *layers,
                                        const struct attn_mixer_dims *dims, const bool *is_mixer,
                                        struct attn_error *err);

/* Returns the sizes of LAYER. */
static inline struct attn_layer_dims attn_config_layer_dims(const struct attn_config *config,
                                                            size_t layer)
{
    return config->layer_dims
               ? config->layer_dims[layer]
               : (struct attn_layer_dims){
                     config->n_kv_head, config->d_head, config->d_mlp, layer, 0, {NULL}};
}

/* Whether LAYER attends to the keys and values of an earlier one. */
static inline bool attn_config_shares_keys(const struct attn_config *config, size_t layer)
{
    return config->layer_dims && config->layer_dims[layer].kv_layer != layer;
}

/* Whether the values of LAYER are its keys. */
static inline bool attn_config_has_keys_as_values(const struct attn_config *config, size_t layer)
{
    return config->has_keys_as_values && config->attention[layer].kind == ATTN_ATTENTION_FULL;
}

/* Returns what layers of CONFIG have that many parts of the library do not read yet, as "without
 * attention"; NULL if nothing. */
static inline const char *attn_config_unread_layers(const struct attn_config *config)
{
    return config->mixer           ? "that mix tokens by a state or a convolution"
           : config->is_mlp        ? "without attention"
           : config->has_attn_gate ? "with gates"
           : config->layer_dims    ? "of unequal sizes"
                                   : NULL;
}

/* Whether something that a layer computes comes after the sum with its MLP. */
static inline bool attn_config_ends_late(const struct attn_config *config)
{
    return config->d_layer_input > 0 || config->has_layer_scalar;
}

/* Whether LAYER mixes tokens without attention. */
static inline bool attn_config_is_mixer(const struct attn_config *config, size_t layer)
{
    return config->mixer && config->mixer->is_in && config->mixer->is_in[layer];
}

/* Makes the layers in IS_MLP [n_layer] MLPs alone, and those others without an MLP. Call it after
 * attn_config_set_mixers. */
enum attn_status attn_config_set_single_parts(struct attn_config *config,
                                              struct attn_config_layers *layers, const bool *is_mlp,
                                              struct attn_error *err);

/* Whether LAYER has attention. */
static inline bool attn_config_has_attention(const struct attn_config *config, size_t layer)
{
    return !attn_config_is_mixer(config, layer) && !(config->is_mlp && config->is_mlp[layer]);
}

/* Whether layers mix tokens beside attention. */
static inline bool attn_config_mixes_beside(const struct attn_config *config)
{
    return config->mixer && !config->mixer->is_in;
}

/* Returns the number of layers with attention (IS_MIXER: without) before LAYER. */
size_t attn_config_n_layer_of(const struct attn_config *config, bool is_mixer, size_t layer);

/* Returns the place of head H of layers without attention in the weights (tiles_heads). */
static inline size_t attn_mixer_head_in_file(const struct attn_config *config, size_t h)
{
    const size_t n_key = config->mixer->n_key_head, shared = config->mixer->n_head / n_key;

    return config->tiles_heads ? h % shared * n_key + h / shared : h;
}

/* Returns the width of the rows that the convolution of layers without attention reads. */
static inline size_t attn_mixer_d_conv(const struct attn_mixer_dims *mixer)
{
    const size_t d_value = mixer->n_head * mixer->d_value;

    return mixer->kind == ATTN_MIXER_CONV ? d_value
                                          : 2 * mixer->n_key_head * mixer->d_key + d_value;
}

/* Returns the width of the rows that mixer_in computes, without those of gates and factors. */
static inline size_t attn_mixer_d_in(const struct attn_mixer_dims *mixer)
{
    return (mixer->kind == ATTN_MIXER_CONV ? 3 : 1) * attn_mixer_d_conv(mixer);
}

/* Returns the numbers of the state of one layer: the last inputs of the convolution, and S. */
static inline size_t attn_mixer_n_state(const struct attn_mixer_dims *mixer)
{
    const size_t n_s = mixer->n_head * mixer->d_key * mixer->d_value;

    return (mixer->n_tap - 1) * attn_mixer_d_conv(mixer) +
           (mixer->kind == ATTN_MIXER_CONV ? 0 : n_s);
}

/* Sets XIELU from alpha_p, alpha_n, beta and eps, as files have them. */
void attn_config_set_xielu(struct attn_xielu *xielu, const double *values);

void attn_config_release(struct attn_config *config, struct attn_config_layers *layers);

/* Checks that this version can run CONFIG: it supports all parts, and sizes fit each other. */
enum attn_status attn_config_check(const struct attn_json *json, const struct attn_config *config,
                                   struct attn_error *err);

/* Fails unless N, the value of KEY, divides WHOLE, the value of WHOLE_KEY. The hint names the
 * nearest divisor. */
enum attn_status attn_config_check_divides(const struct attn_json *json, const char *key, size_t n,
                                           const char *whole_key, size_t whole,
                                           struct attn_error *err);

/* Returns the largest divisor of WHOLE that is at most N. Both are above 0. For hints. */
size_t attn_config_nearest_divisor(size_t whole, size_t n);

/* Stores the constant name of activation NAME in *ACT_FN. Returns ATTN_UNSUPPORTED, with a list of
 * the known names, if it is unknown. */
enum attn_status attn_config_set_activation(const struct attn_json *json, const char **act_fn,
                                            const char *key, const char *name,
                                            struct attn_error *err);

/* Returns the number by which files name the weights of LAYER: its own, or that of its group. */
size_t attn_config_weights_layer(const struct attn_config *config, size_t layer);

/* Returns how many rows of the last layer the answer depends on: 1, and *first is that row, or all
 * N. */
size_t attn_config_pooled_rows(const struct attn_config *config, const int32_t *ids, size_t n,
                               size_t *first);

/* --- fields ----------------------------------------------------------------------------------- */

enum attn_config_type {
    ATTN_CONFIG_TEXT,    /* const char * */
    ATTN_CONFIG_SIZE,    /* size_t */
    ATTN_CONFIG_ID,      /* int64_t; below 0: no such token */
    ATTN_CONFIG_ENDS,    /* end_ids */
    ATTN_CONFIG_WORD,    /* an enum */
    ATTN_CONFIG_FLAG,    /* bool */
    ATTN_CONFIG_PRESENT, /* a pointer; true unless it is NULL */
    ATTN_CONFIG_REAL,    /* float */
    ATTN_CONFIG_FACTOR   /* double; 0: no factor */
};

/* A field of a config, with its name when it is shown (inspection.h) and its key in configs of
 * model_type "attn". */
struct attn_config_field {
    const char *name; /* name when shown: "n_layer", "has_residual" */
    const char *key; /* "n_layer", "residual"; NULL: the field has no key, or one of another form */
    enum attn_config_type type;
    size_t offset;            /* of the field in struct attn_config */
    bool is_of_source;        /* shown only if a layer attends to a source */
    bool is_of_encoder;       /* shown only for encoders */
    bool is_of_tower;         /* shown only for the towers of CLIP */
    bool is_of_mixture;       /* shown only for mixtures of experts */
    bool is_of_image;         /* shown only for models that read pictures */
    bool is_of_classes;       /* shown only for classifiers of texts */
    bool is_unshown;          /* only attn_config_value has it */
    bool is_rare;             /* a factor or flag that is shown only if it is set */
    size_t max;               /* largest value, for a size with a key */
    const char *const *words; /* names of the values of a word, in the order of its enum */
    int n_key_word;           /* the first value that the key may have */
    const char *expected;     /* the values that are accepted, for messages */
};

/* All fields, in the order in which they are shown or named. Ends with a NULL name. */
extern const struct attn_config_field attn_config_fields[];

/* Returns the value of FIELD in CONFIG, as attn_config_value does. */
struct attn_cell attn_config_cell(const struct attn_config *config,
                                  const struct attn_config_field *field);

/* Whether the norms of CONFIG subtract the mean. If not, they are RMS norms. */
static inline bool attn_config_norms_mean(const struct attn_config *config)
{
    return config->norm == ATTN_NORM_LAYERNORM || config->norm == ATTN_NORM_LAYERNORM_NO_BIAS ||
           config->norm == ATTN_NORM_LAYERNORM_NO_WEIGHT ||
           config->norm == ATTN_NORM_LAYERNORM_PLUS_ONE;
}

/* Whether the norms of the stream have no weights. */
static inline bool attn_config_lacks_norm_weights(const struct attn_config *config)
{
    return config->norm == ATTN_NORM_LAYERNORM_NO_WEIGHT ||
           config->norm == ATTN_NORM_RMSNORM_NO_WEIGHT;
}

/* --- configs of Hugging Face ------------------------------------------------------------------ */

/* The keys of a family for the sizes; NULL: the family has no such key. If a file lacks a key,
 * except d_mlp's, the usual name is read instead. */
struct attn_config_names {
    const char *n_vocab, *d_model, *d_mlp, *n_layer, *n_head, *n_ctx;
};

/* vocab_size, hidden_size, and so on. */
extern const struct attn_config_names attn_config_usual_names;

/* Reads a bool like attn_json_get_bool, but treats null as false. For keys whose value transformers
 * only tests for truth. */
enum attn_status attn_config_get_truth(const struct attn_json *json, const struct attn_node *object,
                                       const char *key, bool *value, struct attn_error *err);

/* Fails if a file has both KEY and ALIAS with different values, and transformers stores them as
 * one. */
enum attn_status attn_config_check_alias(const struct attn_json *json, const char *key,
                                         const char *alias, struct attn_error *err);

/* The keys and defaults of a family for rotary positions. The keys are those at the top level of a
 * config, which are read if the object (see attn_config_read_rope) lacks them. */
struct attn_rope_keys {
    const char *theta; /* NULL: the family has no rotary positions */
    double default_theta;
    const char *partial;    /* key for the share of a head's components that are rotated */
    double default_partial; /* 1: the family rotates all components and accepts no other share */
    bool takes_share;       /* another share is accepted */
    const char *count;      /* key for the number of rotated components, the only key about rotary
                               positions that is read */
    size_t default_count;
    bool has_longrope; /* the family supports longrope */
    bool has_mscales;  /* longrope has one list, and `short_mscale` and `long_mscale` */
    bool has_alpha;    /* for type "dynamic", `alpha` may change theta once and for all */
    bool has_sections; /* `mrope_section` is passed over: a text alone has equal positions in all */
    bool has_growth;   /* the object has `llama_4_scaling_beta` (query_growth) */
    const struct attn_rope *without_object; /* the defaults, except for the width, if the file has
                                               no object; NULL: type "default". If its theta is 0,
                                               theta is read as usual */
    double share_without_object; /* of proportional positions, in place of default_partial; 0: no
                                    other one */
};

/* Which layers have a window. */
enum attn_window_rule {
    ATTN_WINDOWS_NONE,
    ATTN_WINDOWS_IN_ALL,   /* all layers, `sliding_window` wide; null: no window */
    ATTN_WINDOWS_BY_LIST,  /* the layers that `layer_types` lists; by default all except each
                              full_every-th */
    ATTN_WINDOWS_SWITCHED, /* like BY_LIST if `use_sliding_window` is true, but by default the
                              layers from `max_window_layers` on. If `sliding_window` is null, no
                              layer has a window */
};

struct attn_windows {
    enum attn_window_rule rule;
    size_t width;      /* number of tokens that a query sees, including itself */
    bool is_centered;  /* the window extends width / 2 to each side. Its keys are `local_attention`
                          and `global_attn_every_n_layers`, and layer 0 has no window */
    size_t first;      /* layers before this one have no window, unless the list says so */
    size_t full_every; /* a layer has no window if this divides layer + 1; 0: all have one */
    bool has_pattern;  /* the key of full_every is `sliding_window_pattern` */
    bool may_be_null;  /* for ATTN_WINDOWS_BY_LIST: null means that no layer has a window */
};

/* Which layers have no rotary positions. */
enum attn_unturned {
    ATTN_UNTURNED_NONE,
    ATTN_UNTURNED_LIST, /* the layers with 0 in `no_rope_layers`; by default each
                           `no_rope_layer_interval`-th */
    ATTN_UNTURNED_FULL, /* the layers without a window, if others have one */
};

/* A key that sets a field of the config. A list of switches ends with a NULL key. */
struct attn_config_switch {
    const char *key;
    enum attn_config_type type; /* SIZE: a width. FLAG or WORD: true or false. FACTOR: a number
                                   above 0, or null, which means no factor */
    size_t offset;              /* of the field in struct attn_config */
    int words[2];               /* for a WORD: the values of the field for false and true */
    bool divides;               /* for a FACTOR: the field is 1 over the number */
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
/* Sets the switches of a family. Each is in braces. */
#define ATTN_SWITCHES(...)                                                                         \
    .switches = (const struct attn_config_switch[])                                                \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            .key = NULL                                                                            \
        }                                                                                          \
    }
/* Switches that several families share. */
#define ATTN_QKV_BIAS(name) ATTN_FLAG(name, has_qkv_bias)
#define ATTN_QKV_OUT_BIAS(name) ATTN_QKV_BIAS(name), ATTN_FLAG(name, has_out_bias)
#define ATTN_MLP_BIAS(name) ATTN_FLAG(name, has_mlp_bias)
#define ATTN_ATTENTION_BIAS ATTN_QKV_OUT_BIAS("attention_bias")
#define ATTN_PARALLEL ATTN_FLAG("use_parallel_residual", has_parallel_residual)

/* The form in which a family writes its configs. attn_config_read_form reads by it. */
struct attn_config_form {
    /* The defaults of the config, and the parts that every block has. n_kv_head 0 means n_head, as
     * null always does; d_head 0 means d_model / n_head; d_mlp 0 means 4 d_model. */
    struct attn_config defaults;
    const struct attn_config_names *names; /* NULL: the usual names vocab_size, hidden_size, ... */
    const char *activation_key, *eps_key;
    bool has_no_heads_keys; /* neither num_key_value_heads nor head_dim is a key */
    bool has_no_width_key;  /* head_dim is not a key */
    bool is_of_two_stacks;
    /* Further keys that are refused (attn_config_refuse); NULL: no such keys. */
    const struct attn_config_extra *refused;
    const char *width_key;    /* the key of d_head, whatever the flags above are; or NULL */
    bool gelu_is_tanh;        /* "gelu" means the form with tanh */
    bool may_look_both_ways;  /* `use_bidirectional_attention` is read */
    bool may_have_experts;    /* a mixture, although most models of the family have none */
    bool replaces_parts;      /* ids of pictures and sound stand for others in a text */
    bool sees_prompt;         /* the same key is passed over (struct attn_decoder_part) */
    bool has_xielu;           /* the activation may be "xielu" */
    bool null_width_is_usual; /* head_dim null means d_model / n_head, absent it is the default */
    bool is_divided;          /* n_head must divide d_model, even if there is a head_dim */

    /* Further keys. */
    const struct attn_config_switch *switches; /* NULL: no switches */
    double query_scalar; /* default of query_pre_attn_scalar, which replaces d_head in the scale of
                            scores; 0: no such key */
    double score_cap;    /* default of attn_logit_softcapping; 0: no such key */
    bool is_embedding_scaled; /* embedding rows are multiplied by sqrt(d_model) */
    struct attn_windows windows;
    const char *score_factor_key; /* the key of a factor of scores, 1 by default, which replaces the
                                     division by sqrt(d_head); NULL: no such key */
    enum attn_unturned unturned;
    bool turns_neighbours; /* component 2i is rotated with 2i + 1 */
    struct attn_rope_keys rope;
    /* For layers with a window; theta NULL: the same as for all layers. */
    struct attn_rope_keys rope_of_windows;
};

/* The parameters of functions that read the config JSON by FORM into CONFIG and LAYERS. */
#define ATTN_CONFIG_ARGS                                                                           \
    const struct attn_json *json, const struct attn_config_form *form, struct attn_config *config, \
        struct attn_config_layers *layers, struct attn_error *err

/* Reads from `no_rope_layers`, if FORM has that list, which layers have no rotary positions. */
enum attn_status attn_config_read_unturned(ATTN_CONFIG_ARGS);

/* If FACTOR is above 0, makes it the scale of scores in all layers, instead of 1 / sqrt(d_head). */
void attn_config_set_factor(const struct attn_config *config, struct attn_config_layers *layers,
                            double factor);

/* Returns the member KEY of OBJECT; NULL if it is absent or null, or if OBJECT is NULL. */
const struct attn_node *attn_config_find_given(const struct attn_node *object, const char *key);

/* Sets *found to the member KEY of OBJECT, which must be an object; NULL if it is absent, null or
 * empty. */
enum attn_status attn_config_find_object(const struct attn_json *json,
                                         const struct attn_node *object, const char *key,
                                         const struct attn_node **found, struct attn_error *err);

/* Sets *rope to the settings of rotary positions in OBJECT: `rope_scaling`, else `rope_parameters`;
 * as in transformers, never a mixture. */
enum attn_status attn_config_find_rope(const struct attn_json *json, const struct attn_node *object,
                                       const struct attn_node **rope, struct attn_error *err);

/* Gives all layers of a tower the positions ROPE, by row and column of a patch, with the theta of
 * the config, by default 10,000. */
enum attn_status attn_config_turn_patches(const struct attn_json *json, struct attn_rope rope,
                                          const struct attn_config *config,
                                          struct attn_config_layers *layers,
                                          struct attn_error *err);

/* Reads a width, at least 1, from the top level of a config. Without KEY, *width is unchanged. */
enum attn_status attn_config_get_width(const struct attn_json *json, const char *key, size_t *width,
                                       struct attn_error *err);

void attn_config_set_window(struct attn_attention *attention, size_t width);

/* The values of a key that require an unsupported part, and are refused. */
enum attn_config_wish {
    ATTN_WISH_PRESENT, /* any value but null */
    ATTN_WISH_FILLED,  /* a list or object that has items */
    ATTN_WISH_TRUE,
    ATTN_WISH_FALSE,
    ATTN_WISH_ABOVE_ZERO, /* a whole number above 0 */
    ATTN_WISH_FOREIGN,    /* any value, because the key belongs to other families */
    ATTN_WISH_FACTOR,     /* a number above 0 other than 1 */
    ATTN_WISH_HAS_ZERO    /* a list that contains 0 */
};

struct attn_config_extra {
    const char *key;
    enum attn_config_wish wish;
};

/* Fails if OBJECT of JSON has a key of LIST with a refused value. LIST ends with a NULL key. */
enum attn_status attn_config_refuse(const struct attn_json *json, const struct attn_node *object,
                                    const struct attn_config_extra *list, struct attn_error *err);

/* Refuses parts that models of FORM, or all models, lack here: quantized weights, other masks. */
enum attn_status attn_config_refuse_extras(const struct attn_json *json,
                                           const struct attn_config_form *form,
                                           struct attn_error *err);

/* Reads the list KEY, if the config has it, of one word per layer. ARE_SECOND [n_layer] is set
 * where it is the second of the two WORDS. Each of them may be several spellings, with spaces. */
enum attn_status attn_config_read_words(const struct attn_json *json, const char *key,
                                        const char *const *words, size_t n_layer, bool *are_second,
                                        struct attn_error *err);

/* Sets ARE_NAMED [n_layer] for the layers whose numbers are in the list KEY, if the config has it.
 */
enum attn_status attn_config_read_numbers(const struct attn_json *json, const char *key,
                                          size_t n_layer, bool *are_named, struct attn_error *err);

bool attn_config_has_switch(const struct attn_config_form *form, const char *key);

/* Reads the switches SWITCHES from OBJECT of JSON. Fields whose key is absent are unchanged. */
enum attn_status attn_config_read_switches(const struct attn_json *json,
                                           const struct attn_node *object,
                                           const struct attn_config_switch *switches,
                                           struct attn_config *config, struct attn_error *err);

/* Reads JSON into CONFIG, which initially has the defaults of FORM, and allocates LAYERS. Unless
 * FORM says otherwise, each layer has causal attention with scores divided by sqrt(d_head).
 * Unsupported parts are refused by name. */
enum attn_status attn_config_read_form(ATTN_CONFIG_ARGS);

/*
 * Reads rotary positions in all forms that transformers has used: `rope_parameters` since version
 * 5; before, `rope_scaling` and keys at the top level. Needs d_head and n_ctx of CONFIG, and fills
 * LAYERS->rope. An unknown type of scaling is refused by name.
 *
 * If FORM has no rope_of_windows, all layers are alike; their object is `rope_scaling` if it has
 * members, else `rope_parameters`. Otherwise layers with a window read the object
 * `sliding_attention` of `rope_parameters`, with the defaults rope_of_windows; other layers read
 * `full_attention`, or `rope_scaling`, with the defaults of rope.
 */
enum attn_status attn_config_read_rope(ATTN_CONFIG_ARGS);

/* Refuses rotary positions of any type other than "default". */
enum attn_status attn_config_refuse_stretched(const struct attn_json *json,
                                              const struct attn_config *config,
                                              const struct attn_config_layers *layers,
                                              struct attn_error *err);

/* --- heads of classes (config_classes.c) ------------------------------------------------------ */

struct attn_class_heads; /* family.h */

/* Reads the classifier head that JSON asks for. Call it after everything else of CONFIG was read.
 * Returns ATTN_UNSUPPORTED for a head that HEADS lacks. */
enum attn_status attn_config_read_classes(const struct attn_json *json,
                                          const struct attn_class_heads *heads,
                                          struct attn_config *config,
                                          struct attn_config_layers *layers,
                                          struct attn_error *err);

/* The steps of attn_config_read_classes that picture models use: reading the labels (their number
 * is that of id2label, else num_labels, else 2), and reading the kind of their logits. */
enum attn_status attn_config_read_labels(const struct attn_json *json, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err);
enum attn_status attn_config_read_kind(const struct attn_json *json, struct attn_config *config,
                                       struct attn_error *err);
