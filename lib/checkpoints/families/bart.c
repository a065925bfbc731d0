/*
 * bart.c - BART, mBART, Marian (opus-mt), Pegasus, M2M100 with NLLB, Blenderbot, and Whisper, as
 * Hugging Face writes them (configuration_bart.py, modeling_bart.py, modeling_marian.py,
 * modeling_m2m_100.py, modeling_whisper.py): an encoder, and a decoder whose layers also attend to
 * the encoder's final rows.
 *
 *     x = ln(scale * word[id] + position[p]);  Marian and Whisper have no norm there
 *     n = ln(x + self(x)),  c = ln(n + cross(n, encoder)),  y = ln(c + fc2 act(fc1 c))
 *     logits = y U^T + final_logits_bias
 *
 * In all but BART and Marian the norms come before attention and MLP. Whisper's encoder reads
 * sound.
 *
 * Traps: `final_layer_norm` is the norm of the MLP. BART's positions begin at row 2. Marian's
 * positions are sines, then cosines, and newer files lack them. Whisper's k_proj has no bias, and
 * its scale_embedding has no effect.
 */
#include "families/families_internal.h"

#include <math.h>

/* --- tensors ---------------------------------------------------------------------------------- */

#define PLACES(stack, part) TABLE(stack ".embed_positions.weight", "PD", part, positions)
#define EMBED_NORM(stack)                                                                          \
    VECTOR(stack ".layernorm_embedding.weight", "D", ATTN_PART_EMBED_NORM, MODEL(ln_embed.w)),     \
        VECTOR(stack ".layernorm_embedding.bias", "D", ATTN_PART_EMBED_NORM_BIAS,                  \
               MODEL(ln_embed.b))
#define Q_V_OUT(name, kv)                                                                          \
    LINEAR(name ".q_proj", "QD", ATTN_PART_PROJECTIONS, "Q", ATTN_PART_QKV_BIAS, q),               \
        LINEAR(name ".v_proj", "W" kv, ATTN_PART_PROJECTIONS, "W", ATTN_PART_QKV_BIAS, v),         \
        OUT_MAP(name ".out_proj")
#define ATTENTION(name, kv)                                                                        \
    LINEAR(name ".k_proj", "K" kv, ATTN_PART_PROJECTIONS, "K", ATTN_PART_QKV_BIAS, k),             \
        Q_V_OUT(name, kv)
#define UNBIASED_K(name, kv)                                                                       \
    TENSOR(name ".k_proj.weight", "K" kv, ATTN_PART_PROJECTIONS, ATTN_WEIGHT_OUT_IN,               \
           WEIGHT_OF(k)),                                                                          \
        Q_V_OUT(name, kv)
#define MLP(name) PLAIN_MLP(name, "fc1", "fc2")

#define SELF(layer)                                                                                \
    ATTENTION(layer ".self_attn", "D"),                                                            \
        LAYER_NORM(layer ".self_attn_layer_norm", ATTN_PART_MID_NORM, mid_norm)
#define END(layer)                                                                                 \
    MLP(layer "."), LAYER_NORM(layer ".final_layer_norm", ATTN_PART_END_NORM, end_norm)
#define ENCODER_LAYERS SELF("encoder.layers.#"), END("encoder.layers.#")
#define DECODER_LAYERS                                                                             \
    SELF("decoder.layers.<"), ATTENTION("decoder.layers.>.encoder_attn", "S"),                     \
        LAYER_NORM("decoder.layers.>.encoder_attn_layer_norm", ATTN_PART_MID_NORM, mid_norm),      \
        END("decoder.layers.>")
#define OUTPUT(name)                                                                               \
    OUTPUT_OF(name ".weight"),                                                                     \
        VECTOR("/final_logits_bias", "1V", ATTN_PART_LOGITS_BIAS_FOUND, MODEL(unembed.bias)),      \
        IGNORED("encoder.version"), IGNORED("decoder.version")

static const struct attn_weight_rule bart_decoder[] = {
    DECODER_WORDS, PLACES("decoder", ATTN_PART_POSITIONS), EMBED_NORM("decoder"), DECODER_LAYERS,
    OUTPUT("/lm_head")};
static const struct attn_weight_rule bart_encoder[] = {
    ENCODER_WORDS, PLACES("encoder", ATTN_PART_POSITIONS), EMBED_NORM("encoder"), ENCODER_LAYERS};

static const struct attn_weight_rule marian_decoder[] = {
    DECODER_WORDS, PLACES("decoder", ATTN_PART_SINES), DECODER_LAYERS, OUTPUT("/lm_head")};
static const struct attn_weight_rule marian_encoder[] = {
    ENCODER_WORDS, PLACES("encoder", ATTN_PART_SINES), ENCODER_LAYERS};

/* Layers with norms before attention and MLP. ATTENTION is the macro for the projections. */
#define PRE_ENCODER_LAYERS(attention)                                                              \
    LAYER_NORM("encoder.layers.#.self_attn_layer_norm", ATTN_PART_NORM, ln1),                      \
        attention("encoder.layers.#.self_attn", "D"),                                              \
        LAYER_NORM("encoder.layers.#.final_layer_norm", ATTN_PART_MLP_NORM, ln2),                  \
        MLP("encoder.layers.#."), FINAL_LAYER_NORM("encoder.layer_norm")
#define PRE_DECODER_LAYERS(attention)                                                              \
    LAYER_NORM("decoder.layers.<.self_attn_layer_norm", ATTN_PART_NORM, ln1),                      \
        attention("decoder.layers.<.self_attn", "D"),                                              \
        LAYER_NORM("decoder.layers.>.encoder_attn_layer_norm", ATTN_PART_NORM, ln1),               \
        attention("decoder.layers.>.encoder_attn", "S"),                                           \
        LAYER_NORM("decoder.layers.>.final_layer_norm", ATTN_PART_MLP_NORM, ln2),                  \
        MLP("decoder.layers.>."), FINAL_LAYER_NORM("decoder.layer_norm")

static const struct attn_weight_rule m2m_100_decoder[] = {
    DECODER_WORDS, PRE_DECODER_LAYERS(ATTENTION), OUTPUT("/lm_head"),
    IGNORED("encoder.embed_positions.weights"), IGNORED("decoder.embed_positions.weights")};
static const struct attn_weight_rule m2m_100_encoder[] = {ENCODER_WORDS,
                                                          PRE_ENCODER_LAYERS(ATTENTION)};

static const struct attn_weight_rule mbart_decoder[] = {
    DECODER_WORDS, PLACES("decoder", ATTN_PART_POSITIONS), EMBED_NORM("decoder"),
    PRE_DECODER_LAYERS(ATTENTION), OUTPUT("/lm_head")};
static const struct attn_weight_rule mbart_encoder[] = {
    ENCODER_WORDS, PLACES("encoder", ATTN_PART_POSITIONS), EMBED_NORM("encoder"),
    PRE_ENCODER_LAYERS(ATTENTION)};

static const struct attn_weight_rule pegasus_decoder[] = {
    DECODER_WORDS, PLACES("decoder", ATTN_PART_SINES), PRE_DECODER_LAYERS(ATTENTION),
    OUTPUT("/lm_head")};
static const struct attn_weight_rule pegasus_encoder[] = {
    ENCODER_WORDS, PLACES("encoder", ATTN_PART_SINES), PRE_ENCODER_LAYERS(ATTENTION)};

static const struct attn_weight_rule blenderbot_decoder[] = {
    DECODER_WORDS, PLACES("decoder", ATTN_PART_POSITIONS), PRE_DECODER_LAYERS(ATTENTION),
    OUTPUT("/lm_head")};
static const struct attn_weight_rule blenderbot_encoder[] = {
    ENCODER_WORDS, PLACES("encoder", ATTN_PART_POSITIONS), PRE_ENCODER_LAYERS(ATTENTION)};

static const struct attn_weight_rule whisper_decoder[] = {
    EMBEDDING_OF("decoder.embed_tokens.weight"),
    PLACES("decoder", ATTN_PART_POSITIONS),
    PRE_DECODER_LAYERS(UNBIASED_K),
    OUTPUT_OF("/proj_out.weight"),
};
static const struct attn_weight_rule whisper_encoder[] = {
    MATRIX("encoder.conv1.weight", "Dm3", ATTN_PART_SOUND, sound[0]),
    VECTOR("encoder.conv1.bias", "D", ATTN_PART_SOUND, MODEL(sound[0].bias)),
    MATRIX("encoder.conv2.weight", "DD3", ATTN_PART_SOUND, sound[1]),
    VECTOR("encoder.conv2.bias", "D", ATTN_PART_SOUND, MODEL(sound[1].bias)),
    PLACES("encoder", ATTN_PART_POSITIONS),
    PRE_ENCODER_LAYERS(UNBIASED_K),
};

/* --- configs ---------------------------------------------------------------------------------- */

static enum attn_status read_stack(ATTN_CONFIG_ARGS)
{
    const bool is_m2m = form->defaults.stack.makes_positions == ATTN_SINES_M2M100;
    bool is_scaled = is_m2m;
    size_t pad = 1;

    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    if (is_m2m) {
        ATTN_TRY(attn_json_get_size(json, attn_json_root(json), "pad_token_id", 0,
                                    config->n_vocab - 1, &pad, err));
        config->first_position = pad + 1;
        config->n_ctx = SIZE_MAX; /* sinusoidal positions have no limit */
    }
    if (config->stack.n_mel == 0)
        ATTN_TRY(
            attn_json_get_bool(json, attn_json_root(json), "scale_embedding", &is_scaled, err));
    if (is_scaled)
        config->embed_scale = sqrt((double)config->d_model);
    if (config->stack.has_encoder)
        attn_config_pair_layers(config, layers);
    else
        config->output = ATTN_OUTPUT_NONE;
    return ATTN_OK;
}

static enum attn_status read_whisper(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(attn_config_get_width(json, "num_mel_bins", &config->stack.n_mel, err));
    ATTN_TRY(attn_config_check_alias(json, "encoder_attention_heads", "num_key_value_heads", err));
    return read_stack(json, form, config, layers, err);
}

#define NAMES(stack, vocabulary, positions)                                                        \
    .n_vocab = (vocabulary), .d_model = "d_model", .d_mlp = stack "_ffn_dim",                      \
    .n_layer = stack "_layers", .n_head = stack "_attention_heads", .n_ctx = (positions)

static const struct attn_config_names decoder_names = {
    NAMES("decoder", "decoder_vocab_size", "max_position_embeddings")};
static const struct attn_config_names encoder_names = {
    NAMES("encoder", "vocab_size", "max_position_embeddings")};
static const struct attn_config_names whisper_decoder_names = {
    NAMES("decoder", "vocab_size", "max_target_positions")};
static const struct attn_config_names whisper_encoder_names = {
    NAMES("encoder", "vocab_size", "max_source_positions")};

#define PARTS_WITH(activation)                                                                     \
    .norm = ATTN_NORM_LAYERNORM, .norm_eps = 1e-5F, .positions = ATTN_POSITIONS_LEARNED,           \
    .has_projections = true, .has_qkv_bias = true, .has_out_proj = true, .has_out_bias = true,     \
    .has_mlp_bias = true, .has_residual = true, .act_fn = (activation), .output = ATTN_OUTPUT_TIED
#define PARTS PARTS_WITH("gelu")
#define LARGE                                                                                      \
    PARTS, .norm_place = ATTN_NORM_SUM, .d_model = 1024, .d_mlp = 4096, .n_layer = 12,             \
           .n_head = 16, .stack.counts_padding = true
#define KEYS                                                                                       \
    .is_of_two_stacks = true, .has_no_heads_keys = true, .activation_key = "activation_function"
#define BART LARGE, .n_vocab = 50265, .has_embed_norm = true, .first_position = 2

/* Defines a family: the keys of both stacks, the parts that they share, and further fields of the
 * encoder and of the decoder. */
#define STACKS(id, what, reads, encoder_keys, decoder_keys, parts, of_encoder, ...)                \
    static const struct attn_family id##_stack = {                                                 \
        FAMILY(#id, NULL, "model.", id##_encoder), .read_config = (reads),                         \
        .form = {KEYS, .names = &(encoder_keys),                                                   \
                 .defaults = {parts, of_encoder, .is_encoder = true}}};                            \
    const struct attn_family attn_family_##id = {                                                  \
        FAMILY(#id, what, "model.", id##_decoder), .read_config = (reads), .encoder = &id##_stack, \
        .form = {KEYS, .names = &(decoder_keys),                                                   \
                 .defaults = {parts, .stack.has_encoder = true, __VA_ARGS__}}}

STACKS(bart, "BartFor", read_stack, encoder_names, decoder_names, BART, .n_ctx = 1024,
       .n_ctx = 1024, .stack.start_id = 2);

#define MARIAN LARGE, .n_vocab = 58101, .stack.makes_positions = ATTN_SINES_MARIAN

STACKS(marian, "Marian", read_stack, encoder_names, decoder_names, MARIAN, .n_ctx = 1024,
       .n_ctx = 1024, .stack.start_id = 58100);

/* Families with norms before attention and MLP, and one after the layers. */
#define PRE(activation, vocabulary)                                                                \
    PARTS_WITH(activation), .d_model = 1024, .d_mlp = 4096, .n_layer = 12, .n_head = 16,           \
                            .n_vocab = (vocabulary), .has_final_norm = true

/* mBART: BART with these norms. Its texts begin with a language. */
#define MBART                                                                                      \
    PRE("gelu", 50265), .has_embed_norm = true, .first_position = 2, .stack.counts_padding = true

STACKS(mbart, "MBartFor", read_stack, encoder_names, decoder_names, MBART, .n_ctx = 1024,
       .n_ctx = 1024, .stack.start_id = 2);

/* Pegasus: Marian's positions. */
#define PEGASUS                                                                                    \
    PRE("gelu", 50265), .stack.counts_padding = true, .stack.makes_positions = ATTN_SINES_MARIAN

STACKS(pegasus, "PegasusFor", read_stack, encoder_names, decoder_names, PEGASUS, .n_ctx = 1024,
       .n_ctx = 1024, .stack.start_id = 0);

/* Blenderbot: learned positions that begin at row 0, and two layers in the encoder. */
#define BLENDERBOT                                                                                 \
    PARTS, .d_model = 2560, .d_mlp = 10240, .n_head = 32, .n_vocab = 8008, .has_final_norm = true, \
           .stack.counts_padding = true, .n_ctx = 128

STACKS(blenderbot, "BlenderbotFor", read_stack, encoder_names, decoder_names, BLENDERBOT,
       .n_layer = 2, .n_layer = 24, .stack.start_id = 1);

/* M2M100 and NLLB. Padding tokens have no position. */
#define M2M PRE("relu", 128112), .stack.makes_positions = ATTN_SINES_M2M100

STACKS(m2m_100, "M2M100For", read_stack, encoder_names, decoder_names, M2M, .n_ctx = 1024,
       .n_ctx = 1024, .stack.start_id = 2, .stack.replaces_front = true);

#define WHISPER                                                                                    \
    PARTS, .stack.n_mel = 80, .has_final_norm = true, .n_vocab = 51865, .d_model = 384,            \
           .d_mlp = 1536, .n_layer = 4, .n_head = 6

STACKS(whisper, "WhisperFor", read_whisper, whisper_encoder_names, whisper_decoder_names, WHISPER,
       .n_ctx = 1500, .n_ctx = 448, .stack.start_id = 50257);
