/* test_weight_arrays.c - weights by TransformerLens's names are those that the model computes with.
 * tests/python/test_weights.py compares all of them with the file. */
#include "tests/support/suite.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

static struct attn_model *open_model(const char *path)
{
    const struct attn_source source = {.directory = path};
    struct attn_error err = {0};
    struct attn_model *model;

    ck_assert_msg(attn_model_open(&source, NULL, &model, &err) == ATTN_OK, "%s", err.message);
    return model;
}

START_TEST(names_and_shapes_are_those_of_transformer_lens)
{
    static const struct attn_weight_array wanted[] = {
        {"embed.W_E", 2, {487, 15}},          {"pos_embed.W_pos", 2, {17, 15}},
        {"blocks.0.ln1.w", 1, {15}},          {"blocks.0.ln1.b", 1, {15}},
        {"blocks.0.attn.W_Q", 3, {3, 15, 5}}, {"blocks.0.attn.b_Q", 2, {3, 5}},
        {"blocks.0.attn.W_K", 3, {3, 15, 5}}, {"blocks.0.attn.b_K", 2, {3, 5}},
        {"blocks.0.attn.W_V", 3, {3, 15, 5}}, {"blocks.0.attn.b_V", 2, {3, 5}},
        {"blocks.0.attn.W_O", 3, {3, 5, 15}}, {"blocks.0.attn.b_O", 1, {15}},
        {"blocks.0.ln2.w", 1, {15}},          {"blocks.0.ln2.b", 1, {15}},
        {"blocks.0.mlp.W_in", 2, {15, 22}},   {"blocks.0.mlp.b_in", 1, {22}},
        {"blocks.0.mlp.W_out", 2, {22, 15}},  {"blocks.0.mlp.b_out", 1, {15}},
        {"blocks.1.ln1.w", 1, {15}},
    };
    struct attn_model *model = open_model("models/tiny-gpt2");
    struct attn_weight_array *weights;
    struct attn_error err = {0};
    size_t n;

    ck_assert_int_eq(attn_model_weights_create(model, &weights, &n, &err), ATTN_OK);
    ck_assert_uint_eq(n, 53);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        ck_assert_str_eq(weights[i].name, wanted[i].name);
        ck_assert_int_eq(weights[i].rank, wanted[i].rank);
        ck_assert_mem_eq(weights[i].shape, wanted[i].shape, sizeof wanted[i].shape);
    }
    ck_assert_str_eq(weights[52].name, "unembed.W_U");
    ck_assert(weights[52].shape[0] == 15 && weights[52].shape[1] == 487);
    attn_model_weights_free(weights);
    attn_model_weights_free(NULL);
    attn_model_free(model);
}
END_TEST

/* The output matrix of this model is its embedding, transposed; the file has the other order. */
START_TEST(matrices_have_the_input_first)
{
    struct attn_model *model = open_model("models/tiny-gpt2");
    float *embed = malloc(sizeof(float) * 487 * 15), *unembed = malloc(sizeof(float) * 15 * 487);
    const int32_t id = 301;
    float row[15];
    struct attn_error err = {0};

    ck_assert(embed && unembed);
    ck_assert_int_eq(attn_model_weight_read(model, "embed.W_E", embed, &err), ATTN_OK);
    ck_assert_int_eq(attn_model_weight_read(model, "unembed.W_U", unembed, &err), ATTN_OK);
    ck_assert_int_eq(attn_model_embed(model, &id, 1, row, &err), ATTN_OK);
    ck_assert_mem_eq(embed + 301 * 15, row, sizeof row);
    for (size_t i = 0; i < 487; i++)
        for (size_t d = 0; d < 15; d++)
            ck_assert(unembed[d * 487 + i] == embed[i * 15 + d]);
    free(embed);
    free(unembed);
    attn_model_free(model);
}
END_TEST

START_TEST(names_that_a_model_lacks_are_refused)
{
    struct attn_model *model = open_model("models/tiny-gpt2");
    struct attn_error err = {0};
    float value;

    ck_assert_int_eq(attn_model_weight_read(model, "blocks.9.attn.W_Q", &value, &err),
                     ATTN_INVALID);
    ck_assert_msg(strstr(err.message, "has no weight 'blocks.9.attn.W_Q'"), "%s", err.message);
    ck_assert_int_eq(attn_model_weight_read(model, NULL, &value, NULL), ATTN_INVALID);
    attn_model_free(model);
}
END_TEST

START_TEST(a_config_is_read_by_names)
{
    struct attn_model *model = open_model("models/tiny-gpt2");
    const struct attn_config *config = attn_model_config(model);
    const struct attn_cell norm = attn_config_value(config, "norm");
    const struct attn_cell ends = attn_config_value(config, "end_ids");
    size_t n = 0, n_missing = 0;

    ck_assert_int_eq(norm.type, ATTN_VALUE_TEXT);
    ck_assert(norm.size == strlen("layernorm") && memcmp(norm.text, "layernorm", norm.size) == 0);
    ck_assert_int_eq(attn_config_value(config, "n_ctx").integer, 17);
    ck_assert_double_eq(attn_config_value(config, "norm_eps").real, (double)1e-5f);
    ck_assert_int_eq(attn_config_value(config, "has_qkv_bias").integer, 1);
    ck_assert_int_eq(attn_config_value(config, "label_kind").type, ATTN_VALUE_TEXT);
    ck_assert(ends.type == ATTN_VALUE_LIST && ends.size == 1);
    ck_assert_int_eq(attn_config_value(config, "pad_id").type, ATTN_VALUE_MISSING);
    ck_assert_int_eq(attn_config_value(config, "logits_cap").type, ATTN_VALUE_MISSING);
    ck_assert_int_eq(attn_config_value(config, "n_channel").type, ATTN_VALUE_MISSING);
    ck_assert_int_eq(attn_config_value(config, "none such").type, ATTN_VALUE_MISSING);
    ck_assert_int_eq(attn_config_value(NULL, "norm").type, ATTN_VALUE_MISSING);
    for (const char *name; (name = attn_config_name(n)); n++)
        n_missing += attn_config_value(config, name).type == ATTN_VALUE_MISSING;
    ck_assert(n > 60 && n_missing < n / 2);
    attn_model_free(model);
}
END_TEST

ATTN_SUITE("weight_arrays", names_and_shapes_are_those_of_transformer_lens,
           matrices_have_the_input_first, names_that_a_model_lacks_are_refused,
           a_config_is_read_by_names)
