/*
 * test_fixtures.c - every tensor of every small model in tests/fixtures against float64.
 *
 * Models are run one after another whatever differs; the table at the end shows the largest
 * differences, and the first site that was wrong in each model.
 */
#include "tests/support/expected.h"
#include "tests/support/npy.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What issue and contract allow. */
enum { SMALL_SCORE = 10 };
static const double pattern_tolerance = 2e-6;     /* of scores below SMALL_SCORE in size */
static const double any_pattern_tolerance = 2e-5; /* of all */
static const double row_tolerance = 5e-6;         /* times the largest value of the row */
static const double sum_tolerance = 1e-6;         /* of the sum of a pattern's row */

struct fixture {
    const char *name;  /* of the folder in tests/fixtures */
    const char *model; /* NULL: the folder itself */
    size_t row0;       /* the first row in the files */
};

static const struct fixture fixtures[] = {
    {"gpt2-gelu-new", NULL, 0},
    {"gpt2-gelu", NULL, 0},
    {"gpt2-relu", NULL, 0},
    {"gpt2-silu", NULL, 0},
    {"gpt2-tanh", NULL, 0},
    {"gpt2-no-prefix", NULL, 0},
    {"gpt2-old", NULL, 0},
    {"gpt2-f16", NULL, 0},
    {"gpt2-bf16", NULL, 0},
    {"gpt2-sharded", NULL, 0},
    {"gpt2-odd-offset", NULL, 0},
    {"gpt2-long", NULL, 0},
    {"gpt2-wide", NULL, 111},
    {"tiny-gpt2", "models/tiny-gpt2", 0},
    {"attn-only-2l", NULL, 0},
    {"attn-only-norm", NULL, 0},
    {"attn-values", NULL, 0},
    {"attn-grouped", NULL, 0},
    {"attn-multi-query", NULL, 0},
    {"attn-mlp", NULL, 0},
    {"attn-stack", NULL, 0},
    {"attn-one-head", NULL, 0},
    {"attn-mlp-stack", NULL, 0},
    {"attn-rms", NULL, 0},
    {"attn-rms-final", NULL, 0},
    {"attn-plain", NULL, 0},
    {"attn-bidirectional", NULL, 50},
};
enum { N_FIXTURE = sizeof fixtures / sizeof *fixtures };

/* What one fixture came to. Errors of patterns are absolute, others relative to the row's largest
 * value. */
struct outcome {
    int layer;                                  /* the one at hand */
    double score;                               /* largest |attn_scores| in it */
    double worst_score;                         /* of the model */
    double pattern, z, residual, logits, other; /* largest errors */
    bool has_failed;
    char first[200]; /* the first thing that was wrong */
};

static void note(struct outcome *outcome, const struct attn_expected_row *row, size_t i,
                 const char *why)
{
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE], head[32] = "";

    if (outcome->has_failed)
        return;
    outcome->has_failed = true;
    attn_site_archive_name(row->site, row->layer, name);
    if (row->head != ATTN_ALL_HEADS)
        snprintf(head, sizeof head, "head %d, ", row->head);
    snprintf(outcome->first, sizeof outcome->first,
             "%s, %sposition %zu, component %zu: %.9g, expected %.17g (%s)", name, head,
             row->position, i, (double)row->actual[i], row->expected[i], why);
}

/* Largest |expected| among the visible values. */
static double largest(const struct attn_expected_row *row)
{
    double x = 0;

    for (size_t i = 0; i < row->n_visible; i++)
        x = fmax(x, fabs(row->expected[i]));
    return x;
}

/* Largest error over the visible values relative to SIZE; NaN counts as infinite. */
static double row_error(struct outcome *outcome, const struct attn_expected_row *row, double size,
                        double allowed)
{
    double worst = 0;

    for (size_t i = 0; i < row->n_visible; i++) {
        double error = fabs((double)row->actual[i] - row->expected[i]) / (size > 0 ? size : 1);

        if (isnan(error))
            error = (double)INFINITY;
        if (error > allowed)
            note(outcome, row, i, "off");
        worst = fmax(worst, error);
    }
    return worst;
}

static void check_masked(struct outcome *outcome, const struct attn_expected_row *row)
{
    if (row->site == ATTN_SITE_QK)
        return;
    for (size_t i = row->n_visible; i < row->n; i++)
        if ((double)row->actual[i] != row->expected[i])
            note(outcome, row, i, "masked");
}

static void check_pattern(struct outcome *outcome, const struct attn_expected_row *row)
{
    double allowed = outcome->score < SMALL_SCORE ? pattern_tolerance : any_pattern_tolerance;
    double sum = 0;

    for (size_t i = 0; i < row->n; i++)
        sum += (double)row->actual[i];
    if (!(fabs(sum - 1) <= sum_tolerance))
        note(outcome, row, 0, "the row's sum is not 1");
    outcome->pattern = fmax(outcome->pattern, row_error(outcome, row, 1, allowed));
}

static void check_scores(struct outcome *outcome, const struct attn_expected_row *row)
{
    double size = largest(row);
    double error = row_error(outcome, row, fmax(1, size), row_tolerance);

    outcome->other = fmax(outcome->other, error);
    if (row->site == ATTN_SITE_ATTN_SCORES) {
        outcome->score = fmax(outcome->score, size);
        outcome->worst_score = fmax(outcome->worst_score, size);
    }
}

static void check_row(void *user, const struct attn_expected_row *row)
{
    struct outcome *outcome = user;
    double *worst = &outcome->other;

    if (row->layer != outcome->layer)
        outcome->layer = row->layer, outcome->score = 0;
    check_masked(outcome, row);
    switch (row->site) {
    case ATTN_SITE_QK:
    case ATTN_SITE_ATTN_SCORES:
        check_scores(outcome, row);
        return;
    case ATTN_SITE_PATTERN:
        check_pattern(outcome, row);
        return;
    case ATTN_SITE_Z:
        worst = &outcome->z;
        break;
    case ATTN_SITE_RESID_PRE:
    case ATTN_SITE_RESID_MID:
    case ATTN_SITE_RESID_POST:
        worst = &outcome->residual;
        break;
    case ATTN_SITE_LOGITS:
        worst = &outcome->logits;
        break;
    default:
        break;
    }
    *worst = fmax(*worst, row_error(outcome, row, largest(row), row_tolerance));
}

/* Sites of the model: every one must have a file, unless only some rows are kept. */
static size_t count_sites(const struct attn_dims *dims)
{
    size_t n = 0;

    for (int site = 0; site < ATTN_N_SITE; site++)
        if (attn_sites_have(dims->sites, site))
            n += attn_site_is_in_layer((enum attn_site)site) ? dims->n_layer : 1;
    return n;
}

static void run_fixture(const struct fixture *fixture, struct outcome *outcome)
{
    struct attn_error err = {0};
    struct attn_recording recording;
    struct attn_model *model = NULL;
    char folder[128], path[160];
    struct attn_source source = {.directory = folder};
    size_t n, n_site;
    int32_t *ids;

    snprintf(path, sizeof path, "tests/fixtures/%s/expected.npz/ids.npy", fixture->name);
    ids = attn_npy_read_ids(path, &n);
    snprintf(folder, sizeof folder, "tests/fixtures/%s", fixture->name);
    if (fixture->model != NULL)
        source.directory = fixture->model;
    if (attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err) != ATTN_OK)
        goto done;
    attn_recording_init(&recording, attn_model_config(model), n);
    if (attn_recording_run(&recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, n, &err) ==
        ATTN_OK) {
        snprintf(path, sizeof path, "tests/fixtures/%s/expected.npz", fixture->name);
        n_site = attn_expected_each(path, &recording, fixture->row0, check_row, outcome);
        ck_assert_msg(n_site > 0 && (fixture->row0 > 0 || n_site == count_sites(&recording.dims)),
                      "'%s' has files of %zu sites, the model has %zu", path, n_site,
                      count_sites(&recording.dims));
    }
    attn_recording_release(&recording);
done:
    if (err.status != ATTN_OK) {
        outcome->has_failed = true;
        snprintf(outcome->first, sizeof outcome->first, "%.190s", err.message);
    }
    attn_model_free(model);
    free(ids);
}

START_TEST(every_tensor_is_that_of_float64)
{
    static struct outcome outcomes[N_FIXTURE];
    int n_failed = 0;

    for (int i = 0; i < N_FIXTURE; i++)
        run_fixture(&fixtures[i], &outcomes[i]);
    printf("largest differences from float64: pattern absolute; others by the row's largest\n"
           "%-20s %7s %8s %8s %8s %8s %8s\n",
           "fixture", "|score|", "pattern", "z", "residual", "logits", "other");
    for (int i = 0; i < N_FIXTURE; i++) {
        const struct outcome *o = &outcomes[i];

        printf("%-20s %7.1f %8.1e %8.1e %8.1e %8.1e %8.1e%s%s\n", fixtures[i].name, o->worst_score,
               o->pattern, o->z, o->residual, o->logits, o->other, o->has_failed ? "  " : "",
               o->first);
        n_failed += o->has_failed;
    }
    fflush(stdout);
    ck_assert_msg(n_failed == 0, "%d of %d models differ, see the table", n_failed, (int)N_FIXTURE);
}
END_TEST

ATTN_SUITE("fixtures", every_tensor_is_that_of_float64)
