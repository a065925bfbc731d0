/*
 * test_stacks.c - models with an encoder and a decoder, of tests/fixtures: every tensor
 * that transformers shows against float64, the same bits with any number of threads, token by
 * token and whole, and in selections of one stack.
 */
#include "attn.h"
#include "extra.h"
#include "input/sequence.h"
#include "tests/support/encoders.h"
#include "tests/support/near.h"
#include "tests/support/npy.h"
#include "tests/support/sessions.h"
#include "tests/support/suite.h"
#include "trace/blocks_internal.h"
#include "trace/model_stack.h"
#include "trials/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[ATTN_N_STACK] = {ATTN_STACKS};

/* One prompt of a model, as expected.npz has it. */
struct prompt {
    char folder[ATTN_ENCODER_PATH_SIZE + 32];
    int32_t *ids, *source_ids, *mask;
    size_t n_id, n_source_id, n_mask;
    float *mel;
    struct attn_ndarray sound;
};

static bool has_member(const struct prompt *prompt, const char *member, struct attn_npy *array)
{
    char path[ATTN_ENCODER_PATH_SIZE + 128];

    snprintf(path, sizeof path, "%s/%s.npy", prompt->folder, member);
    return attn_npy_read(path, array);
}

static int32_t *read_ids(const struct prompt *prompt, const char *member, size_t *n)
{
    char path[ATTN_ENCODER_PATH_SIZE + 128];
    struct attn_npy array;

    if (!has_member(prompt, member, &array))
        return NULL;
    attn_npy_release(&array);
    snprintf(path, sizeof path, "%s/%s.npy", prompt->folder, member);
    return attn_npy_read_ids(path, n);
}

/* False if the model NAME has no prompt K. */
static bool open_prompt(struct prompt *prompt, const char *name, int k)
{
    char member[128];
    struct attn_npy mel;

    *prompt = (struct prompt){.ids = NULL};
    snprintf(member, sizeof member, "%s/expected.npz/%d", name, k);
    attn_encoder_path(member, prompt->folder);
    prompt->ids = read_ids(prompt, "ids", &prompt->n_id);
    if (!prompt->ids)
        return false;
    prompt->source_ids = read_ids(prompt, "source_ids", &prompt->n_source_id);
    prompt->mask = read_ids(prompt, "mask", &prompt->n_mask);
    if (prompt->source_ids || !has_member(prompt, "mel", &mel))
        return true;
    prompt->mel = malloc(mel.n * sizeof *prompt->mel);
    for (size_t i = 0; i < mel.n; i++)
        prompt->mel[i] = (float)mel.values[i];
    prompt->sound = (struct attn_ndarray){
        .name = "mel", .rank = 2, .shape = {mel.shape[0], mel.shape[1]}, .data = prompt->mel};
    attn_npy_release(&mel);
    return true;
}

static void close_prompt(struct prompt *prompt)
{
    free(prompt->ids);
    free(prompt->source_ids);
    free(prompt->mask);
    free(prompt->mel);
}

static struct attn_request request_of(const struct prompt *prompt, const char *sites)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;

    request.input.ids = prompt->ids, request.input.n_id = prompt->n_id;
    request.source.ids = prompt->source_ids, request.source.n_id = prompt->n_source_id;
    request.source.key_mask = prompt->mask, request.source.n_key_mask = prompt->n_mask;
    request.source.embeddings = prompt->mel ? &prompt->sound : NULL;
    request.selection.sites = sites;
    return request;
}

/* What a request of SITES computes; *dims are its sizes, with those of the encoder in *encoder. */
static struct attn_capture *capture_of(struct attn_host *host, const struct prompt *prompt,
                                       const char *sites)
{
    const struct attn_request request = request_of(prompt, sites);
    struct attn_result result = {0};
    struct attn_capture *capture;
    struct attn_error err = {0};

    ck_assert_msg(attn_run_capture(host, &request, &capture, &result, &err) == ATTN_OK, "%s",
                  err.message);
    attn_result_release(&result);
    return capture;
}

/* A selection of SITES, as the request makes it. */
static struct attn_run *prepare(struct attn_host *host, const struct prompt *prompt,
                                const char *sites)
{
    const struct attn_request request = request_of(prompt, sites);
    struct attn_run *run;
    struct attn_error err = {0};

    ck_assert_msg(attn_run_prepare(host, &request, &run, &err) == ATTN_OK, "%s", err.message);
    return run;
}

/* --- Values ----------------------------------------------------------------------------------- */

/* Heads and positions change places: captures have heads first, archives of vectors positions. */
static size_t place_of(const struct attn_npy *expected, enum attn_site site, size_t i)
{
    const enum attn_site_layout layout = attn_site_layout(site);
    const size_t width = expected->shape[2], n_head = expected->shape[1];

    if (layout != ATTN_LAYOUT_QUERY && layout != ATTN_LAYOUT_KEY)
        return i;
    return (i / width % n_head * expected->shape[0] + i / width / n_head) * width + i % width;
}

/* Compares one tensor, if it is expected. Returns whether it is. */
static bool compare(const struct prompt *prompt, const struct attn_capture *capture,
                    const struct attn_location *at)
{
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE], member[ATTN_SITE_ARCHIVE_NAME_SIZE + 8];
    const enum attn_site site = at->site;
    const float *actual = attn_capture_tensor(capture, at);
    struct attn_npy expected, bound;

    name[attn_location_archive_name(at, name)] = '\0';
    if (!actual || !has_member(prompt, name, &expected))
        return false;
    snprintf(member, sizeof member, "bounds/%s", name);
    ck_assert_msg(has_member(prompt, member, &bound), "%s", member);
    for (size_t i = 0; i < expected.n; i++) {
        const double x = (double)actual[place_of(&expected, site, i)], y = expected.values[i];

        ck_assert_msg(isfinite(y) ? fabs(x - y) <= bound.values[0]
                                  : x == y || isnan(y) || site == ATTN_SITE_QK,
                      "%s: %s [%zu] is %.9g, expected %.9g within %.3g", prompt->folder, name, i, x,
                      y, bound.values[0]);
    }
    attn_npy_release(&expected);
    attn_npy_release(&bound);
    return true;
}

START_TEST(every_tensor_is_that_of_float64)
{
    attn_encoders_unpack();
    for (int m = 0; m < ATTN_N_STACK; m++) {
        struct attn_host *host = attn_encoder_host(names[m], 1);
        struct prompt prompt;

        for (int k = 0; open_prompt(&prompt, names[m], k); k++) {
            struct attn_capture *capture = capture_of(host, &prompt, "*");
            struct attn_run *run = prepare(host, &prompt, "*");
            const struct attn_selection *selection = attn_run_selection(run);
            struct attn_selection_walk walk = {0};
            struct attn_npy expected;
            size_t n = 0;

            while (attn_selection_next(selection, &walk))
                n += compare(&prompt, capture, &walk.at);
            ck_assert(has_member(&prompt, "n_site", &expected));
            ck_assert_msg((double)n == expected.values[0], "%s: %zu tensors, expected %g",
                          prompt.folder, n, expected.values[0]);
            attn_npy_release(&expected);
            attn_capture_free(capture);
            attn_run_free(run);
            close_prompt(&prompt);
        }
        close_prompt(&prompt);
        attn_host_free(host);
    }
    attn_encoders_remove();
}
END_TEST

/* --- The same bits ---------------------------------------------------------------------------- */

/* Asserts that A and B have the same bits in all tensors that A, of SITES, has. */
static size_t assert_same(struct attn_host *host, const struct prompt *prompt, const char *sites,
                          const struct attn_capture *a, const struct attn_capture *b)
{
    struct attn_run *run = prepare(host, prompt, sites);
    const struct attn_selection *selection = attn_run_selection(run);
    struct attn_selection_walk walk = {0};
    size_t n = 0, shape[3];

    while (attn_selection_next(selection, &walk)) {
        const float *x = attn_capture_tensor(a, &walk.at);

        if (!x || attn_site_layout(walk.at.site) != ATTN_LAYOUT_VECTOR)
            continue;
        attn_selection_shape(selection, &walk.at, shape);
        attn_assert_same_bits(attn_site_name(walk.at.site), x, attn_capture_tensor(b, &walk.at),
                              shape[0] * (shape[1] > 0 ? shape[1] : 1));
        n++;
    }
    attn_run_free(run);
    return n;
}

START_TEST(bits_do_not_depend_on_threads_and_selection)
{
    static const char *const lists[] = {"encoder:*", "decoder:*", "cross:*", "*"};

    attn_encoders_unpack();
    for (int m = 0; m < ATTN_N_STACK; m++) {
        struct attn_host *one = attn_encoder_host(names[m], 1),
                         *three = attn_encoder_host(names[m], 3);
        struct attn_capture *all;
        struct prompt prompt;

        ck_assert(open_prompt(&prompt, names[m], 0));
        all = capture_of(one, &prompt, "*");
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
            struct attn_capture *part = capture_of(three, &prompt, lists[i]);

            ck_assert_uint_gt(assert_same(one, &prompt, lists[i], part, all), 2);
            attn_capture_free(part);
        }
        attn_capture_free(all);
        close_prompt(&prompt);
        attn_host_free(one);
        attn_host_free(three);
    }
    attn_encoders_remove();
}
END_TEST

/* Feeds the ids of PROMPT, STEP at a time, and keeps the last logits in LOGITS [V]. */
static void feed(const struct attn_model *model, const struct prompt *prompt,
                 const struct attn_sequence *source, size_t step, float *logits)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};
    const float *last;

    options.n_max = prompt->n_id;
    options.n_source = source->n;
    options.has_logits = true;
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    ck_assert(attn_session_set_source(session, source->rows, source->n, &err) == ATTN_OK);
    for (size_t i = 0; i < prompt->n_id; i += step)
        ck_assert_msg(attn_session_feed(session, prompt->ids + i,
                                        prompt->n_id - i < step ? prompt->n_id - i : step,
                                        &err) == ATTN_OK,
                      "%s", err.message);
    ck_assert_msg(attn_session_logits(session, &last, &err) == ATTN_OK, "%s", err.message);
    memcpy(logits, last, attn_model_config(model)->n_vocab * sizeof *logits);
    attn_session_free(session);
}

START_TEST(token_by_token_has_the_bits_of_the_whole)
{
    attn_encoders_unpack();
    for (int m = 0; m < ATTN_N_STACK; m++) {
        struct attn_model *model = attn_encoder_open(names[m]);
        const size_t n = attn_model_config(model)->n_vocab;
        float *whole = malloc(n * sizeof *whole), *steps = malloc(n * sizeof *steps);
        struct attn_sequence source = {0};
        struct attn_error err = {0};
        struct prompt prompt;

        ck_assert(open_prompt(&prompt, names[m], 0));
        if (prompt.n_id < 3) {
            close_prompt(&prompt);
            ck_assert(open_prompt(&prompt, names[m], 1));
        }
        ck_assert(prompt.n_id >= 3);
        const struct attn_request request = request_of(&prompt, NULL);

        ck_assert_msg(attn_source_read(&request.reading, &request.source, model, NULL, &source,
                                       &err) == ATTN_OK,
                      "%s", err.message);
        feed(model, &prompt, &source, prompt.n_id, whole);
        feed(model, &prompt, &source, 1, steps);
        attn_assert_same_bits(names[m], steps, whole, n);
        feed(model, &prompt, &source, 2, steps);
        attn_assert_same_bits(names[m], steps, whole, n);
        attn_sequence_release(&source);
        close_prompt(&prompt);
        free(whole);
        free(steps);
        attn_model_free(model);
    }
    attn_encoders_remove();
}
END_TEST

START_TEST(a_run_that_is_performed_once_answers_nothing_before)
{
    struct attn_result result = {0};
    struct attn_error err = {0};
    struct attn_session *session = NULL;
    struct attn_host *host;
    struct attn_run *run;
    struct prompt prompt;

    attn_encoders_unpack();
    host = attn_encoder_host(names[0], 1);
    ck_assert(open_prompt(&prompt, names[0], 0));
    struct attn_request request = request_of(&prompt, "pattern");

    ck_assert_msg(attn_run_prepare(host, &request, &run, &err) == ATTN_OK, "%s", err.message);
    const struct attn_watch watch = {.session = &session};

    ck_assert_int_eq(attn_watch(run, &watch, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message,
                     "an encoder has not read its source, and more is asked of the run");
    attn_session_free(session);
    err = (struct attn_error){0};
    ck_assert_msg(attn_run_perform(run, NULL, &result, &err) == ATTN_OK, "%s", err.message);
    attn_result_release(&result);
    attn_run_free(run);
    attn_host_free(host);
    close_prompt(&prompt);
    attn_encoders_remove();
}
END_TEST

/* --- What people count ------------------------------------------------------------------------ */

START_TEST(layers_have_the_numbers_of_their_stack)
{
    static const struct attn_dims encoder = {.n_layer = 3, .is_of_decoder = true},
                                  dims = {.n_layer = 4, .has_pairs = true, .encoder = &encoder};
    static const struct {
        enum attn_site site;
        int layer, number;
        const char *stack, *name;
    } cases[] = {
        {ATTN_SITE_PATTERN, 0, 0, "decoder", "decoder.0.attn.hook_pattern"},
        {ATTN_SITE_PATTERN, 3, 1, "cross", "decoder.1.cross_attn.hook_pattern"},
        {ATTN_SITE_MLP_POST, 3, 1, "decoder", "decoder.1.mlp.hook_post"},
        {ATTN_SITE_ATTN_OUT, 1, 0, "cross", "decoder.0.hook_cross_attn_out"},
        {ATTN_SITE_RESID_MID, 1, 0, "cross", "decoder.0.hook_resid_mid_cross"},
        {ATTN_SITE_Q, 2, 2, "encoder", "encoder.2.attn.hook_q"},
        {ATTN_SITE_LN_FINAL, ATTN_NO_LAYER, ATTN_NO_LAYER, "encoder",
         "encoder_final_ln.hook_normalized"},
        {ATTN_SITE_LN_FINAL, ATTN_NO_LAYER, ATTN_NO_LAYER, "decoder",
         "decoder_final_ln.hook_normalized"},
        {ATTN_SITE_EMBED, ATTN_NO_LAYER, ATTN_NO_LAYER, "encoder", "hook_embed"},
        {ATTN_SITE_EMBED, ATTN_NO_LAYER, ATTN_NO_LAYER, "decoder", "decoder.hook_embed"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[ATTN_SITE_ARCHIVE_NAME_SIZE];
        const struct attn_location at =
            attn_location_of_block(strcmp(cases[i].stack, "encoder") == 0 ? &encoder : &dims,
                                   cases[i].site, cases[i].layer, ATTN_ALL_HEADS);

        ck_assert_str_eq(attn_model_stack_name(at.stack), cases[i].stack);
        ck_assert_int_eq(at.layer, cases[i].number);
        ck_assert_int_eq(attn_location_block(&at), cases[i].layer);
        name[attn_location_archive_name(&at, name)] = '\0';
        ck_assert_str_eq(name, cases[i].name);
    }
}
END_TEST

ATTN_SUITE("stacks", every_tensor_is_that_of_float64, bits_do_not_depend_on_threads_and_selection,
           token_by_token_has_the_bits_of_the_whole,
           a_run_that_is_performed_once_answers_nothing_before,
           layers_have_the_numbers_of_their_stack)
