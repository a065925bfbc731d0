/*
 * test_clip.c - both towers of CLIP: their tensors against float64, one host for both, and pictures
 * beside texts.
 */
#include "attn.h"
#include "base/os/thread.h"
#include "forward/session_pack.h"
#include "run/run_extra.h"
#include "tests/support/encoders.h"
#include "tests/support/kept.h"
#include "tests/support/npy.h"
#include "tests/support/open.h"
#include "tests/support/suite.h"
#include "towers/pixels.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_TEXT = 4, D = 8, PATH_SIZE = 4200 };

static const char *const texts[N_TEXT] = {"a cat", "the dog", "a photo of a red cat.", "me"};
static char folder[4096];

static void unpack(void)
{
    const char *base = getenv("TMPDIR");
    char command[PATH_SIZE + 100];

    snprintf(folder, sizeof folder - 64, "%s/attn-test-XXXXXX", base ? base : P_tmpdir);
    ck_assert_msg(mkdtemp(folder) != NULL, "%s: %s", folder, strerror(errno));
    snprintf(command, sizeof command, "tar -xf tests/fixtures/clip.tar -C '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static void clean(void)
{
    char command[PATH_SIZE + 100];

    snprintf(command, sizeof command, "rm -rf -- '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static struct attn_npy read_expected(const char *name)
{
    char path[PATH_SIZE + 100];
    struct attn_npy array;

    snprintf(path, sizeof path, "%s/clip/expected.npz/%s.npy", folder, name);
    ck_assert_msg(attn_npy_read(path, &array), "%s", path);
    return array;
}

static struct attn_host *open_host(const struct attn_host_options *options)
{
    char directory[PATH_SIZE];

    snprintf(directory, sizeof directory, "%s/clip", folder);
    return attn_open_host(directory, options);
}

/* X [n] is KIND of INPUT, within its bound. */
static void check(const char *input, const char *kind, const float *x, size_t first, size_t n)
{
    char name[64], bound_name[64];
    struct attn_npy expected, bound;

    snprintf(name, sizeof name, "%s/%s", input, kind);
    snprintf(bound_name, sizeof bound_name, "%s/bound/%s", input, kind);
    expected = read_expected(name);
    bound = read_expected(bound_name);
    ck_assert_uint_le(first + n, expected.n);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(fabs((double)x[i] - expected.values[first + i]) <= bound.values[0],
                      "%s [%zu]: %g, expected %g", name, first + i, (double)x[i],
                      expected.values[first + i]);
    attn_npy_release(&expected);
    attn_npy_release(&bound);
}

/* Runs REQUEST, and compares what transformers shows of it. */
static void check_run(struct attn_host *host, const struct attn_request *request, const char *input,
                      enum attn_site embed)
{
    struct attn_run *run = NULL;
    struct attn_capture *capture = NULL;
    struct attn_result result = {0};
    struct attn_error err = {0};
    const struct attn_dims *dims;
    size_t n_pattern, n_row;

    ck_assert_msg(attn_run_prepare(host, request, &run, &err) == ATTN_OK, "%s", err.message);
    ck_assert(attn_capture_create(attn_run_selection(run), &capture, &err) == ATTN_OK);
    ck_assert_msg(attn_run_perform(run, attn_capture_trace(capture), &result, &err) == ATTN_OK,
                  "%s", err.message);
    dims = attn_selection_dims(attn_run_labels(run)->selection);
    n_pattern = dims->n_head * dims->n_position * dims->n_position;
    n_row = dims->n_position * dims->d_model;
    for (int layer = 0; layer < (int)dims->n_layer; layer++) {
        check(input, "attn", attn_kept(capture, ATTN_SITE_PATTERN, layer),
              (size_t)layer * n_pattern, n_pattern);
        check(input, "hidden", attn_kept(capture, ATTN_SITE_RESID_PRE, layer),
              (size_t)layer * n_row, n_row);
    }
    check(input, "hidden", attn_kept(capture, ATTN_SITE_RESID_POST, (int)dims->n_layer - 1),
          dims->n_layer * n_row, n_row);
    check(input, "final", attn_kept(capture, ATTN_SITE_LN_FINAL, ATTN_NO_LAYER), 0, n_row);
    check(input, embed == ATTN_SITE_TEXT_EMBED ? "text_embed" : "image_embed",
          attn_kept(capture, embed, ATTN_NO_LAYER), 0, D);
    attn_result_release(&result);
    attn_capture_free(capture);
    attn_run_free(run);
}

START_TEST(one_host_runs_the_tower_of_each_input)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_pixels pixels = {.n_channel = 3, .height = 12, .width = 12};
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    struct attn_run *run;
    struct attn_npy values;

    unpack();
    values = read_expected("image/pixels");
    pixels.values = malloc(values.n * sizeof *pixels.values);
    for (size_t i = 0; i < values.n; i++)
        pixels.values[i] = (float)values.values[i];
    for (int tower = ATTN_TOWER_TEXT; tower <= ATTN_TOWER_IMAGE; tower++) {
        struct attn_host *host;

        options.tower = (enum attn_tower)tower; /* the one that is opened first */
        host = open_host(&options);
        request.selection.sites = "pattern,resid_pre,resid_post,ln_final,text_embed";
        for (int i = 0; i < N_TEXT; i++) {
            char input[16];

            snprintf(input, sizeof input, "text%d", i);
            request.input = (struct attn_input){.text = texts[i], .n_text = strlen(texts[i])};
            check_run(host, &request, input, ATTN_SITE_TEXT_EMBED);
        }
        request.selection.sites = "pattern,resid_pre,resid_post,ln_final,image_embed";
        request.input = (struct attn_input){.pixels = &pixels};
        check_run(host, &request, "image", ATTN_SITE_IMAGE_EMBED);
        pixels.n_picture = 2; /* tiles are for decoders */
        attn_assert_invalid(attn_run_prepare(host, &request, &run, &err), &err,
                            "the pixels are of 2 pictures, '");
        pixels.n_picture = 0;
        attn_host_free(host);
    }
    free(pixels.values);
    attn_npy_release(&values);
    clean();
}
END_TEST

START_TEST(labels_are_scored_by_the_cosine_of_both_towers)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_npy scores, shares;
    struct attn_host *host;
    struct attn_result result = {0};
    struct attn_error err = {0};
    char path[PATH_SIZE];

    unpack();
    host = open_host(NULL);
    scores = read_expected("scores");
    shares = read_expected("shares");
    snprintf(path, sizeof path, "%s/clip/pixels.npy", folder);
    request.input.image = path;
    request.predict.labels = texts;
    request.predict.n_label = N_TEXT;
    ck_assert_msg(attn_run_request(host, &request, &result, &err) == ATTN_OK, "%s", err.message);
    ck_assert_uint_eq(result.predictions.n_top, N_TEXT);
    for (size_t i = 0; i < N_TEXT; i++) {
        const struct attn_candidate *top = &result.predictions.top[i];

        ck_assert_str_eq(top->token, texts[top->id]);
        ck_assert_double_eq_tol(top->score, scores.values[top->id], 1e-5);
        ck_assert_double_eq_tol(top->prob, shares.values[top->id], 1e-5);
        ck_assert(i == 0 || top->prob <= top[-1].prob);
    }
    attn_result_release(&result);
    attn_npy_release(&scores);
    attn_npy_release(&shares);
    attn_host_free(host);
    clean();
}
END_TEST

START_TEST(a_pack_has_the_projections_of_single_texts)
{
    static const int32_t ids[] = {67, 26, 54, 68, 67, 60, 56, 68, 67, 61, 62, 68, 5, 67};
    const struct attn_session_sequence sequences[] = {
        {.ids = ids, .n = 4}, {.ids = ids + 4, .n = 4}, {.ids = ids + 8, .n = 6}};
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};
    struct attn_host *host;
    float together[3 * D], alone[D];

    unpack();
    host = open_host(NULL);
    options.n_max = 14, options.n_sequence = 3, options.cache = ATTN_CACHE_ONE_LAYER;
    options.has_projections = true;
    ck_assert(attn_session_create(attn_host_model(host), &options, &session, &err) == ATTN_OK);
    ck_assert(attn_session_projections(session, together, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message, "there are no projections: nothing was fed");
    err = (struct attn_error){0};
    ck_assert(attn_session_feed_many(session, sequences, 3, &err) == ATTN_OK);
    ck_assert(attn_session_projections(session, together, &err) == ATTN_OK);
    for (size_t i = 0; i < 3; i++) {
        attn_session_reset(session);
        ck_assert(attn_session_feed(session, sequences[i].ids, sequences[i].n, &err) == ATTN_OK);
        ck_assert(attn_session_projections(session, alone, &err) == ATTN_OK);
        ck_assert_mem_eq(alone, together + i * D, sizeof alone);
    }
    ck_assert(attn_session_feed(session, ids, 2, &err) == ATTN_INVALID);
    attn_session_free(session);
    attn_host_free(host);
    clean();
}
END_TEST

/* What each thread finds. */
struct asking {
    struct attn_host *host;
    bool is_picture;
    struct attn_host *found;
};

static void *find_tower(void *user)
{
    struct asking *asking = user;
    struct attn_error err = {0};

    attn_host_tower(asking->host, asking->is_picture ? ATTN_TOWER_IMAGE : ATTN_TOWER_TEXT,
                    &asking->found, &err);
    return NULL;
}

START_TEST(threads_open_the_other_tower_once)
{
    enum { N = 6 };
    struct attn_thread threads[N];
    struct asking asking[N];
    struct attn_host *host, *back = NULL;
    struct attn_error err = {0};

    unpack();
    host = open_host(NULL);
    for (int i = 0; i < N; i++) {
        asking[i] = (struct asking){host, i % 3 > 0, NULL};
        ck_assert(attn_thread_start(find_tower, &asking[i], &threads[i]));
    }
    for (int i = 0; i < N; i++) {
        attn_thread_join(&threads[i]);
        ck_assert_ptr_eq(asking[i].found, i % 3 > 0 ? asking[1].found : host);
    }
    ck_assert_ptr_ne(asking[1].found, host);
    ck_assert(attn_host_tower(asking[1].found, ATTN_TOWER_TEXT, &back, &err) == ATTN_OK);
    ck_assert_ptr_eq(back, host);
    ck_assert(attn_host_tower(NULL, ATTN_TOWER_TEXT, &back, &err) == ATTN_INVALID);
    ck_assert(attn_host_tower(host, (enum attn_tower)2, &back, NULL) == ATTN_INVALID);
    ck_assert(attn_session_projections(NULL, NULL, NULL) == ATTN_INVALID);
    attn_host_free(host);
    clean();
}
END_TEST

ATTN_SUITE("clip", one_host_runs_the_tower_of_each_input,
           labels_are_scored_by_the_cosine_of_both_towers,
           a_pack_has_the_projections_of_single_texts, threads_open_the_other_tower_once)
