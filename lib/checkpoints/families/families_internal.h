/* families_internal.h - macros that the files of this folder share. */
#pragma once

#include "families/gguf_form.h"
#include "model/family.h"
#include "model/weights.h"

/* --- Tables of tensors (struct attn_weight_rule) ---------------------------------------------- */

/* The place of a tensor: its offset in the weights of a block or of the model. */
#define BLOCK(member) offsetof(struct attn_block_weights, member)
#define MODEL(member) offsetof(struct attn_weights, member)
#define NORM_W(norm) (BLOCK(norm) + offsetof(struct attn_norm_weights, w))
#define NORM_B(norm) (BLOCK(norm) + offsetof(struct attn_norm_weights, b))

#define TENSOR(name, shape, part, kind, place)                                                     \
    {                                                                                              \
        name, shape, part, kind, place                                                             \
    }
#define VECTOR(name, shape, part, place) TENSOR(name, shape, part, ATTN_WEIGHT_VECTOR, place)
/* A matrix of the model; and a tensor whose parts belong to several places. */
#define MATRIX(name, shape, part, map)                                                             \
    TENSOR(name, shape, part, ATTN_WEIGHT_OUT_IN, MODEL(map.weight))
#define FUSED(name, shape, part, kind) TENSOR(name, shape, part, ATTN_WEIGHT_##kind, 0)
#define TABLE(name, shape, part, place) TENSOR(name, shape, part, ATTN_WEIGHT_TENSOR, MODEL(place))
#define EMBEDDING_OF(name) TABLE(name, "VD", ATTN_PART_EMBEDDING, embed)
/* The embeddings of a model with two stacks. Tied matrices may be saved once, under any of their
 * names. */
#define ENCODER_WORDS                                                                              \
    EMBEDDING_OF("encoder.embed_tokens.weight|shared.weight|decoder.embed_tokens.weight|"          \
                 "/lm_head.weight")
#define DECODER_WORDS                                                                              \
    EMBEDDING_OF("decoder.embed_tokens.weight|shared.weight|encoder.embed_tokens.weight")
#define OUTPUT_OF(name) MATRIX(name, "VD", ATTN_PART_OUTPUT_FOUND, unembed)
#define OUTPUT_BIAS_OF(name) VECTOR(name, "V", ATTN_PART_OUTPUT_BIAS, MODEL(unembed.bias))

/* The places of the weight and the bias of a map. */
#define WEIGHT_OF(map) (BLOCK(map) + offsetof(struct attn_linear, weight))
#define BIAS_OF(map) (BLOCK(map) + offsetof(struct attn_linear, bias))

/* A map of a block and its bias. KIND tells which dimension is the input. */
#define MAP(kind, name, shape, part, bias_shape, bias_part, map)                                   \
    {name ".weight", shape, part, kind, WEIGHT_OF(map)},                                           \
        VECTOR(name ".bias", bias_shape, bias_part, BIAS_OF(map))
/* Maps stored as nn.Linear, [out, in], and as Conv1D, [in, out]. */
#define LINEAR(...) MAP(ATTN_WEIGHT_OUT_IN, __VA_ARGS__)
#define CONV1D(...) MAP(ATTN_WEIGHT_IN_OUT, __VA_ARGS__)

/* The maps of a block, with the names that Hugging Face uses. */
#define QKV_MAPS(query, key, value)                                                                \
    LINEAR(query, "QD", ATTN_PART_PROJECTIONS, "Q", ATTN_PART_QKV_BIAS, q),                        \
        LINEAR(key, "KD", ATTN_PART_PROJECTIONS, "K", ATTN_PART_QKV_BIAS, k),                      \
        LINEAR(value, "WD", ATTN_PART_PROJECTIONS, "W", ATTN_PART_QKV_BIAS, v)
#define THREE_MAPS(before, after) QKV_MAPS(before "q" after, before "k" after, before "v" after)
#define QUERY_KEY_VALUE(before) QKV_MAPS(before "query", before "key", before "value")
#define QKV_BY_HEADS(name)                                                                         \
    FUSED(name ".weight", "AD", ATTN_PART_PROJECTIONS, QKV_HEADS),                                 \
        FUSED(name ".bias", "A", ATTN_PART_QKV_BIAS, QKV_HEADS)
#define OUT_MAP(name) LINEAR(name, "DZ", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out)
#define PLAIN_MLP(before, in, out)                                                                 \
    LINEAR(before in, "FD", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS, mlp_in),                       \
        LINEAR(before out, "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out)

/* The layers of CLIP, in both towers. */
#define LAYERS_OF_CLIP                                                                             \
    LAYER_NORM("encoder.layers.#.layer_norm1", ATTN_PART_NORM, ln1),                               \
        THREE_MAPS("encoder.layers.#.self_attn.", "_proj"),                                        \
        OUT_MAP("encoder.layers.#.self_attn.out_proj"),                                            \
        LAYER_NORM("encoder.layers.#.layer_norm2", ATTN_PART_MLP_NORM, ln2),                       \
        PLAIN_MLP("encoder.layers.#.mlp.", "fc1", "fc2")

/* The config keys of encoders. */
#define KEYS_OF_BERT                                                                               \
    .has_no_heads_keys = true, .activation_key = "hidden_act", .eps_key = "layer_norm_eps"

/* The parts that most blocks have. */
#define ATTN_BLOCK                                                                                 \
    .has_final_norm = true, .has_projections = true, .has_out_proj = true, .has_residual = true

/* The values of absent keys: V, D, F (0: 4 D), L, H, G (0: H), E (0: D / H), P, and the epsilon of
 * norms. */
#define SIZES(v, d, f, l, h, g, e, p, eps)                                                         \
    .n_vocab = (v), .d_model = (d), .d_mlp = (f), .n_layer = (l), .n_head = (h), .n_kv_head = (g), \
    .d_head = (e), .n_ctx = (p), .norm_eps = (eps)

/* Rotary positions: the key of the base, and the defaults of the base and of the share of a head
 * that is rotated. */
#define TURNS(key, base, share)                                                                    \
    .theta = (key), .default_theta = (base), .partial = "partial_rotary_factor",                   \
    .default_partial = (share)
#define ROPE(base, share) .rope = {TURNS("rope_theta", base, share)}

/* A LayerNorm, in a block or after the layers. */
#define LAYER_NORM(name, part, norm)                                                               \
    VECTOR(name ".weight", "D", part, NORM_W(norm)), VECTOR(name ".bias", "D", part, NORM_B(norm))
#define MODEL_NORM(name, part, norm)                                                               \
    VECTOR(name ".weight", "D", part, MODEL(norm.w)), VECTOR(name ".bias", "D", part, MODEL(norm.b))
#define FINAL_LAYER_NORM(name) MODEL_NORM(name, ATTN_PART_FINAL_NORM, ln_final)

/* The two maps of a connector, one after the other, and their biases. */
#define MODEL_BIAS(map) (MODEL(map) + offsetof(struct attn_linear, bias))
#define TWO_MAPS(first, second, part, in, out)                                                     \
    MATRIX(first ".weight", "kk", part, in), VECTOR(first ".bias", "k", part, MODEL_BIAS(in)),     \
        MATRIX(second ".weight", "ok", part, out),                                                 \
        VECTOR(second ".bias", "o", part, MODEL_BIAS(out))

/* The same with inner rows of the decoder's width, from rows of SHAPE; the maps may lack biases. */
#define PROJECTOR(first, second, shape)                                                            \
    MATRIX(first ".weight", shape, ATTN_PART_CONNECTOR, connector_in),                             \
        VECTOR(first ".bias", "o", ATTN_PART_CONNECTOR_BIAS, MODEL(connector_in.bias)),            \
        MATRIX(second ".weight", "oo", ATTN_PART_CONNECTOR, connector),                            \
        VECTOR(second ".bias", "o", ATTN_PART_CONNECTOR_BIAS, MODEL(connector.bias))

/* The output matrix of a classifier head, and its bias. */
#define CLASSES(name, part)                                                                        \
    MATRIX(name ".weight", "YL", part, unembed),                                                   \
        VECTOR(name ".bias", "Y", part, MODEL(unembed.bias))

/* The output matrix of a decoder that classifies, and its heads. */
#define SCORE MATRIX("/score.weight", "YL", ATTN_PART_CLASS, unembed)
#define SCORES .heads = {.tasks = 1U << ATTN_TASK_SEQUENCE, .pooling = ATTN_POOLING_LAST}

/* The fields that every Hugging Face family has: its model_type, the begin of `architectures` in
 * configs without a model_type, the prefix of its tensors, and their table. */
#define FAMILY(type, for_what, before, list)                                                       \
    .model_type = (type), .architecture = (for_what), .prefix = (before), .rules = (list),         \
    .n_rule = sizeof(list) / sizeof *(list), .vocabulary_key = "vocab_size"

/* A tensor that is not read, for example a buffer that is not a weight. */
#define NOT_READ(name, part) TENSOR(name, "", part, ATTN_WEIGHT_TENSOR, 0)
#define IGNORED(name) NOT_READ(name, ATTN_PART_IGNORED)

/* The keys of the factors of Granite. */
#define FACTORS_OF_GRANITE                                                                         \
    ATTN_FACTOR("embedding_multiplier", embed_scale),                                              \
        ATTN_FACTOR("residual_multiplier", residual_scale),                                        \
        ATTN_DIVISOR("logits_scaling", logits_scale)

/* For a GGUF form: llama.cpp's converter has interleaved the rows of q and k. */
#define HALVES_ALTERNATE                                                                           \
    .has_interleaved_heads = true, .part = "q and k",                                              \
    .difference = "read in Hugging Face's order: in the file the halves of each head alternate"

/* For a GGUF form: Hugging Face has q, k and v in one matrix, head by head. */
#define QKV_APART                                                                                  \
    .part = "q, k and v",                                                                          \
    .difference = "all of q, all of k, all of v, where Hugging Face goes head by head"

/* --- Buckets of relative positions ------------------------------------------------------------ */

/* Adds the bias of scores to the layers of CONFIG, which has the number of buckets and their
 * distance. The file has its table (ATTN_PART_RELATIVE_BIAS). */
enum attn_status attn_family_add_buckets(const struct attn_json *json, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err);
