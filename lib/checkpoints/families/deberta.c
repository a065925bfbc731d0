/*
 * deberta.c - DeBERTa v2 and v3 (configuration_deberta_v2.py, modeling_deberta_v2.py): BERT's
 * block, whose scores have terms of positions. r is the distance i - j of the query i from the key
 * j:
 *
 *     score = (q_i . k_j + q_i . key(place(r)) + k_j . query(place(r))) / sqrt(d_head * terms)
 *
 * Places are rows of one table, normalized in v3, and mapped by the key and the query map of each
 * layer, or by maps of their own. In v2 a convolution stands beside layer 0.
 *
 * Traps: r is the query less the key in both terms. Without relative_attention, pos_att_type still
 * divides. The norm of the embedding comes after its map. transformers gives the head of v3 files
 * random weights unless `legacy` is false; the one in the file is read here.
 */
#include "attention/attention_internal.h"
#include "base/memory.h"
#include "families/families_internal.h"
#include "trace/site_set.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define SELF "encoder.layer.#.attention.self."
#define HEAD_NAMES(v3, v2) "/lm_predictions.lm_head." v3 "|/cls.predictions." v2

static const struct attn_weight_rule deberta_rules[] = {
    TABLE("embeddings.word_embeddings.weight", "VB", ATTN_PART_EMBEDDING, embed),
    TABLE("embeddings.position_embeddings.weight", "PB", ATTN_PART_POSITIONS, positions),
    TABLE("embeddings.token_type_embeddings.weight", "TB", ATTN_PART_TYPES, types),
    MATRIX("embeddings.embed_proj.weight", "DB", ATTN_PART_EMBED_MAP, embed_map),
    MODEL_NORM("embeddings.LayerNorm", ATTN_PART_EMBED_NORM, ln_embed),
    TABLE("encoder.rel_embeddings.weight", "pD", ATTN_PART_PLACES, places),
    MODEL_NORM("encoder.LayerNorm", ATTN_PART_PLACE_NORM, ln_place),
    MATRIX("encoder.conv.conv.weight", "D=v", ATTN_PART_CONVOLUTION, conv),
    VECTOR("encoder.conv.conv.bias", "D", ATTN_PART_CONVOLUTION, MODEL(conv.bias)),
    MODEL_NORM("encoder.conv.LayerNorm", ATTN_PART_CONVOLUTION_NORM, ln_conv),
    QKV_MAPS(SELF "query_proj", SELF "key_proj", SELF "value_proj"),
    LINEAR(SELF "pos_key_proj", "KD", ATTN_PART_PLACE_KEY, "K", ATTN_PART_PLACE_KEY, place_k),
    LINEAR(SELF "pos_query_proj", "QD", ATTN_PART_PLACE_QUERY, "Q", ATTN_PART_PLACE_QUERY, place_q),
    OUT_MAP("encoder.layer.#.attention.output.dense"),
    LAYER_NORM("encoder.layer.#.attention.output.LayerNorm", ATTN_PART_MID_NORM, mid_norm),
    PLAIN_MLP("encoder.layer.#.", "intermediate.dense", "output.dense"),
    LAYER_NORM("encoder.layer.#.output.LayerNorm", ATTN_PART_END_NORM, end_norm),
    MATRIX(HEAD_NAMES("dense.weight", "transform.dense.weight"), "BD", ATTN_PART_HEAD, head),
    VECTOR(HEAD_NAMES("dense.bias", "transform.dense.bias"), "B", ATTN_PART_HEAD_BIAS,
           MODEL(head.bias)),
    VECTOR(HEAD_NAMES("LayerNorm.weight", "transform.LayerNorm.weight"), "B", ATTN_PART_HEAD_NORM,
           MODEL(ln_head.w)),
    VECTOR(HEAD_NAMES("LayerNorm.bias", "transform.LayerNorm.bias"), "B", ATTN_PART_HEAD_NORM_BIAS,
           MODEL(ln_head.b)),
    MATRIX("/cls.predictions.decoder.weight", "VB", ATTN_PART_OUTPUT_FOUND, unembed),
    OUTPUT_BIAS_OF(HEAD_NAMES("bias", "decoder.bias|/cls.predictions.bias")),
    MATRIX("/pooler.dense.weight", "DD", ATTN_PART_CLASS_HEAD, head),
    VECTOR("/pooler.dense.bias", "D", ATTN_PART_CLASS_HEAD_BIAS, MODEL(head.bias)),
    CLASSES("/classifier", ATTN_PART_CLASS),
    CLASSES("/classifier", ATTN_PART_TOKEN_CLASS),
    CLASSES("/qa_outputs", ATTN_PART_SPAN_CLASS),
    IGNORED("embeddings.position_ids"),
    IGNORED("/cls.predictions.bias"),
};

/* --- Places ----------------------------------------------------------------------------------- */

/* Reads `pos_att_type`, a list or a text with | between its items. */
static enum attn_status read_terms(const struct attn_json *json, struct attn_place_config *places,
                                   struct attn_error *err)
{
    const struct attn_node *given = attn_config_find_given(attn_json_root(json), "pos_att_type");
    const bool is_list = given && attn_node_is_array(given);

    for (const struct attn_node *item = is_list ? attn_node_first(given) : given; item;
         item = is_list ? attn_node_next(item) : NULL) {
        const char *text = attn_node_string(item);

        for (size_t n = 0; text && *text; text += text[n] == '|' ? n + 1 : n) {
            n = strcspn(text, "|");
            places->has_c2p = places->has_c2p || (n == 3 && strncmp(text, "c2p", n) == 0);
            places->has_p2c = places->has_p2c || (n == 3 && strncmp(text, "p2c", n) == 0);
            if (n != 3 || (strncmp(text, "c2p", n) != 0 && strncmp(text, "p2c", n) != 0))
                break;
        }
        if (!text || *text)
            return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "pos_att_type",
                                    "has another item than 'c2p' and 'p2c', which this version "
                                    "reads");
    }
    return ATTN_OK;
}

/* Reads a number that may be -1, for none, which *n then stays. */
static enum attn_status read_count(const struct attn_json *json, const char *key, size_t *n,
                                   struct attn_error *err)
{
    const struct attn_node *given = attn_node_find(attn_json_root(json), key);
    int64_t value = 0;

    if (given && attn_node_int(given, &value) && value < 1)
        return ATTN_OK;
    return attn_json_get_size(json, attn_json_root(json), key, 1, ATTN_MAX_CTX / 4, n, err);
}

/* Whether WORDS, which '|' separates, has "layer_norm", in any case. */
static bool has_layer_norm(const char *words)
{
    static const char name[] = "layer_norm", blank[] = " \t\n\r\f\v";

    for (const char *at = words + strspn(words, blank), *next; *at;
         at = next + strspn(next, blank)) {
        const size_t size = strcspn(at, "|");
        const char *end = at + size;

        next = end + (*end == '|');
        while (end > at && strchr(blank, end[-1]))
            end--;
        if ((size_t)(end - at) == sizeof name - 1 && strncasecmp(at, name, sizeof name - 1) == 0)
            return true;
    }
    return false;
}

static enum attn_status read_places(const struct attn_json *json, struct attn_config *config,
                                    struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    struct attn_place_config *places = &config->places;
    const char *norms = "none";
    bool is_shared = false;

    places->farthest = config->n_ctx;
    ATTN_TRY(attn_json_get_bool(json, root, "share_att_key", &is_shared, err));
    ATTN_TRY(attn_json_get_string(json, root, "norm_rel_ebd", &norms, err));
    ATTN_TRY(read_count(json, "max_relative_positions", &places->farthest, err));
    ATTN_TRY(read_count(json, "position_buckets", &places->n_bucket, err));
    places->n = 2 * (places->n_bucket > 0 ? places->n_bucket : places->farthest);
    places->has_own_maps = !is_shared;
    places->has_norm = has_layer_norm(norms);
    if (places->n_bucket > 0 &&
        (places->n_bucket < 2 || places->farthest <= places->n_bucket / 2 + 1))
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "position_buckets",
                                "is %zu for distances up to %zu, expected at least 2, and more "
                                "distances than half of it and 1",
                                places->n_bucket, places->farthest);
    return ATTN_OK;
}

/* Lets the layers add the terms, and divide by the root of their number. */
static enum attn_status add_terms(const struct attn_config *config, bool is_relative,
                                  struct attn_config_layers *layers, struct attn_error *err)
{
    const double n_term = 1.0 + config->places.has_c2p + config->places.has_p2c;

    layers->bias_size = sizeof *layers->bias;
    ATTN_TRY(ATTN_NEW(layers->bias, attn_alloc(1, layers->bias_size, err)));
    layers->bias->is_of_places = true;
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        layers->attention[layer].factor = 1 / sqrt(n_term);
        layers->attention[layer].bias = is_relative && n_term > 1 ? layers->bias : NULL;
    }
    return ATTN_OK;
}

/* --- The config ------------------------------------------------------------------------------- */

static enum attn_status read_convolution(const struct attn_json *json, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err)
{
    enum { MOST = 255 };
    const struct attn_node *root = attn_json_root(json);
    const char *name = "tanh";
    size_t *n_group = &config->places.n_conv_group, *width = &config->places.n_conv;

    ATTN_TRY(attn_json_get_size(json, root, "conv_kernel_size", 0, MOST, width, err));
    if (*width == 0)
        return ATTN_OK;
    *n_group = 1;
    ATTN_TRY(attn_json_get_string(json, root, "conv_act", &name, err));
    ATTN_TRY(attn_config_set_activation(json, &config->places.conv_act_fn, "conv_act", name, err));
    ATTN_TRY(attn_json_get_size(json, root, "conv_groups", 1, ATTN_MAX_WIDTH, n_group, err));
    if (config->d_model % *n_group != 0)
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "conv_groups",
                                "is %zu, expected a divisor of 'hidden_size', %zu", *n_group,
                                config->d_model);
    if (*width % 2 == 0)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "conv_kernel_size",
                                "is %zu, expected an odd number", *width);
    for (size_t layer = 1; layer < config->n_layer; layer++)
        attn_config_lack(layers, layer, ATTN_SITES(ATTN_SITE_CONV_OUT));
    return ATTN_OK;
}

static enum attn_status read_deberta(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    bool is_relative = false, is_biased = true;
    size_t d_head = 0;

    ATTN_TRY(attn_config_get_width(json, "embedding_size", &config->d_embed, err));
    ATTN_TRY(
        attn_json_get_size(json, root, "type_vocab_size", 0, ATTN_MAX_VOCAB, &config->n_type, err));
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    config->head_act_fn = config->act_fn;
    config->has_embed_map = config->d_embed > 0 && config->d_embed != config->d_model;
    ATTN_TRY(
        attn_json_get_size(json, root, "attention_head_size", 1, ATTN_MAX_WIDTH, &d_head, err));
    if (d_head > 0 && d_head != config->d_head)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "attention_head_size",
                                "is %zu, this version reads %zu, hidden_size / "
                                "num_attention_heads",
                                d_head, config->d_head);
    ATTN_TRY(attn_json_get_bool(json, root, "relative_attention", &is_relative, err));
    ATTN_TRY(attn_json_get_bool(json, root, "position_biased_input", &is_biased, err));
    ATTN_TRY(read_terms(json, &config->places, err));
    if (is_relative)
        ATTN_TRY(read_places(json, config, err));
    ATTN_TRY(add_terms(config, is_relative, layers, err));
    if (!is_relative)
        config->places = (struct attn_place_config){0};
    ATTN_TRY(read_convolution(json, config, layers, err));
    if (!is_biased) {
        config->positions = ATTN_POSITIONS_NONE;
        config->n_ctx = SIZE_MAX;
    }
    return ATTN_OK;
}

static const struct attn_config_extra of_other_deberta[] = {
    {"z_steps", ATTN_WISH_ABOVE_ZERO},
    {.key = NULL},
};

const struct attn_family attn_family_deberta_v2 = {
    FAMILY("deberta-v2", "DebertaV2", "deberta.", deberta_rules), .read_config = read_deberta,
    .heads = {.tasks = 1U << ATTN_TASK_SEQUENCE | 1U << ATTN_TASK_TOKENS | 1U << ATTN_TASK_SPANS,
              .pooling = ATTN_POOLING_FIRST,
              .act_fn = "gelu",
              .act_key = "pooler_hidden_act"},
    .form = {KEYS_OF_BERT, .refused = of_other_deberta,
             .defaults = {.is_encoder = true,
                          .norm = ATTN_NORM_LAYERNORM,
                          .norm_place = ATTN_NORM_SUM,
                          .has_embed_norm = true,
                          .embed_norm_is_late = true,
                          .has_projections = true,
                          .has_out_proj = true,
                          .has_residual = true,
                          .has_qkv_bias = true,
                          .has_out_bias = true,
                          .has_mlp_bias = true,
                          .has_head_bias = true,
                          .output = ATTN_OUTPUT_TIED,
                          .has_output_bias = true,
                          .positions = ATTN_POSITIONS_LEARNED,
                          .act_fn = "gelu",
                          SIZES(128100, 1536, 6144, 24, 24, 0, 0, 512, 1e-7F)}}};
