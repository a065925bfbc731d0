/*
 * bloom.c - Bloom, MPT and Falcon: decoders whose positions are a bias of the scores (ALiBi),
 * except for most Falcons.
 *
 *     scores = scale * q.k + slope_h * (j - i)
 *
 * Let n be the largest power of two up to H. Then slope_h is 2^(-8 (h+1) / n) for h < n, and the
 * other heads use every second slope of 2n heads. The three families round these numbers in
 * different places.
 *
 * Traps: Bloom rounds the base of the powers to float32 before it raises it. Falcon rounds slopes
 * and biases to bfloat16, and adds biases before the scale, by the position of the key, so that the
 * rounding depends on where a text stands. transformers 5.23 adds Falcon's bias twice if it returns
 * patterns; here it is added once.
 */
#include "attention/attention_internal.h"
#include "base/memory.h"
#include "families/families_internal.h"

#include <math.h>
#include <string.h>

/* --- slopes ----------------------------------------------------------------------------------- */

enum slope_rule { SLOPES_OF_BLOOM, SLOPES_OF_MPT, SLOPES_OF_FALCON };

static float slope_of(enum slope_rule rule, size_t n_head, size_t head)
{
    size_t n = 1, exponent;
    double root, power = 1;

    while (2 * n <= n_head)
        n *= 2;
    exponent = head < n ? head + 1 : 2 * (head - n) + 1;
    root = head < n ? 256 : 16;
    for (size_t i = 1; i < n; i *= 2)
        root = sqrt(root); /* 2^(8/n) or 2^(4/n) */
    if (rule != SLOPES_OF_MPT)
        root = (double)(float)(1 / root);
    for (size_t i = 0; i < exponent; i++)
        power *= root;
    return rule == SLOPES_OF_MPT ? 1.0F / (float)power : (float)power;
}

/* Gives all layers the bias that RULE defines. */
static enum attn_status add_slopes(enum slope_rule rule, struct attn_config *config,
                                   struct attn_config_layers *layers, struct attn_error *err)
{
    struct attn_score_bias *bias;

    ATTN_TRY(
        ATTN_NEW(bias, attn_alloc(1, sizeof *bias + config->n_head * sizeof *bias->slopes, err)));
    layers->bias = bias;
    bias->is_of_key = rule == SLOPES_OF_FALCON;
    for (size_t head = 0; head < config->n_head; head++) {
        bias->slopes[head] = slope_of(rule, config->n_head, head);
        if (bias->is_of_key) /* rounded like the bias of key 1 */
            bias->slopes[head] = attn_score_bias_at(bias, head, 0, 1);
    }
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->attention[layer].bias = bias;
    return ATTN_OK;
}

#define PARTS ATTN_BLOCK, .output = ATTN_OUTPUT_TIED

/* --- Bloom and Falcon ------------------------------------------------------------------------- */

/* Falcon names its two norms differently if both read the input of the block. */
#define NORM(name, other, part, norm)                                                              \
    VECTOR("h.#." name ".weight|h.#." other ".weight", "D", part, NORM_W(norm)),                   \
        VECTOR("h.#." name ".bias|h.#." other ".bias", "D", part, NORM_B(norm))

static const struct attn_weight_rule rules[] = {
    EMBEDDING_OF("word_embeddings.weight"),
    MODEL_NORM("word_embeddings_layernorm", ATTN_PART_ROW_NORM, ln_row),
    NORM("input_layernorm", "ln_attn", ATTN_PART_NORM, ln1),
    QKV_BY_HEADS("h.#.self_attention.query_key_value"),
    OUT_MAP("h.#.self_attention.dense"),
    NORM("post_attention_layernorm", "ln_mlp", ATTN_PART_MLP_NORM, ln2),
    PLAIN_MLP("h.#.mlp.", "dense_h_to_4h", "dense_4h_to_h"),
    FINAL_LAYER_NORM("ln_f"),
    OUTPUT_OF("/lm_head.weight"),
    IGNORED("h.#.self_attention.rotary_emb.inv_freq"),
};

static const struct attn_config_names bloom_names = {"vocab_size", "n_embed", NULL,
                                                     "n_layer",    "n_head",  "seq_length"};

static const struct attn_config_extra bloom_refused[] = {
    {"apply_residual_connection_post_layernorm", ATTN_WISH_TRUE}, {.key = NULL}};

static enum attn_status read_bloom(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    return add_slopes(SLOPES_OF_BLOOM, config, layers, err);
}

/* Bloom (modeling_bloom.py): GPT-2's block, with normalized embedding rows. Traps: q, k and v are
 * interleaved head by head; the config has no limit for positions. */
const struct attn_family attn_family_bloom = {
    FAMILY("bloom", "BloomFor", "transformer.", rules), .read_config = read_bloom,
    .gguf = &(const struct attn_gguf_form){"bloom", QKV_APART},
    .form = {.names = &bloom_names,
             .refused = bloom_refused,
             .eps_key = "layer_norm_epsilon",
             .has_no_heads_keys = true,
             .defaults = {PARTS, .norm = ATTN_NORM_LAYERNORM, .positions = ATTN_POSITIONS_ALIBI,
                          .embeds_normed = true, .has_qkv_bias = true, .has_out_bias = true,
                          .has_mlp_bias = true, .act_fn = "gelu_new",
                          SIZES(250880, 64, 0, 2, 8, 0, 0, 2048, 1e-5F)}}};

static const struct attn_config_names falcon_names = {
    "vocab_size",          "n_embed",
    "ffn_hidden_size",     "num_hidden_layers",
    "num_attention_heads", "max_position_embeddings"};

/* Falcon (modeling_falcon.py). Traps: 7B has one key head, whatever num_kv_heads is. With
 * new_decoder_architecture the other switches have no effect, and there are two norms unless
 * num_ln_in_parallel_attn is 1. */
static enum attn_status read_falcon(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    bool is_new = false, has_one_key = true, has_alibi = false;
    size_t n_norm = 2;

    ATTN_TRY(attn_json_get_bool(json, root, "new_decoder_architecture", &is_new, err));
    ATTN_TRY(attn_json_get_bool(json, root, "multi_query", &has_one_key, err));
    ATTN_TRY(attn_json_get_bool(json, root, "alibi", &has_alibi, err));
    if (is_new) {
        ATTN_TRY(attn_config_get_width(json, "num_kv_heads", &config->n_kv_head, err));
        ATTN_TRY(attn_json_get_size(json, root, "num_ln_in_parallel_attn", 1, 2, &n_norm, err));
    } else if (has_one_key) {
        config->n_kv_head = 1;
    }
    if (has_alibi)
        config->positions = ATTN_POSITIONS_ALIBI;
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    config->has_single_norm = is_new ? n_norm == 1 : config->has_parallel_residual;
    config->has_parallel_residual = is_new || config->has_parallel_residual;
    return has_alibi ? add_slopes(SLOPES_OF_FALCON, config, layers, err) : ATTN_OK;
}

const struct attn_family attn_family_falcon = {
    FAMILY("falcon", "FalconFor", "transformer.", rules), .read_config = read_falcon,
    .gguf = &(const struct attn_gguf_form){"falcon", QKV_APART,
                                           .members = "\"new_decoder_architecture\": true"},
    .form = {.names = &falcon_names,
             .activation_key = "activation",
             .eps_key = "layer_norm_epsilon",
             .has_no_heads_keys = true,
             ROPE(10000, 1),
             ATTN_SWITCHES(ATTN_FLAG("parallel_attn", has_parallel_residual),
                           ATTN_QKV_OUT_BIAS("bias"), ATTN_MLP_BIAS("bias")),
             .defaults = {PARTS, .norm = ATTN_NORM_LAYERNORM, .act_fn = "gelu",
                          .has_parallel_residual = true,
                          SIZES(65024, 4544, 0, 32, 71, 0, 0, 2048, 1e-5F)}}};

/* --- MPT -------------------------------------------------------------------------------------- */

static const struct attn_weight_rule mpt_rules[] = {
    EMBEDDING_OF("wte.weight"),
    VECTOR("blocks.#.norm_1.weight", "D", ATTN_PART_NORM, NORM_W(ln1)),
    FUSED("blocks.#.attn.Wqkv.weight", "AD", ATTN_PART_PROJECTIONS, QKV_ROWS),
    OUT_MAP("blocks.#.attn.out_proj"),
    VECTOR("blocks.#.norm_2.weight", "D", ATTN_PART_MLP_NORM, NORM_W(ln2)),
    PLAIN_MLP("blocks.#.ffn.", "up_proj", "down_proj"),
    VECTOR("norm_f.weight", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w)),
    OUTPUT_OF("/lm_head.weight"),
};

static const struct attn_config_names mpt_names = {"vocab_size", "d_model", NULL,
                                                   "n_layers",   "n_heads", "max_seq_len"};

static const struct attn_config_extra mpt_refused[] = {
    {"no_bias", ATTN_WISH_FALSE}, {"logit_scale", ATTN_WISH_PRESENT}, {.key = NULL}};

/* MPT (modeling_mpt.py): has no biases, even in norms; q, k and v may be clipped. Traps:
 * transformers ignores `alibi`, alibi_bias_max, qk_ln, attn_type, prefix_lm, no_bias and
 * logit_scale, so unusual values of these are refused. The MLP is 4 D wide, whatever
 * expansion_ratio is. */
static enum attn_status read_mpt(ATTN_CONFIG_ARGS)
{
    static const struct attn_config_extra of_attention[] = {{"alibi", ATTN_WISH_FALSE},
                                                            {"qk_ln", ATTN_WISH_TRUE},
                                                            {"prefix_lm", ATTN_WISH_TRUE},
                                                            {.key = NULL}};
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *object;
    static const struct attn_config_switch clip[] = {ATTN_FACTOR("clip_qkv", qkv_clip),
                                                     {.key = NULL}};
    const char *type = NULL;
    double scale = 0, most = 8;

    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(add_slopes(SLOPES_OF_MPT, config, layers, err));
    ATTN_TRY(attn_config_find_object(json, root, "attn_config", &object, err));
    if (!object)
        return ATTN_OK;
    ATTN_TRY(attn_config_refuse(json, object, of_attention, err));
    ATTN_TRY(attn_json_get_double(json, object, "alibi_bias_max", 8, 8, &most, err));
    ATTN_TRY(attn_json_get_string(json, object, "attn_type", &type, err));
    if (type && strcmp(type, "multihead_attention") != 0)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "attn_type",
                                "is '%s', which is not read", attn_quote_string(type).text);
    ATTN_TRY(attn_config_read_switches(json, object, clip, config, err));
    ATTN_TRY(attn_json_get_double(json, object, "softmax_scale", 1e-30, 1e30, &scale, err));
    attn_config_set_factor(config, layers, scale);
    return ATTN_OK;
}

const struct attn_family attn_family_mpt = {
    FAMILY("mpt", "MptFor", "transformer.", mpt_rules), .read_config = read_mpt,
    .gguf = &(const struct attn_gguf_form){"mpt", .alibi_bias = 8, .clip_section = "attn_config"},
    .form = {.names = &mpt_names,
             .refused = mpt_refused,
             .eps_key = "layer_norm_epsilon",
             .has_no_heads_keys = true,
             .defaults = {PARTS, .norm = ATTN_NORM_LAYERNORM_NO_BIAS,
                          .positions = ATTN_POSITIONS_ALIBI, .act_fn = "gelu",
                          SIZES(50368, 2048, 0, 24, 16, 0, 0, 2048, 1e-5F)}}};
