/*
 * test_picture_gradients.c - the backward pass through the picture in a text, against central
 * differences of the forward pass: towers with and without positions by number, windows, cells that
 * join patches or are their means, and masks that are not causal.
 */
#include "base/random.h"
#include "model/model_internal.h"
#include "run/run_internal.h"
#include "tests/support/open.h"
#include "tests/support/suite.h"
#include "towers/pixels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 4096, TARGET = 5, N_PIXEL = 8 };

static const char *const models[] = {"smolvlm", "gemma3", "paligemma", "qwen2_vl", "qwen2_5_vl"};

static char folder[PATH_SIZE / 2];

static void unpack(void)
{
    const char *base = getenv("TMPDIR");
    char command[PATH_SIZE];

    snprintf(folder, sizeof folder, "%s/attn-test-XXXXXX", base ? base : P_tmpdir);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(command, sizeof command, "tar -xf tests/fixtures/vision.tar -C '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static void remove_all(void)
{
    char command[PATH_SIZE];

    snprintf(command, sizeof command, "rm -rf -- '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

/* What a run emits of a site of one tensor: its rows [n_col each] are written to `rows`. */
struct kept {
    float *rows;
    size_t n_col;
};

static enum attn_status keep(void *user, const struct attn_trace_event *event,
                             struct attn_error *err)
{
    struct kept *kept = user;

    (void)err;
    kept->n_col = event->n_col;
    for (size_t i = 0; i < event->n_row; i++)
        memcpy(kept->rows + (event->row0 + i) * event->n_col, event->data + i * event->ld,
               event->n_col * sizeof *kept->rows);
    return ATTN_OK;
}

/* Runs a question about PIXELS, and writes the rows of SITES to ROWS. Returns the number of rows of
 * the text. */
static size_t run(struct attn_host *host, const struct attn_pixels *pixels, const char *sites,
                  struct kept *kept)
{
    const int32_t target = TARGET;
    const struct attn_answer_args goal = {.target_id = &target, .metric = ATTN_ANSWER_LOGIT};
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_trace trace = {.on_event = keep, .user = kept};
    struct attn_result result = {0};
    struct attn_error err = {0};
    struct attn_run *run;
    size_t n;

    request.input.pixels = pixels;
    request.input.text = "What?";
    request.input.n_text = 5;
    request.selection.sites = sites;
    request.selection.gradients_of = &goal;
    ck_assert_msg(attn_run_prepare(host, &request, &run, &err) == ATTN_OK, "%s", err.message);
    trace.selection = attn_run_selection(run);
    ck_assert_msg(attn_run_perform(run, &trace, &result, &err) == ATTN_OK, "%s", err.message);
    n = run->text.n;
    attn_result_release(&result);
    attn_run_free(run);
    return n;
}

/* Returns the logit of the target after the last position. */
static double logit(struct attn_host *host, const struct attn_pixels *pixels)
{
    struct kept kept = {.rows = calloc(1 << 20, sizeof(float))};
    const size_t n = run(host, pixels, "logits", &kept);
    const double value = (double)kept.rows[(n - 1) * kept.n_col + TARGET];

    free(kept.rows);
    return value;
}

/* Returns the derivative of the logit in the direction V [n] of the pixels. */
static double difference(struct attn_host *host, struct attn_pixels *pixels, const float *v,
                         size_t n)
{
    static const float h = 1e-3F;
    float *own = pixels->values, *moved = calloc(n, sizeof *moved);
    double value[2];

    pixels->values = moved;
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < n; i++)
            moved[i] = own[i] + (side == 0 ? h : -h) * v[i];
        value[side] = logit(host, pixels);
    }
    pixels->values = own;
    free(moved);
    return (value[0] - value[1]) / (2 * (double)h);
}

static void check(const char *name)
{
    char model[PATH_SIZE];
    struct attn_host *host;
    struct attn_random random;
    struct attn_pixels pixels = {.n_channel = 3};
    double largest = 0, sum = 0, found;
    struct kept kept;
    size_t n, side;
    float *v;

    snprintf(model, sizeof model, "%s/%s", folder, name);
    host = attn_open_host(model, NULL);
    const struct attn_vision_config *vision = &attn_model_config(attn_host_model(host))->vision;

    side = vision->side > 0 ? vision->side : 3 * vision->merge * vision->patch;
    pixels.height = pixels.width = side;
    n = 3 * side * side;
    pixels.values = calloc(n, sizeof *pixels.values);
    v = calloc(n, sizeof *v);
    kept = (struct kept){.rows = calloc(n, sizeof *kept.rows)};
    attn_random_seed(&random, 7);
    for (size_t i = 0; i < n; i++) {
        pixels.values[i] =
            (float)(attn_random_bernoulli(&random, 0.5) ? 1 : -1) * (float)(i % 7) / 6;
        v[i] = attn_random_bernoulli(&random, 0.5) ? 1 : -1;
    }
    run(host, &pixels, "pixel_values_grad", &kept);
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs((double)kept.rows[i]));
        sum += (double)kept.rows[i] * (double)v[i];
    }
    ck_assert_double_gt(largest, 0);
    found = difference(host, &pixels, v, n);
    ck_assert_msg(fabs(found - sum) <= 0.02 * largest + 0.01 * fabs(sum),
                  "%s: along all pixels %g, expected %g", name, sum, found);
    memset(v, 0, n * sizeof *v);
    for (size_t k = 0; k < N_PIXEL; k++) {
        const size_t i = k * (n / N_PIXEL) + 5 * k;

        v[i] = 1;
        found = difference(host, &pixels, v, n);
        v[i] = 0;
        ck_assert_msg(fabs(found - (double)kept.rows[i]) <= 0.02 * largest,
                      "%s: pixel %zu has %g, expected %g, of %g", name, i, (double)kept.rows[i],
                      found, largest);
    }
    free(kept.rows);
    free(v);
    free(pixels.values);
    attn_host_free(host);
}

START_TEST(the_gradient_of_pixels_is_the_slope_of_the_answer)
{
    unpack();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        check(models[i]);
    remove_all();
}
END_TEST

ATTN_SUITE("picture_gradients", the_gradient_of_pixels_is_the_slope_of_the_answer)
