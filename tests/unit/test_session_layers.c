/* test_session_layers.c - a feed that begins at a layer gives the bits of a whole one. */
#include "tests/support/families.h"
#include "tests/support/near.h"
#include "tests/support/recording.h"
#include "tests/support/sessions.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

static const char *const directories[] = {"models/tiny-gpt2", "tests/fixtures/attn-grouped",
                                          "tests/fixtures/attn-mlp-stack",
                                          "tests/fixtures/attn-only-2l", ATTN_FAMILY_DIRECTORIES};
enum { N_DIRECTORY = sizeof directories / sizeof *directories, N_ID_MAX = 9 };

/* A model and what a whole feed of it told. */
struct fed {
    struct attn_model *model;
    int32_t ids[N_ID_MAX];
    size_t n;
    struct attn_recording whole, part;
};

static void fed_open(struct fed *fed, const char *directory)
{
    const struct attn_source source = {.directory = directory};
    struct attn_error err = {0};
    const struct attn_config *config;

    ck_assert_msg(attn_model_open(&source, NULL, &fed->model, &err) == ATTN_OK, "%s", err.message);
    config = attn_model_config(fed->model);
    fed->n = config->n_ctx < N_ID_MAX ? config->n_ctx : N_ID_MAX;
    for (size_t i = 0; i < fed->n; i++)
        fed->ids[i] = (int32_t)((7 * i + 3) % config->n_vocab);
    attn_recording_init(&fed->whole, config, fed->n);
    attn_recording_init(&fed->part, config, fed->n);
    ck_assert(attn_recording_run(&fed->whole, fed->model, &ATTN_SESSION_OPTIONS_DEFAULT, fed->ids,
                                 fed->n, &err) == ATTN_OK);
}

static void fed_close(struct fed *fed)
{
    attn_recording_release(&fed->whole);
    attn_recording_release(&fed->part);
    attn_model_free(fed->model);
}

static struct attn_session *session_of(struct fed *fed, const struct attn_attention *attention)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};

    options.n_max = fed->n;
    options.trace = &fed->part.trace;
    options.attention = attention;
    ck_assert_msg(attn_session_create(fed->model, &options, &session, &err) == ATTN_OK, "%s",
                  err.message);
    return session;
}

/* Every site of the layers from FIRST on, and of the model behind them. */
static void compare_from(const struct fed *fed, int first)
{
    for (int layer = first; layer <= (int)fed->whole.dims.n_layer; layer++)
        for (int site = 0; site < ATTN_N_SITE; site++) {
            const size_t at = (size_t)layer * ATTN_N_SITE + (size_t)site;
            const struct attn_recorded *whole = &fed->whole.records[at];

            if (whole->data != NULL && site != ATTN_SITE_EMBED)
                attn_assert_same_bits(attn_site_name((enum attn_site)site),
                                      fed->part.records[at].data, whole->data, whole->n);
        }
}

static void feed_from_every_layer(const char *directory)
{
    struct fed fed;

    fed_open(&fed, directory);
    for (int layer = 0; layer <= (int)fed.whole.dims.n_layer; layer++) {
        const bool is_behind = layer == (int)fed.whole.dims.n_layer;
        const struct attn_recorded *x =
            attn_recording_find(&fed.whole, is_behind ? ATTN_SITE_RESID_POST : ATTN_SITE_RESID_PRE,
                                is_behind ? layer - 1 : layer);
        struct attn_session *session = session_of(&fed, NULL);
        struct attn_error err = {0};

        ck_assert_msg(attn_feed_layer(session, layer, x->data, fed.n, &err) == ATTN_OK, "%s",
                      err.message);
        ck_assert_uint_eq(attn_session_n_position(session), fed.n);
        compare_from(&fed, layer);
        attn_session_free(session);
        attn_recording_release(&fed.part);
        attn_recording_init(&fed.part, attn_model_config(fed.model), fed.n);
    }
    fed_close(&fed);
}

START_TEST(a_feed_from_any_layer_gives_the_same_bits)
{
    for (size_t i = 0; i < N_DIRECTORY; i++)
        feed_from_every_layer(directories[i]);
}
END_TEST

START_TEST(refuses_layers_that_are_not_there_and_dropout)
{
    struct attn_attention attention[8];
    const struct attn_recorded *x;
    struct attn_session *session;
    struct attn_error err = {0};
    struct fed fed;

    fed_open(&fed, directories[0]);
    x = attn_recording_find(&fed.whole, ATTN_SITE_RESID_PRE, 0);
    session = session_of(&fed, NULL);
    ck_assert(attn_feed_layer(session, -1, x->data, fed.n, &err) == ATTN_INVALID);
    ck_assert(attn_feed_layer(session, 99, x->data, fed.n, NULL) == ATTN_INVALID);
    ck_assert_uint_eq(attn_session_n_position(session), 0);
    attn_session_free(session);

    ck_assert_uint_le(fed.whole.dims.n_layer, 8);
    memcpy(attention, attn_model_config(fed.model)->attention,
           fed.whole.dims.n_layer * sizeof *attention);
    attention[0].dropout = 0.5;
    session = session_of(&fed, attention);
    ck_assert(attn_feed_layer(session, 1, x->data, fed.n, NULL) == ATTN_INVALID);
    attn_session_free(session);
    fed_close(&fed);
}
END_TEST

/* Logits after the last position, into LOGITS, of a session that is only reset or one that may go
 * back, with edits of all heads and rows. */
static struct attn_session *ask_last(const struct fed *fed, enum attn_cache cache,
                                     const struct attn_attention *attention, const float **logits)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_edit edits[2] = {ATTN_EDIT_DEFAULT, ATTN_EDIT_DEFAULT};
    struct attn_error err = {0};
    struct attn_session *session;

    edits[0].at.site = ATTN_SITE_Z, edits[1].at.site = ATTN_SITE_ATTN_OUT;
    edits[0].at.layer = (int)attn_model_config(fed->model)->n_layer - 1;
    edits[0].op = edits[1].op = ATTN_EDIT_SCALE;
    edits[0].factor = 0.5F, edits[1].factor = 1.5F;
    options.n_max = fed->n;
    options.cache = cache;
    options.has_logits = true;
    options.attention = attention;
    options.edits = edits;
    options.n_edit = 2;
    ck_assert_msg(attn_session_create(fed->model, &options, &session, &err) == ATTN_OK, "%s",
                  err.message);
    ck_assert(attn_session_feed(session, fed->ids, fed->n, &err) == ATTN_OK);
    ck_assert_msg(attn_session_logits(session, logits, &err) == ATTN_OK, "%s", err.message);
    return session;
}

/* Of a model whose layers have ATTENTION, or their own. */
static void compare_last_rows(const struct fed *fed, const struct attn_attention *attention)
{
    const float *whole, *last;
    struct attn_session *a = ask_last(fed, ATTN_CACHE_ALL_LAYERS, attention, &whole);
    struct attn_session *b = ask_last(fed, ATTN_CACHE_ONE_LAYER, attention, &last);

    ck_assert_uint_eq(attn_rows_left(a), fed->n);
    ck_assert_uint_eq(attn_rows_left(b), 1);
    attn_assert_same_bits("logits", last, whole, attn_model_config(fed->model)->n_vocab);
    ck_assert_uint_eq(attn_edited_rows(b), attn_edited_rows(a));
    ck_assert_uint_gt(attn_edited_rows(b), fed->n);
    attn_session_free(a);
    attn_session_free(b);
}

START_TEST(the_last_layer_drops_rows_that_nothing_needs)
{
    static const char *const kinds[] = {"window:3", "strided:2", "random:2", "linear", "block:4"};
    struct fed fed;

    for (size_t i = 0; i < N_DIRECTORY; i++) {
        fed_open(&fed, directories[i]);
        if (attn_model_config(fed.model)->output != ATTN_OUTPUT_NONE)
            compare_last_rows(&fed, NULL);
        fed_close(&fed);
    }
    fed_open(&fed, directories[0]);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct attn_attention attention[8];
        struct attn_error err = {0};

        memcpy(attention, attn_model_config(fed.model)->attention,
               attn_model_config(fed.model)->n_layer * sizeof *attention);
        for (size_t layer = 0; layer < attn_model_config(fed.model)->n_layer; layer++)
            ck_assert_msg(attn_attention_parse(kinds[i], &attention[layer], &err) == ATTN_OK, "%s",
                          err.message);
        compare_last_rows(&fed, attention);
    }
    fed_close(&fed);
}
END_TEST

/* What is watched in the last layer is told as in a whole feed. */
START_TEST(watched_rows_are_not_dropped)
{
    for (size_t i = 0; i < N_DIRECTORY; i++) {
        struct attn_error err = {0};
        struct attn_session *session;
        struct fed fed;

        fed_open(&fed, directories[i]);
        ck_assert(attn_selection_add_queries(fed.part.selection, ATTN_STACK_ONLY, fed.n / 2, 2,
                                             &err) == ATTN_OK);
        session = session_of(&fed, NULL);
        ck_assert(attn_session_feed(session, fed.ids, fed.n, &err) == ATTN_OK);
        for (int site = ATTN_SITE_Q; site < ATTN_N_SITE; site++)
            for (int layer = 0; layer <= (int)fed.whole.dims.n_layer; layer++) {
                const size_t at = (size_t)layer * ATTN_N_SITE + (size_t)site;
                const struct attn_recorded *whole = &fed.whole.records[at];
                const struct attn_recorded *part = &fed.part.records[at];
                const size_t n_col = whole->n / fed.n;

                if (whole->data == NULL ||
                    attn_site_layout((enum attn_site)site) != ATTN_LAYOUT_VECTOR)
                    continue;
                ck_assert_ptr_nonnull(part->data);
                attn_assert_same_bits(attn_site_name((enum attn_site)site),
                                      part->data + fed.n / 2 * n_col,
                                      whole->data + fed.n / 2 * n_col, 2 * n_col);
            }
        attn_session_free(session);
        fed_close(&fed);
    }
}
END_TEST

ATTN_SUITE("session layers", a_feed_from_any_layer_gives_the_same_bits,
           refuses_layers_that_are_not_there_and_dropout,
           the_last_layer_drops_rows_that_nothing_needs, watched_rows_are_not_dropped)
