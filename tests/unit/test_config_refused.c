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

enum kind { SIZE, SIZE_OR_ZERO, BOOL, FRACTION, WORD, LIST };

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
    {"d_source", SIZE, "10"},
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
    {"gated_mlp", BOOL, "false"},
    {"parallel_residual", BOOL, "false"},
    {"qk_norm", BOOL, "false"},
    {"scale", BOOL, "true"},
    {"blocks", LIST, "[\"self\",\"self\"]"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct family families[] = {
    {"models/tiny-gpt2", "gpt2", gpt2_keys, COUNT(gpt2_keys)},
    {"models/tiny-gpt2", "gpt2", gpt2_aliases, COUNT(gpt2_aliases)},
    {"tests/fixtures/attn-mlp", "attn", attn_keys, COUNT(attn_keys)},
};

/* The config of FAMILY with VALUE for KEY; NULL: without it. */
static struct attn_part write_config(const struct family *family, const char *key,
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
    ck_assert(!text.has_failed);
    return (struct attn_part){(unsigned char *)text.data, text.size};
}

/* Opens the model of FAMILY with such a config. */
static enum attn_status try_value(const struct family *family, const char *key, const char *value,
                                  struct attn_error *err)
{
    struct attn_parts parts = attn_parts_load(family->directory);
    struct attn_buffer config = {0};
    struct attn_model *model;
    enum attn_status status;

    free(parts.config.bytes);
    parts.config = write_config(family, key, value);
    status = attn_parts_open(&parts, &model, err);
    attn_model_close(model);
    config.data = (char *)parts.config.bytes;
    attn_buffer_release(&config);
    parts.config = (struct attn_part){0};
    attn_parts_release(&parts);
    return status;
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

/* A key that is absent or null has its default, which fits these weights or does not: but nothing
 * else happens than that a key or a tensor is named. */
START_TEST(takes_null_for_absent)
{
    for (size_t f = 0; f < COUNT(families); f++)
        for (size_t k = 0; k < families[f].n_key; k++) {
            const struct key *key = &families[f].keys[k];
            struct attn_error without, with_null;
            enum attn_status status = try_value(&families[f], key->name, NULL, &without);

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
        {0, "tie_word_embeddings", "false", "'lm_head.weight' is missing"},
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
         "'blocks' in 'm/config.json' has 1 items, expected one for each of n_layer 2"},
        {2, "norm", "\"LayerNorm\"",
         "'norm' in 'm/config.json' is 'LayerNorm', expected 'none' or 'layernorm'"},
        {2, "norm", "\"rmsnorm\"", "RMSNorm"},
        {2, "positions", "\"rotary\"", "rotary positions"},
        {2, "gated_mlp", "true", "a gated MLP"},
        {2, "parallel_residual", "true", "a parallel residual"},
        {2, "qk_norm", "true", "normalized queries and keys"},
    };

    for (size_t i = 0; i < COUNT(rows); i++)
        assert_value_refused(&families[rows[i].family], rows[i].key, rows[i].value,
                             rows[i].message);
}
END_TEST

START_TEST(refuses_other_model_types)
{
    static const struct {
        const char *config, *message;
    } rows[] = {
        {"{}", "'model_type' is missing in 'm/config.json', expected 'gpt2', 'gpt_neo', "},
        {"{\"model_type\":null}", "'model_type' is missing"},
        {"{\"model_type\":5}", "'model_type' in 'm/config.json' is 5, expected a string"},
        {"{\"model_type\":[\"gpt2\"]}", "'model_type' in 'm/config.json' is an array"},
        {"{\"model_type\":\"mamba\"}", "is 'mamba', this version reads 'gpt2', 'gpt_neo', "},
        {"{\"model_type\":\"GPT2\"}", "is 'GPT2', this version reads"},
        {"{\"model_type\":\"\\u001b[2J\\n\"}", "is '\\x1b[2J\\n', this version reads"},
        {"{\"architectures\":[\"MambaForCausalLM\"]}", "'model_type' is missing"},
        {"{\"architectures\":[5]}", "'model_type' is missing"},
        {"{\"architectures\":\"GPT2LMHeadModel\"}", "'model_type' is missing"},
        {"{\"Model_Type\":\"gpt2\"}", "'model_type' is missing"},
        {"{\"model_type\":\"gpt2\",\"model_type\":\"gpt2\"}", "a second time"},
        {"{\"model_type\":\"attn\",\"d_modle\":3}",
         "'d_modle' in 'm/config.json' is not a key of model_type 'attn'"},
        {"[]", "'[' at byte 0, expected an object"},
        {"", "ends at byte 0"},
        {"{\"model_type\":\"gpt2\"} x", "at byte 22"},
        {"{\"model_type\":\"gpt2\",\"quantization_config\":{}}", "'quantization_config'"},
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

static void write_tensor(struct attn_buffer *header, const struct attn_safetensors_entry *entry,
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
static struct attn_part rewrite(const struct attn_safetensors *st, size_t which, enum change change)
{
    struct attn_buffer header = {0}, file = {0};
    size_t end = 0;
    uint64_t size;

    attn_buffer_append_string(&header, "{");
    for (size_t i = 0; i < attn_safetensors_count(st); i++)
        if (i != which || change != LEFT_OUT) {
            const struct attn_safetensors_entry entry = attn_safetensors_entry(st, i);

            write_tensor(&header, &entry, i == which ? change : NOTHING, &end);
        }
    attn_buffer_append_string(&header, "}");
    size = header.size;
    attn_buffer_append(&file, &size, sizeof size);
    attn_buffer_append(&file, header.data, header.size);
    for (size_t i = 0; i < attn_safetensors_count(st); i++) {
        const struct attn_safetensors_entry entry = attn_safetensors_entry(st, i);

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

static void keep_note(void *user, const char *message)
{
    char *note = user;

    snprintf(note, 512, "%s", message);
}

/* Fails unless the model whose tensor ENTRY is changed is refused, and the message names it. */
static void check_change(const struct attn_parts *parts, const struct attn_safetensors_entry *entry,
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
        strstr(entry->name, ".b_") != NULL || strcmp(entry->name, "unembed.b_U") == 0;

    if (is_same_shape(&entry->tensor, change)) {
        ck_assert_msg(status == ATTN_OK, "%s: %s", entry->name, err.message);
        ck_assert_str_eq(note, "");
    } else if (status ==
               ATTN_OK) { /* biases of the MLP and the output are used when they are there */
        ck_assert_msg(is_optional && (change == LEFT_OUT || change == RENAMED), "%s, change %d",
                      entry->name, (int)change);
        ck_assert_int_eq(change == RENAMED, strstr(note, "\\x1b") != NULL);
    } else { /* without wte.weight nothing tells that names have a prefix */
        bool has_prefix = strcmp(entry->name, "transformer.wte.weight") == 0;

        ck_assert_msg(strstr(err.message, entry->name + (has_prefix ? 12 : 0)) != NULL, "%s: %s",
                      entry->name, err.message);
        ck_assert_ptr_nonnull(strstr(err.message, "'m/model.safetensors'"));
        ck_assert_int_eq(status, change == UNSIGNED ? ATTN_UNSUPPORTED : ATTN_FORMAT);
    }
    attn_model_close(model);
}

START_TEST(refuses_tensors_missing_reshaped_or_of_another_type)
{
    static const char *const directories[] = {"models/tiny-gpt2", "tests/fixtures/attn-mlp",
                                              "tests/fixtures/attn-cross", "models/life-is-short"};

    for (size_t d = 0; d < COUNT(directories); d++) {
        struct attn_parts parts = attn_parts_load(directories[d]);
        struct attn_model *model;
        struct attn_error err;
        const struct attn_safetensors *st;

        ck_assert_int_eq(attn_parts_open(&parts, &model, &err), ATTN_OK);
        st = attn_model_safetensors(model);
        for (size_t i = 0; i < attn_safetensors_count(st); i++)
            for (enum change change = NOTHING; change < N_CHANGE; change++) {
                struct attn_parts changed = {parts.config, rewrite(st, i, change)};
                struct attn_buffer file = {.data = (char *)changed.weights.bytes};
                const struct attn_safetensors_entry entry = attn_safetensors_entry(st, i);

                check_change(&changed, &entry, change);
                attn_buffer_release(&file);
            }
        attn_model_close(model);
        attn_parts_release(&parts);
    }
}
END_TEST

ATTN_SUITE("config_refused", refuses_a_wrong_value_by_the_name_of_its_key,
           refuses_numbers_that_no_double_holds, takes_null_for_absent,
           refuses_sizes_that_do_not_fit, refuses_other_model_types,
           refuses_tensors_missing_reshaped_or_of_another_type)
