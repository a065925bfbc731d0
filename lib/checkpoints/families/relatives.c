/* relatives.c - decoders of 2024 and 2025 that are Llama with other norms, MLPs, biases and
 * positions, as Hugging Face writes them (configuration_NAME.py, modeling_NAME.py). An absent
 * head_dim and head_dim null differ in three of them. */
#include "families/llama_internal.h"

/* --- tensors ---------------------------------------------------------------------------------- */

#define LATE_NORM                                                                                  \
    VECTOR("layers.#.self_attn.query_layernorm.weight", "y", ATTN_PART_QK_NORM, NORM_W(q_norm)),   \
        VECTOR("layers.#.self_attn.key_layernorm.weight", "z", ATTN_PART_QK_NORM, NORM_W(k_norm))
#define UP_DOWN PLAIN_MLP("layers.#.mlp.", "up_proj", "down_proj")
#define NUMBER(name, shape, i)                                                                     \
    VECTOR("layers.#.mlp.act_fn." name, shape, ATTN_PART_XIELU, BLOCK(xielu[i]))
#define NORMS_OF_APERTUS                                                                           \
    NUMBER("alpha_p", "1", 0), NUMBER("alpha_n", "1", 1), NUMBER("beta", "", 2),                   \
        NUMBER("eps", "", 3), NORM("attention_layernorm", ATTN_PART_NORM, ln1),                    \
        NORM("feedforward_layernorm", ATTN_PART_MLP_NORM, ln2),                                    \
        VECTOR("norm.weight", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w))

static const struct attn_weight_rule llama_rules[] = {RULES(QKV, QK_NORM, GATED_MLP,
                                                            NORMS_OF_LLAMA)},
                                     hunyuan_rules[] = {RULES(QKV, LATE_NORM, GATED_MLP,
                                                              NORMS_OF_LLAMA)},
                                     arcee_rules[] = {RULES(QKV, QK_NORM, UP_DOWN, NORMS_OF_LLAMA)},
                                     apertus_rules[] = {RULES(QKV, QK_NORM, UP_DOWN,
                                                              NORMS_OF_APERTUS)},
                                     nemotron_rules[] = {RULES(QKV, QK_NORM, UP_DOWN, LAYER_NORMS)};

#define BLOCK_OF_RELU2                                                                             \
    ATTN_BLOCK, .act_fn = "relu2", .output = ATTN_OUTPUT_OWN /* its MLP has no gate */

/* --- rows ------------------------------------------------------------------------------------- */

/* Ministral 3: YaRN, and queries grow with their position. Traps: without an object for positions,
 * a rope_theta at the top level is ignored; layer_types is ignored. */
static const struct attn_rope yarn = {.type = ATTN_ROPE_YARN,
                                      .theta = 1e6,
                                      .factor = 16,
                                      .n_original = 16384,
                                      .beta_fast = 32,
                                      .beta_slow = 1,
                                      .is_truncated = true,
                                      .attention_factor = 1,
                                      .query_growth = 0.1};

const struct attn_family attn_family_ministral3 = {
    FAMILY("ministral3", "Ministral3For", "model.", llama_rules),
    .gguf = &(const struct attn_gguf_form){"mistral3", HALVES_ALTERNATE,
                                           .has_interleaved_biases = true, .has_divisors = true},
    .form = {
        KEYS_BUT_ROPE, .windows = {.rule = ATTN_WINDOWS_IN_ALL}, .null_width_is_usual = true,
        .rope = {TURNS("rope_theta", 10000, 1), .has_growth = true, .without_object = &yarn},
        .defaults = {BLOCK_OF_LLAMA, SIZES(131072, 4096, 14336, 34, 32, 8, 128, 262144, 1e-5F)}}};

/* ERNIE 4.5: neighbouring components are rotated. */
const struct attn_family attn_family_ernie4_5 = {
    FAMILY("ernie4_5", "Ernie4_5For", "model.", llama_rules),
    .gguf = &(const struct attn_gguf_form){.architecture = "ernie4_5"},
    .form = {KEYS_BUT_ROPE, ROPE(5e5, 1), .turns_neighbours = true, .null_width_is_usual = true,
             ATTN_SWITCHES(ATTN_QKV_OUT_BIAS("use_bias"), ATTN_MLP_BIAS("use_bias")),
             .defaults = {GATED_BLOCK, .act_fn = "silu", .norm = ATTN_NORM_RMSNORM,
                          .output = ATTN_OUTPUT_TIED,
                          SIZES(103424, 1024, 3072, 18, 16, 2, 128, 131072, 1e-5F)}}};

/* Hunyuan: q and k are normalized after rotation. */
const struct attn_family attn_family_hunyuan_v1_dense = {
    FAMILY("hunyuan_v1_dense", "HunYuanDenseV1For", "model.", hunyuan_rules),
    .gguf = &(const struct attn_gguf_form){.architecture = "hunyuan-dense"},
    .form = {KEYS_BUT_ROPE, ATTN_SWITCHES(ATTN_ATTENTION_BIAS),
             .rope = {TURNS("rope_theta", 10000, 1), .has_alpha = true},
             .defaults = {BLOCK_OF_LLAMA, .qk_norm = ATTN_QK_NORM_PER_HEAD, .qk_norm_is_late = true,
                          SIZES(290943, 4096, 11008, 32, 32, 0, 0, 2048, 1e-5F)}}};

/* Arcee (AFM): the MLP is down(relu(up x)^2). */
const struct attn_family attn_family_arcee = {
    FAMILY("arcee", "ArceeFor", "model.", arcee_rules),
    .gguf = &(const struct attn_gguf_form){"arcee", HALVES_ALTERNATE,
                                           .has_interleaved_biases = true, .has_divisors = true},
    .form = {KEYS, ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_MLP_BIAS("mlp_bias")),
             .defaults = {BLOCK_OF_RELU2, .norm = ATTN_NORM_RMSNORM,
                          SIZES(32000, 2560, 18432, 32, 32, 0, 0, 4096, 1e-5F)}}};

/* Apertus: the MLP is down(xIELU(up x)). Trap: without an object for positions, a rope_theta at the
 * top level is ignored. */
static const struct attn_rope llama3 = {.type = ATTN_ROPE_LLAMA3,
                                        .theta = 1.2e7,
                                        .factor = 8,
                                        .n_original = 8192,
                                        .low_freq_factor = 1,
                                        .high_freq_factor = 4};

const struct attn_family attn_family_apertus = {
    FAMILY("apertus", "ApertusFor", "model.", apertus_rules),
    .gguf = &(const struct attn_gguf_form){"apertus", .has_divisors = true},
    .form = {KEYS_BUT_ROPE, .has_xielu = true, ATTN_SWITCHES(ATTN_ATTENTION_BIAS),
             .rope = {TURNS("rope_theta", 1.2e7, 1), .without_object = &llama3},
             .defaults = {ATTN_BLOCK, .act_fn = "xielu", .output = ATTN_OUTPUT_OWN,
                          .norm = ATTN_NORM_RMSNORM, .qk_norm = ATTN_QK_NORM_PER_HEAD,
                          SIZES(131072, 4096, 14336, 32, 32, 0, 0, 65536, 1e-5F)}}};

/* Nemotron 4 and Minitron: LayerNorm times 1 + w; half of each head is rotated. */
const struct attn_family attn_family_nemotron = {
    FAMILY("nemotron", "NemotronFor", "model.", nemotron_rules),
    .gguf = &(const struct attn_gguf_form){.architecture = "nemotron", GGUF_NORMS},
    .form = {KEYS_OF("norm_eps"), ROPE(10000, 0.5),
             ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_MLP_BIAS("mlp_bias")),
             .defaults = {BLOCK_OF_RELU2, .norm = ATTN_NORM_LAYERNORM_PLUS_ONE,
                          SIZES(256000, 6144, 24576, 32, 48, 0, 0, 4096, 1e-5F)}}};

/* Seed-OSS: biases of q, k and v, but not of o, unless attention_out_bias is true. */
const struct attn_family attn_family_seed_oss = {
    FAMILY("seed_oss", "SeedOssFor", "model.", llama_rules),
    .gguf = &(const struct attn_gguf_form){.architecture = "seed_oss"},
    .form = {KEYS, .null_width_is_usual = true,
             ATTN_SWITCHES(ATTN_QKV_BIAS("attention_bias"),
                           ATTN_FLAG("attention_out_bias", has_out_bias),
                           ATTN_MLP_BIAS("mlp_bias")),
             .defaults = {BLOCK_OF_LLAMA, .has_qkv_bias = true,
                          SIZES(155136, 4096, 27648, 64, 80, 8, 128, 524288, 1e-6F)}}};

/* InternLM 3: all maps have a bias, or none. */
static enum attn_status read_internlm3(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    if (config->has_qkv_bias == config->has_mlp_bias)
        return ATTN_OK;
    return attn_error_set(err, ATTN_UNSUPPORTED,
                          "'attention_bias' and 'mlp_bias' in '%s' differ, expected both true or "
                          "both false",
                          attn_config_quote(json).text);
}

const struct attn_family attn_family_internlm3 = {
    FAMILY("internlm3", "InternLM3For", "model.", llama_rules), .read_config = read_internlm3,
    .form = {
        KEYS, .null_width_is_usual = true, .is_divided = true,
        ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_QKV_OUT_BIAS("qkv_bias"), ATTN_MLP_BIAS("mlp_bias"),
                      ATTN_MLP_BIAS("bias")),
        .defaults = {BLOCK_OF_LLAMA, SIZES(128512, 4096, 10240, 48, 32, 2, 128, 32768, 1e-5F)}}};
