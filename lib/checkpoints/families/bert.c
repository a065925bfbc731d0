/*
 * bert.c - BERT and related encoders, as Hugging Face writes them (configuration_bert.py,
 * modeling_bert.py, and the files of roberta, xlm_roberta, distilbert, electra, albert and esm).
 * All except esm have the same block; every token sees every token:
 *
 *     x = ln(word[id] + type[t] + position[p]), mapped to d_model if the embedding is narrower
 *     mid = ln(pre + o(attention(pre)))
 *     post = ln(mid + out(act(in(mid))))
 *     y = ln(act(dense(post))),  logits = y U^T + b
 *
 * Traps: U is the embedding, unless the file has a separate matrix. A file saved without the head
 * has no logits. Files of 2018 call the weights of norms gamma and beta. transformers 5 ignores
 * position_embedding_type and runs relative positions as absolute ones, so they are refused here.
 */
#include "families/families_internal.h"

#include <string.h>

/* --- tensors ---------------------------------------------------------------------------------- */

#define NORM(name, shape, part, w, b)                                                              \
    VECTOR(name ".weight|" name ".gamma", shape, part, w),                                         \
        VECTOR(name ".bias|" name ".beta", shape, part, b)
#define BLOCK_NORM(name, part, norm) NORM(name, "D", part, NORM_W(norm), NORM_B(norm))

#define WORDS_AND_POSITIONS                                                                        \
    TABLE("embeddings.word_embeddings.weight", "VB", ATTN_PART_EMBEDDING, embed),                  \
        TABLE("embeddings.position_embeddings.weight", "PB", ATTN_PART_POSITIONS, positions)
#define EMBEDDING                                                                                  \
    WORDS_AND_POSITIONS,                                                                           \
        TABLE("embeddings.token_type_embeddings.weight", "TB", ATTN_PART_TYPES, types),            \
        NORM("embeddings.LayerNorm", "B", ATTN_PART_EMBED_NORM, MODEL(ln_embed.w),                 \
             MODEL(ln_embed.b))
#define EMBED_MAP(name)                                                                            \
    MATRIX(name ".weight", "DB", ATTN_PART_EMBED_MAP, embed_map),                                  \
        VECTOR(name ".bias", "D", ATTN_PART_EMBED_MAP, MODEL(embed_map.bias))

#define LAYER_OF_BERT                                                                              \
    QUERY_KEY_VALUE("encoder.layer.#.attention.self."),                                            \
        OUT_MAP("encoder.layer.#.attention.output.dense"),                                         \
        BLOCK_NORM("encoder.layer.#.attention.output.LayerNorm", ATTN_PART_MID_NORM, mid_norm),    \
        PLAIN_MLP("encoder.layer.#.", "intermediate.dense", "output.dense"),                       \
        BLOCK_NORM("encoder.layer.#.output.LayerNorm", ATTN_PART_END_NORM, end_norm)

/* The MLM head: its map, its norm, the output matrix and its bias. */
#define HEAD(map, its_norm, matrix, its_bias)                                                      \
    MATRIX("/" map ".weight", "BD", ATTN_PART_HEAD, head),                                         \
        VECTOR("/" map ".bias", "B", ATTN_PART_HEAD_BIAS, MODEL(head.bias)),                       \
        VECTOR("/" its_norm ".weight|/" its_norm ".gamma", "B", ATTN_PART_HEAD_NORM,               \
               MODEL(ln_head.w)),                                                                  \
        VECTOR("/" its_norm ".bias|/" its_norm ".beta", "B", ATTN_PART_HEAD_NORM_BIAS,             \
               MODEL(ln_head.b)),                                                                  \
        MATRIX("/" matrix ".weight", "VB", ATTN_PART_OUTPUT_FOUND, unembed),                       \
        OUTPUT_BIAS_OF(its_bias)

/* Classifier heads. Those for whole sequences have a layer before the matrix. */
#define CLASS_HEADS(map, matrix)                                                                   \
    MATRIX(map ".weight", "DD", ATTN_PART_CLASS_HEAD, head),                                       \
        VECTOR(map ".bias", "D", ATTN_PART_CLASS_HEAD_BIAS, MODEL(head.bias)),                     \
        CLASSES(matrix, ATTN_PART_CLASS), CLASSES("/classifier", ATTN_PART_TOKEN_CLASS),           \
        CLASSES("/qa_outputs", ATTN_PART_SPAN_CLASS)
#define WITH_CLASSES(activation)                                                                   \
    .heads = {.tasks = 1U << ATTN_TASK_SEQUENCE | 1U << ATTN_TASK_TOKENS | 1U << ATTN_TASK_SPANS,  \
              .pooling = ATTN_POOLING_FIRST,                                                       \
              .act_fn = (activation)}

#define IGNORED_MAP(name) IGNORED(name ".weight"), IGNORED(name ".bias")
#define HEADS_OF_TASKS                                                                             \
    IGNORED("embeddings.position_ids"), IGNORED("embeddings.token_type_ids"),                      \
        IGNORED_MAP("pooler.dense"), IGNORED_MAP("pooler"), IGNORED_MAP("/classifier.dense"),      \
        IGNORED_MAP("/classifier.out_proj"), IGNORED_MAP("/pre_classifier")

static const struct attn_weight_rule bert_rules[] = {
    EMBEDDING,
    LAYER_OF_BERT,
    HEAD("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
         "cls.predictions.decoder", "/cls.predictions.decoder.bias|/cls.predictions.bias"),
    CLASS_HEADS("pooler.dense", "/classifier"),
    HEADS_OF_TASKS,
    IGNORED("/cls.predictions.bias"),
    IGNORED_MAP("/cls.seq_relationship"),
};

#define HEADS_OF_ROBERTA                                                                           \
    HEAD("lm_head.dense", "lm_head.layer_norm", "lm_head.decoder",                                 \
         "/lm_head.decoder.bias|/lm_head.bias"),                                                   \
        CLASS_HEADS("/classifier.dense", "/classifier.out_proj"), HEADS_OF_TASKS,                  \
        IGNORED("/lm_head.bias")

static const struct attn_weight_rule roberta_rules[] = {
    EMBEDDING,
    LAYER_OF_BERT,
    HEADS_OF_ROBERTA,
};

static const struct attn_weight_rule mpnet_rules[] = {
    WORDS_AND_POSITIONS,
    NORM("embeddings.LayerNorm", "B", ATTN_PART_EMBED_NORM, MODEL(ln_embed.w), MODEL(ln_embed.b)),
    TABLE("encoder.relative_attention_bias.weight", "bH", ATTN_PART_RELATIVE_BIAS, relative_bias),
    THREE_MAPS("encoder.layer.#.attention.attn.", ""),
    OUT_MAP("encoder.layer.#.attention.attn.o"),
    BLOCK_NORM("encoder.layer.#.attention.LayerNorm", ATTN_PART_MID_NORM, mid_norm),
    PLAIN_MLP("encoder.layer.#.", "intermediate.dense", "output.dense"),
    BLOCK_NORM("encoder.layer.#.output.LayerNorm", ATTN_PART_END_NORM, end_norm),
    HEADS_OF_ROBERTA,
};

static const struct attn_weight_rule distilbert_rules[] = {
    EMBEDDING,
    THREE_MAPS("transformer.layer.#.attention.", "_lin"),
    OUT_MAP("transformer.layer.#.attention.out_lin"),
    BLOCK_NORM("transformer.layer.#.sa_layer_norm", ATTN_PART_MID_NORM, mid_norm),
    PLAIN_MLP("transformer.layer.#.ffn.", "lin1", "lin2"),
    BLOCK_NORM("transformer.layer.#.output_layer_norm", ATTN_PART_END_NORM, end_norm),
    HEAD("vocab_transform", "vocab_layer_norm", "vocab_projector", "/vocab_projector.bias"),
    CLASS_HEADS("/pre_classifier", "/classifier"),
    HEADS_OF_TASKS,
};

static const struct attn_weight_rule electra_rules[] = {
    EMBEDDING,
    EMBED_MAP("embeddings_project"),
    LAYER_OF_BERT,
    HEAD("generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head",
         "/generator_lm_head.bias"),
    CLASS_HEADS("/classifier.dense", "/classifier.out_proj"),
    HEADS_OF_TASKS,
    IGNORED_MAP("/discriminator_predictions.dense"),
    IGNORED_MAP("/discriminator_predictions.dense_prediction"),
    IGNORED_MAP("/sequence_summary.summary"),
};

#define GROUP(name) "encoder.albert_layer_groups.#.albert_layers.0." name

static const struct attn_weight_rule albert_rules[] = {
    EMBEDDING,
    EMBED_MAP("encoder.embedding_hidden_mapping_in"),
    QUERY_KEY_VALUE(GROUP("attention.")),
    OUT_MAP(GROUP("attention.dense")),
    BLOCK_NORM(GROUP("attention.LayerNorm"), ATTN_PART_MID_NORM, mid_norm),
    PLAIN_MLP(GROUP("ffn"), "", "_output"),
    BLOCK_NORM(GROUP("full_layer_layer_norm"), ATTN_PART_END_NORM, end_norm),
    HEAD("predictions.dense", "predictions.LayerNorm", "predictions.decoder",
         "/predictions.decoder.bias|/predictions.bias"),
    CLASS_HEADS("pooler", "/classifier"),
    HEADS_OF_TASKS,
    IGNORED("/predictions.bias"),
    IGNORED_MAP("/sop_classifier.classifier"),
};

/* The frame of Nomic, under the names of published files and of transformers 5. */
#define EITHER(one, other, shape, part, bias_shape, bias_part, map)                                \
    {one ".weight|" other ".weight", shape, part, ATTN_WEIGHT_OUT_IN, WEIGHT_OF(map)},             \
        VECTOR(one ".bias|" other ".bias", bias_shape, bias_part, BIAS_OF(map))
#define EITHER_NORM(one, other, part, norm)                                                        \
    VECTOR(one ".weight|" other ".weight", "D", part, NORM_W(norm)),                               \
        VECTOR(one ".bias|" other ".bias", "D", part, NORM_B(norm))
#define APART(name, shape, map)                                                                    \
    LINEAR("layers.#.self_attn." name, shape "D", ATTN_PART_PROJECTIONS_APART, shape,              \
           ATTN_PART_PROJECTIONS_APART, map)
#define LAYERS_OF_NOMIC(attention, up, up_too, down)                                               \
    TABLE("embeddings.word_embeddings.weight", "VB", ATTN_PART_EMBEDDING, embed),                  \
        TABLE("embeddings.token_type_embeddings.weight", "TB", ATTN_PART_TYPES, types),            \
        VECTOR("emb_ln.weight|embeddings.LayerNorm.weight", "B", ATTN_PART_EMBED_NORM,             \
               MODEL(ln_embed.w)),                                                                 \
        VECTOR("emb_ln.bias|embeddings.LayerNorm.bias", "B", ATTN_PART_EMBED_NORM,                 \
               MODEL(ln_embed.b)),                                                                 \
        APART("q_proj", "Q", q), APART("k_proj", "K", k), APART("v_proj", "W", v),                 \
        FUSED("encoder.layers.#." attention ".Wqkv.weight", "AD", ATTN_PART_PROJECTIONS,           \
              QKV_ROWS),                                                                           \
        FUSED("encoder.layers.#." attention ".Wqkv.bias", "A", ATTN_PART_QKV_BIAS, QKV_ROWS),      \
        EITHER("encoder.layers.#." attention ".out_proj", "layers.#.self_attn.o_proj", "DZ",       \
               ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out),                                  \
        EITHER_NORM("encoder.layers.#.norm1", "layers.#.post_attention_layernorm",                 \
                    ATTN_PART_MID_NORM, mid_norm),                                                 \
        EITHER("encoder.layers.#.mlp." up, "layers.#.mlp." up_too, "FD", ATTN_PART_MLP, "F",       \
               ATTN_PART_MLP_BIAS, mlp_in),                                                        \
        EITHER("encoder.layers.#.mlp.fc2", "layers.#.mlp." down, "DF", ATTN_PART_MLP, "D",         \
               ATTN_PART_MLP_BIAS, mlp_out),                                                       \
        EITHER_NORM("encoder.layers.#.norm2", "layers.#.post_mlp_layernorm", ATTN_PART_END_NORM,   \
                    end_norm)

static const struct attn_weight_rule nomic_rules[] = {
    LAYERS_OF_NOMIC("attn", "fc11", "up_proj", "down_proj"),
    EITHER("encoder.layers.#.mlp.fc12", "layers.#.mlp.gate_proj", "FD", ATTN_PART_MLP_GATE, "F",
           ATTN_PART_MLP_GATE_BIAS, mlp_gate),
    HEAD("cls.predictions.transform.dense", "cls.predictions.transform.layer_norm",
         "cls.predictions.decoder", "/cls.predictions.decoder.bias|/cls.predictions.bias"),
    CLASS_HEADS("pooler.dense", "/classifier"),
    HEADS_OF_TASKS,
    IGNORED("/cls.predictions.bias"),
};

static const struct attn_weight_rule jina_v3_rules[] = {
    LAYERS_OF_NOMIC("mixer", "fc1", "fc1", "fc2"),
    HEADS_OF_ROBERTA,
};

/* --- configs ---------------------------------------------------------------------------------- */

static enum attn_status read_bert(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    const char *positions = "absolute"; /* trap: transformers ignores other values */

    ATTN_TRY(attn_json_get_string(json, root, "position_embedding_type", &positions, err));
    if (strcmp(positions, "absolute") != 0)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "position_embedding_type",
                                "is '%s', this version reads 'absolute'",
                                attn_quote_string(positions).text);
    if (config->n_type > 0)
        ATTN_TRY(attn_config_get_width(json, "type_vocab_size", &config->n_type, err));
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    if (!config->head_act_fn)
        config->head_act_fn = config->act_fn;
    return ATTN_OK;
}

#define FRAME_OF_BERT                                                                              \
    .is_encoder = true, .norm = ATTN_NORM_LAYERNORM, .norm_place = ATTN_NORM_SUM,                  \
    .has_embed_norm = true, .has_projections = true, .has_out_proj = true, .has_residual = true,   \
    .has_head_bias = true, .output = ATTN_OUTPUT_TIED, .has_output_bias = true
#define BIASES .has_qkv_bias = true, .has_out_bias = true, .has_mlp_bias = true
#define BLOCK_OF_BERT                                                                              \
    FRAME_OF_BERT, BIASES, .norm_eps = 1e-12F, .positions = ATTN_POSITIONS_LEARNED, .n_ctx = 512
#define GELU .act_fn = "gelu"
#define BASE GELU, .d_model = 768, .d_mlp = 3072, .n_layer = 12, .n_head = 12

const struct attn_family attn_family_bert = {
    FAMILY("bert", "Bert", "bert.", bert_rules), .read_config = read_bert, WITH_CLASSES("tanh"),
    .form = {KEYS_OF_BERT, .defaults = {BLOCK_OF_BERT, BASE, .n_vocab = 30522, .n_type = 2}}};

/* --- RoBERTa ---------------------------------------------------------------------------------- */

/* Traps: positions count from pad_token_id + 1 and skip pad tokens anywhere in the text, so the
 * table has pad_token_id + 1 rows more than there are positions. The head's activation is always
 * gelu, whatever the blocks use. */
static enum attn_status set_padding(const struct attn_json *json, size_t pad,
                                    struct attn_config *config, struct attn_error *err)
{
    if (pad + 1 >= config->n_ctx)
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "max_position_embeddings",
                                "is %zu, expected more than pad_token_id + 1, %zu", config->n_ctx,
                                pad + 1);
    config->first_position = pad + 1;
    config->n_ctx -= config->first_position;
    return ATTN_OK;
}

static enum attn_status read_roberta(ATTN_CONFIG_ARGS)
{
    size_t pad = 1;

    ATTN_TRY(attn_json_get_size(json, attn_json_root(json), "pad_token_id", 0, ATTN_MAX_VOCAB, &pad,
                                err));
    ATTN_TRY(read_bert(json, form, config, layers, err));
    return set_padding(json, pad, config, err);
}

#define LIKE_ROBERTA(type, for_what, size)                                                         \
    FAMILY(type, for_what, "roberta.", roberta_rules),                                             \
        .read_config = read_roberta, WITH_CLASSES("tanh"),                                         \
        .form = {KEYS_OF_BERT, .defaults = {BLOCK_OF_BERT, BASE, .n_vocab = (size), .n_type = 2,   \
                                            .head_act_fn = "gelu"}}

const struct attn_family attn_family_roberta = {LIKE_ROBERTA("roberta", "Roberta", 50265)};
/* Trap: for these two, an absent vocab_size means BERT's. */
const struct attn_family attn_family_xlm_roberta = {
    LIKE_ROBERTA("xlm-roberta", "XLMRoberta", 30522)};
const struct attn_family attn_family_camembert = {LIKE_ROBERTA("camembert", "Camembert", 30522)};

/* --- MPNet ------------------------------------------------------------------------------------ */

/* Traps: the padding token of positions is 1, whatever pad_token_id says, and the buckets are
 * T5's 32 up to a distance of 128: relative_attention_num_buckets only sizes their table. */
static enum attn_status read_mpnet(ATTN_CONFIG_ARGS)
{
    enum { MOST = 1 << 15 };

    ATTN_TRY(read_bert(json, form, config, layers, err));
    ATTN_TRY(set_padding(json, 1, config, err));
    ATTN_TRY(attn_family_add_buckets(json, config, layers, err));
    return attn_json_get_size(json, attn_json_root(json), "relative_attention_num_buckets",
                              config->stack.n_bucket, MOST, &config->stack.n_bucket, err);
}

const struct attn_family attn_family_mpnet = {
    FAMILY("mpnet", "MPNet", "mpnet.", mpnet_rules), .read_config = read_mpnet,
    WITH_CLASSES("tanh"),
    .form = {KEYS_OF_BERT,
             .defaults = {BLOCK_OF_BERT, BASE, .n_vocab = 30527, .head_act_fn = "gelu",
                          .stack.n_bucket = 32, .stack.bucket_distance = 128}}};

/* --- DistilBERT ------------------------------------------------------------------------------- */

static const struct attn_config_names distilbert_names = {
    "vocab_size", "dim", "hidden_dim", "n_layers", "n_heads", "max_position_embeddings"};

/* Traps: there are no token types; the epsilon of norms has no key; sinusoidal_pos_embds only
 * initializes the table. */
const struct attn_family attn_family_distilbert = {
    FAMILY("distilbert", "DistilBert", "distilbert.", distilbert_rules), .read_config = read_bert,
    WITH_CLASSES("relu"),
    .form = {.has_no_heads_keys = true,
             .activation_key = "activation",
             .names = &distilbert_names,
             .defaults = {BLOCK_OF_BERT, GELU, .n_vocab = 30522, .d_model = 768, .d_mlp = 3072,
                          .n_layer = 6, .n_head = 12}}};

/* --- ELECTRA ---------------------------------------------------------------------------------- */

/* Traps: the embedding is mapped only if embedding_size differs from hidden_size; the head uses
 * gelu, whatever the blocks use. Discriminators have no such head, and so no logits. */
static enum attn_status read_electra(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(attn_config_get_width(json, "embedding_size", &config->d_embed, err));
    ATTN_TRY(read_bert(json, form, config, layers, err));
    config->has_embed_map = config->d_embed != config->d_model;
    return ATTN_OK;
}

const struct attn_family attn_family_electra = {
    FAMILY("electra", "Electra", "electra.", electra_rules), .read_config = read_electra,
    WITH_CLASSES("gelu"),
    .form = {KEYS_OF_BERT, .defaults = {BLOCK_OF_BERT, GELU, .n_vocab = 30522, .d_model = 256,
                                        .d_mlp = 1024, .n_layer = 12, .n_head = 4, .n_type = 2,
                                        .d_embed = 128, .head_act_fn = "gelu"}}};

/* --- ALBERT ----------------------------------------------------------------------------------- */

/* Traps: layers share the blocks of num_hidden_groups groups. Layer l of L uses the block of group
 * int(l / (L / groups)), divided as floating-point numbers. The activation is gelu_new. The
 * embedding is always mapped. */
static enum attn_status read_albert(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    size_t n_inner = 1;

    ATTN_TRY(attn_config_get_width(json, "embedding_size", &config->d_embed, err));
    ATTN_TRY(attn_json_get_size(json, root, "inner_group_num", 1, ATTN_MAX_LAYER, &n_inner, err));
    if (n_inner != 1)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "inner_group_num",
                                "is %zu, this version reads 1", n_inner);
    ATTN_TRY(read_bert(json, form, config, layers, err));
    return attn_json_get_size(json, root, "num_hidden_groups", 1, config->n_layer, &config->n_group,
                              err);
}

const struct attn_family attn_family_albert = {
    FAMILY("albert", "Albert", "albert.", albert_rules), .read_config = read_albert,
    WITH_CLASSES("tanh"),
    .form = {KEYS_OF_BERT,
             .defaults = {BLOCK_OF_BERT, .n_vocab = 30000, .d_model = 4096, .d_mlp = 16384,
                          .n_layer = 12, .n_head = 64, .n_type = 2, .d_embed = 128,
                          .has_embed_map = true, .n_group = 1, .act_fn = "gelu_new"}}};

/* --- Nomic and Jina --------------------------------------------------------------------------- */

/*
 * BERT's block with rotary positions (configuration_nomic_bert.py, modeling_nomic_bert.py, and the
 * files of jina_embeddings_v3). Nomic has no biases and a gated MLP: fc2(act(fc12 x) * (fc11 x)).
 * Trap: published configs have the keys of GPT-2, which transformers 5 ignores; its defaults are
 * right for the models of 2024.
 */
static const struct attn_config_names published_names = {"vocab_size", "n_embd", "n_inner",
                                                         "n_layer",    "n_head", "n_positions"};

static const struct attn_config_extra of_other_nomic[] = {
    {"prenorm", ATTN_WISH_TRUE},
    {"rotary_emb_interleaved", ATTN_WISH_TRUE},
    {"rotary_emb_fraction", ATTN_WISH_FACTOR},
    {"qkv_proj_bias", ATTN_WISH_TRUE},
    {"mlp_fc1_bias", ATTN_WISH_TRUE},
    {"mlp_fc2_bias", ATTN_WISH_TRUE},
    {"moe_every_n_layers", ATTN_WISH_ABOVE_ZERO},
    {.key = NULL},
};

static enum attn_status read_rotary_bert(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    struct attn_config_form own = *form;
    const char *activation = "swiglu";
    double share = 1;

    if (form->refused && attn_config_find_given(root, "n_embd")) {
        own.names = &published_names;
        own.eps_key = "layer_norm_epsilon";
        ATTN_TRY(attn_json_get_string(json, root, "activation_function", &activation, err));
        ATTN_TRY(attn_json_get_double(json, root, "rotary_emb_fraction", 0, 1, &share, err));
        if (strcmp(activation, "swiglu") != 0)
            return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "activation_function",
                                    "is '%s', this version reads 'swiglu'",
                                    attn_quote_string(activation).text);
        if (share != 1)
            return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "rotary_emb_fraction",
                                    "is %.15g, this version reads 1", share);
    }
    return read_bert(json, &own, config, layers, err);
}

const struct attn_family attn_family_nomic_bert = {
    FAMILY("nomic_bert", "NomicBert", "nomic_bert.", nomic_rules), .read_config = read_rotary_bert,
    WITH_CLASSES("tanh"),
    .form = {KEYS_OF_BERT, .width_key = "head_dim", .refused = of_other_nomic,
             .rope = {TURNS("rotary_emb_base", 1000, 1)},
             .defaults = {FRAME_OF_BERT, .has_gated_mlp = true, .act_fn = "silu", .n_type = 2,
                          SIZES(30528, 768, 3072, 12, 12, 0, 0, 2048, 1e-12F)}}};

const struct attn_family attn_family_jina_embeddings_v3 = {
    FAMILY("jina_embeddings_v3", "JinaEmbeddingsV3", "roberta.", jina_v3_rules),
    .read_config = read_rotary_bert, WITH_CLASSES("tanh"),
    .form = {KEYS_OF_BERT, ROPE(20000, 1),
             .defaults = {FRAME_OF_BERT, BIASES, GELU, .n_type = 1, .head_act_fn = "gelu",
                          SIZES(250002, 1024, 4096, 24, 16, 0, 0, 8194, 1e-5F)}}};

/* --- ESM -------------------------------------------------------------------------------------- */

/*
 * Models of proteins (modeling_esm.py). Norms come before attention and MLP, as in GPT-2:
 *
 *     x = word[id] s, in ESM-1b + position[p]; some files apply ln(x)
 *     mid = pre + o(attention(ln(pre)))
 *     post = mid + out(gelu(in(ln(mid)))),  f = ln(post) after the last block
 *
 * s is the scale of token dropout (attn_model_gather). Traps: position_embedding_type is absolute
 * by default; hidden_act is not read; files may contain frequencies of rotary positions, which
 * apply to all layers.
 */
#define FREQUENCIES(layer) "encoder.layer." layer ".attention.self.rotary_embeddings.inv_freq"

static const struct attn_weight_rule esm_rules[] = {
    WORDS_AND_POSITIONS,
    NORM("embeddings.layer_norm", "B", ATTN_PART_EMBED_NORM, MODEL(ln_embed.w), MODEL(ln_embed.b)),
    VECTOR(FREQUENCIES("*") "|" FREQUENCIES("0"), "e", ATTN_PART_FREQUENCIES, MODEL(frequencies)),
    BLOCK_NORM("encoder.layer.#.attention.LayerNorm", ATTN_PART_NORM, ln1),
    QUERY_KEY_VALUE("encoder.layer.#.attention.self."),
    OUT_MAP("encoder.layer.#.attention.output.dense"),
    BLOCK_NORM("encoder.layer.#.LayerNorm", ATTN_PART_MLP_NORM, ln2),
    PLAIN_MLP("encoder.layer.#.", "intermediate.dense", "output.dense"),
    NORM("encoder.emb_layer_norm_after", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w),
         MODEL(ln_final.b)),
    HEAD("lm_head.dense", "lm_head.layer_norm", "lm_head.decoder",
         "/lm_head.decoder.bias|/lm_head.bias"),
    CLASS_HEADS("/classifier.dense", "/classifier.out_proj"),
    VECTOR("contact_head.regression.weight", "1c", ATTN_PART_CONTACTS, MODEL(contacts)),
    VECTOR("contact_head.regression.bias", "1", ATTN_PART_CONTACTS, MODEL(contacts_bias)),
    HEADS_OF_TASKS,
    IGNORED("/lm_head.bias"),
    IGNORED(FREQUENCIES("#")),
};

/* Checks the keys of rotary positions: transformers reads only `rope_theta` at the top level. */
static enum attn_status check_esm_rope(const struct attn_json *json,
                                       const struct attn_config *config,
                                       const struct attn_config_layers *layers,
                                       struct attn_error *err)
{
    double theta = 10000;

    ATTN_TRY(attn_config_refuse_stretched(json, config, layers, err));
    ATTN_TRY(attn_json_get_double(json, attn_json_root(json), "rope_theta", 0, 1e30, &theta, err));
    if (layers->rope[0].theta == theta)
        return ATTN_OK;
    return attn_error_set(err, ATTN_UNSUPPORTED,
                          "'rope_theta' of rotary positions in '%s' is %.15g, expected %.15g, the "
                          "one at the top level or the default",
                          attn_config_quote(json).text, layers->rope[0].theta, theta);
}

static enum attn_status read_esm(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *given = attn_node_find(root, "position_embedding_type");
    const char *positions = "absolute";
    struct attn_config_form own = *form;
    size_t mask = SIZE_MAX;

    if (given && attn_node_is_null(given)) /* transformers then uses no positions at all */
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "position_embedding_type",
                                "is null, expected 'absolute' or 'rotary'");
    ATTN_TRY(attn_json_get_string(json, root, "position_embedding_type", &positions, err));
    if (strcmp(positions, "absolute") == 0) {
        own.rope = (struct attn_rope_keys){0};
        config->positions = ATTN_POSITIONS_LEARNED;
        ATTN_TRY(read_roberta(json, &own, config, layers, err));
    } else if (strcmp(positions, "rotary") == 0) {
        ATTN_TRY(attn_config_read_form(json, &own, config, layers, err));
        ATTN_TRY(check_esm_rope(json, config, layers, err));
        config->n_ctx = SIZE_MAX;
    } else {
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "position_embedding_type",
                                "is '%s', this version reads 'absolute' and 'rotary'",
                                attn_quote_string(positions).text);
    }
    ATTN_TRY(attn_json_get_bool(json, root, "emb_layer_norm_before", &config->has_embed_norm, err));
    ATTN_TRY(attn_json_get_bool(json, root, "token_dropout", &config->has_token_dropout, err));
    if (config->has_token_dropout)
        ATTN_TRY(attn_json_get_size(json, root, "mask_token_id", 0, ATTN_MAX_VOCAB, &mask, err));
    config->mask_id = mask == SIZE_MAX ? -1 : (int64_t)mask;
    return ATTN_OK;
}

static const struct attn_token_letters residues = {"residue", "ESM-2", 1024};

const struct attn_family attn_family_esm = {
    FAMILY("esm", "Esm", "esm.", esm_rules), .read_config = read_esm,
    .heads = {.tasks = 1U << ATTN_TASK_SEQUENCE | 1U << ATTN_TASK_TOKENS,
              .pooling = ATTN_POOLING_FIRST,
              .act_fn = "tanh"},
    .form = {.has_no_heads_keys = true,
             .eps_key = "layer_norm_eps",
             .rope = {.theta = "rope_theta", .default_theta = 10000, .default_partial = 1},
             .defaults = {ATTN_BLOCK, .is_encoder = true, .letters = &residues,
                          .norm = ATTN_NORM_LAYERNORM, .has_qkv_bias = true, .has_out_bias = true,
                          .has_mlp_bias = true, .has_head_bias = true, .head_act_fn = "gelu",
                          .output = ATTN_OUTPUT_TIED, .has_output_bias = true, GELU,
                          SIZES(33, 768, 3072, 12, 12, 0, 0, 1026, 1e-12F)}}};
