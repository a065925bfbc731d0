/*
 * attn.c - our own model type. Every part of a block has a key, and most parts are off by default.
 * Tensors have TransformerLens's names.
 *
 * Unknown keys are refused, because a misspelt key would silently run a different model.
 * Projections have one matrix per head, with the input first: W_Q [H, D, E], W_O [H, Ev, D]. If the
 * model is attention alone, D is d_out there.
 */
#include "base/status_internal.h"
#include "families/families_internal.h"

#include <string.h>

/* Keys that are allowed in addition to the fields. Those after the gap are read elsewhere or
 * ignored. */
static const char *const other_keys[] = {"bias",
                                         "blocks",
                                         "causal",
                                         "eos_token_id",
                                         "norm",
                                         "projections",
                                         "qk_norm",
                                         "scale",
                                         "n_output",

                                         "id2label",
                                         "labels",
                                         "tokenizer",
                                         "architectures",
                                         "torch_dtype",
                                         "dtype",
                                         "transformers_version"};

/* The widest stream whose components may be outputs: their matrix takes 64 MiB. */
enum { MOST_COMPONENTS = 4096 };

static enum attn_status check_keys(const struct attn_json *json, struct attn_error *err)
{
    const struct attn_node *node = attn_node_first(attn_json_root(json));

    for (; node; node = attn_node_next(node)) {
        const char *key = attn_node_key(node);
        bool is_known = key[0] == '_';

        for (const struct attn_config_field *field = attn_config_fields; field->name; field++)
            is_known = is_known || (field->key && strcmp(field->key, key) == 0);
        for (size_t i = 0; i < sizeof other_keys / sizeof *other_keys; i++)
            is_known = is_known || strcmp(other_keys[i], key) == 0;
        if (!is_known)
            return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, key,
                                    "is not a key of model_type 'attn'");
    }
    return ATTN_OK;
}

/* Reads a key whose value is a word of FIELD, and stores the word's number in *value. An absent key
 * leaves *value unchanged. */
static enum attn_status get_word(const struct attn_json *json,
                                 const struct attn_config_field *field, int *value,
                                 struct attn_error *err)
{
    const char *text = NULL;

    ATTN_TRY(attn_json_get_string(json, attn_json_root(json), field->key, &text, err));
    if (!text)
        return ATTN_OK;
    for (int i = 0; i < field->n_key_word; i++)
        if (strcmp(text, field->words[i]) == 0) {
            *value = i;
            return ATTN_OK;
        }
    return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, field->key, "is '%s', expected %s",
                            attn_quote_string(text).text, field->expected);
}

/* Reads all fields of TYPE, words or flags, that have a key. */
static enum attn_status read_fields(const struct attn_json *json, struct attn_config *config,
                                    enum attn_config_type type, struct attn_error *err)
{
    for (const struct attn_config_field *field = attn_config_fields; field->name; field++) {
        void *at = (char *)config + field->offset;

        if (field->type == type && field->key)
            ATTN_TRY(type == ATTN_CONFIG_WORD
                         ? get_word(json, field, at, err)
                         : attn_json_get_bool(json, attn_json_root(json), field->key, at, err));
    }
    return ATTN_OK;
}

/* Reads the sizes that every config must have (IS_BASIC), or all other sizes. */
static enum attn_status read_some_sizes(const struct attn_json *json, struct attn_config *config,
                                        bool is_basic, struct attn_error *err)
{
    const bool needs_ctx = config->positions == ATTN_POSITIONS_LEARNED;
    const bool needs_source = config->source_positions == ATTN_POSITIONS_LEARNED;

    for (const struct attn_config_field *field = attn_config_fields; field->name; field++) {
        size_t *size, before;

        if (field->type != ATTN_CONFIG_SIZE || !field->key)
            continue;
        size = (void *)((char *)config + field->offset);
        before = *size;
        if ((size == &config->d_model || size == &config->n_vocab) != is_basic)
            continue;
        ATTN_TRY(attn_json_get_size(json, attn_json_root(json), field->key,
                                    size == &config->d_mlp ? 0 : 1, field->max, size, err));
        if (*size == before && (is_basic || (size == &config->n_ctx && needs_ctx) ||
                                (size == &config->n_source && needs_source)))
            return attn_error_set(err, ATTN_FORMAT, "'%s' is missing in '%s'", field->key,
                                  attn_config_quote(json).text);
    }
    return ATTN_OK;
}

static enum attn_status read_sizes(const struct attn_json *json, struct attn_config *config,
                                   struct attn_error *err)
{
    ATTN_TRY(read_some_sizes(json, config, true, err));
    ATTN_TRY(read_some_sizes(json, config, false, err));
    if (config->d_head == 0 && config->d_model % config->n_head != 0) {
        attn_error_set(err, ATTN_FORMAT,
                       "n_head %zu does not divide d_model %zu in '%s', and there is no d_head",
                       config->n_head, config->d_model, attn_config_quote(json).text);
        attn_error_hint(err, "n_head %zu divides it; with d_head any n_head will do",
                        attn_config_nearest_divisor(config->d_model, config->n_head));
        return ATTN_FORMAT;
    }
    if (config->d_head == 0)
        config->d_head = config->d_model / config->n_head;
    if (config->d_value == 0)
        config->d_value = config->d_head;
    if (config->n_kv_head == 0)
        config->n_kv_head = config->n_head;
    if (config->d_source == 0)
        config->d_source = config->d_model;
    return ATTN_OK;
}

static enum attn_status read_switches(const struct attn_json *json, struct attn_config *config,
                                      struct attn_attention *attention, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    bool has_bias = false, has_qk_norm = false, is_causal = true;

    ATTN_TRY(attn_json_get_bool(json, root, "bias", &has_bias, err));
    config->has_qkv_bias = config->has_out_bias = has_bias;
    config->has_final_norm = config->norm != ATTN_NORM_NONE;
    ATTN_TRY(read_fields(json, config, ATTN_CONFIG_FLAG, err));
    ATTN_TRY(attn_json_get_bool(json, root, "qk_norm", &has_qk_norm, err));
    ATTN_TRY(attn_json_get_bool(json, root, "scale", &attention->is_scaled, err));
    ATTN_TRY(attn_json_get_bool(json, root, "causal", &is_causal, err));
    config->qk_norm = has_qk_norm ? ATTN_QK_NORM_PER_HEAD : ATTN_QK_NORM_NONE;
    config->has_qkv_bias = config->has_qkv_bias && config->has_projections;
    config->has_out_bias = config->has_out_bias && config->has_out_proj;
    config->has_final_norm = config->has_final_norm && config->norm != ATTN_NORM_NONE;
    attention->mask = is_causal ? ATTN_MASK_CAUSAL : ATTN_MASK_NONE;
    return ATTN_OK;
}

/* Reads the key `norm`. An RMSNorm of this type has no weights. */
static enum attn_status read_norm(const struct attn_json *json, struct attn_config *config,
                                  struct attn_error *err)
{
    static const char *const words[] = {"none", "layernorm", "rms"};
    static const enum attn_norm norms[] = {ATTN_NORM_NONE, ATTN_NORM_LAYERNORM,
                                           ATTN_NORM_RMSNORM_NO_WEIGHT};
    static const struct attn_config_field field = {
        .key = "norm", .words = words, .n_key_word = 3, .expected = "'none', 'layernorm' or 'rms'"};
    int norm = 0;

    ATTN_TRY(get_word(json, &field, &norm, err));
    config->norm = norms[norm];
    return ATTN_OK;
}

/* Refuses parts that the forward pass supports, but for whose tensors this type has no names. */
static enum attn_status refuse_parts(const struct attn_json *json, const struct attn_config *config,
                                     struct attn_error *err)
{
    const struct {
        bool is_used;
        const char *part;
    } lacking[] = {
        {config->has_embed_norm && config->norm != ATTN_NORM_RMSNORM_NO_WEIGHT,
         "'embed_norm' without 'norm' 'rms'"},
        {config->positions == ATTN_POSITIONS_ROTARY, "rotary positions"},
        {config->qk_norm != ATTN_QK_NORM_NONE, "normalized queries and keys"},
        {config->has_gated_mlp, "a gated MLP"},
        {config->has_parallel_residual, "a parallel residual"},
    };

    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++)
        if (lacking[i].is_used)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "'%s' asks for %s, which model_type 'attn' does not have",
                                  attn_config_quote(json).text, lacking[i].part);
    return ATTN_OK;
}

/* Makes the components of the residual stream the outputs, named by the list `labels`. */
static enum attn_status read_components(const struct attn_json *json, struct attn_config *config,
                                        struct attn_error *err)
{
    const struct attn_node *names = attn_node_find(attn_json_root(json), "labels");
    size_t n = 0;

    for (const struct attn_node *node = names && attn_node_is_array(names) ? attn_node_first(names)
                                                                           : NULL;
         node; node = attn_node_next(node))
        n++;
    if (n != config->d_model || n > MOST_COMPONENTS)
        return ATTN_JSON_REFUSE(
            json, err, ATTN_FORMAT, "output",
            "is 'stream', expected 'labels', a list of d_model %zu names, at most %d",
            config->d_model, MOST_COMPONENTS);
    config->n_token = config->n_vocab;
    config->n_vocab = n;
    config->task = ATTN_TASK_TOKENS;
    return ATTN_OK;
}

/* Reads the number of outputs. If they are not as many as tokens, or have names, they are labels of
 * each position, not tokens. */
static enum attn_status read_outputs(const struct attn_json *json, struct attn_config *config,
                                     struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const bool has_labels = attn_node_find(root, "labels");
    size_t n = 0;

    ATTN_TRY(attn_json_get_size(json, root, "n_output", 1, ATTN_MAX_VOCAB, &n, err));
    if (has_labels && config->output != ATTN_OUTPUT_STREAM)
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "labels",
                                "names components of the stream, and needs 'output' 'stream'; "
                                "'id2label' names other outputs");
    if ((n == 0 || n == config->n_vocab) && !attn_node_find(root, "id2label"))
        return config->output == ATTN_OUTPUT_STREAM ? read_components(json, config, err) : ATTN_OK;
    if (config->output != ATTN_OUTPUT_OWN)
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, n > 0 ? "n_output" : "id2label",
                                "needs 'output' 'own', a matrix of its own");
    config->n_token = config->n_vocab;
    config->n_vocab = n > 0 ? n : config->n_vocab;
    config->task = ATTN_TASK_TOKENS;
    return ATTN_OK;
}

static enum attn_status read_config(ATTN_CONFIG_ARGS)
{
    static const char *const words[] = {"none", "qkv"};
    static const struct attn_config_field projections = {
        .key = "projections", .words = words, .n_key_word = 2, .expected = "'none' or 'qkv'"};
    const struct attn_node *root = attn_json_root(json);
    int has_projections = true;
    struct attn_attention attention = {.kind = ATTN_ATTENTION_FULL, .is_scaled = true, .factor = 1};
    const char *activation = config->act_fn;
    double norm_eps = (double)form->defaults.norm_eps;

    ATTN_TRY(check_keys(json, err));
    ATTN_TRY(read_fields(json, config, ATTN_CONFIG_WORD, err));
    ATTN_TRY(read_norm(json, config, err));
    ATTN_TRY(get_word(json, &projections, &has_projections, err));
    config->has_projections = has_projections;
    ATTN_TRY(read_sizes(json, config, err));
    ATTN_TRY(read_outputs(json, config, err));
    ATTN_TRY(read_switches(json, config, &attention, err));
    ATTN_TRY(refuse_parts(json, config, err));
    ATTN_TRY(attn_json_get_string(json, root, "act_fn", &activation, err));
    ATTN_TRY(attn_config_set_activation(json, &config->act_fn, "act_fn", activation, err));
    ATTN_TRY(attn_json_get_double(json, root, "eps", 0, 1, &norm_eps, err));
    config->norm_eps = (float)norm_eps;
    ATTN_TRY(attn_config_allocate_layers(config, layers, &attention, err));
    ATTN_TRY(attn_config_read_words(json, "blocks", (const char *const[]){"self", "cross"},
                                    config->n_layer, layers->is_cross, err));
    if (config->source_positions == ATTN_POSITIONS_NONE || attn_config_has_cross(config))
        return ATTN_OK;
    ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "source_positions",
                     "is 'learned', but no block attends to a source");
    attn_error_hint(err, "'blocks' says which do: [\"self\", \"cross\"]");
    return ATTN_FORMAT;
}

/* --- tensors ---------------------------------------------------------------------------------- */

static const struct attn_weight_rule rules[] = {
    {"embed.W_E", "VD", ATTN_PART_EMBEDDING, ATTN_WEIGHT_TENSOR, MODEL(embed)},
    {"pos_embed.W_pos", "PD", ATTN_PART_POSITIONS, ATTN_WEIGHT_TENSOR, MODEL(positions)},
    {"source_pos_embed.W_pos", "NX", ATTN_PART_SOURCE_POSITIONS, ATTN_WEIGHT_TENSOR,
     MODEL(source_positions)},
    VECTOR("blocks.#.ln1.w", "D", ATTN_PART_NORM, BLOCK(ln1.w)),
    VECTOR("blocks.#.ln1.b", "D", ATTN_PART_NORM, BLOCK(ln1.b)),
    {"blocks.#.attn.W_Q", "HDE", ATTN_PART_PROJECTIONS, ATTN_WEIGHT_HEADS, BLOCK(q.weight)},
    VECTOR("blocks.#.attn.b_Q", "HE", ATTN_PART_QKV_BIAS, BLOCK(q.bias)),
    {"blocks.#.attn.W_K", "GSE", ATTN_PART_PROJECTIONS, ATTN_WEIGHT_HEADS, BLOCK(k.weight)},
    VECTOR("blocks.#.attn.b_K", "GE", ATTN_PART_QKV_BIAS, BLOCK(k.bias)),
    {"blocks.#.attn.W_V", "GSU", ATTN_PART_PROJECTIONS, ATTN_WEIGHT_HEADS, BLOCK(v.weight)},
    VECTOR("blocks.#.attn.b_V", "GU", ATTN_PART_QKV_BIAS, BLOCK(v.bias)),
    {"blocks.#.attn.W_O", "HUO", ATTN_PART_OUT_PROJ, ATTN_WEIGHT_IN_OUT, BLOCK(out.weight)},
    VECTOR("blocks.#.attn.b_O", "O", ATTN_PART_OUT_BIAS, BLOCK(out.bias)),
    VECTOR("blocks.#.ln2.w", "D", ATTN_PART_MLP_NORM, BLOCK(ln2.w)),
    VECTOR("blocks.#.ln2.b", "D", ATTN_PART_MLP_NORM, BLOCK(ln2.b)),
    {"blocks.#.mlp.W_in", "DF", ATTN_PART_MLP, ATTN_WEIGHT_IN_OUT, BLOCK(mlp_in.weight)},
    VECTOR("blocks.#.mlp.b_in", "F", ATTN_PART_MLP_BIAS_FOUND, BLOCK(mlp_in.bias)),
    {"blocks.#.mlp.W_out", "FD", ATTN_PART_MLP, ATTN_WEIGHT_IN_OUT, BLOCK(mlp_out.weight)},
    VECTOR("blocks.#.mlp.b_out", "D", ATTN_PART_MLP_BIAS_FOUND, BLOCK(mlp_out.bias)),
    VECTOR("ln_final.w", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w)),
    VECTOR("ln_final.b", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.b)),
    {"unembed.W_U", "DV", ATTN_PART_OUTPUT, ATTN_WEIGHT_IN_OUT, MODEL(unembed.weight)},
    {"unembed.W_U", "DY", ATTN_PART_TOKEN_CLASS, ATTN_WEIGHT_IN_OUT, MODEL(unembed.weight)},
    VECTOR("unembed.b_U", "Y", ATTN_PART_OUTPUT_BIAS_FOUND, MODEL(unembed.bias)),
};

const struct attn_family attn_family_attn = {.model_type = "attn",
                                             .read_config = read_config,
                                             .prefix = NULL,
                                             .rules = rules,
                                             .n_rule = sizeof rules / sizeof *rules,
                                             .vocabulary_key = "n_vocab",
                                             .form = {.defaults = {.n_layer = 1,
                                                                   .n_head = 1,
                                                                   .n_ctx = SIZE_MAX,
                                                                   .norm_eps = 1e-5F,
                                                                   .act_fn = "gelu_new"}}};
