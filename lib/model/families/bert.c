/*
 * bert.c - BERT and the encoders after it, as Hugging Face writes them (configuration_bert.py,
 * modeling_bert.py, and the files of roberta, xlm_roberta, distilbert, electra and albert). All
 * have one block; every token sees every token:
 *
 *     x    = ln(word[id] + type[t] + position[p]), mapped to d_model where the embedding is narrow
 *     mid  = ln(pre + o(attention(pre)))
 *     post = ln(mid + out(act(in(mid))))
 *     y    = ln(act(dense(post))), logits = y U^T + b
 *
 * Traps: U is the embedding unless the file has a separate matrix. A file that was saved without
 * the head has no logits. Files of 2018 call the weights of norms gamma and beta.
 * position_embedding_type is not read by transformers 5 any more, which runs relative positions as
 * absolute ones: refused.
 */
#include "base/escape.h"
#include "model/families/families_internal.h"

#include <string.h>

/* --- tensors ---------------------------------------------------------------------------------- */

#define NORM(name, shape, part, w, b)                                                              \
    VECTOR(name ".weight|" name ".gamma", shape, part, w),                                         \
        VECTOR(name ".bias|" name ".beta", shape, part, b)
#define BLOCK_NORM(name, part, norm) NORM(name, "D", part, NORM_W(norm), NORM_B(norm))

#define EMBEDDING                                                                                  \
    {"embeddings.word_embeddings.weight", "VB", ATTN_PART_EMBEDDING, ATTN_WEIGHT_TENSOR,           \
     MODEL(embed)},                                                                                \
        {"embeddings.position_embeddings.weight", "PB", ATTN_PART_POSITIONS, ATTN_WEIGHT_TENSOR,   \
         MODEL(positions)},                                                                        \
        {"embeddings.token_type_embeddings.weight", "TB", ATTN_PART_TYPES, ATTN_WEIGHT_TENSOR,     \
         MODEL(types)},                                                                            \
        NORM("embeddings.LayerNorm", "B", ATTN_PART_EMBED_NORM, MODEL(ln_embed.w),                 \
             MODEL(ln_embed.b))
#define EMBED_MAP(name)                                                                            \
    {name ".weight", "DB", ATTN_PART_EMBED_MAP, ATTN_WEIGHT_OUT_IN, MODEL(embed_map.weight)},      \
        VECTOR(name ".bias", "D", ATTN_PART_EMBED_MAP, MODEL(embed_map.bias))

#define QKV(query, key, value)                                                                     \
    LINEAR(query, "QD", ATTN_PART_PROJECTIONS, "Q", ATTN_PART_QKV_BIAS, q),                        \
        LINEAR(key, "KD", ATTN_PART_PROJECTIONS, "K", ATTN_PART_QKV_BIAS, k),                      \
        LINEAR(value, "WD", ATTN_PART_PROJECTIONS, "W", ATTN_PART_QKV_BIAS, v)
#define OUT(name) LINEAR(name, "DZ", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out)
#define MLP(in, back)                                                                              \
    LINEAR(in, "FD", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS, mlp_in),                              \
        LINEAR(back, "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out)

#define LAYER_OF_BERT                                                                              \
    QKV("encoder.layer.#.attention.self.query", "encoder.layer.#.attention.self.key",              \
        "encoder.layer.#.attention.self.value"),                                                   \
        OUT("encoder.layer.#.attention.output.dense"),                                             \
        BLOCK_NORM("encoder.layer.#.attention.output.LayerNorm", ATTN_PART_MID_NORM, mid_norm),    \
        MLP("encoder.layer.#.intermediate.dense", "encoder.layer.#.output.dense"),                 \
        BLOCK_NORM("encoder.layer.#.output.LayerNorm", ATTN_PART_END_NORM, end_norm)

/* The head: its map, its norm, the output matrix and the output's bias. */
#define HEAD(map, its_norm, matrix, its_bias)                                                      \
    {"/" map ".weight", "BD", ATTN_PART_HEAD, ATTN_WEIGHT_OUT_IN, MODEL(head.weight)},             \
        VECTOR("/" map ".bias", "B", ATTN_PART_HEAD_BIAS, MODEL(head.bias)),                       \
        VECTOR("/" its_norm ".weight|/" its_norm ".gamma", "B", ATTN_PART_HEAD_NORM,               \
               MODEL(ln_head.w)),                                                                  \
        VECTOR("/" its_norm ".bias|/" its_norm ".beta", "B", ATTN_PART_HEAD_NORM_BIAS,             \
               MODEL(ln_head.b)),                                                                  \
        {"/" matrix ".weight", "VB", ATTN_PART_OUTPUT_FOUND, ATTN_WEIGHT_OUT_IN,                   \
         MODEL(unembed.weight)},                                                                   \
        VECTOR(its_bias, "V", ATTN_PART_OUTPUT_BIAS, MODEL(unembed.bias))

#define IGNORED_MAP(name) IGNORED(name ".weight"), IGNORED(name ".bias")
#define HEADS_OF_TASKS                                                                             \
    IGNORED("embeddings.position_ids"), IGNORED("embeddings.token_type_ids"),                      \
        IGNORED_MAP("pooler.dense"), IGNORED_MAP("pooler"), IGNORED_MAP("/classifier"),            \
        IGNORED_MAP("/classifier.dense"), IGNORED_MAP("/classifier.out_proj"),                     \
        IGNORED_MAP("/pre_classifier"), IGNORED_MAP("/qa_outputs")

static const struct attn_weight_rule bert_rules[] = {
    EMBEDDING,
    LAYER_OF_BERT,
    HEAD("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
         "cls.predictions.decoder", "/cls.predictions.decoder.bias|/cls.predictions.bias"),
    HEADS_OF_TASKS,
    IGNORED("/cls.predictions.bias"),
    IGNORED_MAP("/cls.seq_relationship"),
};

static const struct attn_weight_rule roberta_rules[] = {
    EMBEDDING,
    LAYER_OF_BERT,
    HEAD("lm_head.dense", "lm_head.layer_norm", "lm_head.decoder",
         "/lm_head.decoder.bias|/lm_head.bias"),
    HEADS_OF_TASKS,
    IGNORED("/lm_head.bias"),
};

static const struct attn_weight_rule distilbert_rules[] = {
    EMBEDDING,
    QKV("transformer.layer.#.attention.q_lin", "transformer.layer.#.attention.k_lin",
        "transformer.layer.#.attention.v_lin"),
    OUT("transformer.layer.#.attention.out_lin"),
    BLOCK_NORM("transformer.layer.#.sa_layer_norm", ATTN_PART_MID_NORM, mid_norm),
    MLP("transformer.layer.#.ffn.lin1", "transformer.layer.#.ffn.lin2"),
    BLOCK_NORM("transformer.layer.#.output_layer_norm", ATTN_PART_END_NORM, end_norm),
    HEAD("vocab_transform", "vocab_layer_norm", "vocab_projector", "/vocab_projector.bias"),
    HEADS_OF_TASKS,
};

static const struct attn_weight_rule electra_rules[] = {
    EMBEDDING,
    EMBED_MAP("embeddings_project"),
    LAYER_OF_BERT,
    HEAD("generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head",
         "/generator_lm_head.bias"),
    HEADS_OF_TASKS,
    IGNORED_MAP("/discriminator_predictions.dense"),
    IGNORED_MAP("/discriminator_predictions.dense_prediction"),
    IGNORED_MAP("/sequence_summary.summary"),
};

#define GROUP(name) "encoder.albert_layer_groups.#.albert_layers.0." name

static const struct attn_weight_rule albert_rules[] = {
    EMBEDDING,
    EMBED_MAP("encoder.embedding_hidden_mapping_in"),
    QKV(GROUP("attention.query"), GROUP("attention.key"), GROUP("attention.value")),
    OUT(GROUP("attention.dense")),
    BLOCK_NORM(GROUP("attention.LayerNorm"), ATTN_PART_MID_NORM, mid_norm),
    MLP(GROUP("ffn"), GROUP("ffn_output")),
    BLOCK_NORM(GROUP("full_layer_layer_norm"), ATTN_PART_END_NORM, end_norm),
    HEAD("predictions.dense", "predictions.LayerNorm", "predictions.decoder",
         "/predictions.decoder.bias|/predictions.bias"),
    HEADS_OF_TASKS,
    IGNORED("/predictions.bias"),
    IGNORED_MAP("/sop_classifier.classifier"),
};

/* --- configs ---------------------------------------------------------------------------------- */

/* Settings that transformers ignores, or that make the model a decoder. */
static enum attn_status refuse_variants(const struct attn_json *json, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const char *positions = "absolute";
    bool is_decoder = false;

    ATTN_TRY(attn_json_get_string(json, root, "position_embedding_type", &positions, err));
    ATTN_TRY(attn_json_get_bool(json, root, "is_decoder", &is_decoder, err));
    if (strcmp(positions, "absolute") != 0)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'position_embedding_type' in '%s' is '%s', this version reads "
                              "'absolute'",
                              attn_quote_string(attn_json_name(json)).text,
                              attn_quote_string(positions).text);
    if (is_decoder)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'is_decoder' in '%s' is set, which this version does not support",
                              attn_quote_string(attn_json_name(json)).text);
    return ATTN_OK;
}

static enum attn_status read_bert(const struct attn_json *json, const struct attn_config_form *form,
                                  struct attn_config *config, struct attn_config_layers *layers,
                                  struct attn_error *err)
{
    ATTN_TRY(refuse_variants(json, err));
    if (config->n_type > 0)
        ATTN_TRY(attn_json_get_size(json, attn_json_root(json), "type_vocab_size", 1,
                                    ATTN_MAX_WIDTH, &config->n_type, err));
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    if (!config->head_act_fn)
        config->head_act_fn = config->act_fn;
    return ATTN_OK;
}

#define BLOCK_OF_BERT                                                                              \
    .is_encoder = true, .norm = ATTN_NORM_LAYERNORM, .norm_place = ATTN_NORM_SUM,                  \
    .norm_eps = 1e-12F, .has_embed_norm = true, .positions = ATTN_POSITIONS_LEARNED,               \
    .has_projections = true, .has_qkv_bias = true, .has_out_proj = true, .has_out_bias = true,     \
    .has_mlp_bias = true, .has_residual = true, .has_head_bias = true, .output = ATTN_OUTPUT_TIED, \
    .has_output_bias = true, .n_ctx = 512
#define GELU .act_fn = "gelu"
#define BASE GELU, .d_model = 768, .d_mlp = 3072, .n_layer = 12, .n_head = 12
#define KEYS_OF_BERT                                                                               \
    .has_no_heads_keys = true, .activation_key = "hidden_act", .eps_key = "layer_norm_eps"

const struct attn_family attn_family_bert = {
    FAMILY("bert", "Bert", "bert.", bert_rules), .read_config = read_bert,
    .form = {KEYS_OF_BERT, .defaults = {BLOCK_OF_BERT, BASE, .n_vocab = 30522, .n_type = 2}}};

/* --- RoBERTa ---------------------------------------------------------------------------------- */

/* Traps: positions count from pad_token_id + 1, skipping pad tokens anywhere in the text: so the
 * table has pad_token_id + 1 rows more than positions. The head's activation is gelu whatever the
 * activation of the blocks is. */
static enum attn_status read_roberta(const struct attn_json *json,
                                     const struct attn_config_form *form,
                                     struct attn_config *config, struct attn_config_layers *layers,
                                     struct attn_error *err)
{
    size_t pad = 1;

    ATTN_TRY(attn_json_get_size(json, attn_json_root(json), "pad_token_id", 0, ATTN_MAX_VOCAB, &pad,
                                err));
    ATTN_TRY(read_bert(json, form, config, layers, err));
    if (pad + 1 >= config->n_ctx)
        return attn_error_set(err, ATTN_FORMAT,
                              "'max_position_embeddings' in '%s' is %zu, expected more than "
                              "pad_token_id + 1, %zu",
                              attn_quote_string(attn_json_name(json)).text, config->n_ctx, pad + 1);
    config->first_position = pad + 1;
    config->n_ctx -= config->first_position;
    return ATTN_OK;
}

const struct attn_family attn_family_roberta = {
    FAMILY("roberta", "Roberta", "roberta.", roberta_rules), .read_config = read_roberta,
    .form = {KEYS_OF_BERT, .defaults = {BLOCK_OF_BERT, BASE, .n_vocab = 50265, .n_type = 2,
                                        .head_act_fn = "gelu"}}};

/* Trap: an absent vocab_size is BERT's. */
const struct attn_family attn_family_xlm_roberta = {
    FAMILY("xlm-roberta", "XLMRoberta", "roberta.", roberta_rules), .read_config = read_roberta,
    .form = {KEYS_OF_BERT, .defaults = {BLOCK_OF_BERT, BASE, .n_vocab = 30522, .n_type = 2,
                                        .head_act_fn = "gelu"}}};

/* RoBERTa's blocks and names, with BERT's defaults. */
const struct attn_family attn_family_camembert = {
    FAMILY("camembert", "Camembert", "roberta.", roberta_rules), .read_config = read_roberta,
    .form = {KEYS_OF_BERT, .defaults = {BLOCK_OF_BERT, BASE, .n_vocab = 30522, .n_type = 2,
                                        .head_act_fn = "gelu"}}};

/* --- DistilBERT ------------------------------------------------------------------------------- */

static const struct attn_config_names distilbert_names = {
    .n_vocab = {.name = "vocab_size"},
    .d_model = {"dim", "hidden_size"},
    .d_mlp = {.name = "hidden_dim"},
    .n_layer = {"n_layers", "num_hidden_layers"},
    .n_head = {"n_heads", "num_attention_heads"},
    .n_ctx = {.name = "max_position_embeddings"},
};

/* Traps: no token types; norms' epsilon has no key; sinusoidal_pos_embds only fills the table. */
const struct attn_family attn_family_distilbert = {
    FAMILY("distilbert", "DistilBert", "distilbert.", distilbert_rules), .read_config = read_bert,
    .form = {.has_no_heads_keys = true,
             .activation_key = "activation",
             .names = &distilbert_names,
             .defaults = {BLOCK_OF_BERT, GELU, .n_vocab = 30522, .d_model = 768, .d_mlp = 3072,
                          .n_layer = 6, .n_head = 12}}};

/* --- ELECTRA ---------------------------------------------------------------------------------- */

/* Traps: the embedding is mapped only where embedding_size is not hidden_size; the head has gelu,
 * whatever the blocks have. Discriminators have no such head, and so no logits. */
static enum attn_status read_electra(const struct attn_json *json,
                                     const struct attn_config_form *form,
                                     struct attn_config *config, struct attn_config_layers *layers,
                                     struct attn_error *err)
{
    ATTN_TRY(attn_json_get_size(json, attn_json_root(json), "embedding_size", 1, ATTN_MAX_WIDTH,
                                &config->d_embed, err));
    ATTN_TRY(read_bert(json, form, config, layers, err));
    config->has_embed_map = config->d_embed != config->d_model;
    return ATTN_OK;
}

const struct attn_family attn_family_electra = {
    FAMILY("electra", "Electra", "electra.", electra_rules), .read_config = read_electra,
    .form = {KEYS_OF_BERT, .defaults = {BLOCK_OF_BERT, GELU, .n_vocab = 30522, .d_model = 256,
                                        .d_mlp = 1024, .n_layer = 12, .n_head = 4, .n_type = 2,
                                        .d_embed = 128, .head_act_fn = "gelu"}}};

/* --- ALBERT ----------------------------------------------------------------------------------- */

/* Traps: layers share the blocks of num_hidden_groups, layer l of L the block of group int(l / (L /
 * groups)), divided as floating-point numbers; the activation is gelu_new; the embedding is always
 * mapped. */
static enum attn_status read_albert(const struct attn_json *json,
                                    const struct attn_config_form *form, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    size_t n_inner = 1;

    ATTN_TRY(
        attn_json_get_size(json, root, "embedding_size", 1, ATTN_MAX_WIDTH, &config->d_embed, err));
    ATTN_TRY(attn_json_get_size(json, root, "inner_group_num", 1, ATTN_MAX_LAYER, &n_inner, err));
    if (n_inner != 1)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'inner_group_num' in '%s' is %zu, this version reads 1",
                              attn_quote_string(attn_json_name(json)).text, n_inner);
    ATTN_TRY(read_bert(json, form, config, layers, err));
    return attn_json_get_size(json, root, "num_hidden_groups", 1, config->n_layer, &config->n_group,
                              err);
}

const struct attn_family attn_family_albert = {
    FAMILY("albert", "Albert", "albert.", albert_rules), .read_config = read_albert,
    .form = {KEYS_OF_BERT,
             .defaults = {BLOCK_OF_BERT, .n_vocab = 30000, .d_model = 4096, .d_mlp = 16384,
                          .n_layer = 12, .n_head = 64, .n_type = 2, .d_embed = 128,
                          .has_embed_map = true, .n_group = 1, .act_fn = "gelu_new"}}};
