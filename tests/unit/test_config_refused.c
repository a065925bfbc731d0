/*
 * test_config_refused.c - every key of config.json with every kind of wrong value, and every tensor
 * missing, in another shape or of another type, for both model types: refused by name.
 */
#include "base/buffer.h"
#include "tests/support/parts.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Values ---------------------------------------------------------------------------------- */

enum kind { SIZE, SIZE_OR_ZERO, BOOL, FRACTION, POSITIVE, WORD, LIST, TYPES, OBJECT };

/* A key that a reader knows, and a value that its model can be run with. */
struct key {
    const char *name;
    enum kind kind;
    const char *good; /* NULL: absent */
};

/* A config is its type and keys; the weights are those of a fixture. */
struct family {
    const char *directory, *type;
    const struct key *keys;
    size_t n_key;
};

static const struct key gpt2_keys[] = {
    {"n_embd", SIZE, "15"},
    {"n_layer", SIZE, "3"},
    {"n_head", SIZE, "3"},
    {"n_inner", SIZE, "22"},
    {"n_positions", SIZE, "17"},
    {"n_ctx", SIZE, "17"},
    {"vocab_size", SIZE, "487"},
    {"activation_function", WORD, "\"gelu_new\""},
    {"layer_norm_epsilon", FRACTION, "1e-5"},
    {"scale_attn_weights", BOOL, "true"},
    {"scale_attn_by_inverse_layer_idx", BOOL, "false"},
    {"tie_word_embeddings", BOOL, "true"},
    {"add_cross_attention", BOOL, "false"},
};

/* The same with the other spellings. */
static const struct key gpt2_aliases[] = {
    {"hidden_size", SIZE, "15"},
    {"num_hidden_layers", SIZE, "3"},
    {"num_attention_heads", SIZE, "3"},
    {"n_inner", SIZE, "22"},
    {"max_position_embeddings", SIZE, "17"},
    {"vocab_size", SIZE, "487"},
};

static const struct key attn_keys[] = {
    {"d_model", SIZE, "10"},
    {"n_head", SIZE, "2"},
    {"n_kv_head", SIZE, "2"},
    {"d_head", SIZE, "5"},
    {"d_value", SIZE, "5"},
    {"n_layer", SIZE, "2"},
    {"n_ctx", SIZE, "9"},
    {"n_vocab", SIZE, "17"},
    {"d_mlp", SIZE_OR_ZERO, "23"},
    {"d_out", SIZE, "10"},
    {"d_source", SIZE, "10"},
    {"n_source", SIZE, "12"},
    {"source_positions", WORD, "\"none\""},
    {"act_fn", WORD, "\"gelu\""},
    {"norm", WORD, "\"layernorm\""},
    {"positions", WORD, "\"learned\""},
    {"projections", WORD, "\"qkv\""},
    {"output", WORD, "\"own\""},
    {"eps", FRACTION, "1e-4"},
    {"residual", BOOL, "true"},
    {"causal", BOOL, "true"},
    {"bias", BOOL, "true"},
    {"qkv_bias", BOOL, "true"},
    {"out_proj", BOOL, "true"},
    {"out_bias", BOOL, "true"},
    {"final_norm", BOOL, "true"},
    {"embed_norm", BOOL, "false"},
    {"gated_mlp", BOOL, "false"},
    {"parallel_residual", BOOL, "false"},
    {"qk_norm", BOOL, "false"},
    {"scale", BOOL, "true"},
    {"blocks", LIST, "[\"self\",\"self\"]"},
};

/* Of the other families: the keys of their fixtures, and keys of other times, absent. */
static const struct key gpt_neo_keys[] = {
    {"vocab_size", SIZE, "87"},
    {"hidden_size", SIZE, "36"},
    {"num_layers", SIZE, "2"},
    {"num_heads", SIZE, "3"},
    {"intermediate_size", SIZE, NULL},
    {"max_position_embeddings", SIZE, "24"},
    {"window_size", SIZE, "5"},
    {"activation_function", WORD, "\"gelu_new\""},
    {"layer_norm_epsilon", FRACTION, "1e-05"},
    {"tie_word_embeddings", BOOL, "true"},
    {"attention_types", LIST, "[[[\"global\",\"local\"],1]]"},
    {"attention_layers", LIST, "[\"global\",\"local\"]"},
    {"add_cross_attention", BOOL, NULL},
    {"is_causal", BOOL, "true"},
    {"is_encoder_decoder", BOOL, NULL},
    {"use_bidirectional_attention", BOOL, NULL},
    {"attention_chunk_size", SIZE_OR_ZERO, NULL},
    {"num_experts", SIZE_OR_ZERO, NULL},
    {"num_local_experts", SIZE_OR_ZERO, NULL},
};

static const struct key gpt_neox_keys[] = {
    {"vocab_size", SIZE, "97"},
    {"hidden_size", SIZE, "48"},
    {"intermediate_size", SIZE, "80"},
    {"num_hidden_layers", SIZE, "2"},
    {"num_attention_heads", SIZE, "3"},
    {"max_position_embeddings", SIZE, "32"},
    {"tie_word_embeddings", BOOL, "false"},
    {"layer_norm_eps", FRACTION, "1e-05"},
    {"hidden_act", WORD, "\"gelu\""},
    {"use_parallel_residual", BOOL, "true"},
    {"attention_bias", BOOL, "true"},
    {"rope_parameters", OBJECT, NULL},
    {"rope_scaling", OBJECT, NULL},
    {"rotary_pct", FRACTION, NULL},
    {"rotary_emb_base", POSITIVE, NULL},
};

static const struct key llama_keys[] = {
    {"vocab_size", SIZE, "79"},
    {"hidden_size", SIZE, "36"},
    {"intermediate_size", SIZE, "54"},
    {"num_hidden_layers", SIZE, "2"},
    {"num_attention_heads", SIZE, "3"},
    {"max_position_embeddings", SIZE, "48"},
    {"tie_word_embeddings", BOOL, "false"},
    {"num_key_value_heads", SIZE, "3"},
    {"head_dim", SIZE, "12"},
    {"rms_norm_eps", FRACTION, "1e-06"},
    {"rope_parameters", OBJECT, NULL},
    {"rope_scaling", OBJECT, NULL},
    {"rope_theta", POSITIVE, NULL},
    {"hidden_act", WORD, "\"silu\""},
    {"attention_bias", BOOL, "true"},
    {"mlp_bias", BOOL, "true"},
    {"partial_rotary_factor", FRACTION, NULL},
};

static const struct key mistral_keys[] = {
    {"vocab_size", SIZE, "85"},
    {"hidden_size", SIZE, "40"},
    {"intermediate_size", SIZE, "62"},
    {"num_hidden_layers", SIZE, "2"},
    {"num_attention_heads", SIZE, "4"},
    {"max_position_embeddings", SIZE, "64"},
    {"tie_word_embeddings", BOOL, "false"},
    {"num_key_value_heads", SIZE, "2"},
    {"head_dim", SIZE, "10"},
    {"rms_norm_eps", FRACTION, "1e-06"},
    {"rope_parameters", OBJECT, NULL},
    {"rope_scaling", OBJECT, NULL},
    {"rope_theta", POSITIVE, NULL},
    {"sliding_window", SIZE, "9"},
    {"hidden_act", WORD, "\"silu\""},
};

static const struct key qwen2_keys[] = {
    {"vocab_size", SIZE, "91"},
    {"hidden_size", SIZE, "40"},
    {"intermediate_size", SIZE, "60"},
    {"num_hidden_layers", SIZE, "2"},
    {"num_attention_heads", SIZE, "4"},
    {"max_position_embeddings", SIZE, "64"},
    {"tie_word_embeddings", BOOL, "true"},
    {"num_key_value_heads", SIZE, "2"},
    {"head_dim", SIZE, NULL},
    {"rms_norm_eps", FRACTION, "1e-06"},
    {"rope_parameters", OBJECT, NULL},
    {"rope_scaling", OBJECT, NULL},
    {"rope_theta", POSITIVE, NULL},
    {"sliding_window", SIZE, "6"},
    {"layer_types", TYPES, "[\"full_attention\",\"sliding_attention\"]"},
    {"hidden_act", WORD, "\"silu\""},
    {"use_sliding_window", BOOL, "true"},
    {"max_window_layers", SIZE_OR_ZERO, "1"},
};

static const struct key qwen3_keys[] = {
    {"vocab_size", SIZE, "93"},
    {"hidden_size", SIZE, "42"},
    {"intermediate_size", SIZE, "58"},
    {"num_hidden_layers", SIZE, "2"},
    {"num_attention_heads", SIZE, "3"},
    {"max_position_embeddings", SIZE, "64"},
    {"tie_word_embeddings", BOOL, "true"},
    {"num_key_value_heads", SIZE, "1"},
    {"head_dim", SIZE, "18"},
    {"rms_norm_eps", FRACTION, "1e-06"},
    {"rope_parameters", OBJECT, NULL},
    {"rope_scaling", OBJECT, NULL},
    {"rope_theta", POSITIVE, NULL},
    {"sliding_window", SIZE, "7"},
    {"layer_types", TYPES, "[\"full_attention\",\"full_attention\"]"},
    {"hidden_act", WORD, "\"silu\""},
    {"attention_bias", BOOL, "false"},
    {"use_sliding_window", BOOL, "true"},
    {"max_window_layers", SIZE_OR_ZERO, "28"},
};

static const struct key olmo2_keys[] = {
    {"vocab_size", SIZE, "81"},
    {"hidden_size", SIZE, "36"},
    {"intermediate_size", SIZE, "56"},
    {"num_hidden_layers", SIZE, "2"},
    {"num_attention_heads", SIZE, "3"},
    {"max_position_embeddings", SIZE, "48"},
    {"tie_word_embeddings", BOOL, "false"},
    {"num_key_value_heads", SIZE, "3"},
    {"head_dim", SIZE, NULL},
    {"rms_norm_eps", FRACTION, "1e-05"},
    {"rope_parameters", OBJECT, NULL},
    {"rope_scaling", OBJECT, NULL},
    {"rope_theta", POSITIVE, NULL},
    {"hidden_act", WORD, "\"silu\""},
    {"attention_bias", BOOL, "false"},
};

static const struct key gemma2_keys[] = {
    {"vocab_size", SIZE, "95"},
    {"hidden_size", SIZE, "40"},
    {"intermediate_size", SIZE, "52"},
    {"num_hidden_layers", SIZE, "2"},
    {"num_attention_heads", SIZE, "4"},
    {"max_position_embeddings", SIZE, "48"},
    {"tie_word_embeddings", BOOL, "true"},
    {"num_key_value_heads", SIZE, "2"},
    {"head_dim", SIZE, "12"},
    {"rms_norm_eps", FRACTION, "1e-06"},
    {"rope_parameters", OBJECT, NULL},
    {"rope_scaling", OBJECT, NULL},
    {"rope_theta", POSITIVE, NULL},
    {"sliding_window", SIZE, "6"},
    {"layer_types", TYPES, "[\"sliding_attention\",\"full_attention\"]"},
    {"hidden_activation", WORD, "\"gelu_pytorch_tanh\""},
    {"attention_bias", BOOL, "false"},
    {"query_pre_attn_scalar", POSITIVE, "16"},
    {"attn_logit_softcapping", POSITIVE, "10.0"},
    {"final_logit_softcapping", POSITIVE, "6.0"},
};

static const struct key gemma3_text_keys[] = {
    {"vocab_size", SIZE, "99"},
    {"hidden_size", SIZE, "36"},
    {"intermediate_size", SIZE, "50"},
    {"num_hidden_layers", SIZE, "3"},
    {"num_attention_heads", SIZE, "3"},
    {"max_position_embeddings", SIZE, "48"},
    {"tie_word_embeddings", BOOL, "true"},
    {"num_key_value_heads", SIZE, "1"},
    {"head_dim", SIZE, "12"},
    {"rms_norm_eps", FRACTION, "1e-06"},
    {"rope_parameters", OBJECT, NULL},
    {"rope_scaling", OBJECT, NULL},
    {"rope_theta", POSITIVE, NULL},
    {"rope_local_base_freq", POSITIVE, NULL},
    {"sliding_window", SIZE, "5"},
    {"sliding_window_pattern", SIZE, NULL},
    {"layer_types", TYPES, "[\"sliding_attention\",\"full_attention\",\"sliding_attention\"]"},
    {"hidden_activation", WORD, "\"gelu_pytorch_tanh\""},
    {"attention_bias", BOOL, "false"},
    {"query_pre_attn_scalar", POSITIVE, "12"},
    {"final_logit_softcapping", POSITIVE, NULL},
};

static const struct key phi_keys[] = {
    {"vocab_size", SIZE, "101"},
    {"hidden_size", SIZE, "40"},
    {"intermediate_size", SIZE, "64"},
    {"num_hidden_layers", SIZE, "2"},
    {"num_attention_heads", SIZE, "2"},
    {"max_position_embeddings", SIZE, "48"},
    {"tie_word_embeddings", BOOL, "false"},
    {"num_key_value_heads", SIZE, "2"},
    {"layer_norm_eps", FRACTION, "1e-05"},
    {"rope_parameters", OBJECT, NULL},
    {"rope_scaling", OBJECT, NULL},
    {"rope_theta", POSITIVE, NULL},
    {"partial_rotary_factor", FRACTION, NULL},
    {"hidden_act", WORD, "\"gelu_new\""},
    {"qk_layernorm", BOOL, "false"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct family families[] = {
    {"models/tiny-gpt2", "gpt2", gpt2_keys, COUNT(gpt2_keys)},
    {"models/tiny-gpt2", "gpt2", gpt2_aliases, COUNT(gpt2_aliases)},
    {"tests/fixtures/attn-mlp", "attn", attn_keys, COUNT(attn_keys)},
    {"tests/fixtures/family-gpt-neo", "gpt_neo", gpt_neo_keys, COUNT(gpt_neo_keys)},
    {"tests/fixtures/family-gpt-neox-parallel", "gpt_neox", gpt_neox_keys, COUNT(gpt_neox_keys)},
    {"tests/fixtures/family-llama-biases", "llama", llama_keys, COUNT(llama_keys)},
    {"tests/fixtures/family-mistral", "mistral", mistral_keys, COUNT(mistral_keys)},
    {"tests/fixtures/family-qwen2", "qwen2", qwen2_keys, COUNT(qwen2_keys)},
    {"tests/fixtures/family-qwen3", "qwen3", qwen3_keys, COUNT(qwen3_keys)},
    {"tests/fixtures/family-olmo2", "olmo2", olmo2_keys, COUNT(olmo2_keys)},
    {"tests/fixtures/family-gemma2", "gemma2", gemma2_keys, COUNT(gemma2_keys)},
    {"tests/fixtures/family-gemma3-text", "gemma3_text", gemma3_text_keys, COUNT(gemma3_text_keys)},
    {"tests/fixtures/family-phi", "phi", phi_keys, COUNT(phi_keys)},
};

/* The config of FAMILY with VALUE for KEY; NULL: without it. */
static struct attn_buffer write_config(const struct family *family, const char *key,
                                       const char *value)
{
    struct attn_buffer text = {0};

    attn_buffer_append_format(&text, "{\"model_type\":\"%s\"", family->type);
    for (size_t i = 0; i < family->n_key; i++) {
        const char *own = strcmp(family->keys[i].name, key) == 0 ? value : family->keys[i].good;

        if (own != NULL)
            attn_buffer_append_format(&text, ",\"%s\":%s", family->keys[i].name, own);
    }
    attn_buffer_append_string(&text, "}");
    return text;
}

/* Opens the model of FAMILY with such a config. */
static enum attn_status try_value(const struct family *family, const char *key, const char *value,
                                  struct attn_error *err)
{
    struct attn_buffer config = write_config(family, key, value);

    return attn_parts_try_config(family->directory, &config, err);
}

/* Fails unless VALUE for KEY is refused with a message that has EXPECTED in it. */
static void assert_value_refused(const struct family *family, const char *key, const char *value,
                                 const char *expected)
{
    struct attn_error err;
    enum attn_status status = try_value(family, key, value, &err);

    ck_assert_msg(status == ATTN_FORMAT || status == ATTN_UNSUPPORTED, "%s: %s gives status %d",
                  key, value, (int)status);
    ck_assert_msg(strstr(err.message, expected) != NULL, "%s: %s gives: %s", key, value,
                  err.message);
}

/* Values that are wrong for a kind of key whatever the model is. */
static const struct {
    enum kind kind;
    const char *value;
} wrong_values[] = {
    {SIZE, "0"},
    {SIZE, "-0"},
    {SIZE, "-1"},
    {SIZE, "1.5"},
    {SIZE, "1e-300"},
    {SIZE, "2147483648"},
    {SIZE, "4294967299"},
    {SIZE, "9007199254740993"},
    {SIZE, "18446744073709551631"},
    {SIZE, "1e18"},
    {SIZE, "1e308"},
    {SIZE, "\"3\""},
    {SIZE, "\"\""},
    {SIZE, "\"\\u001b[2J\""},
    {SIZE, "true"},
    {SIZE, "false"},
    {SIZE, "[]"},
    {SIZE, "[3]"},
    {SIZE, "{}"},
    {SIZE_OR_ZERO, "-1"},
    {SIZE_OR_ZERO, "0.5"},
    {SIZE_OR_ZERO, "2147483648"},
    {SIZE_OR_ZERO, "\"0\""},
    {SIZE_OR_ZERO, "false"},
    {SIZE_OR_ZERO, "[]"},
    {BOOL, "0"},
    {BOOL, "1"},
    {BOOL, "-1e5"},
    {BOOL, "\"true\""},
    {BOOL, "[]"},
    {BOOL, "{}"},
    {FRACTION, "-1e-5"},
    {FRACTION, "1.0000001"},
    {FRACTION, "1e308"},
    {FRACTION, "\"1e-5\""},
    {FRACTION, "true"},
    {FRACTION, "[]"},
    {FRACTION, "{}"},
    {POSITIVE, "0"},
    {POSITIVE, "-1"},
    {POSITIVE, "1e31"},
    {POSITIVE, "\"10000\""},
    {POSITIVE, "false"},
    {POSITIVE, "[10000]"},
    {POSITIVE, "{}"},
    {WORD, "0"},
    {WORD, "1e5"},
    {WORD, "true"},
    {WORD, "[]"},
    {WORD, "{}"},
    {WORD, "\"\""},
    {WORD, "\"nonsense\""},
    {WORD, "\"Gelu\""},
    {WORD, "\"\\u001b]52;c;\\u0007\""},
    {LIST, "0"},
    {LIST, "\"self\""},
    {LIST, "{}"},
    {LIST, "{\"a\":\"self\",\"b\":\"self\"}"},
    {LIST, "[]"},
    {LIST, "[\"self\"]"},
    {LIST, "[\"self\",\"self\",\"self\"]"},
    {LIST, "[\"self\",1]"},
    {LIST, "[\"self\",null]"},
    {LIST, "[\"self\",\"SELF\"]"},
    {LIST, "[\"self\",[\"self\"]]"},
    {TYPES, "0"},
    {TYPES, "\"full_attention\""},
    {TYPES, "{}"},
    {TYPES, "{\"0\":\"full_attention\"}"},
    {TYPES, "[]"},
    {TYPES, "[\"full_attention\"]"},
    {TYPES, "[\"full_attention\",\"full_attention\",\"full_attention\",\"full_attention\"]"},
    {TYPES, "[\"full_attention\",1,\"full_attention\"]"},
    {TYPES, "[\"full_attention\",null,\"full_attention\"]"},
    {TYPES, "[\"chunked_attention\",\"full_attention\",\"full_attention\"]"},
    {TYPES, "[[\"full_attention\"],\"full_attention\",\"full_attention\"]"},
    {OBJECT, "0"},
    {OBJECT, "true"},
    {OBJECT, "\"linear\""},
    {OBJECT, "[]"},
    {OBJECT, "[{\"rope_type\":\"default\"}]"},
};

START_TEST(refuses_a_wrong_value_by_the_name_of_its_key)
{
    for (size_t f = 0; f < COUNT(families); f++)
        for (size_t k = 0; k < families[f].n_key; k++)
            for (size_t v = 0; v < COUNT(wrong_values); v++) {
                const struct key *key = &families[f].keys[k];
                char expected[128];

                if (wrong_values[v].kind != key->kind)
                    continue;
                snprintf(expected, sizeof expected, "'%s' in 'm/config.json'", key->name);
                assert_value_refused(&families[f], key->name, wrong_values[v].value, expected);
            }
}
END_TEST

START_TEST(refuses_numbers_that_no_double_holds)
{
    for (size_t f = 0; f < COUNT(families); f++)
        for (size_t k = 0; k < families[f].n_key; k++) {
            const char *key = families[f].keys[k].name;

            assert_value_refused(&families[f], key, "1e400", "'1e400' at byte");
            assert_value_refused(&families[f], key, "-1e999", "'-1e999' at byte");
            assert_value_refused(
                &families[f], key,
                "10000000000000000000000000000000000000000000000000000000000000000",
                "a number of at most 63 characters");
            assert_value_refused(&families[f], key, "NaN", "'NaN' at byte");
            assert_value_refused(&families[f], key, "-Infinity", "at byte");
            assert_value_refused(&families[f], key, "012", "at byte");
        }
}
END_TEST

/* Keys of which null says something of its own: no window, no cap, as many heads. */
static bool has_null(const char *name)
{
    return strcmp(name, "sliding_window") == 0 || strcmp(name, "num_key_value_heads") == 0 ||
           strstr(name, "_softcapping") != NULL;
}

/* A key that is absent or null has its default, which fits these weights or does not: but nothing
 * else happens than that a key or a tensor is named. */
START_TEST(takes_null_for_absent)
{
    for (size_t f = 0; f < COUNT(families); f++)
        for (size_t k = 0; k < families[f].n_key; k++) {
            const struct key *key = &families[f].keys[k];
            struct attn_error without, with_null;
            enum attn_status status = try_value(&families[f], key->name, NULL, &without);

            if (has_null(key->name))
                continue;
            ck_assert_int_eq(try_value(&families[f], key->name, "null", &with_null), status);
            ck_assert_str_eq(with_null.message, without.message);
            ck_assert(status == ATTN_OK || strchr(without.message, '\'') != NULL);
        }
}
END_TEST

/* In range, and not what the weights have. */
START_TEST(refuses_sizes_that_do_not_fit)
{
    static const struct {
        int family;
        const char *key, *value, *message;
    } rows[] = {
        {0, "n_embd", "16777216", "n_head 3 does not divide n_embd 16777216 in 'm/config.json'"},
        {0, "n_embd", "12",
         "'transformer.wte.weight' in 'm/model.safetensors' has shape [487, 15], "
         "expected [487, 12]"},
        {0, "n_head", "2", "n_head 2 does not divide n_embd 15 in 'm/config.json'"},
        {0, "n_head", "16777216", "n_head 16777216 does not divide n_embd 15"},
        {0, "n_layer", "4", "'transformer.h.3.ln_1.weight' is missing in 'm/model.safetensors'"},
        {0, "n_layer", "4096", "'transformer.h.3.ln_1.weight' is missing"},
        {0, "n_layer", "4097",
         "'n_layer' in 'm/config.json' is 4097, expected an integer from 1 to "
         "4096"},
        {0, "n_inner", "16777216",
         "'transformer.h.0.mlp.c_fc.weight' in 'm/model.safetensors' has "
         "shape [15, 22], expected [15, 16777216]"},
        {0, "n_inner", "null", "has shape [15, 22], expected [15, 60]"},
        {0, "n_positions", "1073741824", "'transformer.wpe.weight'"},
        {0, "n_positions", "16", "has shape [17, 15], expected [16, 15]"},
        {0, "vocab_size", "1073741824", "has shape [487, 15], expected [1073741824, 15]"},
        {0, "vocab_size", "486", "'transformer.wte.weight'"},
        {0, "add_cross_attention", "true", "'add_cross_attention' in 'm/config.json' is set"},
        {2, "d_model", NULL, "'d_model' is missing in 'm/config.json'"},
        {2, "n_vocab", NULL, "'n_vocab' is missing in 'm/config.json'"},
        {2, "n_ctx", NULL, "'n_ctx' is missing in 'm/config.json'"},
        {2, "n_kv_head", "3", "n_kv_head 3 does not divide n_head 2 in 'm/config.json'"},
        {2, "n_head", "16777216", "has shape [2, 10, 5], expected [16777216, 10, 5]"},
        {2, "d_head", "4",
         "'blocks.0.attn.W_Q' in 'm/model.safetensors' has shape [2, 10, 5], "
         "expected [2, 10, 4]"},
        {2, "d_value", "16777216", "'blocks.0.attn.W_V'"},
        {2, "projections", "\"none\"", "'m/config.json' has no projections"},
        {2, "blocks", "[\"self\"]",
         "'blocks' in 'm/config.json' has 1 items, expected one for each of 2 layers"},
        {2, "norm", "\"LayerNorm\"",
         "'norm' in 'm/config.json' is 'LayerNorm', expected 'none', 'layernorm' or 'rms'"},
        {2, "norm", "\"rmsnorm\"", "expected 'none', 'layernorm' or 'rms'"},
        {2, "embed_norm", "true", "'embed_norm' without 'norm' 'rms'"},
        {2, "positions", "\"rotary\"", "rotary positions"},
        {2, "source_positions", "\"rotary\"",
         "'source_positions' in 'm/config.json' is 'rotary', expected 'none' or 'learned'"},
        {2, "source_positions", "\"learned\"",
         "'source_positions' in 'm/config.json' is 'learned', but no block attends to a source"},
        {2, "gated_mlp", "true", "a gated MLP"},
        {2, "parallel_residual", "true", "a parallel residual"},
        {2, "qk_norm", "true", "normalized queries and keys"},
    };

    for (size_t i = 0; i < COUNT(rows); i++)
        assert_value_refused(&families[rows[i].family], rows[i].key, rows[i].value,
                             rows[i].message);
}
END_TEST

/* --- Rotary positions, windows, types of layers ---------------------------------------------- */

enum { GPT_NEO = 3, GPT_NEOX, LLAMA, MISTRAL, QWEN2, QWEN3, OLMO2, GEMMA2, GEMMA3, PHI };

/* Types of scaling: an object with a good value of each number that it reads. */
static const struct {
    const char *type;
    struct {
        const char *key, *good;
        bool may_be_zero;
    } numbers[8];
} ropes[] = {
    {"default", {{"rope_theta", "500", false}, {"partial_rotary_factor", "1", false}}},
    {"linear", {{"factor", "2", false}, {"rope_theta", "500", false}}},
    {"dynamic", {{"factor", "2", false}, {"rope_theta", "500", false}}},
    {"llama3",
     {{"factor", "8", false},
      {"low_freq_factor", "1", false},
      {"high_freq_factor", "4", false},
      {"original_max_position_embeddings", "16", false},
      {"rope_theta", "500", false}}},
    {"yarn",
     {{"factor", "8", false},
      {"beta_fast", "32", true},
      {"beta_slow", "1", true},
      {"original_max_position_embeddings", "16", false},
      {"attention_factor", "1", true},
      {"mscale", "1", true},
      {"mscale_all_dim", "1", true}}},
};

/* The object of type number ROPE with VALUE for its number N; NULL: without that. */
static struct attn_buffer write_rope(size_t rope, size_t n, const char *value)
{
    struct attn_buffer text = {0};

    attn_buffer_append_format(&text, "{\"rope_type\":\"%s\"", ropes[rope].type);
    for (size_t i = 0; ropes[rope].numbers[i].key != NULL; i++) {
        const char *own = i == n ? value : ropes[rope].numbers[i].good;

        if (own != NULL)
            attn_buffer_append_format(&text, ",\"%s\":%s", ropes[rope].numbers[i].key, own);
    }
    attn_buffer_append_string(&text, "}");
    ck_assert_ptr_nonnull(attn_buffer_string(&text));
    return text;
}

START_TEST(refuses_wrong_numbers_of_rotary_positions)
{
    static const char *const objects[] = {"rope_parameters", "rope_scaling"};
    static const char *const wrong[] = {"-1", "1e31", "\"2\"", "true", "[]", "{}", "0"};

    for (size_t o = 0; o < COUNT(objects); o++)
        for (size_t r = 0; r < COUNT(ropes); r++)
            for (size_t n = 0; ropes[r].numbers[n].key != NULL; n++) {
                const char *key = ropes[r].numbers[n].key;
                struct attn_buffer text = write_rope(r, SIZE_MAX, NULL);
                struct attn_error err;
                char expected[128];

                snprintf(expected, sizeof expected, "'%s' in 'm/config.json'", key);
                ck_assert_msg(try_value(&families[LLAMA], objects[o], text.data, &err) == ATTN_OK,
                              "%s: %s", text.data, err.message);
                attn_buffer_release(&text);
                for (size_t w = 0; w < COUNT(wrong) - ropes[r].numbers[n].may_be_zero; w++) {
                    text = write_rope(r, n, wrong[w]);
                    assert_value_refused(&families[LLAMA], objects[o], text.data, expected);
                    attn_buffer_release(&text);
                }
            }
}
END_TEST

/* One value each that is well formed and cannot be run, or does not fit the rest. */
START_TEST(refuses_positions_and_windows_by_what_they_ask_for)
{
    static const struct {
        int family;
        const char *key, *value, *message;
    } rows[] = {
        {LLAMA, "rope_parameters", "{\"rope_type\":\"longrope\"}",
         "'rope_type' of rotary positions in 'm/config.json' is 'longrope', which models of type "
         "'llama' do not have here"},
        {LLAMA, "rope_scaling", "{\"type\":\"su\"}", "'type' of rotary positions"},
        {LLAMA, "rope_scaling", "{\"type\":5}", "'type' in 'm/config.json' is 5"},
        {LLAMA, "rope_scaling", "{\"rope_type\":\"proportional\"}", "is 'proportional'"},
        {LLAMA, "rope_scaling", "{\"rope_type\":\"axial\"}", "is 'axial'"},
        {LLAMA, "rope_scaling", "{\"rope_type\":\"mrope\"}", "is 'mrope'"},
        {LLAMA, "rope_scaling", "{\"rope_type\":\"default\",\"mrope_section\":[2,2]}",
         "'mrope_section'"},
        {LLAMA, "rope_scaling", "{\"rope_type\":\"\\u001b[2J\"}", "is '\\x1b[2J'"},
        {LLAMA, "rope_scaling", "{\"rope_type\":\"linear\"}",
         "'factor' of rotary positions is missing in 'm/config.json'"},
        {LLAMA, "rope_parameters", "{\"rope_type\":\"llama3\",\"factor\":8}",
         "'low_freq_factor' of rotary positions is missing"},
        {LLAMA, "rope_parameters",
         "{\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":4,\"high_freq_factor\":4}",
         "'high_freq_factor' in 'm/config.json' is 4, expected more than 'low_freq_factor' 4"},
        {LLAMA, "rope_parameters", "{\"rope_theta\":1}", "is 1, expected a number above 1"},
        {LLAMA, "rope_parameters", "{\"full_attention\":{\"rope_theta\":500}}",
         "have 'full_attention', model_type 'llama' has the same in all layers"},
        {LLAMA, "partial_rotary_factor", "0.5",
         "'partial_rotary_factor' in 'm/config.json' is 0.5, model_type 'llama' turns whole"},
        {QWEN2, "head_dim", "9", "turn 9 of 9 components of a head, expected an even number"},
        {GPT_NEOX, "rotary_pct", "0.07", "turn 1 of 16 components of a head"},
        {GPT_NEOX, "rotary_pct", "0", "turn 0 of 16 components of a head"},
        {PHI, "partial_rotary_factor", "0.05", "turn 1 of 20 components of a head"},
        {GEMMA3, "rope_parameters", "{\"full_attention\":5}",
         "'full_attention' in 'm/config.json' is not an object"},
        {GEMMA3, "rope_parameters", "{\"sliding_attention\":{\"rope_type\":\"su\"}}", "is 'su'"},
        {GEMMA3, "rope_scaling", "{\"rope_type\":\"su\"}", "is 'su'"},
        {QWEN2, "sliding_window", "null",
         "item 1 of 'layer_types' in 'm/config.json' is 'sliding_attention', but "
         "'sliding_window' is null"},
        {QWEN2, "layer_types", "[\"full_attention\"]",
         "'layer_types' in 'm/config.json' has 1 items, expected one for each of 2 layers"},
        {GEMMA2, "layer_types", "[\"full_attention\",\"linear_attention\"]",
         "item 1 of 'layer_types' in 'm/config.json' is 'linear_attention', this version reads "
         "'full_attention' and 'sliding_attention'"},
        {GPT_NEO, "attention_types", "[[[\"global\"],1]]",
         "'attention_types' in 'm/config.json' names the types of fewer layers than num_layers 2"},
        {GPT_NEO, "attention_types", "[[[\"global\"],1000000000000]]", "of more layers than"},
        {GPT_NEO, "attention_types", "[[[],2]]", "does not hold items such as"},
        {GPT_NEO, "attention_types", "[[[\"global\"],2,3]]", "does not hold items such as"},
        {GPT_NEO, "attention_types", "[[[\"global\"],0],[[\"global\"],2]]", "does not hold items"},
        {GPT_NEO, "attention_types", "[[[\"global\",\"near\"],1]]", "'global' and 'local' alone"},
        {GPT_NEO, "attention_layers", "[\"global\",\"global\"]",
         "'attention_layers' in 'm/config.json' differs from 'attention_types'"},
        {GPT_NEO, "attention_layers", "[\"global\"]", "has 1 items, expected one for each of 2"},
        {GPT_NEO, "num_heads", "5", "num_heads 5 does not divide hidden_size 36"},
        {LLAMA, "num_attention_heads", "5",
         "num_attention_heads 5 does not divide hidden_size 36 in 'm/config.json'"},
        {MISTRAL, "num_key_value_heads", "3",
         "num_key_value_heads 3 does not divide num_attention_heads 4"},
        {LLAMA, "attention_bias", "false", "'model.layers.0.self_attn.q_proj.bias'"},
        {LLAMA, "mlp_bias", "false", "says that the map has no bias"},
        {OLMO2, "attention_bias", "true",
         "'model.layers.0.self_attn.q_proj.bias' is missing in 'm/model.safetensors'"},
        {LLAMA, "tie_word_embeddings", "true", NULL},  /* the head in the file wins */
        {QWEN3, "tie_word_embeddings", "false", NULL}, /* it has no logits then */
        {GPT_NEO, "is_causal", "false", "'is_causal' in 'm/config.json' is false, which"},
        {GPT_NEO, "num_experts", "8", "'num_experts' in 'm/config.json' is set, which this"},
        {GPT_NEO, "num_local_experts", "8", "'num_local_experts'"},
        {GPT_NEO, "attention_chunk_size", "64", "'attention_chunk_size'"},
        {GPT_NEO, "use_bidirectional_attention", "true", "'use_bidirectional_attention'"},
        {GPT_NEO, "is_encoder_decoder", "true", "'is_encoder_decoder'"},
        {PHI, "qk_layernorm", "true", "'model.layers.0.self_attn.q_layernorm.weight' is missing"},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct attn_error err;

        if (rows[i].message != NULL)
            assert_value_refused(&families[rows[i].family], rows[i].key, rows[i].value,
                                 rows[i].message);
        else
            ck_assert_msg(try_value(&families[rows[i].family], rows[i].key, rows[i].value, &err) ==
                              ATTN_OK,
                          "%s", err.message);
    }
}
END_TEST

START_TEST(refuses_other_model_types)
{
    static const struct {
        const char *config, *message;
    } rows[] = {
        {"{}", "'model_type' is missing in 'm/config.json', expected a type that is read"},
        {"{\"model_type\":null}", "'model_type' is missing"},
        {"{\"model_type\":5}", "'model_type' in 'm/config.json' is 5, expected a string"},
        {"{\"model_type\":[\"gpt2\"]}", "'model_type' in 'm/config.json' is an array"},
        {"{\"model_type\":\"mamba\"}",
         "is 'mamba', which is not read: layers without attention maps"},
        {"{\"model_type\":\"GPT2\"}", "is 'GPT2', which is not read"},
        {"{\"model_type\":\"gemma3\"}", "'text_config' is missing in 'm/config.json'"},
        {"{\"model_type\":\"llava\",\"text_config\":{\"model_type\":\"mamba\"}}",
         "'model_type' of 'text_config' in 'm/config.json' is 'mamba', which is not read: layers"},
        {"{\"model_type\":\"llava\",\"text_config\":{\"model_type\":\"bert\"}}",
         "is 'bert', which is not read: it is no decoder"},
        {"{\"model_type\":\"colpali\"}", "is 'colpali', which is not read: "},
        {"{\"model_type\":\"gpt2\",\"is_causal\":false}",
         "'is_causal' in 'm/config.json' is false"},
        {"{\"model_type\":\"gemma2\",\"use_bidirectional_attention\":true}",
         "'use_bidirectional_attention' in 'm/config.json' is set"},
        {"{\"model_type\":\"rwkv\"}",
         "is 'rwkv', which is not read: layers without attention maps"},
        {"{\"model_type\":\"longt5\"}", "is 'longt5', which is not read: its encoder attends to"},
        {"{\"model_type\":\"deberta\"}", "is 'deberta', which is not read: its scores have terms"},
        {"{\"model_type\":\"gemma3n\"}", "is 'gemma3n', which is not read: four streams (AltUp)"},
        {"{\"model_type\":\"mpnet\",\"max_position_embeddings\":2}",
         "'max_position_embeddings' in 'm/config.json' is 2, expected more than pad_token_id + 1, "
         "2"},
        {"{\"model_type\":\"mpnet\",\"relative_attention_num_buckets\":31}",
         "'relative_attention_num_buckets' in 'm/config.json' is "},
        {"{\"model_type\":\"deberta-v2\",\"pos_att_type\":[\"c2p\",\"p2p\"]}",
         "'pos_att_type' in 'm/config.json' has another item than 'c2p' and 'p2c'"},
        {"{\"model_type\":\"deberta-v2\",\"pos_att_type\":\"c2p,p2c\"}",
         "'pos_att_type' in 'm/config.json' has another item than 'c2p' and 'p2c'"},
        {"{\"model_type\":\"deberta-v2\",\"relative_attention\":true,\"position_buckets\":8,"
         "\"max_relative_positions\":5}",
         "'position_buckets' in 'm/config.json' is 8 for distances up to 5, expected at least 2"},
        {"{\"model_type\":\"deberta-v2\",\"conv_kernel_size\":3,\"conv_groups\":5}",
         "'conv_groups' in 'm/config.json' is 5, expected a divisor of 'hidden_size', 1536"},
        {"{\"model_type\":\"deberta-v2\",\"conv_kernel_size\":4}",
         "'conv_kernel_size' in 'm/config.json' is 4, expected an odd number"},
        {"{\"model_type\":\"deberta-v2\",\"attention_head_size\":32}",
         "'attention_head_size' in 'm/config.json' is 32, this version reads 64, hidden_size / "},
        {"{\"model_type\":\"deberta-v2\",\"z_steps\":2}", "'z_steps' in 'm/config.json' is set"},
        {"{\"model_type\":\"nomic_bert\",\"prenorm\":true}", "'prenorm' in 'm/config.json' is set"},
        {"{\"model_type\":\"nomic_bert\",\"n_embd\":24,\"rotary_emb_fraction\":0}",
         "'rotary_emb_fraction' in 'm/config.json' is 0, this version reads 1"},
        {"{\"model_type\":\"nomic_bert\",\"n_embd\":24,\"activation_function\":\"gelu\"}",
         "'activation_function' in 'm/config.json' is 'gelu', this version reads 'swiglu'"},
        {"{\"model_type\":\"nomic_bert\",\"moe_every_n_layers\":2}",
         "'moe_every_n_layers' in 'm/config.json' is set"},
        {"{\"model_type\":\"eurobert\",\"classifier_pooling\":\"max\"}",
         "'classifier_pooling' in 'm/config.json' is 'max', expected 'late', 'mean' or 'bos'"},
        {"{\"model_type\":\"dinov3_vit\",\"hidden_size\":24,\"num_attention_heads\":4}",
         "'num_attention_heads' in 'm/config.json' makes heads of width 6, expected a multiple"},
        {"{\"model_type\":\"\\u001b[2J\\n\"}", "is '\\x1b[2J\\n', which is not read"},
        {"{\"model_type\":\"bloom\",\"apply_residual_connection_post_layernorm\":true}",
         "'apply_residual_connection_post_layernorm' in 'm/config.json' is set, which"},
        {"{\"model_type\":\"mpt\",\"no_bias\":false}", "'no_bias' in 'm/config.json' is false"},
        {"{\"model_type\":\"mpt\",\"logit_scale\":2}", "'logit_scale' in 'm/config.json' is set"},
        {"{\"model_type\":\"mpt\",\"attn_config\":[1]}", "is not an object"},
        {"{\"model_type\":\"mpt\",\"attn_config\":{\"alibi\":false}}", "'alibi' in "},
        {"{\"model_type\":\"mpt\",\"attn_config\":{\"alibi_bias_max\":4}}",
         "'alibi_bias_max' in 'm/config.json' is 4, expected"},
        {"{\"model_type\":\"mpt\",\"attn_config\":{\"attn_type\":\"multiquery_attention\"}}",
         "'attn_type' in 'm/config.json' is 'multiquery_attention', which is not read"},
        {"{\"model_type\":\"mpt\",\"attn_config\":{\"attn_type\":7}}", "'attn_type' in "},
        {"{\"model_type\":\"mpt\",\"attn_config\":{\"clip_qkv\":0}}", "'clip_qkv' in "},
        {"{\"model_type\":\"falcon\",\"num_attention_heads\":6,\"hidden_size\":48,"
         "\"new_decoder_architecture\":true,\"num_kv_heads\":4}",
         "num_key_value_heads 4 does not divide num_attention_heads 6"},
        {"{\"architectures\":[\"MambaForCausalLM\"]}", "'model_type' is missing"},
        {"{\"architectures\":[\"Llama4ForCausalLM\"]}", "'model_type' is missing"},
        {"{\"architectures\":[\"FooForCausalLM\"]}", "'model_type' is missing"},
        {"{\"architectures\":[5]}", "'model_type' is missing"},
        {"{\"architectures\":\"GPT2LMHeadModel\"}", "'model_type' is missing"},
        {"{\"Model_Type\":\"gpt2\"}", "'model_type' is missing"},
        {"{\"model_type\":\"gpt2\",\"model_type\":\"gpt2\"}", "a second time"},
        {"{\"model_type\":\"attn\",\"d_modle\":3}",
         "'d_modle' in 'm/config.json' is not a key of model_type 'attn'"},
        {"[]", "'[' at byte 0, expected an object"},
        {"", "ends at byte 0"},
        {"{\"model_type\":\"gpt2\"} x", "at byte 22"},
        {"{\"model_type\":\"gpt2\",\"quantization_config\":{\"quant_method\":\"quark\"}}",
         "'quark'"},
        {"{\"model_type\":\"gpt2\",\"pruned_heads\":{\"0\":[1]}}", "'pruned_heads'"},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct attn_parts parts = attn_parts_load("models/tiny-gpt2");
        struct attn_model *model;
        struct attn_error err;

        free(parts.config.bytes);
        parts.config.size = strlen(rows[i].config);
        parts.config.bytes = malloc(parts.config.size + 1);
        memcpy(parts.config.bytes, rows[i].config, parts.config.size);
        ck_assert_msg(attn_parts_open(&parts, &model, &err) != ATTN_OK, "%s", rows[i].config);
        ck_assert_msg(strstr(err.message, rows[i].message) != NULL, "%s\ngives: %s", rows[i].config,
                      err.message);
        attn_parts_release(&parts);
    }
}
END_TEST

/* --- Tensors --------------------------------------------------------------------------------- */

enum change {
    NOTHING,
    LEFT_OUT,
    TRANSPOSED,
    FLATTENED,
    ONE_DIMENSION_MORE,
    UNSIGNED,
    RENAMED,
    N_CHANGE
};

static void write_tensor(struct attn_buffer *header, const struct attn_tensor_entry *entry,
                         enum change change, size_t *end)
{
    const struct attn_tensor *tensor = &entry->tensor;
    size_t n = attn_tensor_n_element(tensor);

    attn_buffer_append_format(header, "%s\"%s%s\":{\"dtype\":\"%s\",\"shape\":[",
                              header->size > 1 ? "," : "", entry->name,
                              change == RENAMED ? "\\u001b" : "",
                              change == UNSIGNED ? "U32" : attn_dtype_name(tensor->dtype));
    if (change == ONE_DIMENSION_MORE)
        attn_buffer_append_string(header, "1,");
    for (int i = 0; change != FLATTENED && i < tensor->rank; i++)
        attn_buffer_append_format(header, "%s%zu", i > 0 ? "," : "",
                                  tensor->shape[change == TRANSPOSED ? tensor->rank - 1 - i : i]);
    if (change == FLATTENED)
        attn_buffer_append_format(header, "%zu", n);
    attn_buffer_append_format(header, "],\"data_offsets\":[%zu,%zu]}", *end, *end + 4 * n);
    *end += 4 * n;
}

/* The tensors of ST, all of F32 and in the order of their names, with number WHICH changed. */
static struct attn_part rewrite(const struct attn_tensor_files *st, size_t which,
                                enum change change)
{
    struct attn_buffer header = {0}, file = {0};
    size_t end = 0;
    uint64_t size;

    attn_buffer_append_string(&header, "{");
    for (size_t i = 0; i < attn_tensor_files_count(st); i++)
        if (i != which || change != LEFT_OUT) {
            const struct attn_tensor_entry entry = attn_tensor_files_entry(st, i);

            write_tensor(&header, &entry, i == which ? change : NOTHING, &end);
        }
    attn_buffer_append_string(&header, "}");
    size = header.size;
    attn_buffer_append(&file, &size, sizeof size);
    attn_buffer_append(&file, header.data, header.size);
    for (size_t i = 0; i < attn_tensor_files_count(st); i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(st, i);

        if (i != which || change != LEFT_OUT)
            attn_buffer_append(&file, entry.tensor.data, 4 * attn_tensor_n_element(&entry.tensor));
    }
    ck_assert(!header.has_failed && !file.has_failed);
    attn_buffer_release(&header);
    return (struct attn_part){(unsigned char *)file.data, file.size};
}

static bool is_same_shape(const struct attn_tensor *tensor, enum change change)
{
    bool is_mirrored = true;

    for (int i = 0; i < tensor->rank; i++)
        is_mirrored = is_mirrored && tensor->shape[i] == tensor->shape[tensor->rank - 1 - i];
    return change == NOTHING || (change == TRANSPOSED && is_mirrored) ||
           (change == FLATTENED && tensor->rank == 1);
}

static void keep_note(void *user, enum attn_note code, const char *message)
{
    char *note = user;

    ck_assert_int_eq(code, ATTN_NOTE_UNUSED_TENSORS);
    snprintf(note, 512, "%s", message);
}

/* Fails unless the model whose tensor ENTRY is changed is refused, and the message names it. */
static void check_change(const struct attn_parts *parts, const struct attn_tensor_entry *entry,
                         enum change change)
{
    const struct attn_blob blobs[] = {
        {"config.json", parts->config.bytes, parts->config.size},
        {"model.safetensors", parts->weights.bytes, parts->weights.size},
    };
    const struct attn_source source = {.name = "m", .blobs = blobs, .n_blob = 2};
    char note[512] = "";
    struct attn_model_options options = {
        .size = sizeof options, .on_note = keep_note, .user = note};
    struct attn_model *model = NULL;
    struct attn_error err = {0};
    enum attn_status status = attn_model_open(&source, &options, &model, &err);
    bool is_optional =
        strstr(entry->name, ".b_") != NULL || strcmp(entry->name, "unembed.b_U") == 0 ||
        strcmp(entry->name, "lm_head.weight") == 0 || strcmp(entry->name, "embed_out.weight") == 0;

    if (is_same_shape(&entry->tensor, change)) {
        ck_assert_msg(status == ATTN_OK, "%s: %s", entry->name, err.message);
        ck_assert_str_eq(note, "");
    } else if (status ==
               ATTN_OK) { /* biases of the MLP, and the output, are used when they are there */
        ck_assert_msg(is_optional && (change == LEFT_OUT || change == RENAMED), "%s, change %d",
                      entry->name, (int)change);
        ck_assert_int_eq(change == RENAMED, strstr(note, "\\x1b") != NULL);
    } else {
        ck_assert_msg(strstr(err.message, entry->name) != NULL, "%s: %s", entry->name, err.message);
        ck_assert_ptr_nonnull(strstr(err.message, "'m/model.safetensors'"));
        ck_assert_int_eq(status, change == UNSIGNED ? ATTN_UNSUPPORTED : ATTN_FORMAT);
    }
    attn_model_free(model);
}

START_TEST(refuses_tensors_missing_reshaped_or_of_another_type)
{
    static const char *const directories[] = {"models/tiny-gpt2",
                                              "tests/fixtures/attn-mlp",
                                              "tests/fixtures/attn-cross",
                                              "tests/fixtures/attn-source-positions",
                                              "models/life-is-short",
                                              "tests/fixtures/family-gpt-neo",
                                              "tests/fixtures/family-gpt-neox-parallel",
                                              "tests/fixtures/family-llama-biases",
                                              "tests/fixtures/family-mistral",
                                              "tests/fixtures/family-qwen2",
                                              "tests/fixtures/family-qwen3",
                                              "tests/fixtures/family-olmo2",
                                              "tests/fixtures/family-gemma2",
                                              "tests/fixtures/family-gemma3-text",
                                              "tests/fixtures/family-phi",
                                              "tests/fixtures/decoder-bloom",
                                              "tests/fixtures/decoder-mpt",
                                              "tests/fixtures/decoder-falcon-7b",
                                              "tests/fixtures/decoder-falcon-rw"};

    for (size_t d = 0; d < COUNT(directories); d++) {
        struct attn_parts parts = attn_parts_load(directories[d]);
        struct attn_model *model;
        struct attn_error err;
        const struct attn_tensor_files *st;

        ck_assert_int_eq(attn_parts_open(&parts, &model, &err), ATTN_OK);
        st = attn_model_files(model);
        for (size_t i = 0; i < attn_tensor_files_count(st); i++)
            for (enum change change = NOTHING; change < N_CHANGE; change++) {
                struct attn_parts changed = {parts.config, rewrite(st, i, change)};
                struct attn_buffer file = {.data = (char *)changed.weights.bytes};
                const struct attn_tensor_entry entry = attn_tensor_files_entry(st, i);

                check_change(&changed, &entry, change);
                attn_buffer_release(&file);
            }
        attn_model_free(model);
        attn_parts_release(&parts);
    }
}
END_TEST

ATTN_SUITE("config_refused", refuses_a_wrong_value_by_the_name_of_its_key,
           refuses_numbers_that_no_double_holds, takes_null_for_absent,
           refuses_sizes_that_do_not_fit, refuses_wrong_numbers_of_rotary_positions,
           refuses_positions_and_windows_by_what_they_ask_for, refuses_other_model_types,
           refuses_tensors_missing_reshaped_or_of_another_type)
