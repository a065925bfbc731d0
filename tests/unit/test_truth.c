/*
 * test_truth.c - models whose truth is known: a GPT that sorts letters beside its authors' tensors,
 * a small Llama and TransformerLens's own models beside float64, and transformers compiled from
 * programs, over their whole domain. tests/fixtures/PROVENANCE.md says where they come from.
 */
#include "attn.h"
#include "tests/support/expected.h"
#include "tests/support/npy.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PATTERN, RESIDUAL, FINAL, LOGITS, OTHER, N_BOUND };
enum { PATH_SIZE = 160, LONGEST = 16 };

struct outcome {
    double bounds[N_BOUND];
    double sizes[ATTN_N_SITE]; /* the largest value of each site */
    const char *name;
};

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

static int bound_of(enum attn_site site)
{
    switch (site) {
    case ATTN_SITE_PATTERN:
        return PATTERN;
    case ATTN_SITE_RESID_PRE:
    case ATTN_SITE_RESID_MID:
    case ATTN_SITE_RESID_POST:
        return RESIDUAL;
    case ATTN_SITE_LN_FINAL:
        return FINAL;
    case ATTN_SITE_LOGITS:
        return LOGITS;
    default:
        return OTHER;
    }
}

/* An attn_expected_fn: the largest value of each site. */
static void measure_row(void *user, const struct attn_expected_row *row)
{
    struct outcome *outcome = user;

    for (size_t i = 0; i < row->n_visible; i++)
        if (isfinite(row->expected[i]))
            outcome->sizes[row->site] = fmax(outcome->sizes[row->site], fabs(row->expected[i]));
}

/* An attn_expected_fn: every value is within its bound. */
static void check_row(void *user, const struct attn_expected_row *row)
{
    const struct outcome *outcome = user;
    const int bound = bound_of(row->site);
    const double allowed =
        outcome->bounds[bound] * (bound == OTHER ? outcome->sizes[row->site] : 1);

    for (size_t i = 0; i < row->n_visible; i++)
        ck_assert_msg(fabs((double)row->actual[i] - row->expected[i]) <= allowed,
                      "%s: %s of layer %d, position %zu, %zu: %.9g, expected %.9g within %.2g",
                      outcome->name, attn_site_name(row->site), row->layer, row->position, i,
                      (double)row->actual[i], row->expected[i], allowed);
}

/* Runs input number K of the model NAME, whose archive holds N_SITE sites of it. Returns false if
 * there is no such input. */
static bool check_input(const struct attn_model *model, const char *name, int k, size_t n_site)
{
    char folder[PATH_SIZE], path[PATH_SIZE + 16];
    struct outcome outcome = {.name = name};
    struct attn_recording recording;
    struct attn_error err = {0};
    struct attn_npy bounds;
    int32_t *ids;
    size_t n;

    snprintf(folder, sizeof folder, "tests/fixtures/truth-%s/expected.npz/%d", name, k);
    snprintf(path, sizeof path, "%s/bounds.npy", folder);
    if (!attn_npy_read(path, &bounds))
        return false;
    ck_assert_uint_eq(bounds.n, N_BOUND);
    for (int i = 0; i < N_BOUND; i++)
        outcome.bounds[i] = bounds.values[i];
    attn_npy_release(&bounds);
    snprintf(path, sizeof path, "%s/ids.npy", folder);
    ids = attn_npy_read_ids(path, &n);
    attn_recording_init(&recording, attn_model_config(model), n);
    ck_assert_msg(attn_recording_run(&recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, n,
                                     &err) == ATTN_OK,
                  "%s: %s", name, err.message);
    ck_assert_uint_eq(attn_expected_each(folder, &recording, 0, measure_row, &outcome), n_site);
    attn_expected_each(folder, &recording, 0, check_row, &outcome);
    attn_recording_release(&recording);
    free(ids);
    return true;
}

static const struct {
    const char *name;
    int n_input;
    size_t n_site;
} models[] = {
    {"letters", 3, 14},
    {"llama", 1, 6},
    {"tl-attn-only", 1, 3},
    {"tl-folded-rotary", 1, 3},
    {"tl-relu-ln", 1, 3},
    {"tl-solu", 1, 2},
    {"program-hist", 3, 3},
    {"program-sort", 3, 9},
    {"program-reverse", 3, 12},
    {"program-frac-prevs", 3, 6},
    {"program-frac-prevs-causal", 3, 6},
};

START_TEST(tensors_are_those_of_the_authors)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct attn_model *model = open_model(models[i].name);
        int k = 0;

        while (check_input(model, models[i].name, k, models[i].n_site))
            k++;
        ck_assert_int_eq(k, models[i].n_input);
        attn_model_free(model);
    }
}
END_TEST

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

ATTN_SUITE("truth", tensors_are_those_of_the_authors, programs_answer_their_whole_domain)
