/*
 * test_gguf_config.c - the config.json that is made of the metadata of a GGUF file: each
 * architecture, each key with every type of value, and what is refused by name.
 */
#include "gguf/gguf_config.h"
#include "tests/support/gguf_image.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))

typedef void (*put_fn)(struct attn_gguf_image *image);

static const char *architecture; /* of the file that is made */

static const char *full(const char *key)
{
    static char text[100];

    snprintf(text, sizeof text, "%s.%s", architecture, key);
    return text;
}

/* A key that is left out of the common ones; NULL: none. */
static const char *left_out;

static void put_size(struct attn_gguf_image *image, const char *key, uint32_t value)
{
    if (!left_out || strcmp(key, left_out) != 0)
        attn_gguf_put_u32(image, full(key), value);
}

static void put_common(struct attn_gguf_image *image)
{
    static const char *const keys[] = {"attention.layer_norm_epsilon",
                                       "attention.layer_norm_rms_epsilon"};

    if (!left_out || strcmp(left_out, "general.architecture") != 0)
        attn_gguf_put_text(image, "general.architecture", architecture);
    put_size(image, "block_count", 7);
    put_size(image, "context_length", 64);
    put_size(image, "embedding_length", 32);
    put_size(image, "feed_forward_length", 80);
    put_size(image, "attention.head_count", 2);
    for (size_t i = 0; i < N(keys); i++)
        if (!left_out || strcmp(keys[i], left_out) != 0)
            attn_gguf_put_f32(image, full(keys[i]), 0.5F);
}

/* What comes of the common keys of architecture NAME and MORE. */
static enum attn_status write_config(const char *name, put_fn more, char **json,
                                     struct attn_error *err)
{
    struct attn_gguf_image image = ATTN_GGUF_IMAGE;
    struct attn_buffer bytes, text = {0};
    struct attn_file file = {0};
    struct attn_bundle *gguf = NULL;
    struct attn_blob blob = {.name = ATTN_GGUF_PART};
    const struct attn_source source = {.name = "made", .blobs = &blob, .n_blob = 1};
    enum attn_status status;

    architecture = name;
    put_common(&image);
    if (more)
        more(&image);
    attn_gguf_put_tensor(&image, "token_embd.weight", 0, 2, (const size_t[]){32, 5}, 640);
    bytes = attn_gguf_image_make(&image);
    blob.data = bytes.data;
    blob.size = bytes.size;
    *err = (struct attn_error){0};
    ck_assert(attn_file_open_part(&source, ATTN_GGUF_PART, ATTN_READ, &file, err) == ATTN_OK);
    ck_assert_msg(attn_gguf_take(&file, ATTN_READ, &gguf, err) == ATTN_OK, "%s", err->message);
    status = attn_gguf_write_config(gguf, NULL, &text, err);
    ck_assert_str_eq(status == ATTN_OK ? err->message : "", "");
    *json = strdup(attn_buffer_string(&text) ? text.data : "");
    attn_buffer_release(&text);
    attn_gguf_free(gguf);
    attn_buffer_release(&bytes);
    return status;
}

static void assert_members(const char *name, put_fn more, const char *const *members)
{
    struct attn_error err;
    char *json;

    ck_assert_msg(write_config(name, more, &json, &err) == ATTN_OK, "%s", err.message);
    for (; *members; members++)
        ck_assert_msg(strstr(json, *members) != NULL, "%s: no %s in %s", name, *members, json);
    free(json);
}

#define HAS(name, more, ...) assert_members(name, more, (const char *const[]){__VA_ARGS__, NULL})

static void assert_refused(const char *name, put_fn more, const char *message)
{
    struct attn_error err;
    char *json;

    ck_assert_msg(write_config(name, more, &json, &err) != ATTN_OK, "not refused: %s", message);
    ck_assert_str_eq(err.message, message);
    free(json);
}

#define MORE(name, ...)                                                                            \
    static void name(struct attn_gguf_image *image)                                                \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
#define SIZE(key, value) attn_gguf_put_u32(image, full(key), value)
#define REAL(key, value) attn_gguf_put_f32(image, full(key), value)
#define WORD(key, value) attn_gguf_put_text(image, full(key), value)
#define TRUTH(key, value) attn_gguf_put(image, full(key), ATTN_GGUF_BOOL, value, 1)
#define VECTOR(name) attn_gguf_put_tensor(image, name, 0, 1, (const size_t[]){1}, 4)

/* --- What comes of keys ----------------------------------------------------------------------- */

MORE(put_sequential, TRUTH("use_parallel_residual", "\0"))
MORE(put_parallel, TRUTH("use_parallel_residual", "\1"))
MORE(put_heads, SIZE("attention.head_count_kv", 1); SIZE("attention.key_length", 24);
     SIZE("attention.value_length", 24))
MORE(put_theta, REAL("rope.freq_base", 500000); SIZE("rope.dimension_count", 16))
MORE(put_linear, WORD("rope.scaling.type", "linear"); REAL("rope.scaling.factor", 4))
MORE(put_old_linear, REAL("rope.scale_linear", 2))
MORE(put_linear_of_0, REAL("rope.scaling.factor", 0))
MORE(put_none, WORD("rope.scaling.type", "none"); REAL("rope.scaling.factor", 4))
MORE(put_yarn, WORD("rope.scaling.type", "yarn"); REAL("rope.scaling.factor", 4);
     REAL("rope.scaling.yarn_beta_fast", 16); REAL("rope.scaling.yarn_ext_factor", 1);
     REAL("rope.scaling.yarn_log_multiplier", 0))
MORE(put_yarn_of_32, put_yarn(image); SIZE("rope.scaling.original_context_length", 32))
MORE(put_output, VECTOR("output.weight"))
MORE(put_ffn_up,
     attn_gguf_put_tensor(image, "blk.0.ffn_up.weight", 0, 2, (const size_t[]){32, 9}, 1152))
MORE(put_eighth, SIZE("rope.dimension_count", 6))

MORE(put_mixture, SIZE("expert_count", 8); SIZE("expert_used_count", 2);
     SIZE("expert_feed_forward_length", 24))
MORE(put_normalized, put_mixture(image); TRUTH("expert_weights_norm", "\1"))
MORE(put_shared, put_mixture(image); SIZE("expert_shared_feed_forward_length", 12))
MORE(put_alibi_of_8, REAL("attention.max_alibi_bias", 8); REAL("attention.clamp_kqv", 1.5F))
MORE(put_yarn_of_oss, put_mixture(image); put_yarn(image))
MORE(put_two_norms, SIZE("attention.head_count_kv", 1); VECTOR("blk.0.attn_norm_2.weight"))

/* Vector NAME of two values. */
static void put_floats(struct attn_gguf_image *image, const char *name, float first, float last)
{
    const float values[] = {first, last};
    const struct attn_tensor tensor = {values, ATTN_DTYPE_F32, 1, {2}};

    attn_gguf_put_data(image, name, 0, &tensor);
}

MORE(put_granite, REAL("attention.scale", 0.21F); REAL("embedding_scale", 3);
     REAL("residual_scale", 0.37F); REAL("logit_scale", 5.3F))
MORE(put_granite_mixture, put_granite(image); put_mixture(image))
MORE(put_granite_shared, put_granite(image); put_shared(image))
MORE(put_no_factors, REAL("attention.scale", 0.21F); REAL("logit_scale", 8))
MORE(put_quarter_of_logits, REAL("logit_scale", 0.25F))
MORE(put_clamp_of_olmo, REAL("attention.clamp_kqv", 1.5F))
MORE(put_lists, put_floats(image, "rope_factors_short.weight", 1, 1.1F);
     put_floats(image, "rope_factors_long.weight", 1, 4);
     SIZE("rope.scaling.original_context_length", 8))
MORE(put_longrope_factor, put_lists(image); REAL("rope.scaling.attn_factor", 1.41421356F))
MORE(put_yarn_factor, put_lists(image); REAL("rope.scaling.attn_factor", 1.2079442F))
MORE(put_other_factor, put_lists(image); REAL("rope.scaling.attn_factor", 1.3F))
MORE(put_factor_of_0, put_floats(image, "rope_factors_short.weight", 1, 0);
     put_floats(image, "rope_factors_long.weight", 1, 4))
MORE(put_q_norm, VECTOR("blk.0.attn_q_norm.weight"); TRUTH("use_parallel_residual", "\0"))
MORE(put_ffn_norm, VECTOR("blk.0.ffn_norm.weight"); TRUTH("use_parallel_residual", "\1"))

MORE(put_unused_turns, TRUTH("rope.scaling.finetuned", "\0"))

START_TEST(common_keys_are_those_of_config_json)
{
    HAS("llama", NULL, "\"model_type\": \"llama\"", "\"vocab_size\": 5", "\"hidden_size\": 32",
        "\"intermediate_size\": 80", "\"num_hidden_layers\": 7", "\"num_attention_heads\": 2",
        "\"max_position_embeddings\": 64", "\"num_key_value_heads\": 2", "\"head_dim\": 16",
        "\"rms_norm_eps\": 0.5", "\"rope_theta\": 10000", "\"hidden_act\": \"silu\"",
        "\"tie_word_embeddings\": true");
    HAS("llama", put_heads, "\"num_key_value_heads\": 1", "\"head_dim\": 24");
    HAS("llama", put_unused_turns, "\"rope_theta\": 10000");
    HAS("llama", put_theta, "\"rope_theta\": 500000");
    HAS("llama", put_output, "\"tie_word_embeddings\": false");
    HAS("llama", put_linear, "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 4}");
    HAS("llama", put_old_linear, "{\"rope_type\": \"linear\", \"factor\": 2}");
    HAS("llama", put_linear_of_0, "{\"rope_type\": \"linear\", \"factor\": 1}");
    HAS("llama", put_yarn, "{\"rope_type\": \"yarn\", \"factor\": 4, ",
        "\"original_max_position_embeddings\": 64, \"beta_fast\": 16, \"beta_slow\": 1}");
    HAS("llama", put_yarn_of_32, "\"original_max_position_embeddings\": 32, ");
}
END_TEST

#define SLIDING "\"sliding_attention\""
#define FULL "\"full_attention\""

#define LISTS                                                                                      \
    "\"original_max_position_embeddings\": 8,\n\"rope_scaling\": {\"short_factor\": [1, 1.1], "    \
    "\"long_factor\": [1, 4], "
#define LONGROPE "\"rope_type\": \"longrope\"}"

/* Hugging Face computes the factor of cosines, whatever llama.cpp's converter wrote. */
START_TEST(lists_of_factors_are_longrope)
{
    HAS("phi3", put_lists, LISTS LONGROPE);
    HAS("phi3", put_longrope_factor, LISTS LONGROPE);
    HAS("phi3", put_yarn_factor, LISTS LONGROPE);
    HAS("phi3", put_other_factor, LISTS "\"attention_factor\": 1.29999995, " LONGROPE);
}
END_TEST

START_TEST(mixtures_and_alibi_have_keys_of_their_families)
{
    HAS("llama", put_mixture, "\"model_type\": \"mixtral\"", "\"num_experts\": 8",
        "\"num_experts_per_tok\": 2", "\"intermediate_size\": 24");
    HAS("qwen2moe", put_shared, "\"model_type\": \"qwen2_moe\"", "\"moe_intermediate_size\": 24",
        "\"shared_expert_intermediate_size\": 12", "\"norm_topk_prob\": false");
    HAS("qwen3moe", put_mixture, "\"intermediate_size\": 80", "\"norm_topk_prob\": true");
    HAS("olmoe", put_mixture, "\"clip_qkv\": null", "\"norm_topk_prob\": false");
    HAS("olmoe", put_normalized, "\"norm_topk_prob\": true");
    HAS("gpt-oss", put_mixture, "\"sliding_window\": 128", "{\"rope_type\": \"default\"}",
        "[" SLIDING ", " FULL ", " SLIDING);
    HAS("gpt-oss", put_yarn_of_oss, "\"truncate\": false}");
    HAS("bloom", NULL, "\"model_type\": \"bloom\"", "\"n_embed\": 32", "\"seq_length\": 64");
    HAS("mpt", put_alibi_of_8, "\"attn_config\": {\"clip_qkv\": 1.5}", "\"d_model\": 32");
    HAS("falcon", NULL, "\"new_decoder_architecture\": true", "\"num_kv_heads\": 2",
        "\"num_ln_in_parallel_attn\": 1");
    HAS("falcon", put_two_norms, "\"num_kv_heads\": 1", "\"num_ln_in_parallel_attn\": 2");
}
END_TEST

START_TEST(scaling_of_type_none_is_none)
{
    struct attn_error err;
    char *json;

    ck_assert(write_config("llama", put_none, &json, &err) == ATTN_OK);
    ck_assert_ptr_null(strstr(json, "rope_scaling"));
    free(json);
}
END_TEST

MORE(put_window, SIZE("attention.sliding_window", 9))
MORE(put_no_window, SIZE("attention.sliding_window", 0))
MORE(put_pattern_3, put_window(image); SIZE("attention.sliding_window_pattern", 3))
MORE(put_pattern_list, put_window(image);
     attn_gguf_put_array(image, full("attention.sliding_window_pattern"), ATTN_GGUF_BOOL, 7,
                         "\1\0\0\1\0\0\1", 7))
MORE(put_caps, REAL("attn_logit_softcapping", 7); REAL("final_logit_softcapping", 8))
MORE(put_caps_of_0, REAL("attn_logit_softcapping", 0); REAL("final_logit_softcapping", 0))
MORE(put_two_thetas, REAL("rope.freq_base", 1000000); REAL("rope.freq_base_swa", 20000))
MORE(put_window_and_thetas, put_window(image); put_two_thetas(image))
MORE(put_cohere2, put_window(image); REAL("logit_scale", 0.25F);
     SIZE("attention.sliding_window_pattern", 2))
MORE(put_names_of_ollama, REAL("rope.global.freq_base", 3000); REAL("rope.local.freq_base", 2000))

START_TEST(what_the_metadata_do_not_say_is_the_architectures)
{
    HAS("qwen2", put_window, "\"model_type\": \"qwen2\"", "\"hidden_act\": \"silu\"");
    HAS("qwen3", put_heads, "\"model_type\": \"qwen3\"", "\"head_dim\": 24");
    HAS("gemma2", NULL, "\"model_type\": \"gemma2\"", "\"sliding_window\": 4096",
        "\"gelu_pytorch_tanh\"", "\"query_pre_attn_scalar\": 16", "\"rope_theta\": 10000",
        "\"attn_logit_softcapping\": 50", "\"final_logit_softcapping\": 30",
        "[" SLIDING ", " FULL ", " SLIDING ", " FULL ", " SLIDING ", " FULL ", " SLIDING "]");
    HAS("gemma2", put_caps, "\"attn_logit_softcapping\": 7", "\"final_logit_softcapping\": 8");
    HAS("gemma2", put_caps_of_0, "\"attn_logit_softcapping\": null",
        "\"final_logit_softcapping\": null");
    HAS("gemma3", put_window, "\"model_type\": \"gemma3_text\"", "\"sliding_window\": 9",
        "\"rope_local_base_freq\": 10000", "\"final_logit_softcapping\": null",
        SLIDING ", " SLIDING ", " SLIDING ", " FULL ", " SLIDING "]");
    HAS("gemma3", put_pattern_3, "[" SLIDING ", " SLIDING ", " FULL ", " SLIDING);
    HAS("gemma3", put_pattern_list, "[" SLIDING ", " FULL ", " FULL ", " SLIDING);
    HAS("gemma3", put_no_window, "[" FULL ", " FULL ", " FULL ", " FULL ", " FULL ", " FULL);
    HAS("gemma3", put_two_thetas, "\"rope_theta\": 1000000", "\"rope_local_base_freq\": 20000");
    HAS("gemma3", put_names_of_ollama, "\"rope_theta\": 3000", "\"rope_local_base_freq\": 2000");
    HAS("gpt2", NULL, "\"model_type\": \"gpt2\"", "\"n_inner\": 80", "\"gelu_new\"",
        "\"n_positions\": 64", "\"layer_norm_epsilon\": 0.5");
    HAS("gpt2", put_ffn_up, "\"n_inner\": 9");
    HAS("gptneox", put_parallel, "\"model_type\": \"gpt_neox\"", "\"hidden_act\": \"gelu\"",
        "\"use_parallel_residual\": true");
    HAS("gptneox", put_sequential, "\"use_parallel_residual\": false", "\"rotary_pct\": 1");
    HAS("olmo2", put_no_window, "\"model_type\": \"olmo2\"", "\"hidden_act\": \"silu\"");
    HAS("olmo2", put_window, "\"model_type\": \"olmo3\"", "\"sliding_window\": 9",
        "{\"sliding_attention\": {\"rope_theta\": 10000}}",
        SLIDING ", " SLIDING ", " SLIDING ", " FULL ", " SLIDING);
    HAS("olmo2", put_window_and_thetas, "\"rope_theta\": 1000000", "{\"rope_theta\": 20000}}");
    HAS("cohere2", put_cohere2, "\"logit_scale\": 0.25", SLIDING ", " FULL ", " SLIDING);
    HAS("exaone4", NULL, "\"sliding_window\": null", "[" FULL ", " FULL ", " FULL ", " FULL);
    HAS("granite", put_granite, "\"attention_multiplier\": 0.21", "\"embedding_multiplier\": 3",
        "\"residual_multiplier\": 0.37", "\"logits_scaling\": 5.3");
    HAS("granitemoe", put_granite_mixture, "\"model_type\": \"granitemoe\"");
    HAS("granitemoe", put_granite_shared, "\"model_type\": \"granitemoeshared\"",
        "\"shared_intermediate_size\": 12");
    HAS("granite", put_no_factors, "\"embedding_multiplier\": null", "\"logits_scaling\": 8");
    HAS("command-r", put_quarter_of_logits, "\"logit_scale\": 0.25", "\"use_qk_norm\": false");
    HAS("olmo", NULL, "\"clip_qkv\": null");
    HAS("olmo", put_clamp_of_olmo, "\"clip_qkv\": 1.5");
    HAS("phi3", put_window, "\"sliding_window\": 9");
    HAS("phi3", put_no_window, "\"sliding_window\": null");
    HAS("stablelm", put_q_norm, "\"qk_layernorm\": true", "\"use_parallel_residual\": true");
    HAS("stablelm", put_ffn_norm, "\"qk_layernorm\": false", "\"use_parallel_residual\": false");
    HAS("starcoder", NULL, "\"model_type\": \"gpt_bigcode\"", "\"gelu_pytorch_tanh\"");
    HAS("phi2", put_eighth, "\"model_type\": \"phi\"", "\"gelu_new\"",
        "\"partial_rotary_factor\": 0.375");
}
END_TEST

MORE(put_46_layers, SIZE("block_count", 46); SIZE("attention.key_length", 8))
MORE(put_62_layers, SIZE("block_count", 62); SIZE("attention.key_length", 8))

START_TEST(the_largest_gemmas_scale_by_the_width_of_the_model)
{
    left_out = "block_count";
    HAS("gemma2", put_46_layers, "\"query_pre_attn_scalar\": 16");
    HAS("gemma3", put_46_layers, "\"query_pre_attn_scalar\": 8");
    HAS("gemma3", put_62_layers, "\"query_pre_attn_scalar\": 16");
}
END_TEST

/* --- Types ------------------------------------------------------------------------------------ */

enum kind { IS_SIZE, IS_REAL, IS_BOOL, IS_TEXT, N_KIND };

/* Every key that is read, of an architecture that reads it. */
static const struct {
    const char *architecture, *key;
    enum kind kind;
} keys[] = {
    {"llama", "block_count", IS_SIZE},
    {"llama", "context_length", IS_SIZE},
    {"llama", "embedding_length", IS_SIZE},
    {"llama", "feed_forward_length", IS_SIZE},
    {"llama", "attention.head_count", IS_SIZE},
    {"llama", "attention.head_count_kv", IS_SIZE},
    {"llama", "attention.key_length", IS_SIZE},
    {"llama", "attention.value_length", IS_SIZE},
    {"llama", "rope.dimension_count", IS_SIZE},
    {"llama", "expert_count", IS_SIZE},
    {"llama", "nextn_predict_layers", IS_SIZE},
    {"gemma2", "attention.sliding_window", IS_SIZE},
    {"gemma3", "attention.sliding_window", IS_SIZE},
    {"olmo2", "attention.sliding_window", IS_SIZE},
    {"llama", "attention.layer_norm_rms_epsilon", IS_REAL},
    {"phi2", "attention.layer_norm_epsilon", IS_REAL},
    {"llama", "rope.freq_base", IS_REAL},
    {"gemma3", "rope.freq_base_swa", IS_REAL},
    {"gemma3", "rope.global.freq_base", IS_REAL},
    {"gemma3", "rope.local.freq_base", IS_REAL},
    {"llama", "rope.scaling.factor", IS_REAL},
    {"llama", "rope.scale_linear", IS_REAL},
    {"gemma2", "attn_logit_softcapping", IS_REAL},
    {"gemma2", "final_logit_softcapping", IS_REAL},
    {"llama", "attention.clamp_kqv", IS_REAL},
    {"llama", "attention.max_alibi_bias", IS_REAL},
    {"llama", "attention.scale", IS_REAL},
    {"granite", "attention.scale", IS_REAL},
    {"cohere2", "logit_scale", IS_REAL},
    {"olmo", "attention.clamp_kqv", IS_REAL},
    {"mpt", "attention.max_alibi_bias", IS_REAL},
    {"olmoe", "expert_gating_func", IS_SIZE},
    {"olmoe", "expert_weights_scale", IS_REAL},
    {"phi3", "attention.sliding_window", IS_SIZE},
    {"llama", "logit_scale", IS_REAL},
    {"llama", "residual_scale", IS_REAL},
    {"llama", "embedding_scale", IS_REAL},
    {"llama", "rope.scaling.attn_factor", IS_REAL},
    {"llama", "rope.scaling.yarn_attn_factor", IS_REAL},
    {"llama", "rope.scaling.yarn_ext_factor", IS_REAL},
    {"llama", "rope.scaling.yarn_log_multiplier", IS_REAL},
    {"llama", "attention.causal", IS_BOOL},
    {"granite", "rope.scaling.finetuned", IS_BOOL},
    {"gptneox", "use_parallel_residual", IS_BOOL},
    {"llama", "rope.scaling.type", IS_TEXT},
    {NULL, "general.architecture", IS_TEXT},
};

static const struct value {
    enum attn_gguf_type type;
    size_t size;
    enum kind kind; /* that it serves as */
} values[] = {
    {ATTN_GGUF_U8, 1, IS_SIZE},   {ATTN_GGUF_I8, 1, IS_SIZE},
    {ATTN_GGUF_U16, 2, IS_SIZE},  {ATTN_GGUF_I16, 2, IS_SIZE},
    {ATTN_GGUF_U32, 4, IS_SIZE},  {ATTN_GGUF_I32, 4, IS_SIZE},
    {ATTN_GGUF_U64, 8, IS_SIZE},  {ATTN_GGUF_I64, 8, IS_SIZE},
    {ATTN_GGUF_F32, 4, IS_REAL},  {ATTN_GGUF_F64, 8, IS_REAL},
    {ATTN_GGUF_BOOL, 1, IS_BOOL}, {ATTN_GGUF_STRING, 8, IS_TEXT}, /* of no bytes */
};

static const struct value *value;
static const char *changed;
static bool is_array;

/* Bits of the values: 1 of an integer, 0 of the rest. */
static void put_changed(struct attn_gguf_image *image)
{
    const uint64_t bits = value->kind == IS_SIZE;
    const char *key =
        strchr(changed, '.') && strncmp(changed, "general", 7) == 0 ? changed : full(changed);

    if (is_array)
        attn_gguf_put_array(image, key, value->type, 1, &bits, value->size);
    else
        attn_gguf_put(image, key, value->type, &bits, value->size);
}

START_TEST(a_key_of_any_other_type_is_refused_by_its_name)
{
    for (size_t k = 0; k < N(keys); k++)
        for (size_t v = 0; v < 2 * N(values); v++) {
            const char *name = keys[k].architecture ? keys[k].architecture : "llama";
            struct attn_error err;
            enum attn_status status;
            char *json;

            value = &values[v / 2];
            is_array = v % 2;
            left_out = changed = keys[k].key;
            status = write_config(name, put_changed, &json, &err);
            free(json);
            if (value->kind == keys[k].kind || status == ATTN_OK)
                ck_assert_msg(value->kind == keys[k].kind, "'%s' is taken as type %d", changed,
                              (int)value->type);
            if (value->kind == keys[k].kind) /* the type does no harm, whatever the value does */
                ck_assert_msg((is_array && keys[k].kind > IS_REAL) ||
                                  !strstr(err.message, "of type"),
                              "%s", err.message);
            else
                ck_assert_msg(status == ATTN_FORMAT && strstr(err.message, changed) &&
                                  (strstr(err.message, "is of type") ||
                                   strstr(err.message, "is an array of")),
                              "'%s' of type %d: %s", changed, (int)value->type, err.message);
        }
}
END_TEST

/* --- Refused ---------------------------------------------------------------------------------- */

MORE(put_experts, SIZE("expert_count", 8))
MORE(put_old_experts, put_experts(image); VECTOR("blk.0.ffn_gate.0.weight"))
MORE(put_sigmoid, put_mixture(image); SIZE("expert_gating_func", 2))
MORE(put_expert_groups, put_mixture(image); SIZE("expert_group_count", 2))
MORE(put_first_dense, put_mixture(image); SIZE("leading_dense_block_count", 1))
MORE(put_weights_scale, put_mixture(image); REAL("expert_weights_scale", 2.5F))
MORE(put_alibi_of_16, REAL("attention.max_alibi_bias", 16))
MORE(put_nextn, SIZE("nextn_predict_layers", 1))
MORE(put_clamp, REAL("attention.clamp_kqv", 8))
MORE(put_alibi, REAL("attention.max_alibi_bias", 8))
MORE(put_scale, REAL("attention.scale", 0.5F))
MORE(put_logit_scale, REAL("logit_scale", 0.5F))
MORE(put_residual_scale, REAL("residual_scale", 0.5F))
MORE(put_embedding_scale, REAL("embedding_scale", 0.5F))
MORE(put_attn_factor, REAL("rope.scaling.attn_factor", 2))
MORE(put_yarn_attn_factor, REAL("rope.scaling.yarn_attn_factor", 2))
MORE(put_yarn_ext_factor, REAL("rope.scaling.yarn_ext_factor", 0))
MORE(put_yarn_log, REAL("rope.scaling.yarn_log_multiplier", 0.5F))
MORE(put_scale_of_0, REAL("attention.scale", 0))
MORE(put_command_r, REAL("logit_scale", 0.25F); put_residual_scale(image))
MORE(put_not_causal, TRUTH("attention.causal", "\0"))
MORE(put_no_turns, TRUTH("rope.scaling.finetuned", "\0"); REAL("attention.scale", 0.21F);
     REAL("logit_scale", 8))
MORE(put_longrope, WORD("rope.scaling.type", "longrope"))
#define LONG_NAME                                                                                  \
    "a name of a hundred and fifty bytes, a name of a hundred and fifty bytes, a"                  \
    " name of a hundred and fifty bytes, a name of a hundred and fifty bytes, a"
MORE(put_long_name, WORD("rope.scaling.type", LONG_NAME))
MORE(put_long_factors, VECTOR("rope_factors_long.weight"))
MORE(put_short_factors, VECTOR("rope_factors_short.weight"))
MORE(put_value_length, SIZE("attention.value_length", 8))
MORE(put_part_of_head, SIZE("rope.dimension_count", 8))
MORE(put_more_than_head, SIZE("rope.dimension_count", 18))
MORE(put_3_heads, SIZE("attention.head_count", 3))
MORE(put_4_of_6_heads, SIZE("attention.head_count", 6); SIZE("attention.head_count_kv", 4);
     SIZE("attention.key_length", 16))
MORE(put_no_layers, SIZE("block_count", 0))
MORE(put_two_sizes, attn_gguf_put_array(image, full("attention.head_count_kv"), ATTN_GGUF_I32, 7,
                                        (const int32_t[]){2, 2, 1, 2, 2, 2, 2}, 28))
MORE(put_equal_sizes, attn_gguf_put_array(image, full("attention.head_count_kv"), ATTN_GGUF_I32, 7,
                                          (const int32_t[]){1, 1, 1, 1, 1, 1, 1}, 28))
MORE(put_short_pattern, put_window(image);
     attn_gguf_put_array(image, full("attention.sliding_window_pattern"), ATTN_GGUF_BOOL, 3,
                         "\1\0\1", 3))

static void put_mmproj(struct attn_gguf_image *image)
{
    attn_gguf_put_text(image, "general.type", "mmproj");
}

static void put_other_type(struct attn_gguf_image *image)
{
    attn_gguf_put_text(image, "general.type", "card");
}

#define UNSUPPORTED(key, what)                                                                     \
    "'" key "' in 'made/model.gguf' is " what ", which this version does not support"

START_TEST(what_is_not_read_is_refused_by_name)
{
    static const struct {
        const char *architecture;
        put_fn more;
        const char *message;
    } rows[] = {
        {"mamba", NULL,
         "'general.architecture' in 'made/model.gguf' is 'mamba', which is not read: it has no "
         "attention, so there is no attention map to show"},
        {"qwen35moe", NULL,
         "'general.architecture' in 'made/model.gguf' is 'qwen35moe', which is not read: its "
         "mixture "
         "of experts is of another kind than those that are read"},
        {"clip", NULL,
         "'general.architecture' in 'made/model.gguf' is 'clip', which is not read: it is no "
         "language model"},
        {"nomic-bert-moe", NULL,
         "'general.architecture' in 'made/model.gguf' is 'nomic-bert-moe', which is not read: "
         "encoders are read from the directory of Hugging Face"},
        {"mamb", NULL, "'general.architecture' in 'made/model.gguf' is 'mamb', which is not read"},
        {"llama", put_mmproj,
         "'general.type' in 'made/model.gguf' is 'mmproj', the picture part of a model, expected "
         "the model's own file"},
        {"llama", put_other_type,
         "'general.type' in 'made/model.gguf' is 'card', expected the model's own file"},
        {"phimoe", NULL,
         "'general.architecture' in 'made/model.gguf' is 'phimoe', which is not read: its files "
         "lack the factors 'short_mscale' and 'long_mscale', which the directory of Hugging Face "
         "has"},
        {"granite", put_no_turns, UNSUPPORTED("granite.rope.scaling.finetuned", "false")},
        {"qwen2", put_experts, UNSUPPORTED("qwen2.expert_count", "8")},
        {"llama", put_experts, "'llama.expert_used_count' is missing in 'made/model.gguf'"},
        {"llama", put_old_experts,
         "'made/model.gguf' has a tensor for each expert, as files of 2023: convert the model "
         "anew"},
        {"olmoe", put_sigmoid, UNSUPPORTED("olmoe.expert_gating_func", "another one than softmax")},
        {"olmoe", put_expert_groups, UNSUPPORTED("olmoe.expert_group_count", "2")},
        {"qwen3moe", put_first_dense, UNSUPPORTED("qwen3moe.leading_dense_block_count", "1")},
        {"granitemoe", put_weights_scale, UNSUPPORTED("granitemoe.expert_weights_scale", "2.5")},
        {"qwen2moe", put_mixture,
         "'qwen2moe.expert_shared_feed_forward_length' is missing in 'made/model.gguf'"},
        {"mpt", NULL, "'mpt.attention.max_alibi_bias' is missing in 'made/model.gguf'"},
        {"mpt", put_alibi_of_16, UNSUPPORTED("mpt.attention.max_alibi_bias", "16")},
        {"bloom", put_alibi, UNSUPPORTED("bloom.attention.max_alibi_bias", "8")},
        {"llama", put_nextn, UNSUPPORTED("llama.nextn_predict_layers", "1")},
        {"llama", put_clamp, UNSUPPORTED("llama.attention.clamp_kqv", "8")},
        {"llama", put_alibi, UNSUPPORTED("llama.attention.max_alibi_bias", "8")},
        {"llama", put_scale, UNSUPPORTED("llama.attention.scale", "0.5")},
        {"llama", put_logit_scale, UNSUPPORTED("llama.logit_scale", "0.5")},
        {"llama", put_residual_scale, UNSUPPORTED("llama.residual_scale", "0.5")},
        {"llama", put_embedding_scale, UNSUPPORTED("llama.embedding_scale", "0.5")},
        {"llama", put_attn_factor, UNSUPPORTED("llama.rope.scaling.attn_factor", "2")},
        {"llama", put_yarn_attn_factor, UNSUPPORTED("llama.rope.scaling.yarn_attn_factor", "2")},
        {"llama", put_yarn_ext_factor, UNSUPPORTED("llama.rope.scaling.yarn_ext_factor", "0")},
        {"llama", put_yarn_log, UNSUPPORTED("llama.rope.scaling.yarn_log_multiplier", "0.5")},
        {"llama", put_not_causal, UNSUPPORTED("llama.attention.causal", "false")},
        {"llama", put_longrope,
         "'llama.rope.scaling.type' in 'made/model.gguf' is 'longrope', this version reads none, "
         "linear and yarn"},
        {"llama", put_long_name,
         "'llama.rope.scaling.type' in 'made/model.gguf' is '" LONG_NAME
         "', this version reads none, linear and yarn"},
        {"llama", put_long_factors,
         "'made/model.gguf' has a tensor 'rope_factors_long.weight', which this version does not "
         "support"},
        {"llama", put_short_factors,
         "'made/model.gguf' has a tensor 'rope_factors_short.weight', which this version does not "
         "support"},
        {"llama", put_value_length,
         UNSUPPORTED("llama.attention.value_length", "8 beside keys of 16")},
        {"llama", put_part_of_head, UNSUPPORTED("llama.rope.dimension_count", "8, of heads of 16")},
        {"phi2", put_more_than_head,
         UNSUPPORTED("phi2.rope.dimension_count", "18, of heads of 16")},
        {"granite", NULL, "'granite.attention.scale' is missing in 'made/model.gguf'"},
        {"granite", put_scale_of_0, UNSUPPORTED("granite.attention.scale", "0")},
        {"command-r", NULL, "'command-r.logit_scale' is missing in 'made/model.gguf'"},
        {"command-r", put_command_r, UNSUPPORTED("command-r.residual_scale", "0.5")},
        {"phi3", put_attn_factor, UNSUPPORTED("phi3.rope.scaling.attn_factor", "2")},
        {"phi3", put_long_factors,
         "'made/model.gguf' has no vector 'rope_factors_short.weight' of "
         "F32"},
        {"phi3", put_factor_of_0,
         "'rope_factors_short.weight' in 'made/model.gguf' holds 0 at "
         "element 1, expected a number above 0"},
        {"gptneox", NULL, "'gptneox.use_parallel_residual' is missing in 'made/model.gguf'"},
        {"llama", put_two_sizes,
         "'llama.attention.head_count_kv' in 'made/model.gguf' is 2 in one layer and 1 in another, "
         "expected one number for all"},
        {"gemma3", put_short_pattern,
         "'gemma3.attention.sliding_window_pattern' in 'made/model.gguf' has 3 items, expected 7 "
         "of "
         "type bool, one for each layer"},
    };

    for (size_t i = 0; i < N(rows); i++)
        assert_refused(rows[i].architecture, rows[i].more, rows[i].message);
    HAS("llama", put_equal_sizes, "\"num_key_value_heads\": 1");
}
END_TEST

MORE(put_theta_of_0, REAL("rope.freq_base", 0))
MORE(put_small_theta_of_windows, REAL("rope.freq_base_swa", -5))
MORE(put_cap_below_0, REAL("attn_logit_softcapping", -3))
MORE(put_logits_cap_below_0, REAL("final_logit_softcapping", -1))
MORE(put_factor_below_0, REAL("rope.scaling.factor", -2))
MORE(put_alibi_below_0, REAL("attention.max_alibi_bias", -1))
MORE(put_eps_of_2, REAL("attention.layer_norm_rms_epsilon", 2))

START_TEST(numbers_out_of_range_are_refused_by_the_key_of_the_file)
{
    assert_refused("llama", put_theta_of_0,
                   "'llama.rope.freq_base' in 'made/model.gguf' is 0, expected a number from 1 to "
                   "1e+30");
    assert_refused("gemma3", put_small_theta_of_windows,
                   "'gemma3.rope.freq_base_swa' in 'made/model.gguf' is -5, expected a number from "
                   "1 to 1e+30");
    assert_refused("gemma2", put_cap_below_0,
                   "'gemma2.attn_logit_softcapping' in 'made/model.gguf' is -3, expected a number "
                   "from 0 to 1e+30");
    assert_refused("gemma2", put_logits_cap_below_0,
                   "'gemma2.final_logit_softcapping' in 'made/model.gguf' is -1, expected a number "
                   "from 0 to 1e+30");
    assert_refused("llama", put_factor_below_0,
                   "'llama.rope.scaling.factor' in 'made/model.gguf' is -2, expected a number from "
                   "0 to 1e+30");
    assert_refused("mpt", put_alibi_below_0,
                   "'mpt.attention.max_alibi_bias' in 'made/model.gguf' is -1, expected a number "
                   "from 0 to 1e+30");
    left_out = "attention.layer_norm_rms_epsilon";
    assert_refused("llama", put_eps_of_2,
                   "'llama.attention.layer_norm_rms_epsilon' in 'made/model.gguf' is 2, expected a "
                   "number from 0 to 1");
}
END_TEST

START_TEST(sizes_that_do_not_fit_are_refused_by_name)
{
    left_out = "attention.head_count";
    assert_refused("llama", put_3_heads,
                   "'llama.attention.head_count' 3 in 'made/model.gguf' does not divide "
                   "'llama.embedding_length' 32");
    assert_refused("llama", put_4_of_6_heads,
                   "'llama.attention.head_count_kv' 4 in 'made/model.gguf' does not divide "
                   "'llama.attention.head_count' 6");
    left_out = "block_count";
    assert_refused("llama", put_no_layers,
                   "'llama.block_count' in 'made/model.gguf' is 0, expected 1 to 4096");
}
END_TEST

START_TEST(keys_that_are_missing_are_named)
{
    static const char *const needed[] = {
        "llama.block_count",          "llama.context_length",
        "llama.embedding_length",     "llama.feed_forward_length",
        "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon"};
    char message[120];

    for (size_t i = 0; i < N(needed); i++) {
        left_out = needed[i] + strlen("llama.");
        snprintf(message, sizeof message, "'%s' is missing in 'made/model.gguf'", needed[i]);
        assert_refused("llama", NULL, message);
    }
    left_out = "general.architecture";
    assert_refused("llama", NULL, "'general.architecture' is missing in 'made/model.gguf'");
}
END_TEST

ATTN_SUITE("gguf_config", common_keys_are_those_of_config_json,
           mixtures_and_alibi_have_keys_of_their_families, lists_of_factors_are_longrope,
           scaling_of_type_none_is_none, what_the_metadata_do_not_say_is_the_architectures,
           the_largest_gemmas_scale_by_the_width_of_the_model,
           a_key_of_any_other_type_is_refused_by_its_name, what_is_not_read_is_refused_by_name,
           numbers_out_of_range_are_refused_by_the_key_of_the_file,
           sizes_that_do_not_fit_are_refused_by_name, keys_that_are_missing_are_named)
