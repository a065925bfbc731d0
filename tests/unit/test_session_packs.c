/*
 * test_session_packs.c - several sequences fed at once: every tensor of each has the bits of that
 * sequence fed alone.
 */
#include "tests/support/alloc_fail.h"
#include "tests/support/families.h"
#include "tests/support/near.h"
#include "tests/support/recording.h"
#include "tests/support/sessions.h"
#include "tests/support/suite.h"
#include "tool.h"

#include "base/random.h"
#include "trace/site_set.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 128, MOST_LAYERS = 8 };

static const char *const directories[] = {
    "tests/fixtures/gpt2-long", /* 70 positions: several panels of keys and tiles of rows */
    "tests/fixtures/gpt2-wide", "models/tiny-gpt2",     "tests/fixtures/attn-grouped",
    "tests/fixtures/attn-mlp",  "models/life-is-short", ATTN_FAMILY_DIRECTORIES};
enum { N_DIRECTORY = sizeof directories / sizeof *directories };

/* A model, how it is run, and sequences for it. */
struct pack {
    struct attn_model *model;
    const struct attn_config *config;
    struct attn_attention attention[MOST_LAYERS];
    struct attn_session_options options;
    struct attn_random random;
    int32_t ids[MOST_ROWS];
    struct attn_session_sequence sequences[MOST_ROWS]; /* [n] */
    size_t n;
    size_t n_row;                                        /* of all of them */
    struct attn_recording expected, recorded[MOST_ROWS]; /* [n] */
};

static void open_pack(struct pack *pack, const char *directory, const char *kind,
                      enum attn_compute compute)
{
    const struct attn_source source = {.directory = directory};
    struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
    struct attn_error err = {0};

    options.compute = compute;
    memset(pack, 0, sizeof *pack);
    ck_assert_msg(attn_model_open(&source, &options, &pack->model, &err) == ATTN_OK, "%s",
                  err.message);
    pack->config = attn_model_config(pack->model);
    attn_random_seed(&pack->random, 15);
    pack->options = ATTN_SESSION_OPTIONS_DEFAULT;
    if (kind == NULL)
        return;
    ck_assert_uint_le(pack->config->n_layer, MOST_LAYERS);
    for (size_t layer = 0; layer < pack->config->n_layer; layer++) {
        pack->attention[layer] = pack->config->attention[layer];
        ck_assert_msg(attn_attention_parse(kind, &pack->attention[layer], &err) == ATTN_OK, "%s",
                      err.message);
        if (pack->attention[layer].kind == ATTN_ATTENTION_LINEAR ||
            pack->attention[layer].kind == ATTN_ATTENTION_LOWRANK) /* these refuse both */
            pack->attention[layer].bias = NULL, pack->attention[layer].sinks = NULL;
        if (pack->attention[layer].kind == ATTN_ATTENTION_LOWRANK)
            pack->attention[layer].mask = ATTN_MASK_NONE;
    }
    pack->options.attention = pack->attention;
}

static void close_pack(struct pack *pack)
{
    attn_model_free(pack->model);
}

/* A number from FIRST to LAST. */
static size_t draw(struct pack *pack, size_t first, size_t last)
{
    return first + (size_t)(attn_random_double(&pack->random) * (double)(last - first + 1));
}

/* Sequences of at least N_LEAST tokens, together N_ROW or a little less. */
static void draw_sequences(struct pack *pack, size_t n_row, size_t n_least)
{
    const size_t n_ctx = pack->config->n_ctx;

    pack->n = pack->n_row = 0;
    for (size_t i = 0; i < MOST_ROWS; i++)
        pack->ids[i] = (int32_t)draw(pack, 0, pack->config->n_vocab - 1);
    while (n_row - pack->n_row >= n_least) {
        const size_t rest = n_row - pack->n_row, most = rest < n_ctx ? rest : n_ctx;
        const size_t longest = most < 40 || draw(pack, 0, 3) == 0 ? most : 40;

        pack->sequences[pack->n++] = (struct attn_session_sequence){
            .ids = pack->ids + pack->n_row, .n = draw(pack, n_least, longest)};
        pack->n_row += pack->sequences[pack->n - 1].n;
    }
}

static struct attn_dims dims_of(const struct pack *pack, size_t n)
{
    struct attn_dims dims = attn_config_dims(pack->config, n);

    if (pack->options.attention != NULL)
        attn_attention_set_dims(pack->options.attention, &dims);
    return dims;
}

/* An attn_trace_fn: to the recording of the event's sequence. */
static enum attn_status keep(void *user, const struct attn_trace_event *event,
                             struct attn_error *err)
{
    struct pack *pack = user;
    const struct attn_trace *trace;

    ck_assert_uint_lt(event->sequence, pack->n);
    trace = &pack->recorded[event->sequence].trace;
    return trace->on_event(trace->user, event, err);
}

static struct attn_session *create(const struct pack *pack, const struct attn_trace *trace)
{
    struct attn_session_options options = pack->options;
    struct attn_session *session;
    struct attn_error err = {0};

    options.n_max = options.n_sequence = MOST_ROWS;
    options.cache = ATTN_CACHE_ONE_LAYER;
    options.has_logits = pack->config->output != ATTN_OUTPUT_NONE;
    options.trace = trace;
    ck_assert_msg(attn_session_create(pack->model, &options, &session, &err) == ATTN_OK, "%s",
                  err.message);
    return session;
}

static void feed(const struct pack *pack, struct attn_session *session)
{
    struct attn_error err = {0};

    attn_session_reset(session);
    ck_assert_msg(attn_session_feed_many(session, pack->sequences, pack->n, &err) == ATTN_OK, "%s",
                  err.message);
    ck_assert_uint_eq(attn_session_n_position(session), pack->n_row);
}

/* The logits that can be asked for after the feed, beside those that each recording was told of. */
static void check_logits(const struct pack *pack, struct attn_session *session,
                         const struct attn_recording *told, size_t first, size_t sequence)
{
    const struct attn_recorded *logits = attn_recording_find(told, ATTN_SITE_LOGITS, ATTN_NO_LAYER);
    const size_t n_vocab = pack->config->n_vocab, n = pack->sequences[sequence].n;
    float *all = malloc(pack->n * n_vocab * sizeof *all);
    float *rows = malloc(n * n_vocab * sizeof *rows);

    ck_assert_ptr_nonnull(all);
    ck_assert_ptr_nonnull(rows);
    ck_assert(attn_session_logits_last(session, all, NULL) == ATTN_OK);
    attn_assert_same_bits("logits of the last position", all + sequence * n_vocab,
                          logits->data + (n - 1) * n_vocab, n_vocab);
    ck_assert(attn_session_logits_at(session, first, n, rows, NULL) == ATTN_OK);
    attn_assert_same_bits("logits", rows, logits->data, n * n_vocab);
    ck_assert(attn_session_logits_of(session, &(size_t){first + n / 2}, 1, rows, NULL) == ATTN_OK);
    attn_assert_same_bits("logits of one", rows, logits->data + n / 2 * n_vocab, n_vocab);
    free(all);
    free(rows);
}

/* Feeds SESSION, which tells PACK, and compares each sequence with itself alone. */
static void check_pack(struct pack *pack, struct attn_session *session, const char *what)
{
    const bool has_logits = pack->config->output != ATTN_OUTPUT_NONE;
    struct attn_error err = {0};
    size_t first = 0;

    for (size_t i = 0; i < pack->n; i++) {
        const struct attn_dims dims = dims_of(pack, pack->sequences[i].n);

        attn_recording_init_dims(&pack->recorded[i], &dims);
    }
    feed(pack, session);
    for (size_t i = 0; i < pack->n; i++) {
        const struct attn_session_sequence *sequence = &pack->sequences[i];
        struct attn_session_options options = pack->options;

        if (sequence->edits != NULL) {
            options.edits = sequence->edits;
            options.n_edit = sequence->n_edit;
        }
        attn_recording_init_dims(&pack->expected, &pack->recorded[i].dims);
        ck_assert_msg(attn_recording_run(&pack->expected, pack->model, &options, sequence->ids,
                                         sequence->n, &err) == ATTN_OK,
                      "%s", err.message);
        attn_assert_same_recording(what, &pack->recorded[i], &pack->expected);
        if (has_logits)
            check_logits(pack, session, &pack->expected, first, i);
        attn_recording_release(&pack->expected);
        attn_recording_release(&pack->recorded[i]);
        first += sequence->n;
    }
}

/* N packs of random sequences, of all rows first, on one session. */
static void check_packs(struct pack *pack, const char *what, size_t n, size_t n_least)
{
    const struct attn_dims dims = dims_of(pack, MOST_ROWS);
    struct attn_trace trace = {.on_event = keep, .user = pack};
    struct attn_recording all;
    struct attn_session *session;

    attn_recording_init_dims(&all, &dims); /* for its selection: everything */
    trace.selection = all.selection;
    session = create(pack, &trace);
    for (size_t i = 0; i < n; i++) {
        draw_sequences(pack, i == 0 ? MOST_ROWS : draw(pack, n_least, MOST_ROWS), n_least);
        check_pack(pack, session, what);
    }
    attn_session_free(session);
    attn_recording_release(&all);
}

static void check_models(enum attn_compute compute, int n_thread, size_t n)
{
    struct attn_pool *pool;

    ck_assert(attn_pool_create(n_thread, &pool, NULL) == ATTN_OK);
    for (int i = 0; i < N_DIRECTORY; i++) {
        struct pack pack;

        open_pack(&pack, directories[i], NULL, compute);
        pack.options.pool = pool;
        check_packs(&pack, directories[i], n, 1);
        close_pack(&pack);
    }
    attn_pool_free(pool);
}

START_TEST(every_sequence_has_the_bits_of_itself_alone)
{
    check_models(ATTN_COMPUTE_F32, 1, 4);
    check_models(ATTN_COMPUTE_F32, 2, 2);
    check_models(ATTN_COMPUTE_F32, 8, 1);
}
END_TEST

START_TEST(in_bfloat16_too)
{
    if (attn_one_in(2) == 1)
        check_models(ATTN_COMPUTE_BF16, 1, 2);
    check_models(ATTN_COMPUTE_BF16, 2, 1);
}
END_TEST

START_TEST(every_kind_of_attention_goes_by_the_sequence)
{
    static const char *const kinds[] = {"full",   "window:7",    "strided:5", "strided",
                                        "log",    "random:6:2",  "block:16",  "hybrid:3:8",
                                        "linear", "linear:relu", "lowrank:3"};
    static const char *const models[] = {"tests/fixtures/attn-multi-query",
                                         "tests/fixtures/gpt2-wide", ATTN_FAMILY_DIRECTORIES};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t j = i % attn_one_in(3); j < sizeof models / sizeof *models;
             j += attn_one_in(3)) {
            const bool is_lowrank = strcmp(kinds[i], "lowrank:3") == 0;
            struct pack pack;

            open_pack(&pack, models[j], kinds[i], ATTN_COMPUTE_F32);
            check_packs(&pack, kinds[i], 2, is_lowrank ? 3 : 1);
            close_pack(&pack);
        }
}
END_TEST

START_TEST(dropout_masks_and_blockwise_go_by_the_sequence)
{
    for (int i = 0; i < 4; i++) {
        struct pack pack;

        open_pack(&pack, "tests/fixtures/attn-mlp-stack", "full", ATTN_COMPUTE_F32);
        for (size_t layer = 0; layer < pack.config->n_layer; layer++) {
            struct attn_attention *attention = &pack.attention[layer];

            attention->dropout = i == 0 ? 0.3 : 0;
            attention->dropout_seed = 5;
            attention->mask = i == 1 ? ATTN_MASK_NONE : attention->mask;
            attention->similarity = i == 2 ? ATTN_SIMILARITY_COSINE : attention->similarity;
            attention->algorithm = i == 3 ? ATTN_ALGORITHM_BLOCKWISE : attention->algorithm;
        }
        check_packs(&pack, "attention", 3, 1);
        close_pack(&pack);
    }
}
END_TEST

START_TEST(every_sequence_has_its_own_edits)
{
    struct pack pack;
    struct attn_edit own[3] = {ATTN_EDIT_DEFAULT, ATTN_EDIT_DEFAULT, ATTN_EDIT_DEFAULT};
    struct attn_edit all = ATTN_EDIT_DEFAULT;
    struct attn_trace trace = {.on_event = keep, .user = &pack};
    struct attn_recording recording;
    struct attn_session *session;

    open_pack(&pack, "tests/fixtures/gpt2-long", NULL, ATTN_COMPUTE_F32);
    all.at.site = ATTN_SITE_MLP_OUT, all.at.layer = 0, all.op = ATTN_EDIT_SCALE, all.factor = 0.5F;
    all.row0 = 3;
    pack.options.edits = &all, pack.options.n_edit = 1;
    own[0].at.site = ATTN_SITE_Z, own[0].at.layer = 0, own[0].at.head = 1;
    own[1].at.site = ATTN_SITE_PATTERN, own[1].at.layer = 0, own[1].row0 = 2, own[1].row1 = 4;
    own[2].at.site = ATTN_SITE_LOGITS, own[2].op = ATTN_EDIT_SCALE, own[2].factor = 2;
    recording = (struct attn_recording){0};
    attn_recording_init(&recording, pack.config, MOST_ROWS);
    trace.selection = recording.selection;
    session = create(&pack, &trace);
    for (int i = 0; i < 4; i++) {
        draw_sequences(&pack, MOST_ROWS, 5);
        for (size_t j = 0; j < pack.n; j++) /* the first has the session's */
            if (j > 0) {
                pack.sequences[j].edits = &own[j % 3];
                pack.sequences[j].n_edit = j % 4 == 0 ? 0 : 1;
            }
        check_pack(&pack, session, "edits");
        ck_assert_uint_gt(attn_edited_rows(session), 0);
    }
    attn_session_free(session);
    attn_recording_release(&recording);
    close_pack(&pack);
}
END_TEST

/* Each sequence knows which of the session's edits changed something in it, in the last feed. */
START_TEST(effects_of_edits_go_by_the_sequence)
{
    struct pack pack;
    struct attn_edit edits[2] = {ATTN_EDIT_DEFAULT, ATTN_EDIT_DEFAULT};
    struct attn_session *session;

    open_pack(&pack, "tests/fixtures/gpt2-long", NULL, ATTN_COMPUTE_F32);
    edits[0].at.site = ATTN_SITE_MLP_OUT, edits[0].at.layer = 0, edits[0].row0 = 5;
    edits[1].at.site = ATTN_SITE_Z, edits[1].at.layer = 0, edits[1].at.head = 1;
    pack.options.edits = edits, pack.options.n_edit = 2, pack.options.has_logits = true;
    session = create(&pack, NULL);
    for (size_t longest = 9; longest > 0; longest -= 3) {
        draw_sequences(&pack, MOST_ROWS, 2);
        pack.n = 3;
        for (size_t i = 0; i < pack.n; i++)
            pack.sequences[i].n = longest - i;
        attn_session_reset(session);
        ck_assert(attn_session_feed_many(session, pack.sequences, pack.n, NULL) == ATTN_OK);
        for (size_t i = 0; i < pack.n; i++) {
            ck_assert(attn_edit_counts(session, i, 0) == (longest - i > 5));
            ck_assert(attn_edit_counts(session, i, 1));
        }
    }
    attn_session_free(session);
    close_pack(&pack);
}
END_TEST

/* What a selection of some heads and queries tells of. */
struct counted {
    const struct pack *pack;
    const struct attn_recording *expected; /* [n] of the pack's sequences, everything */
    size_t n_row;
};

static enum attn_status count_and_compare(void *user, const struct attn_trace_event *event,
                                          struct attn_error *err)
{
    struct counted *counted = user;
    const struct attn_recorded *pattern = attn_recording_find(&counted->expected[event->sequence],
                                                              ATTN_SITE_PATTERN, event->at.layer);

    (void)err;
    ck_assert_int_eq(event->at.site, ATTN_SITE_PATTERN);
    ck_assert_int_eq(event->at.head, 1);
    counted->n_row += event->n_row;
    for (size_t r = 0; r < event->n_row; r++) {
        const size_t row = event->row0 + r, n = event->n_col;

        ck_assert(row == 0 || row == 5);
        ck_assert_uint_eq(n, counted->pack->sequences[event->sequence].n);
        attn_assert_same_bits("pattern", event->data + r * event->ld,
                              pattern->data + (pattern->shape[1] + row) * n, row + 1);
    }
    return ATTN_OK;
}

START_TEST(a_selection_applies_to_each_sequence)
{
    struct attn_recording expected[MOST_ROWS];
    struct attn_error err = {0};
    struct pack pack;
    struct counted counted = {.pack = &pack, .expected = expected};
    struct attn_trace trace = {.on_event = count_and_compare, .user = &counted};
    struct attn_selection *selection;
    struct attn_session *session;
    struct attn_dims dims;
    size_t n_row = 0;

    open_pack(&pack, "tests/fixtures/gpt2-long", NULL, ATTN_COMPUTE_F32);
    dims = dims_of(&pack, MOST_ROWS);
    ck_assert(attn_selection_create(&dims, &selection, &err) == ATTN_OK);
    ck_assert(attn_selection_set_sites(selection, ATTN_SITES(ATTN_SITE_PATTERN), &err) == ATTN_OK);
    ck_assert(attn_selection_set_heads(selection, "1", &err) == ATTN_OK);
    ck_assert(attn_selection_set_queries(selection, ATTN_STACK_ONLY, "0,5", &err) == ATTN_OK);
    trace.selection = selection;
    session = create(&pack, &trace);
    draw_sequences(&pack, MOST_ROWS, 1);
    for (size_t i = 0; i < pack.n; i++) {
        attn_recording_init(&expected[i], pack.config, pack.sequences[i].n);
        ck_assert(attn_recording_run(&expected[i], pack.model, &ATTN_SESSION_OPTIONS_DEFAULT,
                                     pack.sequences[i].ids, pack.sequences[i].n, &err) == ATTN_OK);
        n_row += (pack.sequences[i].n > 5 ? 2 : 1) * pack.config->n_layer;
    }
    feed(&pack, session);
    ck_assert_uint_eq(counted.n_row, n_row);
    for (size_t i = 0; i < pack.n; i++)
        attn_recording_release(&expected[i]);
    attn_session_free(session);
    attn_selection_free(selection);
    close_pack(&pack);
}
END_TEST

START_TEST(logits_need_no_trace)
{
    for (int i = 0; i < N_DIRECTORY; i++) {
        struct attn_session *session;
        struct pack pack;
        size_t n_vocab;
        float *packed;

        open_pack(&pack, directories[i], NULL, ATTN_COMPUTE_F32);
        n_vocab = pack.config->n_vocab;
        if (pack.config->output != ATTN_OUTPUT_NONE) {
            draw_sequences(&pack, MOST_ROWS, 1);
            session = create(&pack, NULL);
            packed = malloc(pack.n * n_vocab * sizeof *packed);
            ck_assert_ptr_nonnull(packed);
            feed(&pack, session);
            ck_assert(attn_session_logits_last(session, packed, NULL) == ATTN_OK);
            for (size_t j = 0; j < pack.n; j++) {
                const float *logits;

                attn_session_reset(session);
                ck_assert(attn_session_feed(session, pack.sequences[j].ids, pack.sequences[j].n,
                                            NULL) == ATTN_OK);
                ck_assert(attn_session_logits(session, &logits, NULL) == ATTN_OK);
                attn_assert_same_bits(directories[i], packed + j * n_vocab, logits, n_vocab);
            }
            free(packed);
            attn_session_free(session);
        }
        close_pack(&pack);
    }
}
END_TEST

/* Feeds PACK from LAYER on, from its z where HAS_Z, as WHOLE had it, and compares what comes out.
 */
static void feed_from(struct pack *pack, struct attn_session *session,
                      const struct attn_recording *whole, int layer, bool has_z)
{
    const int last = (int)pack->config->n_layer - 1;
    const float *resid[MOST_ROWS], *z[MOST_ROWS];
    float *turned[MOST_ROWS];

    for (size_t i = 0; i < pack->n; i++) {
        const struct attn_recorded *made = attn_recording_find(&whole[i], ATTN_SITE_Z, layer);

        resid[i] = attn_recording_find(&whole[i], ATTN_SITE_RESID_PRE, layer)->data;
        z[i] = turned[i] = malloc(made->n * sizeof(float)); /* [T, H, Ev] as [H, T, Ev] */
        ck_assert_ptr_nonnull(turned[i]);
        for (size_t at = 0; at < made->n; at++) {
            const size_t d = made->shape[2], h = at / d % made->shape[1];

            turned[i][(h * made->shape[0] + at / d / made->shape[1]) * d + at % d] = made->data[at];
        }
        attn_recording_init(&pack->recorded[i], pack->config, pack->sequences[i].n);
    }
    attn_session_reset(session);
    attn_feed_pack(session, layer, resid, has_z ? z : NULL, pack->sequences, pack->n);
    for (size_t i = 0; i < pack->n; i++) {
        const struct attn_recorded *made =
            attn_recording_find(&pack->recorded[i], ATTN_SITE_RESID_POST, last);
        const struct attn_recorded *expected =
            attn_recording_find(&whole[i], ATTN_SITE_RESID_POST, last);

        attn_assert_same_bits("resid_post", made->data, expected->data, expected->n);
        attn_recording_release(&pack->recorded[i]);
        free(turned[i]);
    }
}

START_TEST(packs_begin_at_a_layer)
{
    struct pack pack;
    struct attn_trace trace = {.on_event = keep, .user = &pack};
    struct attn_recording all, whole[MOST_ROWS];
    struct attn_session *session;
    struct attn_error err = {0};

    open_pack(&pack, "tests/fixtures/attn-mlp-stack", NULL, ATTN_COMPUTE_F32);
    attn_recording_init(&all, pack.config, MOST_ROWS);
    trace.selection = all.selection;
    session = create(&pack, &trace);
    draw_sequences(&pack, MOST_ROWS, 1);
    for (size_t i = 0; i < pack.n; i++) {
        attn_recording_init(&whole[i], pack.config, pack.sequences[i].n);
        ck_assert(attn_recording_run(&whole[i], pack.model, &ATTN_SESSION_OPTIONS_DEFAULT,
                                     pack.sequences[i].ids, pack.sequences[i].n, &err) == ATTN_OK);
    }
    for (int layer = 0; layer < (int)pack.config->n_layer; layer++)
        for (int has_z = 0; has_z < 2; has_z++)
            feed_from(&pack, session, whole, layer, has_z != 0);
    for (size_t i = 0; i < pack.n; i++)
        attn_recording_release(&whole[i]);
    attn_session_free(session);
    attn_recording_release(&all);
    close_pack(&pack);
}
END_TEST

static void expect_refusal(struct attn_session *session,
                           const struct attn_session_sequence *sequences, size_t n,
                           const char *message)
{
    struct attn_error err = {0};

    ck_assert(attn_session_feed_many(session, sequences, n, &err) == ATTN_INVALID);
    ck_assert_msg(strstr(err.message, message) != NULL, "'%s', expected '%s'", err.message,
                  message);
}

START_TEST(refuses_what_does_not_fit)
{
    struct pack pack;
    struct attn_session_sequence two[2];
    struct attn_edit edit = ATTN_EDIT_DEFAULT;
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};
    const float *logits;
    float row[64];

    open_pack(&pack, "tests/fixtures/gpt2-long", NULL, ATTN_COMPUTE_F32);
    ck_assert_uint_le(pack.config->n_vocab, 64);
    session = create(&pack, NULL);
    two[0] = two[1] = (struct attn_session_sequence){.ids = pack.ids, .n = 3};
    expect_refusal(session, two, 0,
                   "0 sequences cannot be fed at once, the session holds 1 to 128");
    expect_refusal(session, two, MOST_ROWS + 1, "129 sequences cannot be fed at once");
    two[1].n = 0;
    expect_refusal(session, two, 2, "sequence 1 has 0 tokens, expected 1 to 71");
    two[1].n = 72;
    expect_refusal(session, two, 2, "sequence 1 has 72 tokens, expected 1 to 71");
    two[0].n = two[1].n = 71;
    expect_refusal(session, two, 2,
                   "the tokens of 2 sequences are too many, the session holds 128");
    two[0].n = two[1].n = 3;
    pack.ids[2] = (int32_t)pack.config->n_vocab;
    expect_refusal(session, two, 2, "at position 2 is out of range");
    pack.ids[2] = 0;
    edit.at.site = ATTN_SITE_Z, edit.row0 = 3;
    two[1].edits = &edit, two[1].n_edit = 1;
    expect_refusal(session, two, 2, "an edit of 'z' names positions 3 to");
    two[1].edits = NULL;
    ck_assert(attn_session_logits_last(session, NULL, NULL) == ATTN_INVALID);
    ck_assert_uint_eq(attn_session_n_position(session), 0);

    ck_assert(attn_session_feed_many(session, two, 2, NULL) == ATTN_OK);
    ck_assert(attn_session_logits(session, &logits, NULL) == ATTN_OK);
    ck_assert(attn_session_logits_of(session, &(size_t){6}, 1, row, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message, "position 6 is not among the 6 that were fed");
    ck_assert(attn_session_logits_of(session, &(size_t){3}, 1, row, NULL) == ATTN_INVALID);
    ck_assert(attn_session_logits_of(session, &(size_t){2}, 1, row, NULL) == ATTN_OK);
    expect_refusal(session, two, 2, "the session must be reset first");
    ck_assert(attn_session_feed(session, pack.ids, 1, NULL) == ATTN_INVALID);
    ck_assert(attn_session_rewind(session, 1, NULL) == ATTN_INVALID);
    attn_session_reset(session);
    ck_assert(attn_session_feed(session, pack.ids, 72, NULL) == ATTN_INVALID);
    ck_assert(attn_session_feed(session, pack.ids, 71, NULL) == ATTN_OK);
    attn_session_free(session);

    options.n_max = 20, options.n_sequence = 2;
    err = (struct attn_error){0};
    ck_assert(attn_session_create(pack.model, &options, &session, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message, "a session that is fed several sequences at once keeps the keys "
                                  "of one layer");
    close_pack(&pack);
}
END_TEST

START_TEST(one_source_is_not_for_several_sequences)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    const int32_t ids[4] = {1, 2, 3, 1};
    const struct attn_session_sequence two[2] = {{.ids = ids, .n = 4}, {.ids = ids, .n = 2}};
    struct attn_recording alone, packed;
    struct attn_session *session;
    struct attn_error err = {0};
    struct pack pack;
    float *source;

    open_pack(&pack, "tests/fixtures/attn-cross", NULL, ATTN_COMPUTE_F32);
    source = calloc(5 * pack.config->d_source, sizeof *source);
    ck_assert_ptr_nonnull(source);
    for (size_t i = 0; i < 5 * pack.config->d_source; i++)
        source[i] = (float)(i % 7) - 3;
    attn_recording_init_source(&alone, pack.config, 4, 5);
    attn_recording_init_source(&packed, pack.config, 4, 5);
    options.n_max = 8, options.n_sequence = 2, options.n_source = 5;
    options.cache = ATTN_CACHE_ONE_LAYER;
    for (int i = 0; i < 2; i++) {
        options.trace = i == 0 ? &alone.trace : &packed.trace;
        ck_assert_msg(attn_session_create(pack.model, &options, &session, &err) == ATTN_OK, "%s",
                      err.message);
        ck_assert(attn_session_set_source(session, source, 5, &err) == ATTN_OK);
        expect_refusal(session, two, 2, "attends to a source: one sequence is fed at a time");
        ck_assert(i == 0 ? attn_session_feed(session, ids, 4, &err) == ATTN_OK
                         : attn_session_feed_many(session, two, 1, &err) == ATTN_OK);
        attn_session_free(session);
    }
    attn_assert_same_recording("a source", &packed, &alone);
    attn_recording_release(&packed);
    attn_recording_release(&alone);
    free(source);
    close_pack(&pack);
}
END_TEST

START_TEST(a_failed_allocation_is_reported)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    const int32_t ids[4] = {1, 2, 3, 1};
    const struct attn_session_sequence two[2] = {{.ids = ids, .n = 4}, {.ids = ids, .n = 2}};
    struct attn_session *session = NULL;
    struct pack pack;

    open_pack(&pack, "models/tiny-gpt2", NULL, ATTN_COMPUTE_F32);
    options.n_max = 8, options.n_sequence = 2, options.cache = ATTN_CACHE_ONE_LAYER;
    for (long i = 0; session == NULL; i++) {
        enum attn_status status;

        attn_alloc_fail_at(i);
        status = attn_session_create(pack.model, &options, &session, NULL);
        attn_alloc_fail_off();
        ck_assert(status == (session != NULL ? ATTN_OK : ATTN_NO_MEMORY));
    }
    attn_alloc_fail_from(0); /* a feed takes no memory */
    ck_assert(attn_session_feed_many(session, two, 2, NULL) == ATTN_OK);
    attn_alloc_fail_off();
    attn_session_free(session);
    close_pack(&pack);
}
END_TEST

ATTN_SUITE("session packs", every_sequence_has_the_bits_of_itself_alone, in_bfloat16_too,
           every_kind_of_attention_goes_by_the_sequence,
           dropout_masks_and_blockwise_go_by_the_sequence, every_sequence_has_its_own_edits,
           effects_of_edits_go_by_the_sequence, a_selection_applies_to_each_sequence,
           logits_need_no_trace, packs_begin_at_a_layer, refuses_what_does_not_fit,
           one_source_is_not_for_several_sequences, a_failed_allocation_is_reported)
