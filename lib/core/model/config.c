/* config.c - functions for the configs of all families: sites and sizes, lists of layers, and
 * whether this version can run the model. */
#include "model/config.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "kernels/kernels.h"
#include "model/config_internal.h"
#include "tables/table_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

/* --- fields ----------------------------------------------------------------------------------- */

_Static_assert(sizeof(enum attn_norm) == sizeof(int), "words are read and shown as int");

static const char *const norms[] = {[ATTN_NORM_NONE] = "none",
                                    [ATTN_NORM_LAYERNORM] = "layernorm",
                                    [ATTN_NORM_RMSNORM] = "rmsnorm",
                                    [ATTN_NORM_RMSNORM_PLUS_ONE] = "rmsnorm_plus_one",
                                    [ATTN_NORM_LAYERNORM_NO_BIAS] = "layernorm_no_bias",
                                    [ATTN_NORM_LAYERNORM_NO_WEIGHT] = "layernorm_no_weight",
                                    [ATTN_NORM_LAYERNORM_PLUS_ONE] = "layernorm_plus_one",
                                    [ATTN_NORM_RMSNORM_NO_WEIGHT] = "rmsnorm_no_weight"};
static const char *const places[] = {[ATTN_NORM_PRE] = "before",
                                     [ATTN_NORM_POST] = "after",
                                     [ATTN_NORM_AROUND] = "around",
                                     [ATTN_NORM_SUM] = "after_sum"};
static const char *const qk_norms[] = {[ATTN_QK_NORM_NONE] = "none",
                                       [ATTN_QK_NORM_PER_HEAD] = "per_head",
                                       [ATTN_QK_NORM_ALL_HEADS] = "all_heads",
                                       [ATTN_QK_NORM_EACH_HEAD] = "each_head"};
static const char *const positions[] = {[ATTN_POSITIONS_NONE] = "none",
                                        [ATTN_POSITIONS_LEARNED] = "learned",
                                        [ATTN_POSITIONS_ROTARY] = "rotary",
                                        [ATTN_POSITIONS_ALIBI] = "alibi"};
static const char *const outputs[] = {[ATTN_OUTPUT_NONE] = "none",
                                      [ATTN_OUTPUT_TIED] = "tied",
                                      [ATTN_OUTPUT_OWN] = "own",
                                      [ATTN_OUTPUT_STREAM] = "stream"};

static const char *const expert_weights[] = {[ATTN_EXPERTS_SOFTMAX_ALL] = "softmax_all",
                                             [ATTN_EXPERTS_SOFTMAX_ALL_NORMALIZED] =
                                                 "softmax_all_normalized",
                                             [ATTN_EXPERTS_SOFTMAX_CHOSEN] = "softmax_chosen",
                                             [ATTN_EXPERTS_SOFTMAX_NEAR] = "softmax_near",
                                             [ATTN_EXPERTS_SIGMOID] = "sigmoid"};

static const char *const resamples[] = {[ATTN_RESAMPLE_NONE] = "none",
                                        [ATTN_RESAMPLE_CUBIC] = "cubic",
                                        [ATTN_RESAMPLE_ANTIALIAS] = "cubic_antialias",
                                        [ATTN_RESAMPLE_OTHERS] = "cubic_others",
                                        [ATTN_RESAMPLE_CORNERS] = "linear_corners"};
static const char *const poolings[] = {[ATTN_POOLING_NONE] = "none",
                                       [ATTN_POOLING_FIRST] = "first",
                                       [ATTN_POOLING_FIRST_AND_MEAN] = "first_and_mean",
                                       [ATTN_POOLING_PROJECTED] = "projected",
                                       [ATTN_POOLING_LAST] = "last",
                                       [ATTN_POOLING_MEAN] = "mean",
                                       [ATTN_POOLING_MEAN_OF_HEADS] = "mean_of_heads",
                                       [ATTN_POOLING_FIRST_TWO] = "first_two"};
static const char *const tasks[] = {[ATTN_TASK_VOCABULARY] = "vocabulary",
                                    [ATTN_TASK_SEQUENCE] = "sequence",
                                    [ATTN_TASK_TOKENS] = "tokens",
                                    [ATTN_TASK_SPANS] = "spans"};

static const char *const label_kinds[] = {[ATTN_LABELS_SINGLE] = "single",
                                          [ATTN_LABELS_MULTI] = "multi",
                                          [ATTN_LABELS_SCORE] = "score",
                                          [ATTN_LABELS_VALUE] = "value"};

#define EACH_HAS_A_WORD(list, n)                                                                   \
    _Static_assert(sizeof(list) / sizeof *(list) == (n), "the last values have words, too")
EACH_HAS_A_WORD(norms, ATTN_N_NORM);
EACH_HAS_A_WORD(places, ATTN_N_NORM_PLACE);
EACH_HAS_A_WORD(qk_norms, ATTN_N_QK_NORM);
EACH_HAS_A_WORD(positions, ATTN_N_POSITIONS);
EACH_HAS_A_WORD(outputs, ATTN_N_OUTPUT_LAYER);
EACH_HAS_A_WORD(expert_weights, ATTN_N_EXPERT_WEIGHTS);
EACH_HAS_A_WORD(resamples, ATTN_N_RESAMPLE);
EACH_HAS_A_WORD(poolings, ATTN_N_POOLING);
EACH_HAS_A_WORD(tasks, ATTN_N_TASK);
EACH_HAS_A_WORD(label_kinds, ATTN_N_LABEL_KIND);
#undef EACH_HAS_A_WORD

#define FIELD(of_type, field)                                                                      \
    .name = #field, .type = (of_type), .offset = offsetof(struct attn_config, field)
#define SIZE(field, largest) FIELD(ATTN_CONFIG_SIZE, field), .key = #field, .max = (largest)
#define FLAG(field, its_key) FIELD(ATTN_CONFIG_FLAG, field), .key = (its_key)
#define ENCODER_FIELD(of_type, field) FIELD(of_type, field), .is_of_encoder = true
#define EXPERT_FIELD(of_type, field) FIELD(of_type, field), .is_of_mixture = true
#define IMAGE_FIELD(of_type, its_name, field)                                                      \
    .name = (its_name), .type = (of_type), .offset = offsetof(struct attn_config, field),          \
    .is_of_image = true
#define CLASS_WORD(field, list)                                                                    \
    FIELD(ATTN_CONFIG_WORD, field), .words = (list), .is_of_classes = true
#define NAMED(of_type, field) FIELD(ATTN_CONFIG_##of_type, field), .is_unshown = true
#define WORD(field, list) FIELD(ATTN_CONFIG_WORD, field), .words = (list)

const struct attn_config_field attn_config_fields[] = {
    {FIELD(ATTN_CONFIG_TEXT, model_type), .key = "model_type"},
    {SIZE(n_layer, ATTN_MAX_LAYER)},
    {SIZE(n_head, ATTN_MAX_WIDTH)},
    {SIZE(n_kv_head, ATTN_MAX_WIDTH)},
    {SIZE(d_model, ATTN_MAX_WIDTH)},
    {SIZE(d_head, ATTN_MAX_WIDTH)},
    {SIZE(d_value, ATTN_MAX_WIDTH)},
    {SIZE(d_out, ATTN_MAX_WIDTH)},
    {SIZE(d_mlp, ATTN_MAX_WIDTH)},
    {SIZE(d_source, ATTN_MAX_WIDTH), .is_of_source = true},
    {SIZE(n_source, ATTN_MAX_CTX), .is_of_source = true},
    {SIZE(n_ctx, ATTN_MAX_CTX)},
    {SIZE(n_vocab, ATTN_MAX_VOCAB)},
    {ENCODER_FIELD(ATTN_CONFIG_FLAG, is_encoder)},
    {ENCODER_FIELD(ATTN_CONFIG_SIZE, d_embed)},
    {ENCODER_FIELD(ATTN_CONFIG_FLAG, has_embed_map)},
    {ENCODER_FIELD(ATTN_CONFIG_FLAG, has_embed_norm), .key = "embed_norm"},
    {ENCODER_FIELD(ATTN_CONFIG_SIZE, n_type)},
    {ENCODER_FIELD(ATTN_CONFIG_SIZE, first_position)},
    {WORD(norm, norms)},
    {FIELD(ATTN_CONFIG_REAL, norm_eps), .key = "eps"},
    {WORD(norm_place, places)},
    {ENCODER_FIELD(ATTN_CONFIG_FLAG, begins_without_norm)},
    {FLAG(has_single_norm, NULL)},
    {FLAG(has_final_norm, "final_norm")},
    {FIELD(ATTN_CONFIG_FLAG, has_final_rms), .is_rare = true},
    {FIELD(ATTN_CONFIG_FLAG, has_mlp_norm), .is_rare = true},
    {WORD(qk_norm, qk_norms)},
    {WORD(positions, positions), .key = "positions", .n_key_word = 3,
     .expected = "'none' or 'learned'"},
    {WORD(source_positions, positions), .key = "source_positions", .n_key_word = 2,
     .expected = "'none' or 'learned'", .is_of_source = true},
    {FIELD(ATTN_CONFIG_FACTOR, embed_scale)},
    {FIELD(ATTN_CONFIG_TEXT, act_fn), .key = "act_fn"},
    {FLAG(has_gated_mlp, "gated_mlp")},
    {FLAG(has_projections, NULL)},
    {FLAG(has_qkv_bias, "qkv_bias")},
    {FIELD(ATTN_CONFIG_FLAG, has_query_bias), .is_rare = true},
    {FIELD(ATTN_CONFIG_FLAG, has_key_bias), .is_rare = true},
    {FIELD(ATTN_CONFIG_FLAG, has_value_bias), .is_rare = true},
    {FLAG(has_out_proj, "out_proj")},
    {FLAG(has_out_bias, "out_bias")},
    {FLAG(has_mlp_bias, NULL)},
    {FLAG(has_residual, "residual")},
    {FLAG(has_parallel_residual, "parallel_residual")},
    {ENCODER_FIELD(ATTN_CONFIG_SIZE, n_group)},
    {ENCODER_FIELD(ATTN_CONFIG_TEXT, head_act_fn)},
    {ENCODER_FIELD(ATTN_CONFIG_FLAG, has_head_bias)},
    {WORD(output, outputs), .key = "output", .n_key_word = 4,
     .expected = "'none', 'tied', 'own' or 'stream'"},
    {FLAG(has_output_bias, NULL)},
    {FIELD(ATTN_CONFIG_FACTOR, logits_cap)},
    {FIELD(ATTN_CONFIG_FACTOR, residual_scale), .is_rare = true},
    {FIELD(ATTN_CONFIG_FACTOR, logits_scale), .is_rare = true},
    {FIELD(ATTN_CONFIG_FACTOR, qkv_clip), .is_rare = true},
    {EXPERT_FIELD(ATTN_CONFIG_SIZE, n_expert)},
    {EXPERT_FIELD(ATTN_CONFIG_SIZE, n_expert_used)},
    {EXPERT_FIELD(ATTN_CONFIG_WORD, expert_weights), .words = expert_weights},
    {EXPERT_FIELD(ATTN_CONFIG_SIZE, d_expert)},
    {EXPERT_FIELD(ATTN_CONFIG_SIZE, d_shared_expert)},
    {EXPERT_FIELD(ATTN_CONFIG_FLAG, has_sinks)},
    {IMAGE_FIELD(ATTN_CONFIG_SIZE, "n_channel", image.n_channel)},
    {IMAGE_FIELD(ATTN_CONFIG_SIZE, "image_height", image.height)},
    {IMAGE_FIELD(ATTN_CONFIG_SIZE, "image_width", image.width)},
    {IMAGE_FIELD(ATTN_CONFIG_SIZE, "patch_height", image.patch_height)},
    {IMAGE_FIELD(ATTN_CONFIG_SIZE, "patch_width", image.patch_width)},
    {IMAGE_FIELD(ATTN_CONFIG_SIZE, "n_register", image.n_register)},
    {IMAGE_FIELD(ATTN_CONFIG_WORD, "resample", image.resample), .words = resamples},
    {IMAGE_FIELD(ATTN_CONFIG_WORD, "pooling", image.pooling), .words = poolings},
    {IMAGE_FIELD(ATTN_CONFIG_FLAG, "has_layer_scale", has_layer_scale)},
    {CLASS_WORD(task, tasks)},
    {CLASS_WORD(pooling, poolings)},
    {FIELD(ATTN_CONFIG_FLAG, has_two_towers), .is_of_tower = true},
    {FIELD(ATTN_CONFIG_SIZE, d_projected), .is_of_tower = true},
    {NAMED(SIZE, n_token)},
    {NAMED(ENDS, end_ids)},
    {NAMED(ID, pad_id)},
    {NAMED(ID, mask_id)},
    {NAMED(FLAG, embeds_normed)},
    {NAMED(FLAG, is_sentence)},
    {NAMED(WORD, label_kind), .words = label_kinds},
    {NAMED(FLAG, qk_norm_is_late)},
    {NAMED(FLAG, has_output_map)},
    {NAMED(FLAG, has_expert_bias)},
    {NAMED(FACTOR, expert_limit)},
    {NAMED(FACTOR, expert_alpha)},
    {NAMED(FACTOR, router_jitter)},
    {NAMED(FLAG, has_shared_gate)},
    {NAMED(FLAG, has_solu)},
    {NAMED(FLAG, has_token_dropout)},
    {.name = "has_residues",
     .type = ATTN_CONFIG_PRESENT,
     .offset = offsetof(struct attn_config, letters),
     .is_unshown = true},
    {NAMED(FLAG, has_contacts)},
    {.name = NULL},
};

const char *attn_config_name(size_t i)
{
    return i < sizeof attn_config_fields / sizeof *attn_config_fields ? attn_config_fields[i].name
                                                                      : NULL;
}

struct attn_cell attn_config_cell(const struct attn_config *config,
                                  const struct attn_config_field *field)
{
    const void *at = (const char *)config + field->offset;

    switch (field->type) {
    case ATTN_CONFIG_TEXT:
        return attn_cell_string(*(const char *const *)at);
    case ATTN_CONFIG_SIZE:
        return *(const size_t *)at == SIZE_MAX ? attn_cell_missing() /* not limited */
                                               : attn_cell_integer((int64_t)(*(const size_t *)at));
    case ATTN_CONFIG_ID:
        return *(const int64_t *)at < 0 ? attn_cell_missing()
                                        : attn_cell_integer(*(const int64_t *)at);
    case ATTN_CONFIG_ENDS:
        return attn_cell_list(config->end_ids, config->n_end_id);
    case ATTN_CONFIG_WORD:
        return attn_cell_string(field->words[*(const int *)at]);
    case ATTN_CONFIG_FLAG:
        return attn_cell_boolean(*(const bool *)at);
    case ATTN_CONFIG_PRESENT:
        return attn_cell_boolean(*(const void *const *)at != NULL);
    case ATTN_CONFIG_REAL:
        return attn_cell_real((double)*(const float *)at);
    case ATTN_CONFIG_FACTOR:
        break;
    }
    return *(const double *)at > 0 ? attn_cell_real(*(const double *)at) : attn_cell_missing();
}

struct attn_cell attn_config_value(const struct attn_config *config, const char *name)
{
    const bool has_image = config && config->image.patch_height > 0;
    const bool is_given = config && name;

    for (const struct attn_config_field *field = attn_config_fields; is_given && field->name;
         field++)
        if ((has_image || !field->is_of_image) && strcmp(field->name, name) == 0)
            return attn_config_cell(config, field);
    return attn_cell_missing();
}

bool attn_config_has_cross(const struct attn_config *config)
{
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (config->is_cross[layer])
            return true;
    return false;
}

/* --- sites and sizes -------------------------------------------------------------------------- */

/* Returns the sites that each layer lacks. Trap: factors of scores are stored in ROT_Q and ROT_K,
 * even without rotary positions. */
static struct attn_site_set find_lacking_in_layers(const struct attn_config *config)
{
    const struct attn_site_set turned = ATTN_SITES(ATTN_SITE_ROT_Q, ATTN_SITE_ROT_K);
    const struct attn_site_set none = {0};
    struct attn_site_set in_none = {0};

    for (size_t layer = 0; layer < config->n_layer && config->lacking; layer++)
        in_none = layer == 0 ? attn_sites_without(config->lacking[0],
                                                  attn_config_is_mixer(config, 0) ? none : turned)
                             : attn_sites_common(in_none, config->lacking[layer]);
    return in_none;
}

static struct attn_site_set find_lacking(const struct attn_config *config)
{
    const bool is_joined =
        config->has_out_proj || config->n_head * config->d_value == config->d_model;
    const bool is_vocabulary = config->task == ATTN_TASK_VOCABULARY;
    const bool has_pooled = config->task == ATTN_TASK_SEQUENCE
                                ? config->pooling != ATTN_POOLING_PROJECTED
                                : config->head_act_fn && !is_vocabulary;
    const bool is_image = config->image.patch_height > 0, is_projected = config->d_projected > 0;
    const bool has_mixer = config->mixer != NULL;
    const bool is_conv = has_mixer && config->mixer->kind == ATTN_MIXER_CONV;
    const struct {
        bool has;
        struct attn_site_set sites;
    } rows[] = {
        {config->is_sentence, ATTN_SITES(ATTN_SITE_SENTENCE_EMBED)},
        {!config->is_sentence && is_projected && !is_image, ATTN_SITES(ATTN_SITE_TEXT_EMBED)},
        {is_projected && is_image, ATTN_SITES(ATTN_SITE_IMAGE_EMBED)},
        {config->d_out == config->d_model && is_joined, ATTN_SITES(ATTN_SITE_RESID_POST)},
        {is_joined, ATTN_SITES(ATTN_SITE_ATTN_OUT)},
        {config->positions == ATTN_POSITIONS_ROTARY, ATTN_SITES(ATTN_SITE_ROT_Q, ATTN_SITE_ROT_K)},
        {config->d_mlp > 0,
         ATTN_SITES(ATTN_SITE_RESID_MID, ATTN_SITE_MLP_PRE, ATTN_SITE_MLP_POST, ATTN_SITE_MLP_OUT)},
        {config->d_mlp > 0 && config->has_gated_mlp, ATTN_SITES(ATTN_SITE_MLP_PRE_LINEAR)},
        {!config->has_parallel_residual && !config->is_mlp, ATTN_SITES(ATTN_SITE_RESID_MID)},
        {config->norm_place == ATTN_NORM_SUM,
         ATTN_SITES(ATTN_SITE_NORMALIZED_RESID_MID, ATTN_SITE_NORMALIZED_RESID_POST)},
        {config->head_act_fn && is_vocabulary, ATTN_SITES(ATTN_SITE_MLM_HEAD)},
        {has_pooled, ATTN_SITES(ATTN_SITE_POOLED)},
        {config->has_final_norm, ATTN_SITES(ATTN_SITE_LN_FINAL)},
        {config->output != ATTN_OUTPUT_NONE, ATTN_SITES(ATTN_SITE_LOGITS)},
        {!config->is_encoder || config->stack.n_mel == 0, ATTN_SITES(ATTN_SITE_EMBED)},
        {config->n_expert > 0,
         ATTN_SITES(ATTN_SITE_ROUTER_LOGITS, ATTN_SITE_EXPERT_WEIGHTS, ATTN_SITE_EXPERT_INDICES)},
        {config->d_shared_expert > 0, ATTN_SITES(ATTN_SITE_SHARED_OUT)},
        {config->has_sinks, ATTN_SITES(ATTN_SITE_SINK)},
        {has_mixer, ATTN_SITES(ATTN_SITE_MIXER_Q, ATTN_SITE_MIXER_K, ATTN_SITE_MIXER_V,
                               ATTN_SITE_MIXER_Z, ATTN_SITE_MIXER_OUT, ATTN_SITE_MIXING_NORM)},
        {is_conv, ATTN_SITES(ATTN_SITE_MIXING_BAND)},
        {has_mixer && !is_conv,
         ATTN_SITES(ATTN_SITE_MIXING, ATTN_SITE_MIXER_GATE, ATTN_SITE_DECAY, ATTN_SITE_BETA)},
        {config->has_attn_gate, ATTN_SITES(ATTN_SITE_GATE)},
        {config->d_layer_input > 0, ATTN_SITES(ATTN_SITE_LAYER_INPUT, ATTN_SITE_LAYER_OUT)},
        {config->places.has_c2p, ATTN_SITES(ATTN_SITE_C2P)},
        {config->places.has_p2c, ATTN_SITES(ATTN_SITE_P2C)},
        {config->places.n_conv > 0, ATTN_SITES(ATTN_SITE_CONV_OUT)},
        {config->pool_head, ATTN_SITES(ATTN_POOL_SITES)},
        {false, ATTN_SITES(ATTN_SITE_PATTERN_DROPPED, ATTN_SITE_PATTERN_LOWRANK)},
    };
    struct attn_site_set lacking = attn_sites_derived();

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!rows[i].has)
            attn_sites_extend(&lacking, rows[i].sites);
    return attn_sites_join(lacking, find_lacking_in_layers(config));
}

struct attn_dims attn_config_dims(const struct attn_config *config, size_t n_position)
{
    if (!config)
        return (struct attn_dims){0};
    const bool is_of_classes = config->task != ATTN_TASK_VOCABULARY;
    const bool is_wide = attn_config_pools_wide(config);

    return (struct attn_dims){
        .n_layer = config->n_layer,
        .n_head = config->n_head,
        .n_kv_head = config->n_kv_head,
        .d_model = config->d_model,
        .d_head = config->d_head,
        .d_value = config->d_value,
        .d_mlp = config->d_mlp,
        .d_out = config->d_out,
        .d_embed = config->has_output_map ? config->d_model : config->d_embed, /* shown mapped */
        .d_projected = config->d_projected,
        .n_vocab = config->n_vocab,
        .n_position = n_position,
        .n_front = attn_image_n_front(&config->image),
        .is_pooled = config->pooling != ATTN_POOLING_NONE,
        .pools_heads = config->pooling == ATTN_POOLING_MEAN_OF_HEADS,
        .d_pooled = is_of_classes ? (is_wide ? 2 : 1) * config->d_model : 0,
        .is_cross = config->is_cross,
        .has_pairs = config->stack.has_encoder,
        .is_of_decoder = config->stack.is_of_decoder,
        .lacking = config->lacking,
        .n_expert = config->n_expert,
        .n_expert_used = config->n_expert_used,
        .sites = attn_sites_without(attn_sites_all(), find_lacking(config)),
        .mixer = config->mixer,
        .layers = config->layer_dims,
        .gates_heads = config->gates_heads,
        .picture.n = config->vision.d_feature > 0, /* a tower; a run sets the rest */
    };
}

size_t attn_config_weights_layer(const struct attn_config *config, size_t layer)
{
    if (config->stack.has_encoder)
        return layer / 2;
    const double n = config->n_group > 0 ? (double)config->n_layer / (double)config->n_group : 1;

    return (size_t)((double)layer / n);
}

size_t attn_config_pooled_row(const struct attn_config *config, const int32_t *ids, size_t n)
{
    size_t row = config->pooling == ATTN_POOLING_LAST ? n - 1 : 0;

    while (ids && row > 0 && ids[row] == config->pad_id)
        row--;
    if (config->d_projected == 0 || config->image.patch_height > 0)
        return row;
    if (!ids || config->projected_id == ATTN_LAST_ROW)
        return n - 1;
    for (size_t i = 0; i < n; i++) {
        if (config->projected_id != ATTN_LARGEST_ID && ids[i] == config->projected_id)
            return i;
        if (config->projected_id == ATTN_LARGEST_ID && ids[i] > ids[row])
            row = i;
    }
    return row;
}

size_t attn_config_pooled_rows(const struct attn_config *config, const int32_t *ids, size_t n,
                               size_t *first)
{
    const bool has_mean = attn_config_has_mean(config) ||
                          config->pooling == ATTN_POOLING_FIRST_AND_MEAN || config->is_sentence ||
                          config->pool_head;

    *first = has_mean ? 0 : attn_config_pooled_row(config, ids, n);
    return has_mean ? n : config->pooling == ATTN_POOLING_FIRST_TWO ? 2 : 1;
}

/* Refuses combinations of parts that no family has, as the forward pass does not handle them. */
static enum attn_status check_supported(const struct attn_json *json,
                                        const struct attn_config *config, struct attn_error *err)
{
    const bool is_rotary = config->positions == ATTN_POSITIONS_ROTARY;
    const struct {
        bool is_used;
        const char *part;
    } lacking[] = {
        {config->has_parallel_residual && config->d_mlp == 0, "a parallel residual without an MLP"},
        {config->has_parallel_residual && !config->has_residual,
         "a parallel residual without a residual stream"},
        {config->has_parallel_residual && config->norm_place != ATTN_NORM_PRE,
         "norms after a parallel residual"},
        {config->norm_place == ATTN_NORM_SUM && (config->d_mlp == 0 || !config->has_residual),
         "norms after sums that it does not have"},
        {config->has_single_norm && !config->has_parallel_residual && !config->is_mlp,
         "one norm for attention and MLP, one after the other"},
        {config->qk_norm != ATTN_QK_NORM_NONE && !is_rotary,
         "normalized queries and keys without rotary positions"},
        {is_rotary && !config->has_projections, "rotary positions without projections"},
        {config->has_gated_mlp && config->d_mlp == 0, "a gated MLP of no width"},
    };

    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++)
        if (lacking[i].is_used)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "'%s' asks for %s, which this version does not have",
                                  attn_config_quote(json).text, lacking[i].part);
    return ATTN_OK;
}

/* Checks that sizes fit each other, for any family. */
static enum attn_status check_sizes(const struct attn_json *json, const struct attn_config *config,
                                    struct attn_error *err)
{
    const size_t d_concat = config->n_head * config->d_value;
    const bool is_bare = config->n_layer == 1 && config->d_mlp == 0 && !config->has_residual &&
                         !config->has_final_norm && config->output == ATTN_OUTPUT_NONE;

    ATTN_TRY(attn_config_check_divides(json, "n_kv_head", config->n_kv_head, "n_head",
                                       config->n_head, err));
    if (!config->has_projections && (config->n_head != 1 || config->d_head != config->d_model ||
                                     config->d_value != config->d_model))
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has no projections, so it needs one head of the width of the "
                              "model: found n_head %zu, d_head %zu, d_value %zu, d_model %zu",
                              attn_config_quote(json).text, config->n_head, config->d_head,
                              config->d_value, config->d_model);
    if (attn_config_has_cross(config) && !config->has_projections &&
        config->d_source != config->d_model)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has no projections, so d_source %zu must be d_model %zu",
                              attn_config_quote(json).text, config->d_source, config->d_model);
    if (!config->has_out_proj && !is_bare && d_concat != config->d_model)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has no out_proj, so n_head * d_value must be d_model: found "
                              "%zu * %zu and %zu",
                              attn_config_quote(json).text, config->n_head, config->d_value,
                              config->d_model);
    return ATTN_OK;
}

size_t attn_config_nearest_divisor(size_t whole, size_t n)
{
    n = n < whole ? n : whole;
    while (whole % n != 0)
        n--;
    return n;
}

enum attn_status attn_config_check_divides(const struct attn_json *json, const char *key, size_t n,
                                           const char *whole_key, size_t whole,
                                           struct attn_error *err)
{
    if (whole % n == 0)
        return ATTN_OK;
    attn_error_set(err, ATTN_FORMAT, "%s %zu does not divide %s %zu in '%s'", key, n, whole_key,
                   whole, attn_config_quote(json).text);
    attn_error_hint(err, "%s %zu divides it", key, attn_config_nearest_divisor(whole, n));
    return ATTN_FORMAT;
}

enum attn_status attn_config_check(const struct attn_json *json, const struct attn_config *config,
                                   struct attn_error *err)
{
    const struct {
        bool is_used;
        const char *what;
    } hindrances[] = {
        {!config->has_out_proj, "no out_proj"},
        {config->n_layer > 1, "more than one layer"},
        {config->has_residual, "a residual stream"},
        {config->d_mlp > 0, "an MLP"},
        {config->norm != ATTN_NORM_NONE, "norms"},
        {config->output != ATTN_OUTPUT_NONE, "an output layer"},
    };
    const size_t n_turned = config->positions == ATTN_POSITIONS_ROTARY ? config->n_layer : 0;

    ATTN_TRY(check_supported(json, config, err));
    /* Rotated components must come in pairs within a head; a source has no rotary positions. */
    for (size_t layer = 0; layer < n_turned; layer++) {
        const size_t d_rotary = config->rope[layer].d_rotary;

        if (config->is_cross[layer])
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "'%s' asks for rotary positions of a source, which this version "
                                  "does not have",
                                  attn_config_quote(json).text);
        const size_t d_head = attn_config_layer_dims(config, layer).d_head;
        if (d_rotary % 2 != 0 || d_rotary > d_head)
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' turns %zu of the %zu components of a head, expected an "
                                  "even number of them",
                                  attn_config_quote(json).text, d_rotary, d_head);
    }
    /* The output of attention may differ from d_model only if the model has no other parts. */
    for (size_t i = 0; i < sizeof hindrances / sizeof *hindrances; i++)
        if (config->d_out != config->d_model && hindrances[i].is_used)
            return attn_error_set(err, ATTN_FORMAT, "'%s' has %s, so d_out %zu must be d_model %zu",
                                  attn_config_quote(json).text, hindrances[i].what, config->d_out,
                                  config->d_model);
    return check_sizes(json, config, err);
}

enum attn_status attn_config_allocate_layers(struct attn_config *config,
                                             struct attn_config_layers *layers,
                                             const struct attn_attention *first,
                                             struct attn_error *err)
{
    const size_t n = config->n_layer;

    ATTN_TRY(ATTN_ALLOC(layers->attention, n, err));
    ATTN_TRY(ATTN_ALLOC(layers->is_cross, n, err));
    ATTN_TRY(ATTN_ALLOC(layers->rope, n, err));
    ATTN_TRY(ATTN_ALLOC(layers->lacking, n, err));
    ATTN_TRY(ATTN_ALLOC(layers->is_dense, n, err));
    config->attention = layers->attention;
    config->is_cross = layers->is_cross;
    config->rope = layers->rope;
    config->lacking = layers->lacking;
    config->is_dense = layers->is_dense;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->attention[layer] = *first;
    return ATTN_OK;
}

void attn_config_lack(struct attn_config_layers *layers, size_t layer, struct attn_site_set sites)
{
    attn_sites_extend(&layers->lacking[layer],
                      attn_sites_join(sites, attn_sites_gradients_of(sites)));
}

void attn_config_lack_mixtures(const struct attn_config *config, struct attn_config_layers *layers)
{
    const struct attn_site_set of_experts =
        ATTN_SITES(ATTN_SITE_ROUTER_LOGITS, ATTN_SITE_EXPERT_WEIGHTS, ATTN_SITE_EXPERT_INDICES,
                   ATTN_SITE_SHARED_OUT);
    const struct attn_site_set of_mlp =
        ATTN_SITES(ATTN_SITE_MLP_PRE, ATTN_SITE_MLP_PRE_LINEAR, ATTN_SITE_MLP_POST);

    for (size_t layer = 0; layer < config->n_layer; layer++)
        attn_config_lack(layers, layer, layers->is_dense[layer] ? of_experts : of_mlp);
}

void attn_config_pair_layers(const struct attn_config *config, struct attn_config_layers *layers)
{
    const struct attn_site_set after_mid =
        ATTN_SITES(ATTN_SITE_MLP_PRE, ATTN_SITE_MLP_PRE_LINEAR, ATTN_SITE_MLP_POST,
                   ATTN_SITE_MLP_OUT, ATTN_SITE_RESID_POST, ATTN_SITE_NORMALIZED_RESID_POST);

    for (size_t layer = 0; layer < config->n_layer; layer++) {
        layers->is_cross[layer] = layer % 2 == 1;
        if (layer % 2 == 0)
            attn_config_lack(layers, layer, after_mid);
    }
}

static struct attn_site_set sites_of_attention(void)
{
    return ATTN_SITES(ATTN_SITE_Q, ATTN_SITE_K, ATTN_SITE_V, ATTN_SITE_ROT_Q, ATTN_SITE_ROT_K,
                      ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES, ATTN_SITE_PATTERN,
                      ATTN_SITE_PATTERN_DROPPED, ATTN_SITE_PATTERN_LOWRANK, ATTN_SITE_Z,
                      ATTN_SITE_SINK, ATTN_SITE_GATE, ATTN_SITE_ATTN_OUT, ATTN_SITE_ROLLOUT,
                      ATTN_SITE_WEIGHTED_PATTERN, ATTN_SITE_VALUE_ZEROING, ATTN_SITE_RECEIVED);
}

enum attn_status attn_config_set_mixers(struct attn_config *config,
                                        struct attn_config_layers *layers,
                                        const struct attn_mixer_dims *dims, const bool *is_mixer,
                                        struct attn_error *err)
{
    const struct attn_site_set of_mixer =
        ATTN_SITES(ATTN_SITE_MIXER_Q, ATTN_SITE_MIXER_K, ATTN_SITE_MIXER_V, ATTN_SITE_MIXER_GATE,
                   ATTN_SITE_DECAY, ATTN_SITE_BETA, ATTN_SITE_MIXING, ATTN_SITE_MIXING_BAND,
                   ATTN_SITE_MIXING_NORM, ATTN_SITE_MIXER_Z, ATTN_SITE_MIXER_OUT);
    size_t n = 0;

    for (size_t layer = 0; layer < config->n_layer; layer++)
        n += !is_mixer || is_mixer[layer];
    if (n == 0)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(layers->mixer, 1, err));
    *layers->mixer = *dims;
    config->mixer = layers->mixer;
    if (!is_mixer)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(layers->is_mixer, config->n_layer, err));
    layers->mixer->is_in = layers->is_mixer;
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        layers->is_mixer[layer] = is_mixer[layer];
        attn_config_lack(layers, layer, is_mixer[layer] ? sites_of_attention() : of_mixer);
    }
    return ATTN_OK;
}

enum attn_status attn_config_set_single_parts(struct attn_config *config,
                                              struct attn_config_layers *layers, const bool *is_mlp,
                                              struct attn_error *err)
{
    const struct attn_site_set of_mlp = ATTN_SITES(ATTN_SITE_MLP_PRE, ATTN_SITE_MLP_PRE_LINEAR,
                                                   ATTN_SITE_MLP_POST, ATTN_SITE_MLP_OUT);

    ATTN_TRY(ATTN_ALLOC(layers->is_mlp, config->n_layer, err));
    config->is_mlp = layers->is_mlp;
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        layers->is_mlp[layer] = is_mlp[layer];
        attn_config_lack(layers, layer, is_mlp[layer] ? sites_of_attention() : of_mlp);
    }
    return ATTN_OK;
}

size_t attn_config_n_layer_of(const struct attn_config *config, bool is_mixer, size_t layer)
{
    size_t n = 0;

    for (size_t i = 0; i < layer; i++)
        n += attn_config_mixes_beside(config) || attn_config_is_mixer(config, i) == is_mixer;
    return n;
}

/* Returns ln(1 + exp x). */
static double softplus(double x)
{
    return x > 20 ? x : attn_log(1 + attn_exp(x));
}

void attn_config_set_xielu(struct attn_xielu *xielu, const double *values)
{
    *xielu = (struct attn_xielu){.a = softplus(values[0]),
                                 .c = values[2] + softplus(values[1]),
                                 .beta = values[2],
                                 .eps = values[3]};
}

void attn_config_release(struct attn_config *config, struct attn_config_layers *layers)
{
    attn_free(layers->attention);
    attn_free(layers->is_cross);
    attn_free(layers->rope);
    attn_free(layers->divisors);
    attn_free(layers->lacking);
    attn_free(layers->buckets);
    attn_free(layers->bias);
    attn_free(layers->is_dense);
    attn_free(layers->xielu);
    attn_free(layers->mixer);
    attn_free(layers->is_mixer);
    attn_free(layers->dims);
    attn_free(layers->is_mlp);
    attn_free((void *)layers->labels);
    attn_free(layers->label_text);
    *layers = (struct attn_config_layers){0};
    *config = (struct attn_config){0};
}

enum attn_status attn_config_set_activation(const struct attn_json *json, const char **act_fn,
                                            const char *key, const char *name,
                                            struct attn_error *err)
{
    const enum attn_activation activation = attn_activation_find(name);

    if (activation == ATTN_N_ACTIVATION)
        return ATTN_JSON_REFUSE(
            json, err, ATTN_UNSUPPORTED, key,
            "is '%s', this version has gelu_new, gelu, relu, silu, tanh, quick_gelu and relu2",
            attn_quote_string(name).text);
    *act_fn = attn_activation_name(activation);
    return ATTN_OK;
}

const struct attn_node *attn_config_find_given(const struct attn_node *object, const char *key)
{
    const struct attn_node *node = object ? attn_node_find(object, key) : NULL;

    return node && !attn_node_is_null(node) ? node : NULL;
}

enum attn_status attn_config_find_object(const struct attn_json *json,
                                         const struct attn_node *object, const char *key,
                                         const struct attn_node **found, struct attn_error *err)
{
    const struct attn_node *node = attn_node_find(object, key);

    *found = NULL;
    if (!node || attn_node_is_null(node))
        return ATTN_OK;
    if (!attn_node_is_object(node))
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, key, "is not an object");
    if (attn_node_first(node))
        *found = node;
    return ATTN_OK;
}

enum attn_status attn_config_get_width(const struct attn_json *json, const char *key, size_t *width,
                                       struct attn_error *err)
{
    return attn_json_get_size(json, attn_json_root(json), key, 1, ATTN_MAX_WIDTH, width, err);
}

enum attn_status attn_config_get_truth(const struct attn_json *json, const struct attn_node *object,
                                       const char *key, bool *value, struct attn_error *err)
{
    const struct attn_node *node = attn_node_find(object, key);

    if (node && attn_node_is_null(node))
        *value = false;
    return attn_json_get_bool(json, object, key, value, err);
}
