/*
 * grammar_config.c - config.json of both families, over weights that fit: every key with every kind
 * of value, keys that are absent, null, unknown or in another order, sizes that do not fit.
 *
 * Of a valid one the sizes and parts are read that were written, and it runs.
 */
#include "formats/ndarray.h"
#include "model/config_fields.h"
#include "run/run.h"
#include "tests/adversary/container.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { SIZE, SIZE_OR_0, SWITCH, WORD, SHARE, LIST };

/* A member of the config as it is written. */
struct member {
    char key[40];
    enum kind kind;
    char value[48]; /* JSON */
};

enum { MAX_MEMBER = 40, MAX_LAYER = 3, N_TOKEN = 2, N_MANY = 100000 /* numbers nobody reads */ };

enum defect {
    NONE = -1,
    OTHER_KIND,
    OUT_OF_RANGE,
    NO_WIDTH,
    NO_TYPE,
    OTHER_TYPE,
    UNKNOWN_KEY,
    NOT_DIVIDED,
    OTHER_HEADS,
    NOT_SUPPORTED,
    UNKNOWN_WORD,
    BLOCKS,
    NO_TENSOR,
    OTHER_SHAPE,
    OTHER_TENSOR_TYPE,
    BAD_WEIGHTS,
    FIRST_JSON
};

static const char *const defects[] = {
    "a value of another kind",
    "a value out of range",
    "a size that is missing",
    "no model_type",
    "an unknown model_type",
    "an unknown key",
    "heads that do not divide the width",
    "sizes of heads that do not fit",
    "a part that is not supported",
    "an unknown word",
    "wrong blocks",
    "a tensor that is missing",
    "a tensor of another shape",
    "a tensor of a type that is no float",
    "weights that are malformed",
    ATTN_JSON_DEFECTS,
};
enum { N_DEFECT = sizeof defects / sizeof *defects };

struct known {
    struct attn_config config;
    bool is_cross[MAX_LAYER];
    struct attn_container weights;
    struct member members[MAX_MEMBER];
    size_t n_member;
};
_Static_assert(sizeof(struct known) <= ATTN_CASE_KNOWN_SIZE, "what is known has room");

/* --- members ---------------------------------------------------------------------------------- */

static struct member *add(struct known *known, const char *key, enum kind kind, const char *value)
{
    struct member *member = &known->members[known->n_member++];

    FUZZ_CHECK(known->n_member <= MAX_MEMBER);
    snprintf(member->key, sizeof member->key, "%s", key);
    snprintf(member->value, sizeof member->value, "%s", value);
    member->kind = kind;
    return member;
}

static void add_size(struct attn_case *c, struct known *known, const char *key, size_t value)
{
    char text[48];

    snprintf(text, sizeof text, attn_case_chance(c, 95) ? "%zu" : "%zu.0", value);
    add(known, key, SIZE, text);
}

/* A size that may be left out where it is the DEFAULT, or be null. */
static void add_optional(struct attn_case *c, struct known *known, const char *key, size_t value,
                         size_t usual)
{
    if (value != usual || attn_case_chance(c, 30))
        add_size(c, known, key, value);
    else if (attn_case_chance(c, 20))
        add(known, key, SIZE, "null");
}

static bool add_switch(struct attn_case *c, struct known *known, const char *key, bool usual)
{
    const bool value = attn_case_chance(c, 40) != usual;

    if (value != usual || attn_case_chance(c, 30))
        add(known, key, SWITCH, value ? "true" : "false");
    else if (attn_case_chance(c, 20))
        add(known, key, SWITCH, "null");
    return value;
}

static void add_word(struct known *known, const char *key, const char *word)
{
    char text[48];

    snprintf(text, sizeof text, "\"%s\"", word);
    add(known, key, WORD, text);
}

static void add_share(struct attn_case *c, struct known *known, const char *key)
{
    static const char *const values[] = {"1e-5", "0", "1", "0.1", "1E-12", "0.00001", "1e-40"};

    if (attn_case_chance(c, 40))
        add(known, key, SHARE, values[attn_case_below(c, 7)]);
}

static void add_activation(struct attn_case *c, struct known *known, const char *key)
{
    static const char *const names[] = {"gelu_new", "gelu", "relu", "silu", "tanh"};

    known->config.act_fn = "gelu_new";
    if (attn_case_chance(c, 60)) {
        known->config.act_fn = names[attn_case_below(c, 5)];
        add_word(known, key, known->config.act_fn);
    }
}

/* --- the two families ------------------------------------------------------------------------- */

static void make_gpt2(struct attn_case *c, struct known *known)
{
    struct attn_config *config = &known->config;
    const bool is_aliased = attn_case_chance(c, 20);
    bool is_tied;

    config->n_head = config->n_kv_head = 1 + attn_case_below(c, 3);
    config->d_head = config->d_value = 1 + attn_case_below(c, 3);
    config->d_model = config->n_head * config->d_head;
    config->d_mlp = attn_case_chance(c, 50) ? 4 * config->d_model : 1 + attn_case_below(c, 9);
    config->n_ctx = 1 + attn_case_below(c, 5);
    config->has_projections = config->has_residual = config->has_out_proj = true;
    config->has_qkv_bias = config->has_out_bias = config->has_final_norm = true;
    config->norm = ATTN_NORM_LAYERNORM;
    config->positions = ATTN_POSITIONS_LEARNED;
    add_word(known, "model_type", "gpt2");
    add_size(c, known, is_aliased ? "hidden_size" : "n_embd", config->d_model);
    add_size(c, known, is_aliased ? "num_attention_heads" : "n_head", config->n_head);
    add_size(c, known, is_aliased ? "num_hidden_layers" : "n_layer", config->n_layer);
    add_size(c, known, "vocab_size", config->n_vocab);
    add_size(c, known,
             (const char *const[]){"n_positions", "n_ctx",
                                   "max_position_embeddings"}[attn_case_below(c, 3)],
             config->n_ctx);
    add_optional(c, known, "n_inner", config->d_mlp, 4 * config->d_model);
    add_activation(c, known, "activation_function");
    add_share(c, known, "layer_norm_epsilon");
    (void)add_switch(c, known, "scale_attn_weights", true);
    (void)add_switch(c, known, "scale_attn_by_inverse_layer_idx", false);
    is_tied = add_switch(c, known, "tie_word_embeddings", true);
    config->output = is_tied ? ATTN_OUTPUT_TIED : ATTN_OUTPUT_OWN;
    if (attn_case_chance(c, 30))
        add(known, "task_specific_params", LIST, "{\"text\":{\"max_length\":50,\"x\":[1]}}");
    if (attn_case_chance(c, 10))
        add(known, "pruned_heads", LIST, "{}");
}

/* Whether the parts fit each other as they are: without W_O heads must make up the width. */
static void fit_attn(struct known *known)
{
    struct attn_config *config = &known->config;

    if (!config->has_projections) {
        config->n_head = config->n_kv_head = 1;
        config->d_head = config->d_value = config->d_source = config->d_model;
    } else if (!config->has_out_proj) {
        config->d_value = config->d_head;
        config->d_model = config->n_head * config->d_value;
    }
}

static void make_attn_parts(struct attn_case *c, struct known *known)
{
    struct attn_config *config = &known->config;
    static const char *const outputs[] = {"none", "tied", "own"};
    bool has_bias;

    config->has_projections = attn_case_chance(c, 85);
    if (!config->has_projections || attn_case_chance(c, 20))
        add_word(known, "projections", config->has_projections ? "qkv" : "none");
    config->norm = attn_case_chance(c, 50) ? ATTN_NORM_LAYERNORM : ATTN_NORM_NONE;
    if (config->norm == ATTN_NORM_LAYERNORM || attn_case_chance(c, 20))
        add_word(known, "norm", config->norm == ATTN_NORM_LAYERNORM ? "layernorm" : "none");
    config->positions = attn_case_chance(c, 50) ? ATTN_POSITIONS_LEARNED : ATTN_POSITIONS_NONE;
    if (config->positions == ATTN_POSITIONS_LEARNED || attn_case_chance(c, 20))
        add_word(known, "positions",
                 config->positions == ATTN_POSITIONS_LEARNED ? "learned" : "none");
    config->output = (enum attn_output_layer)attn_case_below(c, 3);
    if (config->output != ATTN_OUTPUT_NONE || attn_case_chance(c, 20))
        add_word(known, "output", outputs[config->output]);
    has_bias = add_switch(c, known, "bias", false);
    config->has_qkv_bias = add_switch(c, known, "qkv_bias", has_bias) && config->has_projections;
    config->has_out_proj = add_switch(c, known, "out_proj", false);
    config->has_out_bias = add_switch(c, known, "out_bias", has_bias) && config->has_out_proj;
    config->has_residual = add_switch(c, known, "residual", false);
    config->has_final_norm = add_switch(c, known, "final_norm", config->norm != ATTN_NORM_NONE) &&
                             config->norm != ATTN_NORM_NONE;
    (void)add_switch(c, known, "causal", true);
    (void)add_switch(c, known, "scale", true);
}

static void make_blocks(struct attn_case *c, struct known *known)
{
    char text[48] = "[";
    size_t used = 1;

    for (size_t layer = 0; layer < known->config.n_layer; layer++) {
        known->is_cross[layer] = attn_case_chance(c, 40);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\"%s\"", layer > 0 ? "," : "",
                                 known->is_cross[layer] ? "cross" : "self");
    }
    snprintf(text + used, sizeof text - used, "]");
    add(known, "blocks", LIST, text);
}

static void make_attn(struct attn_case *c, struct known *known)
{
    struct attn_config *config = &known->config;
    size_t usual;

    add_word(known, "model_type", "attn");
    make_attn_parts(c, known);
    config->n_kv_head = 1 + attn_case_below(c, 2);
    config->n_head = config->n_kv_head * (1 + attn_case_below(c, 2));
    config->d_head = 1 + attn_case_below(c, 4);
    config->d_value = attn_case_chance(c, 60) ? config->d_head : 1 + attn_case_below(c, 4);
    config->d_model = 1 + attn_case_below(c, 9);
    config->d_source = attn_case_chance(c, 70) ? config->d_model : 1 + attn_case_below(c, 5);
    config->d_mlp = attn_case_chance(c, 50) ? 1 + attn_case_below(c, 9) : 0;
    config->n_ctx = attn_case_chance(c, 50) ? 1 + attn_case_below(c, 5) : SIZE_MAX;
    if (config->positions == ATTN_POSITIONS_LEARNED && config->n_ctx == SIZE_MAX)
        config->n_ctx = 3;
    fit_attn(known);
    add_size(c, known, "d_model", config->d_model);
    add_size(c, known, "n_vocab", config->n_vocab);
    add_optional(c, known, "n_layer", config->n_layer, 1);
    add_optional(c, known, "n_head", config->n_head, 1);
    add_optional(c, known, "n_kv_head", config->n_kv_head, config->n_head);
    usual = config->d_model % config->n_head == 0 ? config->d_model / config->n_head : 0;
    add_optional(c, known, "d_head", config->d_head, usual);
    add_optional(c, known, "d_value", config->d_value, config->d_head);
    add_optional(c, known, "d_source", config->d_source, config->d_model);
    add_optional(c, known, "d_mlp", config->d_mlp, 0);
    add_optional(c, known, "n_ctx", config->n_ctx, SIZE_MAX);
    for (size_t i = 0; i < known->n_member; i++) {
        if (strcmp(known->members[i].key, "d_mlp") == 0)
            known->members[i].kind = SIZE_OR_0;
        if (strcmp(known->members[i].key, "n_ctx") == 0 && config->n_ctx == SIZE_MAX)
            snprintf(known->members[i].value, sizeof known->members[i].value, "null");
    }
    add_activation(c, known, "act_fn");
    add_share(c, known, "eps");
    if (attn_case_chance(c, 30))
        make_blocks(c, known);
    if (attn_case_chance(c, 20))
        add(known, "_comment", LIST, "[{\"anything\":1e30}]");
}

/* --- weights: the tensors that the README names for each part --------------------------------- */

static void add_tensor(struct attn_case *c, struct known *known, const char *name, size_t n,
                       const size_t *shape)
{
    static const enum attn_dtype types[] = {ATTN_DTYPE_F32, ATTN_DTYPE_F32, ATTN_DTYPE_BF16,
                                            ATTN_DTYPE_F16};
    struct attn_planned_tensor *tensor =
        attn_container_add(&known->weights, name, types[attn_case_below(c, 4)], 0);

    tensor->rank = (int)n;
    memcpy(tensor->shape, shape, n * sizeof *shape);
}

#define TENSOR(name, ...)                                                                          \
    add_tensor(c, known, name, sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t),                   \
               (const size_t[]){__VA_ARGS__})

/* The name of a tensor of layer LAYER. */
#define IN_LAYER(form) (snprintf(name, sizeof name, form, layer), name)

static void add_gpt2_weights(struct attn_case *c, struct known *known)
{
    const struct attn_config *config = &known->config;
    const size_t d = config->d_model, f = config->d_mlp;
    char name[ATTN_CONTAINER_NAME_SIZE];

    TENSOR("wte.weight", config->n_vocab, d);
    TENSOR("wpe.weight", config->n_ctx, d);
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        TENSOR(IN_LAYER("h.%zu.ln_1.weight"), d);
        TENSOR(IN_LAYER("h.%zu.ln_1.bias"), d);
        TENSOR(IN_LAYER("h.%zu.attn.c_attn.weight"), d, 3 * d);
        TENSOR(IN_LAYER("h.%zu.attn.c_attn.bias"), 3 * d);
        TENSOR(IN_LAYER("h.%zu.attn.c_proj.weight"), d, d);
        TENSOR(IN_LAYER("h.%zu.attn.c_proj.bias"), d);
        TENSOR(IN_LAYER("h.%zu.ln_2.weight"), d);
        TENSOR(IN_LAYER("h.%zu.ln_2.bias"), d);
        TENSOR(IN_LAYER("h.%zu.mlp.c_fc.weight"), d, f);
        TENSOR(IN_LAYER("h.%zu.mlp.c_fc.bias"), f);
        TENSOR(IN_LAYER("h.%zu.mlp.c_proj.weight"), f, d);
        TENSOR(IN_LAYER("h.%zu.mlp.c_proj.bias"), d);
    }
    TENSOR("ln_f.weight", d);
    TENSOR("ln_f.bias", d);
    if (config->output == ATTN_OUTPUT_OWN)
        TENSOR("lm_head.weight", config->n_vocab, d);
}

static void add_attention_weights(struct attn_case *c, struct known *known, size_t layer)
{
    const struct attn_config *config = &known->config;
    const size_t d = config->d_model, h = config->n_head, g = config->n_kv_head, e = config->d_head,
                 u = config->d_value, s = known->is_cross[layer] ? config->d_source : d;
    char name[ATTN_CONTAINER_NAME_SIZE];

    if (config->has_projections) {
        TENSOR(IN_LAYER("blocks.%zu.attn.W_Q"), h, d, e);
        TENSOR(IN_LAYER("blocks.%zu.attn.W_K"), g, s, e);
        TENSOR(IN_LAYER("blocks.%zu.attn.W_V"), g, s, u);
    }
    if (config->has_qkv_bias) {
        TENSOR(IN_LAYER("blocks.%zu.attn.b_Q"), h, e);
        TENSOR(IN_LAYER("blocks.%zu.attn.b_K"), g, e);
        TENSOR(IN_LAYER("blocks.%zu.attn.b_V"), g, u);
    }
    if (config->has_out_proj)
        TENSOR(IN_LAYER("blocks.%zu.attn.W_O"), h, u, d);
    if (config->has_out_bias)
        TENSOR(IN_LAYER("blocks.%zu.attn.b_O"), d);
}

static void add_attn_weights(struct attn_case *c, struct known *known)
{
    const struct attn_config *config = &known->config;
    const size_t d = config->d_model, f = config->d_mlp;
    const bool has_norm = config->norm == ATTN_NORM_LAYERNORM;
    char name[ATTN_CONTAINER_NAME_SIZE];

    TENSOR("embed.W_E", config->n_vocab, d);
    if (config->positions == ATTN_POSITIONS_LEARNED)
        TENSOR("pos_embed.W_pos", config->n_ctx, d);
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        if (has_norm) {
            TENSOR(IN_LAYER("blocks.%zu.ln1.w"), d);
            TENSOR(IN_LAYER("blocks.%zu.ln1.b"), d);
        }
        add_attention_weights(c, known, layer);
        if (has_norm && f > 0) {
            TENSOR(IN_LAYER("blocks.%zu.ln2.w"), d);
            TENSOR(IN_LAYER("blocks.%zu.ln2.b"), d);
        }
        if (f > 0) {
            TENSOR(IN_LAYER("blocks.%zu.mlp.W_in"), d, f);
            TENSOR(IN_LAYER("blocks.%zu.mlp.W_out"), f, d);
        }
        if (f > 0 && attn_case_chance(c, 50)) {
            TENSOR(IN_LAYER("blocks.%zu.mlp.b_in"), f);
            TENSOR(IN_LAYER("blocks.%zu.mlp.b_out"), d);
        }
    }
    if (config->has_final_norm) {
        TENSOR("ln_final.w", d);
        TENSOR("ln_final.b", d);
    }
    if (config->output == ATTN_OUTPUT_OWN)
        TENSOR("unembed.W_U", d, config->n_vocab);
}

/* --- defects ---------------------------------------------------------------------------------- */

static struct member *find(struct known *known, const char *key)
{
    for (size_t i = 0; i < known->n_member; i++)
        if (strcmp(known->members[i].key, key) == 0)
            return &known->members[i];
    return NULL;
}

static bool is_attn(const struct known *known)
{
    return strcmp(known->members[0].value, "\"attn\"") == 0;
}

static void drop(struct known *known, const char *key)
{
    struct member *member = find(known, key);

    if (member != NULL)
        *member = known->members[--known->n_member];
}

/* Sets KEY, which may not be there yet. */
static void set(struct known *known, const char *key, const char *value)
{
    struct member *member = find(known, key);

    if (member == NULL)
        member = add(known, key, LIST, value);
    snprintf(member->value, sizeof member->value, "%s", value);
}

/* Gives a member of one of these kinds one of VALUES. */
static void set_wrong(struct attn_case *c, struct known *known, bool is_kind)
{
    static const char *const kinds[][6] = {
        [SIZE] = {"\"3\"", "true", "[]", "{}", "[3]", "\"\""},
        [SIZE_OR_0] = {"\"3\"", "false", "[]", "{}", "[0]", "\"\""},
        [SWITCH] = {"1", "0", "\"true\"", "[]", "{}", "\"\""},
        [WORD] = {"1", "true", "[]", "{}", "[\"none\"]", "0.5"},
        [SHARE] = {"\"1e-5\"", "true", "[]", "{}", "[0]", "\"\""},
    };
    static const char *const ranges[][6] = {
        [SIZE] = {"0", "-1", "1.5", "1e30", "18446744073709551617", "-0.5"},
        [SIZE_OR_0] = {"-1", "0.5", "1e30", "18446744073709551617", "-0.5", "9007199254740993"},
        [SHARE] = {"-1e-9", "1.0001", "2", "1e300", "-1", "1e400"},
    };
    struct member *member;

    do
        member = &known->members[attn_case_below(c, known->n_member)];
    while (member->kind == LIST || (!is_kind && (member->kind == SWITCH || member->kind == WORD)));
    snprintf(member->value, sizeof member->value, "%s",
             (is_kind ? kinds : ranges)[member->kind][attn_case_below(c, 6)]);
}

static void set_unsupported(struct attn_case *c, struct known *known)
{
    static const char *const ours[][2] = {{"gated_mlp", "true"},
                                          {"parallel_residual", "true"},
                                          {"qk_norm", "true"},
                                          {"norm", "\"rmsnorm\""},
                                          {"positions", "\"rotary\""}};
    static const char *const gpt2[][2] = {{"add_cross_attention", "true"},
                                          {"pruned_heads", "{\"0\":[1]}"},
                                          {"quantization_config", "{\"bits\":4}"},
                                          {"activation_function", "\"mish\""},
                                          {"add_cross_attention", "true"}};
    const char *const *pair = (is_attn(known) ? ours : gpt2)[attn_case_below(c, 5)];

    set(known, pair[0], pair[1]);
    if (strcmp(pair[1], "\"rotary\"") == 0)
        set(known, "n_ctx", "3");
}

static void set_heads(struct attn_case *c, struct known *known)
{
    char text[32];

    if (!is_attn(known) || attn_case_chance(c, 50)) {
        snprintf(text, sizeof text, "%zu", known->config.d_model + 1);
        drop(known, "d_head");
        drop(known, "num_attention_heads");
        set(known, "n_head", text);
        return;
    }
    known->config.n_kv_head = known->config.n_head + 1; /* and the weights will be so */
    snprintf(text, sizeof text, "%zu", known->config.n_kv_head);
    set(known, "n_kv_head", text);
}

static void set_blocks(struct attn_case *c, struct known *known)
{
    static const char *const wrong[] = {
        "[]", "[\"self\",\"self\",\"self\",\"self\"]", "\"self\"", "[1]", "[\"both\"]", "{}"};

    if (!is_attn(known))
        set(known, "vocab_size", "\"blocks\"");
    else
        set(known, "blocks", wrong[attn_case_below(c, 6)]);
}

static void spoil_members(struct attn_case *c, struct known *known, enum defect defect)
{
    static const char *const types[] = {"\"llama\"", "\"GPT2\"", "7", "\"\"", "[]"};

    if (defect == OTHER_KIND || defect == OUT_OF_RANGE)
        set_wrong(c, known, defect == OTHER_KIND);
    if (defect == NO_WIDTH) /* GPT-2's are 768 and 50257, and the weights are not */
        drop(known,
             is_attn(known) ? (attn_case_chance(c, 50) ? "d_model" : "n_vocab") : "vocab_size");
    if (defect == OTHER_TYPE)
        set(known, "model_type", types[attn_case_below(c, 5)]);
    if (defect == UNKNOWN_KEY && is_attn(known))
        add(known, attn_case_chance(c, 50) ? "n_heads" : "D_model", LIST, "1");
    if (defect == UNKNOWN_KEY && !is_attn(known)) /* GPT-2's configs are full of them */
        attn_case_is_valid(c), add(known, "n_heads", LIST, "[]");
    if (defect == NOT_DIVIDED || defect == OTHER_HEADS)
        set_heads(c, known);
    if (defect == NOT_SUPPORTED)
        set_unsupported(c, known);
    if (defect == UNKNOWN_WORD)
        set(known, is_attn(known) ? "act_fn" : "activation_function",
            attn_case_chance(c, 50) ? "\"swish9\"" : "\"GELU\"");
    if (defect == BLOCKS)
        set_blocks(c, known);
    if (defect == NO_TYPE)
        drop(known, "model_type");
}

static void spoil_weights(struct attn_case *c, struct known *known, enum defect defect)
{
    struct attn_container *weights = &known->weights;
    size_t victim;

    do
        victim = attn_case_below(c, weights->n);
    while (strstr(weights->tensors[victim].name, ".mlp.b_") != NULL); /* these may be absent */
    if (defect == NO_TENSOR)
        weights->tensors[victim] = weights->tensors[--weights->n];
    if (defect == OTHER_SHAPE)
        weights->tensors[victim].shape[attn_case_below(c, (size_t)weights->tensors[victim].rank)]++;
    if (defect == OTHER_TENSOR_TYPE)
        weights->tensors[victim].dtype = attn_case_chance(c, 50) ? ATTN_DTYPE_I32 : ATTN_DTYPE_BOOL;
    if (defect == NO_TENSOR && weights->n == 0)
        attn_container_add(weights, "other", ATTN_DTYPE_F32, 1, (size_t)1);
}

/* --- the case --------------------------------------------------------------------------------- */

static void write_config(struct attn_case *c, const struct known *known, enum defect defect)
{
    struct attn_buffer *out = attn_case_file(c, "config.json");
    size_t order[MAX_MEMBER];

    attn_case_shuffle(c, order, known->n_member);
    attn_json_put(c, out, "{");
    for (size_t i = 0; i < known->n_member; i++) {
        if (i > 0)
            attn_json_put(c, out, ",");
        attn_json_put_key(c, out, known->members[order[i]].key);
        attn_json_put(c, out, known->members[order[i]].value);
    }
    if (attn_case_is_large(c)) {
        attn_json_put(c, out, ",\"_many\":[0");
        for (int i = 0; i < N_MANY; i++)
            attn_buffer_append_string(out, ",0");
        attn_json_put(c, out, "]");
    }
    attn_json_put(c, out, "}");
    if (defect >= FIRST_JSON)
        attn_json_spoil(c, out, (int)defect - FIRST_JSON);
}

static void make(struct attn_case *c)
{
    struct known *known = (struct known *)c->known.bytes;
    const enum defect defect = (enum defect)attn_case_defect(c, defects, N_DEFECT);
    const bool is_gpt2 = attn_case_chance(c, 40);

    known->config.n_layer = 1 + attn_case_below(c, MAX_LAYER);
    known->config.n_vocab = 1 + attn_case_below(c, 7);
    known->weights.is_plain = true;
    if (is_gpt2)
        make_gpt2(c, known);
    else
        make_attn(c, known);
    spoil_members(c, known, defect);
    if (is_gpt2)
        add_gpt2_weights(c, known);
    else
        add_attn_weights(c, known);
    spoil_weights(c, known, defect);
    write_config(c, known, defect);
    attn_container_write(c, &known->weights,
                         defect == BAD_WEIGHTS ? (int)attn_case_below(c, ATTN_CONTAINER_N_DEFECT)
                                               : -1,
                         attn_case_file(c, "model.safetensors"));
    attn_case_run(c, 3, "inspect", "-q", "-m", ".", NULL);
}

static void check_config(const struct known *known, const struct attn_config *read)
{
    const struct attn_config *config = &known->config;

    FUZZ_CHECK(read->n_layer == config->n_layer && read->n_head == config->n_head);
    FUZZ_CHECK(read->n_kv_head == config->n_kv_head && read->d_model == config->d_model);
    FUZZ_CHECK(read->d_head == config->d_head && read->d_value == config->d_value);
    FUZZ_CHECK(read->d_mlp == config->d_mlp && read->n_vocab == config->n_vocab);
    FUZZ_CHECK(read->n_ctx == config->n_ctx && read->norm == config->norm);
    FUZZ_CHECK(read->positions == config->positions && read->output == config->output);
    FUZZ_CHECK(strcmp(read->act_fn, config->act_fn) == 0);
    FUZZ_CHECK(read->has_projections == config->has_projections);
    FUZZ_CHECK(read->has_qkv_bias == config->has_qkv_bias);
    FUZZ_CHECK(read->has_out_proj == config->has_out_proj);
    FUZZ_CHECK(read->has_out_bias == config->has_out_bias);
    FUZZ_CHECK(read->has_residual == config->has_residual);
    FUZZ_CHECK(read->has_final_norm == config->has_final_norm);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        FUZZ_CHECK(read->is_cross[layer] == known->is_cross[layer]);
}

/* Two tokens, with two rows of zeros as the source of layers that read one. */
static enum attn_status run_model(struct attn_host *host, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(attn_host_model(host));
    const int32_t ids[N_TOKEN] = {0, (int32_t)config->n_vocab - 1};
    struct attn_ndarray source = {.name = "source", .rank = 2, .shape = {2, config->d_source}};
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_result result = {0};
    enum attn_status status;
    float *zeros = calloc(2 * config->d_source, sizeof *zeros);

    FUZZ_CHECK(zeros != NULL);
    source.data = zeros;
    request.input.ids = ids;
    request.input.n_id = config->n_ctx < N_TOKEN ? config->n_ctx : N_TOKEN;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (config->is_cross[layer])
            request.source.embeddings = &source;
    status = attn_run_request(host, &request, &result, err);
    attn_result_release(&result);
    free(zeros);
    return status;
}

static enum attn_status take(struct attn_case *c, struct attn_error *err)
{
    const struct known *known = (const struct known *)c->known.bytes;
    const struct attn_buffer *config = attn_case_find(c, "config.json"),
                             *weights = attn_case_find(c, "model.safetensors");
    const struct attn_blob blobs[] = {{"config.json", config->data, config->size},
                                      {"model.safetensors", weights->data, weights->size}};
    const struct attn_source source = {.name = "m", .blobs = blobs, .n_blob = 2};
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct attn_host *host = NULL;
    enum attn_status status;

    options.load = ATTN_READ;
    options.n_thread = 1;
    options.gemm = ATTN_GEMM_PORTABLE;
    status = attn_host_create(&source, &options, &host, err);
    if (status == ATTN_OK && c->meant == ATTN_MEANT_VALID) {
        check_config(known, attn_model_config(attn_host_model(host)));
        status = run_model(host, err);
    }
    attn_host_free(host);
    return status;
}

const struct attn_grammar attn_grammar_config = {.name = "config",
                                                 .make = make,
                                                 .take = take,
                                                 .refused = FUZZ_BIT(ATTN_FORMAT) |
                                                            FUZZ_BIT(ATTN_UNSUPPORTED)};
