/*
 * test_truth.c - transformers compiled from programs, over their whole domain. Their tensors, and
 * those of other models whose truth is known, are compared in test_family_fixtures.c.
 * tests/fixtures/PROVENANCE.md says where they come from.
 */
#include "attn.h"
#include "model/config_fields.h"
#include "tests/support/npy.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>

enum { PATH_SIZE = 160, LONGEST = 16 };

static struct attn_model *open_model(const char *name)
{
    char directory[PATH_SIZE];
    const struct attn_source source = {.directory = directory};
    struct attn_model *model = NULL;
    struct attn_error err = {0};

    snprintf(directory, sizeof directory, "tests/fixtures/truth-%s", name);
    ck_assert_msg(attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err) == ATTN_OK,
                  "%s: %s", name, err.message);
    return model;
}

/* Checks the answer to one case: the largest of several components is the token, a single one is
 * the number. ROW is the stream at a position. */
static void check_answer(const float *row, const struct attn_npy *components, double answer)
{
    size_t largest = 0;

    for (size_t i = 1; i < components->n; i++)
        if (row[(size_t)components->values[i]] > row[(size_t)components->values[largest]])
            largest = i;
    if (components->n > 1)
        ck_assert_uint_eq(largest, (size_t)answer);
    else
        ck_assert_double_le(fabs((double)row[(size_t)components->values[0]] - answer), 1e-5);
}

/* Runs case number I of CASES, the members ids, answers and components, where shorter rows end with
 * -1. Position 0 is the begin of the text and has no answer. */
static void check_case(const struct attn_model *model, const struct attn_npy *cases, size_t i)
{
    const struct attn_config *config = attn_model_config(model);
    const size_t longest = cases[0].shape[1];
    struct attn_recording recording;
    const struct attn_recorded *stream;
    struct attn_error err = {0};
    int32_t ids[LONGEST];
    size_t n = 0;

    for (; n < longest && cases[0].values[i * longest + n] >= 0; n++)
        ids[n] = (int32_t)cases[0].values[i * longest + n];
    attn_recording_init(&recording, config, n);
    ck_assert_int_eq(
        attn_recording_run(&recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, n, &err),
        ATTN_OK);
    stream = attn_recording_find(&recording, ATTN_SITE_RESID_POST, (int)config->n_layer - 1);
    for (size_t at = 1; at < n; at++)
        check_answer(stream->data + at * config->d_model, &cases[2],
                     cases[1].values[i * (longest - 1) + at - 1]);
    attn_recording_release(&recording);
}

START_TEST(programs_answer_their_whole_domain)
{
    static const struct {
        const char *name;
        size_t n_case;
    } programs[] = {{"program-hist", 54},
                    {"program-reverse", 54},
                    {"program-sort", 120},
                    {"program-frac-prevs", 81},
                    {"program-frac-prevs-causal", 81}};
    static const char *const members[] = {"ids", "answers", "components"};

    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct attn_model *model = open_model(programs[i].name);
        struct attn_npy cases[3];
        char path[PATH_SIZE];

        for (int k = 0; k < 3; k++) {
            snprintf(path, sizeof path, "tests/fixtures/truth-%s/expected.npz/cases/%s.npy",
                     programs[i].name, members[k]);
            ck_assert_msg(attn_npy_read(path, &cases[k]), "'%s'", path);
        }
        ck_assert_uint_eq(cases[0].shape[0], programs[i].n_case);
        ck_assert_uint_le(cases[0].shape[1], LONGEST);
        for (size_t k = 0; k < programs[i].n_case; k++)
            check_case(model, cases, k);
        for (int k = 0; k < 3; k++)
            attn_npy_release(&cases[k]);
        attn_model_free(model);
    }
}
END_TEST

ATTN_SUITE("truth", programs_answer_their_whole_domain)
