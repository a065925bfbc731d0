/*
 * test_fable.c - the trained model against transformers in float64, on 20 sentences.
 *
 * tests/fixtures/fable holds for each its ids, every pattern, and logits: all rows of some, the
 * last of the others (tests/tools/make_fable_fixture.py).
 */
#include "tests/support/npy.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What issue 7 allows. */
static const double pattern_tolerance = 2e-5;
static const double logit_tolerance = 2e-5; /* times the largest of the row */

enum { N_SENTENCE = 20 };

static struct attn_npy expected_array(int sentence, const char *what)
{
    struct attn_npy array;
    char path[64];

    snprintf(path, sizeof path, "tests/fixtures/fable/expected.npz/%02d.%s.npy", sentence, what);
    ck_assert_msg(attn_npy_read(path, &array), "there is no '%s'", path);
    return array;
}

/* Largest difference; NaN counts as infinite. */
static double largest_difference(const float *actual, const double *expected, size_t n)
{
    double worst = 0;

    for (size_t i = 0; i < n; i++) {
        double difference = fabs((double)actual[i] - expected[i]);

        if (isnan(difference))
            difference = (double)INFINITY;
        worst = fmax(worst, difference);
    }
    return worst;
}

static void check_patterns(int sentence, const struct attn_recording *recording)
{
    struct attn_npy expected = expected_array(sentence, "pattern");
    size_t n = expected.n / recording->dims.n_layer;

    ck_assert_int_eq(expected.rank, 4);
    ck_assert_uint_eq(expected.shape[0], recording->dims.n_layer);
    for (size_t layer = 0; layer < recording->dims.n_layer; layer++) {
        const struct attn_recorded *pattern =
            attn_recording_find(recording, ATTN_SITE_PATTERN, (int)layer);
        double worst;

        ck_assert_uint_eq(pattern->n, n);
        worst = largest_difference(pattern->data, expected.values + layer * n, n);
        ck_assert_msg(worst <= pattern_tolerance, "sentence %d, layer %zu: a weight is off by %.2g",
                      sentence, layer, worst);
    }
    attn_npy_release(&expected);
}

/* The file's rows are the last ones of the model's. */
static void check_logits(int sentence, const struct attn_recording *recording)
{
    const struct attn_recorded *logits =
        attn_recording_find(recording, ATTN_SITE_LOGITS, ATTN_NO_LAYER);
    struct attn_npy expected = expected_array(sentence, "logits");
    size_t n = expected.shape[1], row0 = logits->shape[0] - expected.shape[0];

    ck_assert_uint_eq(logits->shape[1], n);
    for (size_t row = 0; row < expected.shape[0]; row++) {
        const double *values = expected.values + row * n;
        double worst = largest_difference(logits->data + (row0 + row) * n, values, n), size = 0;

        for (size_t i = 0; i < n; i++)
            size = fmax(size, fabs(values[i]));
        ck_assert_msg(worst <= logit_tolerance * size,
                      "sentence %d, row %zu: a logit is off by %.2g of %.2g", sentence, row0 + row,
                      worst, size);
    }
    attn_npy_release(&expected);
}

static void check_sentence(const struct attn_model *model, int sentence)
{
    struct attn_recording recording;
    struct attn_error err = {0};
    char path[64];
    int32_t *ids;
    size_t n;

    snprintf(path, sizeof path, "tests/fixtures/fable/expected.npz/%02d.ids.npy", sentence);
    ids = attn_npy_read_ids(path, &n);
    attn_recording_init(&recording, attn_model_config(model), n);
    ck_assert_msg(attn_recording_run(&recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, n,
                                     &err) == ATTN_OK,
                  "sentence %d: %s", sentence, err.message);
    check_patterns(sentence, &recording);
    check_logits(sentence, &recording);
    attn_recording_release(&recording);
    free(ids);
}

START_TEST(patterns_and_logits_are_those_of_transformers)
{
    const struct attn_source source = {.directory = "models/fable"};
    struct attn_model *model = NULL;
    struct attn_error err = {0};

    ck_assert_msg(attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err) == ATTN_OK,
                  "%s", err.message);
    for (int sentence = 0; sentence < N_SENTENCE; sentence++)
        check_sentence(model, sentence);
    attn_model_free(model);
}
END_TEST

ATTN_SUITE("fable", patterns_and_logits_are_those_of_transformers)
