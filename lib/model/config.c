/* config.c - what the configs of all families share: sites and sizes, their lists of layers, and
 * whether they can be run. */
#include "model/config.h"

#include "base/escape.h"
#include "base/memory.h"
#include "kernels/kernels.h"
#include "model/config_internal.h"

#include <string.h>

struct attn_dims attn_config_dims(const struct attn_config *config, size_t n_position)
{
    const bool is_joined =
        config->has_out_proj || config->n_head * config->d_value == config->d_model;
    uint64_t lacking = 0;

    if (!is_joined)
        lacking |= ATTN_SITE_BIT(ATTN_SITE_ATTN_OUT) | ATTN_SITE_BIT(ATTN_SITE_RESID_POST);
    if (config->d_mlp == 0)
        lacking |= ATTN_SITE_BIT(ATTN_SITE_RESID_MID) | ATTN_SITE_BIT(ATTN_SITE_MLP_PRE) |
                   ATTN_SITE_BIT(ATTN_SITE_MLP_POST) | ATTN_SITE_BIT(ATTN_SITE_MLP_OUT);
    if (!config->has_final_norm)
        lacking |= ATTN_SITE_BIT(ATTN_SITE_LN_FINAL);
    if (config->output == ATTN_OUTPUT_NONE)
        lacking |= ATTN_SITE_BIT(ATTN_SITE_LOGITS);
    lacking |= ATTN_SITE_BIT(ATTN_SITE_PATTERN_DROPPED) | ATTN_SITE_BIT(ATTN_SITE_PATTERN_LOWRANK);
    return (struct attn_dims){
        .n_layer = config->n_layer,
        .n_head = config->n_head,
        .n_kv_head = config->n_kv_head,
        .d_model = config->d_model,
        .d_head = config->d_head,
        .d_value = config->d_value,
        .d_mlp = config->d_mlp,
        .n_vocab = config->n_vocab,
        .n_position = n_position,
        .is_cross = config->is_cross,
        .sites = (ATTN_SITE_BIT(ATTN_N_SITE) - 1) & ~lacking,
    };
}

static bool has_score_cap(const struct attn_config *config)
{
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (config->attention[layer].score_cap > 0)
            return true;
    return false;
}

/* Parts that have a field but no kernel yet. */
static enum attn_status check_supported(const struct attn_json *json,
                                        const struct attn_config *config, struct attn_error *err)
{
    const struct {
        bool is_used;
        const char *part;
    } lacking[] = {
        {config->norm == ATTN_NORM_RMSNORM || config->norm == ATTN_NORM_RMSNORM_PLUS_ONE,
         "RMSNorm"},
        {config->norm_place != ATTN_NORM_BEFORE, "norms behind attention and MLP"},
        {config->positions == ATTN_POSITIONS_ROTARY, "rotary positions"},
        {config->qk_norm != ATTN_QK_NORM_NONE, "normalized queries and keys"},
        {config->has_gated_mlp, "a gated MLP"},
        {config->has_parallel_residual, "a parallel residual"},
        {config->embed_scale > 0, "scaled embeddings"},
        {config->logits_cap > 0, "capped logits"},
        {has_score_cap(config), "capped scores"},
    };

    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++)
        if (lacking[i].is_used)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "'%s' asks for %s, which this version does not have",
                                  attn_quote_string(attn_json_name(json)).text, lacking[i].part);
    return ATTN_OK;
}

/* Sizes that must fit one another, whatever the family. */
static enum attn_status check_sizes(const struct attn_json *json, const struct attn_config *config,
                                    struct attn_error *err)
{
    const struct attn_quote name = attn_quote_string(attn_json_name(json));
    const size_t d_concat = config->n_head * config->d_value;
    const bool is_bare = config->n_layer == 1 && config->d_mlp == 0 && !config->has_residual &&
                         !config->has_final_norm && config->output == ATTN_OUTPUT_NONE;

    if (config->n_head % config->n_kv_head != 0) {
        attn_error_set(err, ATTN_FORMAT, "n_kv_head %zu does not divide n_head %zu in '%s'",
                       config->n_kv_head, config->n_head, name.text);
        attn_error_hint(err, "n_kv_head %zu divides it",
                        attn_config_nearest_divisor(config->n_head, config->n_kv_head));
        return ATTN_FORMAT;
    }
    if (!config->has_projections && (config->n_head != 1 || config->d_head != config->d_model ||
                                     config->d_value != config->d_model))
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has no projections, so it needs one head of the width of the "
                              "model: found n_head %zu, d_head %zu, d_value %zu, d_model %zu",
                              name.text, config->n_head, config->d_head, config->d_value,
                              config->d_model);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (config->is_cross[layer] && !config->has_projections &&
            config->d_source != config->d_model)
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' has no projections, so d_source %zu must be d_model %zu",
                                  name.text, config->d_source, config->d_model);
    if (!config->has_out_proj && !is_bare && d_concat != config->d_model)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has no out_proj, so n_head * d_value must be d_model: found "
                              "%zu * %zu and %zu",
                              name.text, config->n_head, config->d_value, config->d_model);
    return ATTN_OK;
}

size_t attn_config_nearest_divisor(size_t whole, size_t n)
{
    n = n < whole ? n : whole;
    while (whole % n != 0)
        n--;
    return n;
}

enum attn_status attn_config_check(const struct attn_json *json, const struct attn_config *config,
                                   struct attn_error *err)
{
    const enum attn_status status = check_supported(json, config, err);

    return status == ATTN_OK ? check_sizes(json, config, err) : status;
}

enum attn_status attn_config_allocate_layers(struct attn_config *config,
                                             struct attn_config_layers *layers,
                                             const struct attn_attention *first,
                                             struct attn_error *err)
{
    layers->attention = attn_alloc(config->n_layer, sizeof *layers->attention, err);
    layers->is_cross = attn_alloc(config->n_layer, sizeof *layers->is_cross, err);
    config->attention = layers->attention;
    layers->rope = attn_alloc(config->n_layer, sizeof *layers->rope, err);
    config->is_cross = layers->is_cross;
    config->rope = layers->rope;
    if (layers->attention == NULL || layers->is_cross == NULL || layers->rope == NULL)
        return ATTN_NO_MEMORY;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->attention[layer] = *first;
    return ATTN_OK;
}

void attn_config_release(struct attn_config *config, struct attn_config_layers *layers)
{
    attn_free(layers->attention);
    attn_free(layers->is_cross);
    attn_free(layers->rope);
    *layers = (struct attn_config_layers){0};
    *config = (struct attn_config){0};
}

enum attn_status attn_config_set_activation(const struct attn_json *json,
                                            struct attn_config *config, const char *key,
                                            const char *name, struct attn_error *err)
{
    const enum attn_activation activation = attn_activation_find(name);

    if (activation == ATTN_N_ACTIVATION)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' in '%s' is '%s', this version has gelu_new, gelu, relu, silu, "
                              "tanh, quick_gelu and relu2",
                              key, attn_quote_string(attn_json_name(json)).text,
                              attn_quote_string(name).text);
    config->act_fn = attn_activation_name(activation);
    return ATTN_OK;
}
