/* test_session_layers.c - a feed that begins at a layer gives the bits of a whole one. */
#include "attn.h"
#include "model/session.h"
#include "tests/support/families.h"
#include "tests/support/near.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"

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
    attn_model_close(fed->model);
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

        ck_assert_msg(attn_session_feed_layer(session, layer, x->data, fed.n, &err) == ATTN_OK,
                      "%s", err.message);
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
    ck_assert(attn_session_feed_layer(session, -1, x->data, fed.n, &err) == ATTN_INVALID);
    ck_assert(attn_session_feed_layer(session, 99, x->data, fed.n, NULL) == ATTN_INVALID);
    ck_assert_uint_eq(attn_session_n_position(session), 0);
    attn_session_free(session);

    ck_assert_uint_le(fed.whole.dims.n_layer, 8);
    memcpy(attention, attn_model_config(fed.model)->attention,
           fed.whole.dims.n_layer * sizeof *attention);
    attention[0].dropout = 0.5;
    session = session_of(&fed, attention);
    ck_assert(attn_session_feed_layer(session, 1, x->data, fed.n, NULL) == ATTN_INVALID);
    attn_session_free(session);
    fed_close(&fed);
}
END_TEST

ATTN_SUITE("session layers", a_feed_from_any_layer_gives_the_same_bits,
           refuses_layers_that_are_not_there_and_dropout)
