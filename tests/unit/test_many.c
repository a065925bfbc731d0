/*
 * test_many.c - the same request for many inputs: results in order and with the bits of single
 * runs, records that fail in their places, bounds of what is inside, and what ends it all.
 */
#include "drawn/model_init.h"
#include "extra.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/folder.h"
#include "tests/support/kept.h"
#include "tests/support/open.h"
#include "tests/support/suite.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static attn_measure_set all_measures(void)
{
    attn_measure_set set = 0;

    ck_assert_int_eq(attn_measures_parse("all", &set, NULL), ATTN_OK);
    return set;
}

enum { N_RECORD = 60, MOST_NUMBERS = 1 << 20 };

/* --- Records in, results out ------------------------------------------------------------------ */

/* What a test gives and keeps. */
struct many {
    const struct attn_input *inputs; /* [n] */
    size_t n, at;
    const char *const *places; /* [n_place] record i has number i % n_place; or NULL */
    size_t n_place;
    size_t n_vocab; /* of logits that are kept */
    size_t n_asked, n_done, n_released, n_inside, most_inside;
    bool has_pairs; /* an item has two inputs */
    bool was_half_released;
    enum attn_reason failures[N_RECORD]; /* of the results, in their order */
    unsigned char *bytes[N_RECORD];      /* all numbers of each result */
    size_t n_byte[N_RECORD];
    enum attn_status next_status, done_status; /* what is returned ... */
    size_t at_record;                          /* ... at this one */
    volatile sig_atomic_t *cancel;             /* set there; or NULL */
    bool is_conversation;                      /* reads when the last result is there */
    bool was_ended;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* An item of a test. */
struct given {
    struct attn_item item;
    struct many *many;
    bool is_half; /* of a call that failed */
};

static enum attn_status give(void *user, struct attn_item **item, struct attn_error *err)
{
    struct many *many = user;
    struct given *given;

    pthread_mutex_lock(&many->lock);
    while (many->is_conversation && many->n_done < many->at)
        pthread_cond_wait(&many->changed, &many->lock);
    if (many->next_status != ATTN_OK && many->at == many->at_record) {
        given = calloc(1, sizeof *given); /* which is released, although this fails */
        *given = (struct given){.many = many, .is_half = true};
        *item = &given->item;
        many->n_asked++;
        pthread_mutex_unlock(&many->lock);
        return attn_error_set(err, many->next_status, "cannot read");
    }
    if (many->at < many->n) {
        given = calloc(1, sizeof *given);
        given->many = many;
        *item = &given->item;
        (*item)->number = many->at;
        (*item)->input = many->inputs[many->at];
        (*item)->answer.at.text = many->places ? many->places[many->at % many->n_place] : NULL;
        many->at++;
        many->n_asked++;
        many->n_inside += many->has_pairs ? 2 : 1;
        if (many->has_pairs) {
            (*item)->number = many->at / 2;
            (*item)->pair = ATTN_ITEM_A_B;
            (*item)->other = many->inputs[many->at++];
        }
        if (many->n_inside > many->most_inside)
            many->most_inside = many->n_inside;
    }
    pthread_mutex_unlock(&many->lock);
    return ATTN_OK;
}

static void keep(struct many *many, const void *numbers, size_t n_byte)
{
    const size_t i = many->n_done;

    many->bytes[i] = realloc(many->bytes[i], many->n_byte[i] + n_byte + 1);
    memcpy(many->bytes[i] + many->n_byte[i], numbers, n_byte);
    many->n_byte[i] += n_byte;
}

/* As a signal handler does: the flag is volatile, and not atomic. */
__attribute__((no_sanitize_thread)) static void set(volatile sig_atomic_t *flag)
{
    *flag = 1;
}

static enum attn_status take(void *user, const struct attn_item_result *result,
                             struct attn_error *err)
{
    struct many *many = user;
    const size_t n = (size_t)__builtin_popcountll(result->heads.which) * result->heads.n_layer *
                     result->heads.n_head;
    const float *pattern =
        result->capture ? attn_kept_head(result->capture, ATTN_SITE_PATTERN, 1, 0) : NULL;

    pthread_mutex_lock(&many->lock);
    ck_assert_uint_eq(result->item->number, many->has_pairs ? many->n_done / 2 : many->n_done);
    ck_assert(result->is_second == (many->has_pairs && many->n_done % 2 == 1));
    ck_assert(result->is_last == (result->is_second || !many->has_pairs));
    ck_assert(!result->is_followed || (many->n_inside > 1 && !many->is_conversation));
    many->failures[many->n_done] = result->failure;
    if (result->heads.measures != NULL)
        keep(many, result->heads.measures, n * sizeof(float));
    if (pattern != NULL)
        keep(many, pattern, result->n_token * result->n_token * sizeof(float));
    if (result->surprisal != NULL)
        keep(many, result->surprisal, result->n_token * sizeof(double));
    if (result->logits != NULL)
        keep(many, result->logits, many->n_vocab * sizeof(float));
    for (size_t i = 0; i < result->predictions.n_top; i++)
        keep(many, &result->predictions.top[i].prob, sizeof(double));
    ck_assert((result->failure == ATTN_REASON_NONE) == (result->err.message[0] == '\0'));
    many->n_done++;
    many->n_inside--;
    if (many->cancel != NULL && many->n_done == many->at_record)
        set(many->cancel);
    pthread_cond_signal(&many->changed);
    pthread_mutex_unlock(&many->lock);
    if (many->done_status != ATTN_OK && result->item->number == many->at_record)
        return attn_error_set(err, many->done_status, "cannot write");
    return ATTN_OK;
}

static void forget(struct attn_item *item)
{
    struct given *given = (struct given *)item;
    struct many *many = given->many;

    pthread_mutex_lock(&many->lock);
    many->was_half_released |= given->is_half;
    many->n_released++;
    pthread_mutex_unlock(&many->lock);
    free(given);
}

static void note_end(void *user)
{
    struct many *many = user;

    ck_assert(!many->was_ended);
    many->was_ended = true;
}

static void release(struct many *many)
{
    ck_assert_uint_eq(many->n_released, many->n_asked);
    for (size_t i = 0; i < many->n_done; i++)
        free(many->bytes[i]);
}

static struct attn_host *open_host(const char *name, int n_thread,
                                   const volatile sig_atomic_t *cancel)
{
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;

    options.n_thread = n_thread;
    options.cancel = cancel;
    return attn_open_host(name, &options);
}

static enum attn_status run(struct attn_host *host, const struct attn_many_options *options,
                            struct many *many, struct attn_error *err)
{
    const struct attn_item_calls calls = {
        .next = give, .done = take, .release = forget, .on_end = note_end, .user = many};

    pthread_mutex_init(&many->lock, NULL);
    pthread_cond_init(&many->changed, NULL);
    return attn_run_many(host, options, &calls, err);
}

/* --- Texts ------------------------------------------------------------------------------------ */

static uint64_t random_state = 1;

static size_t draw(size_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(random_state >> 33) % n;
}

/* Inputs of 1 to MOST ids below N_VOCAB, which are made once. */
static struct attn_input inputs[N_RECORD];
static int32_t ids[N_RECORD][400];

static void draw_inputs(size_t most, size_t n_vocab)
{
    for (size_t i = 0; i < N_RECORD; i++) {
        const size_t n = 1 + draw(i % 7 == 0 ? most : most < 30 ? most : 30);

        for (size_t k = 0; k < n; k++)
            ids[i][k] = (int32_t)draw(n_vocab);
        inputs[i] = (struct attn_input){.ids = ids[i], .n_id = n};
    }
}

/* A model of two layers that takes 400 positions, of which the first 256 share sessions. */
static void make_long_model(void)
{
    static const char *const settings[] = {"d_model=16", "n_head=2",   "n_layer=2",
                                           "n_ctx=400",  "n_vocab=23", "output=tied"};
    struct attn_init_options options = ATTN_INIT_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    struct attn_init *init = NULL;

    options.settings = settings;
    options.n_setting = sizeof settings / sizeof *settings;
    ck_assert_msg(attn_init_create(&options, &init, &err) == ATTN_OK, "%s", err.message);
    ck_assert_msg(attn_init_write(init, "long", &err) == ATTN_OK, "%s", err.message);
    attn_init_free(init);
}

static void remove_long_model(void)
{
    unlink("long/config.json");
    unlink("long/model.safetensors");
    rmdir("long");
}

/* --- Same bits -------------------------------------------------------------------------------- */

static struct attn_many_options all_of(const struct attn_request *request)
{
    struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;

    options.request = request;
    options.measures = all_measures();
    options.keeps_tensors = true;
    options.has_surprisal = true;
    options.has_logits = true;
    return options;
}

/* Each input by itself. */
static void run_singly(struct attn_host *host, const struct attn_many_options *options,
                       struct many *alone)
{
    for (size_t i = 0; i < N_RECORD; i++) {
        struct attn_error err = {0};

        alone[i] = (struct many){.inputs = &inputs[i], .n = 1, .n_vocab = 23};
        ck_assert_msg(run(host, options, &alone[i], &err) == ATTN_OK, "%s", err.message);
    }
}

static void assert_same(struct attn_host *host, const struct attn_many_options *options,
                        const struct many *alone, bool has_pairs)
{
    struct many many = {.inputs = inputs, .n = N_RECORD, .n_vocab = 23, .has_pairs = has_pairs};
    struct attn_error err = {0};

    ck_assert_msg(run(host, options, &many, &err) == ATTN_OK, "%s", err.message);
    ck_assert_uint_eq(many.n_done, N_RECORD);
    for (size_t i = 0; i < N_RECORD; i++) {
        ck_assert_msg(many.n_byte[i] == alone[i].n_byte[0] && many.n_byte[i] > 0, "record %zu", i);
        ck_assert_msg(memcmp(many.bytes[i], alone[i].bytes[0], many.n_byte[i]) == 0, "record %zu",
                      i);
    }
    release(&many);
}

START_TEST(gives_the_same_bits_for_any_threads_and_packs)
{
    struct many alone[N_RECORD];
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_many_options options = all_of(&request);

    request.predict.top = 3;
    attn_folder_enter();
    make_long_model();
    draw_inputs(400, 23);
    for (int n_thread = 1; n_thread <= 8; n_thread += n_thread == 2 ? 6 : 1) {
        struct attn_host *host = open_host("long", n_thread, NULL);

        if (n_thread == 1)
            run_singly(host, &options, alone);
        assert_same(host, &options, alone, false);
        options.n_window = 3;
        assert_same(host, &options, alone, false);
        assert_same(host, &options, alone, true);
        options.n_window = 0, options.n_window_byte = 1;
        assert_same(host, &options, alone, false);
        options.n_window_byte = 0;
        attn_host_free(host);
    }
    for (size_t i = 0; i < N_RECORD; i++)
        release(&alone[i]);
    remove_long_model();
    attn_folder_leave();
}
END_TEST

/* Also one whose second text was not read. */
START_TEST(releases_each_pair_once)
{
    struct attn_host *host = open_host("fable", 2, NULL);
    struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;

    draw_inputs(20, 23);
    for (size_t i = 0; i < 12; i++) {
        struct many many = {.inputs = inputs,
                            .n = N_RECORD,
                            .has_pairs = true,
                            .done_status = ATTN_IO,
                            .at_record = i};
        struct attn_error err = {0};

        options.n_window = 1 + i % 4;
        ck_assert_int_eq(run(host, &options, &many, &err), ATTN_IO);
        release(&many);
    }
    attn_host_free(host);
}
END_TEST

/* The tensors are those of a run that knows nothing of others. */
START_TEST(gives_the_bits_of_a_run)
{
    const struct attn_intervention head = {.op = ATTN_EDIT_ZERO, .heads = {.text = "0.1"}};
    struct attn_host *host = open_host("fable", 2, NULL);
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;
    struct many many = {.inputs = inputs, .n = N_RECORD};
    struct attn_error err = {0};

    request.edits.interventions = &head, request.edits.n_intervention = 1;
    request.selection.sites = "pattern";
    options.request = &request;
    options.keeps_tensors = true;
    draw_inputs(60, 2000);
    ck_assert_msg(run(host, &options, &many, &err) == ATTN_OK, "%s", err.message);
    for (size_t i = 0; i < N_RECORD; i++) {
        struct attn_result result = {0};
        struct attn_capture *capture;
        struct attn_run *single;

        request.input = inputs[i];
        ck_assert(attn_run_prepare(host, &request, &single, &err) == ATTN_OK);
        ck_assert(attn_capture_create(attn_run_labels(single)->selection, &capture, &err) ==
                  ATTN_OK);
        ck_assert(attn_run_perform(single, attn_capture_trace(capture), &result, &err) == ATTN_OK);
        ck_assert(memcmp(many.bytes[i], attn_kept_head(capture, ATTN_SITE_PATTERN, 1, 0),
                         many.n_byte[i]) == 0);
        attn_result_release(&result);
        attn_capture_free(capture);
        attn_run_free(single);
    }
    release(&many);
    attn_host_free(host);
}
END_TEST

/* After a place of each record, of a short text and of one that has a session of its own. */
START_TEST(gives_logits_after_a_position)
{
    static const char *const places[] = {"-1", "0", "2"};
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;
    struct attn_host *host;

    attn_folder_enter();
    make_long_model();
    draw_inputs(400, 23);
    options.request = &request;
    options.has_logits = true;
    host = open_host("long", 2, NULL);
    for (int pass = 0; pass < 3; pass++) {
        struct many many = {.inputs = inputs,
                            .n = N_RECORD,
                            .places = pass == 0 ? NULL : places,
                            .n_place = 3,
                            .n_vocab = 23};
        struct attn_error err = {0};

        options.measures = pass == 2 ? all_measures() : 0;
        ck_assert_msg(run(host, &options, &many, &err) == ATTN_OK, "%s", err.message);
        for (size_t i = 0; i < N_RECORD; i++) {
            const size_t n = inputs[i].n_id, last = n - 1;
            struct attn_result result = {0};
            const size_t at = pass == 0 || i % 3 == 0 ? last : i % 3 == 1 ? 0 : 2;
            struct attn_capture *capture;
            struct attn_run *single;

            if (at > last) {
                ck_assert_int_eq(many.failures[i], ATTN_REASON_NO_FIT);
                continue;
            }
            request.input = inputs[i];
            request.selection.sites = "logits";
            ck_assert(attn_run_prepare(host, &request, &single, &err) == ATTN_OK);
            ck_assert(attn_capture_create(attn_run_labels(single)->selection, &capture, &err) ==
                      ATTN_OK);
            ck_assert(attn_run_perform(single, attn_capture_trace(capture), &result, &err) ==
                      ATTN_OK);
            attn_result_release(&result);
            ck_assert_uint_ge(many.n_byte[i], 23 * sizeof(float));
            ck_assert(memcmp(many.bytes[i] + many.n_byte[i] - 23 * sizeof(float),
                             attn_kept(capture, ATTN_SITE_LOGITS, ATTN_NO_LAYER) + at * 23,
                             23 * sizeof(float)) == 0);
            attn_capture_free(capture);
            attn_run_free(single);
            request.selection.sites = NULL;
        }
        release(&many);
    }
    attn_host_free(host);
    remove_long_model();
    attn_folder_leave();
}
END_TEST

/* --- Failures --------------------------------------------------------------------------------- */

static struct attn_input text(const char *bytes)
{
    return (struct attn_input){.text = bytes, .n_text = strlen(bytes)};
}

START_TEST(failures_stay_in_their_places)
{
    static const int32_t bad[] = {5, 2041}, good[] = {5, 6};
    static int32_t many_ids[257];
    const struct attn_input given[] = {
        text("The cat sat."),     text(""),
        {.text = NULL},           text("a \xff b"),
        {.ids = bad, .n_id = 2},  {.ids = many_ids, .n_id = 257},
        {.ids = good, .n_id = 0}, {.ids = good, .n_id = 2},
    };
    static const enum attn_reason expected[] = {
        ATTN_REASON_NONE,    ATTN_REASON_EMPTY,    ATTN_REASON_NO_TEXT, ATTN_REASON_BAD_TEXT,
        ATTN_REASON_BAD_IDS, ATTN_REASON_TOO_LONG, ATTN_REASON_EMPTY,   ATTN_REASON_NONE};
    struct attn_host *host = open_host("fable", 2, NULL);
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_many_options options = all_of(&request);
    struct many many = {.inputs = given, .n = sizeof given / sizeof *given};
    struct attn_error err = {0};

    ck_assert_msg(run(host, &options, &many, &err) == ATTN_OK, "%s", err.message);
    ck_assert_uint_eq(many.n_done, many.n);
    for (size_t i = 0; i < many.n; i++) {
        ck_assert_int_eq(many.failures[i], expected[i]);
        ck_assert((many.n_byte[i] > 0) == (expected[i] == ATTN_REASON_NONE));
    }
    ck_assert(!many.was_ended);
    release(&many);
    attn_host_free(host);
}
END_TEST

START_TEST(a_text_without_the_word_fails_alone)
{
    const struct attn_input given[] = {text("The cat sat."), text("The dog ran."),
                                       text("A cat ran.")};
    struct attn_host *host = open_host("fable", 2, NULL);
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;
    struct many many = {.inputs = given, .n = 3};
    struct attn_error err = {0};

    request.selection.queries.text = "cat";
    options.request = &request;
    options.measures = all_measures();
    ck_assert_msg(run(host, &options, &many, &err) == ATTN_OK, "%s", err.message);
    ck_assert_int_eq(many.failures[0], ATTN_REASON_NONE);
    ck_assert_int_eq(many.failures[1], ATTN_REASON_NO_FIT);
    ck_assert_int_eq(many.failures[2], ATTN_REASON_NONE);
    release(&many);
    attn_host_free(host);
}
END_TEST

START_TEST(says_before_the_first_record_what_fits_no_model)
{
    struct attn_host *host = open_host("fable", 2, NULL);
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;
    struct many many = {.inputs = inputs, .n = N_RECORD};
    struct attn_error err = {0};

    request.selection.heads = "9.1";
    options.request = &request;
    ck_assert_int_eq(run(host, &options, &many, &err), ATTN_INVALID);
    ck_assert_int_eq(err.stage, ATTN_STAGE_OPTIONS);
    ck_assert_uint_eq(many.at, 0);
    attn_host_free(host);
}
END_TEST

/* --- Bounds ----------------------------------------------------------------------------------- */

START_TEST(no_more_are_inside_than_the_window_holds)
{
    struct attn_host *host = open_host("fable", 2, NULL);
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;

    options.request = &request;
    draw_inputs(30, 2000);
    for (size_t n = 1; n <= 5; n += 2) {
        struct many many = {.inputs = inputs, .n = N_RECORD};
        struct attn_error err = {0};

        options.n_window = n;
        ck_assert_msg(run(host, &options, &many, &err) == ATTN_OK, "%s", err.message);
        ck_assert_uint_eq(many.n_done, N_RECORD);
        ck_assert_uint_le(many.most_inside, n);
        release(&many);
    }
    attn_host_free(host);
}
END_TEST

START_TEST(answers_before_the_next_question)
{
    struct attn_host *host = open_host("fable", 2, NULL);
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_many_options options = all_of(&request);
    struct many many = {.inputs = inputs, .n = N_RECORD, .is_conversation = true};
    struct attn_error err = {0};

    draw_inputs(30, 2000);
    ck_assert_msg(run(host, &options, &many, &err) == ATTN_OK, "%s", err.message);
    ck_assert_uint_eq(many.n_done, N_RECORD);
    ck_assert_uint_eq(many.most_inside, 1);
    release(&many);
    attn_host_free(host);
}
END_TEST

/* --- What ends it ----------------------------------------------------------------------------- */

START_TEST(what_was_read_is_finished_when_reading_fails)
{
    struct attn_host *host = open_host("fable", 2, NULL);
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_many_options options = all_of(&request);
    struct many many = {.inputs = inputs, .n = N_RECORD, .next_status = ATTN_IO, .at_record = 41};
    struct attn_error err = {0};

    draw_inputs(30, 2000);
    ck_assert_int_eq(run(host, &options, &many, &err), ATTN_IO);
    ck_assert_str_eq(err.message, "cannot read");
    ck_assert_uint_eq(many.n_done, 41);
    ck_assert(many.was_half_released);
    release(&many);
    attn_host_free(host);
}
END_TEST

START_TEST(nothing_is_handed_out_after_writing_fails)
{
    struct attn_host *host = open_host("fable", 2, NULL);
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_many_options options = all_of(&request);
    struct many many = {.inputs = inputs, .n = N_RECORD, .done_status = ATTN_IO, .at_record = 17};
    struct attn_error err = {0};

    draw_inputs(30, 2000);
    ck_assert_int_eq(run(host, &options, &many, &err), ATTN_IO);
    ck_assert_str_eq(err.message, "cannot write");
    ck_assert_uint_eq(many.n_done, 18);
    ck_assert(many.was_ended);
    release(&many);
    attn_host_free(host);
}
END_TEST

START_TEST(a_cancel_flag_ends_it)
{
    static volatile sig_atomic_t cancel;
    struct attn_host *host = open_host("fable", 2, &cancel);
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_many_options options = all_of(&request);
    struct many many = {.inputs = inputs, .n = N_RECORD, .cancel = &cancel, .at_record = 5};
    struct attn_error err = {0};

    draw_inputs(30, 2000);
    options.n_window = 8;
    ck_assert_int_eq(run(host, &options, &many, &err), ATTN_CANCELED);
    ck_assert_uint_ge(many.n_done, 5);
    ck_assert_uint_le(many.n_done, 5 + 8);
    release(&many);
    attn_host_free(host);
}
END_TEST

START_TEST(survives_every_failed_allocation)
{
    struct attn_host *host = open_host("models/tiny-gpt2", 1, NULL);
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_many_options options = all_of(&request);
    const struct attn_input given[] = {text("The keys are"), text("The keys are on")};
    enum attn_status status = ATTN_NO_MEMORY;

    request.predict.top = 2;
    for (long n = 0; status != ATTN_OK; n++) {
        struct many many = {.inputs = given, .n = 2};
        struct attn_error err = {0};

        attn_alloc_fail_at(n);
        status = run(host, &options, &many, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%ld: %s", n, err.message);
        ck_assert_uint_eq(many.n_released, many.n_asked);
        release(&many);
    }
    attn_host_free(host);
}
END_TEST

ATTN_SUITE("many", gives_the_same_bits_for_any_threads_and_packs, releases_each_pair_once,
           gives_the_bits_of_a_run, gives_logits_after_a_position, failures_stay_in_their_places,
           a_text_without_the_word_fails_alone, says_before_the_first_record_what_fits_no_model,
           no_more_are_inside_than_the_window_holds, answers_before_the_next_question,
           what_was_read_is_finished_when_reading_fails, nothing_is_handed_out_after_writing_fails,
           a_cancel_flag_ends_it, survives_every_failed_allocation)
