/*
 * test_weight_names.c - files that hold the same tensors under other names: without the prefix and
 * the output layer, a tied matrix under the output layer's name, a fused matrix's old head.
 */
#include "tests/support/parts.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"
#include "trace/site_set.h"

#include <stdlib.h>
#include <string.h>

enum { N_ID = 7 };

static const int32_t ids[N_ID] = {3, 1, 4, 1, 5, 9, 2};

/* Begins each name in the header of WEIGHTS that begins with OLD with NEW, which is not longer;
 * blanks behind the name keep its length. Returns the number of names. */
static int rename_all(struct attn_part *weights, const char *old, const char *new)
{
    const size_t n_old = strlen(old), n_new = strlen(new);
    char *end = (char *)weights->bytes + attn_part_header_end(weights);
    int n = 0;

    for (char *at = (char *)weights->bytes + 8; at + n_old + 1 < end; at++) {
        char *name = at + 1, *quote;

        if (*at != '"' || memcmp(name, old, n_old) != 0)
            continue;
        quote = memchr(name, '"', (size_t)(end - name));
        memcpy(name, new, n_new);
        memmove(name + n_new, name + n_old, (size_t)(quote + 1 - name) - n_old);
        memset(quote + 1 - (n_old - n_new), ' ', n_old - n_new);
        n++;
    }
    return n;
}

/* Opens the model and records it. */
static enum attn_status record(const struct attn_parts *parts, struct attn_recording *recording,
                               struct attn_error *err)
{
    struct attn_model *model;
    enum attn_status status = attn_parts_open(parts, &model, err);

    if (status != ATTN_OK)
        return status;
    attn_recording_init(recording, attn_model_config(model), N_ID);
    ck_assert_msg(attn_recording_run(recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, N_ID,
                                     err) == ATTN_OK,
                  "%s", err->message);
    attn_model_free(model);
    return ATTN_OK;
}

/* The model of DIRECTORY with OLD renamed to NEW gives the same, but for the logits when it has
 * none any more. */
static void expect_same(const char *directory, const char *old, const char *new, bool has_logits)
{
    struct attn_parts parts = attn_parts_load(directory);
    struct attn_recording expected, actual;
    struct attn_error err = {0};
    const struct attn_site_set logits = ATTN_SITES(ATTN_SITE_LOGITS);

    ck_assert_int_eq(record(&parts, &expected, &err), ATTN_OK);
    ck_assert_int_gt(rename_all(&parts.weights, old, new), 0);
    ck_assert_msg(record(&parts, &actual, &err) == ATTN_OK, "%s", err.message);
    ck_assert(attn_sites_meet(expected.dims.sites, logits));
    ck_assert(attn_sites_meet(actual.dims.sites, logits) == has_logits);
    for (int layer = 0; layer < (int)actual.dims.n_layer; layer++) {
        const struct attn_recorded *a = attn_recording_find(&actual, ATTN_SITE_RESID_POST, layer);
        const struct attn_recorded *e = attn_recording_find(&expected, ATTN_SITE_RESID_POST, layer);

        ck_assert_mem_eq(a->data, e->data, e->n * sizeof(float));
    }
    if (has_logits)
        attn_assert_same_recording(directory, &actual, &expected);
    attn_recording_release(&actual);
    attn_recording_release(&expected);
    attn_parts_release(&parts);
}

START_TEST(a_model_without_prefix_has_an_output_layer_when_it_is_tied)
{
    expect_same("tests/fixtures/family-qwen3", "model.", "", true);
}
END_TEST

/* The head that is left has another name, so that it is none. */
START_TEST(a_model_without_head_has_no_logits)
{
    struct attn_parts parts = attn_parts_load("tests/fixtures/family-llama-biases");
    struct attn_recording actual;
    struct attn_error err = {0};

    ck_assert_int_gt(rename_all(&parts.weights, "lm_head.weight", "unknown"), 0);
    ck_assert_msg(record(&parts, &actual, &err) == ATTN_OK, "%s", err.message);
    ck_assert(!attn_sites_have(actual.dims.sites, ATTN_SITE_LOGITS));
    attn_recording_release(&actual);
    ck_assert_int_gt(rename_all(&parts.weights, "model.", ""), 0);
    ck_assert_msg(record(&parts, &actual, &err) == ATTN_OK, "%s", err.message);
    ck_assert(!attn_sites_have(actual.dims.sites, ATTN_SITE_LOGITS));
    attn_recording_release(&actual);
    attn_parts_release(&parts);
}
END_TEST

START_TEST(a_tied_head_alone_is_the_embedding_too)
{
    expect_same("tests/fixtures/family-qwen3", "model.embed_tokens.weight", "lm_head.weight", true);
}
END_TEST

START_TEST(older_files_call_the_head_otherwise)
{
    expect_same("tests/fixtures/family-gpt-neox-sequential", "embed_out.weight", "lm_head.weight",
                true);
}
END_TEST

ATTN_SUITE("names of weights", a_model_without_prefix_has_an_output_layer_when_it_is_tied,
           a_model_without_head_has_no_logits, a_tied_head_alone_is_the_embedding_too,
           older_files_call_the_head_otherwise)
