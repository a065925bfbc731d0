/*
 * test_encoder_gradients.c - the backward pass through encoders: against differences of the forward
 * pass, with norms of the sums and norms before, with masked keys, pictures and their classifiers,
 * and through decoders that map the embedding; and the same bits however it is computed.
 */
#include "base/random.h"
#include "forward/session_internal.h"
#include "gradient/backward.h"
#include "tests/support/encoders.h"
#include "tests/support/open.h"
#include "tests/support/suite.h"
#include "towers/image_patches.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const texts[] = {"bert",
                                    "roberta",
                                    "distilbert",
                                    "electra",
                                    "albert",
                                    "modernbert",
                                    "tests/fixtures/family-mpnet",
                                    "tests/fixtures/family-deberta-v3",
                                    "tests/fixtures/family-jina-embeddings-v3",
                                    "tests/fixtures/family-eurobert",
                                    "tests/fixtures/family-eurobert-class"};
static const char *const pictures[] = {"vit", "dinov2", "dinov2_with_registers",
                                       "tests/fixtures/family-deit"};
/* Decoders whose embedding is not as wide as the stream. */
static const char *const mapped[] = {"tests/fixtures/opt-narrow", "tests/fixtures/opt-wide"};
enum {
    N_TEXT = sizeof texts / sizeof *texts,
    N_PICTURE = sizeof pictures / sizeof *pictures,
    N_MAPPED = sizeof mapped / sizeof *mapped,
    N_ALL = N_TEXT + N_PICTURE + N_MAPPED
};

enum { TARGET = 1, FOIL = 2 };

/* A sequence, its answer, and what came of it. */
struct pass {
    struct attn_model *model;
    struct attn_embedding_rows rows;
    int32_t ids[16], types[16], key_mask[16];
    size_t at;   /* the row of logits */
    bool is_log; /* the metric is ln p, else a difference of two logits */
    bool has_mask, keeps, skips_zeros;
    size_t n_run;                      /* that are expected */
    struct attn_backward_rows watched; /* of the last layer, if it skips zeros */
    int n_thread;
    float *x;        /* [n, De] */
    float *stream;   /* [n_layer + 1, n, D] */
    float *gradient; /* [n, De] of the embeddings */
    size_t n_event;  /* of gradients */
};

static void differentiate(const void *context, size_t row, const float *logits, float *d)
{
    const struct pass *pass = context;
    const size_t n = attn_model_config(pass->model)->n_vocab;
    double sum = 0;

    ck_assert_uint_eq(row, pass->at);
    d[TARGET] += 1;
    if (!pass->is_log)
        d[FOIL] -= 1;
    for (size_t i = 0; pass->is_log && i < n; i++)
        sum += exp((double)logits[i] - (double)logits[TARGET]);
    for (size_t i = 0; pass->is_log && i < n; i++)
        d[i] -= (float)(exp((double)logits[i] - (double)logits[TARGET]) / sum);
}

static struct pass open_pass(const char *name, bool is_picture)
{
    struct pass pass = {.model = strchr(name, '/') ? attn_open_model(name, NULL)
                                                   : attn_encoder_open(name),
                        .n_thread = 1};
    const struct attn_config *config = attn_model_config(pass.model);
    struct attn_random random;
    size_t n = 9;

    if (is_picture) {
        const struct attn_image_config *image = &config->image;

        ck_assert(attn_model_image_grid(pass.model, image->height, image->width, &pass.rows.grid,
                                        NULL) == ATTN_OK);
        n = pass.rows.grid.n_front + pass.rows.grid.n_row * pass.rows.grid.n_col;
    }
    pass.rows.n = n;
    for (size_t i = 0; i < 16 && !is_picture; i++) {
        pass.ids[i] = (int32_t)((i * 17 + 5) % config->n_vocab);
        pass.types[i] = config->n_type > 1 && i > 4;
        pass.key_mask[i] = i != 3 && i != 8;
    }
    pass.at = config->pooling != ATTN_POOLING_NONE ? 0 : config->is_encoder ? 4 : n - 1;
    pass.x = calloc(n * config->d_embed, sizeof *pass.x);
    attn_random_seed(&random, 3);
    for (size_t i = 0; i < n * config->d_embed; i++)
        pass.x[i] = (float)(attn_random_bernoulli(&random, 0.5) ? 1 : -1) * (float)(i % 7) / 5;
    pass.stream = calloc(config->n_layer + 1, n * config->d_model * sizeof *pass.stream);
    pass.gradient = calloc(n * config->d_embed, sizeof *pass.gradient);
    return pass;
}

/* Of model I of N_ALL, and its NAME. */
static struct pass open_any(int i, const char **name)
{
    const bool is_picture = i >= N_TEXT && i < N_TEXT + N_PICTURE;

    *name = i < N_TEXT   ? texts[i]
            : is_picture ? pictures[i - N_TEXT]
                         : mapped[i - N_TEXT - N_PICTURE];
    return open_pass(*name, is_picture);
}

static void close_pass(struct pass *pass)
{
    free(pass->x), free(pass->stream), free(pass->gradient);
    attn_model_free(pass->model);
}

static struct attn_embedding_rows rows_of(const struct pass *pass)
{
    struct attn_embedding_rows rows = pass->rows;

    if (rows.grid.n_row == 0) {
        rows.ids = pass->ids;
        rows.types = attn_model_config(pass->model)->n_type > 1 ? pass->types : NULL;
    }
    return rows;
}

/* What takes the feed, or the gradients. */
struct listener {
    struct pass *pass;
    const struct attn_trace *kept;
};

static enum attn_status on_feed(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    const struct listener *listener = user;
    const struct attn_dims dims =
        attn_config_dims(attn_model_config(listener->pass->model), listener->pass->rows.n);

    attn_trace_keep_stream(event, NULL, &dims, listener->pass->stream);
    return listener->kept ? attn_trace_hand_on(listener->kept, event, err) : ATTN_OK;
}

static enum attn_status on_gradient(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    const struct listener *listener = user;

    (void)err;
    listener->pass->n_event += event->n_row;
    return ATTN_OK;
}

/* Feeds X and returns the metric; with a TRACE it is watched. */
static double feed(const struct pass *pass, const float *x, const struct attn_trace *trace)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    const struct attn_embedding_rows rows = rows_of(pass);
    const size_t n_vocab = attn_model_config(pass->model)->n_vocab;
    float *logits = malloc(n_vocab * sizeof *logits);
    struct attn_session *session;
    struct attn_error err = {0};
    double sum = 0, value;

    options.n_max = rows.n;
    options.cache = ATTN_CACHE_ONE_LAYER;
    options.has_logits = true;
    options.trace = trace;
    options.key_mask = pass->has_mask ? pass->key_mask : NULL;
    options.n_key_mask = pass->has_mask ? rows.n : 0;
    ck_assert(attn_session_create(pass->model, &options, &session, NULL) == ATTN_OK);
    if (pass->skips_zeros)
        attn_session_watch_rows(session, pass->watched.first, pass->watched.end);
    ck_assert_msg(attn_session_feed_rows(session, &rows, x, &err) == ATTN_OK, "%s", err.message);
    ck_assert(attn_session_logits_at(session, pass->at, 1, logits, NULL) == ATTN_OK);
    for (size_t i = 0; i < n_vocab; i++)
        sum += exp((double)logits[i] - (double)logits[TARGET]);
    value = pass->is_log ? -log(sum) : (double)logits[TARGET] - (double)logits[FOIL];
    attn_session_free(session);
    free(logits);
    return value;
}

/* A selection of SITES. */
static struct attn_selection *select_sites(const struct pass *pass, struct attn_site_set sites)
{
    struct attn_dims dims = attn_config_dims(attn_model_config(pass->model), pass->rows.n);
    struct attn_selection *selection;

    attn_sites_extend(&dims.sites, attn_sites_gradients_of(dims.sites));
    ck_assert(attn_selection_create(&dims, &selection, NULL) == ATTN_OK);
    ck_assert(attn_selection_set_sites(selection, attn_sites_common(sites, dims.sites), NULL) ==
              ATTN_OK);
    return selection;
}

/* Fills pass->gradient. SITES: of gradients, with those of the embeddings. */
static void run(struct pass *pass, struct attn_site_set sites)
{
    const struct attn_config *config = attn_model_config(pass->model);
    const struct attn_embedding_rows rows = rows_of(pass);
    struct listener listener = {.pass = pass};
    struct attn_site_set fed = ATTN_SITES(ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_POST);
    const struct attn_backward_goal goal = {.first = pass->at,
                                            .n = 1,
                                            .reads_logits = pass->is_log,
                                            .differentiate = differentiate,
                                            .context = pass};
    struct attn_kept_layers *kept = NULL;
    struct attn_backward *backward;
    struct attn_pool *pool = NULL;
    struct attn_error err = {0};

    if (pass->n_thread > 1)
        ck_assert(attn_pool_create(pass->n_thread, &pool, NULL) == ATTN_OK);
    if (pass->keeps) {
        ck_assert(attn_kept_layers_create(config, rows.n, NULL, &kept, NULL) == ATTN_OK);
        listener.kept = attn_kept_layers_trace(kept);
        attn_sites_extend(&fed, attn_selection_sites(listener.kept->selection));
    }
    struct attn_selection *seen = select_sites(pass, fed);
    struct attn_selection *wanted =
        select_sites(pass, attn_sites_join(sites, ATTN_SITES(ATTN_SITE_EMBED_GRAD)));
    const struct attn_trace of_feed = {.selection = seen, .on_event = on_feed, .user = &listener};
    const struct attn_trace of_gradients = {
        .selection = wanted, .on_event = on_gradient, .user = &listener};
    const struct attn_backward_options options = {.n = rows.n,
                                                  .n_goal = 1,
                                                  .trace = &of_gradients,
                                                  .attention = config->attention,
                                                  .pool = pool,
                                                  .kept = kept,
                                                  .n_run = pass->n_run,
                                                  .skips_zeros = pass->skips_zeros,
                                                  .text = &rows,
                                                  .embeddings = pass->x,
                                                  .key_mask =
                                                      pass->has_mask ? pass->key_mask : NULL,
                                                  .isa = ATTN_ISA_BEST};

    /* Rows that were not fed are not read. */
    memset(pass->stream, 0xff, (config->n_layer + 1) * rows.n * config->d_model * sizeof(float));
    pass->watched = attn_backward_rows(pass->model, rows.ids, rows.n, &goal);
    feed(pass, pass->x, &of_feed);
    ck_assert_msg(attn_backward_create(pass->model, &options, &backward, &err) == ATTN_OK, "%s",
                  err.message);
    ck_assert_msg(attn_backward_run(backward, pass->stream, &goal, &err) == ATTN_OK, "%s",
                  err.message);
    memcpy(pass->gradient, attn_backward_embedding(backward),
           rows.n * config->d_embed * sizeof *pass->gradient);
    attn_backward_free(backward);
    attn_kept_layers_free(kept);
    attn_selection_free(seen), attn_selection_free(wanted);
    attn_pool_free(pool);
}

/* Along made-up directions of all embeddings, half of them along the gradient. */
static void check_differences(struct pass *pass, const char *name)
{
    const size_t n = pass->rows.n * attn_model_config(pass->model)->d_embed;
    float *moved = malloc(n * sizeof *moved), *step = malloc(n * sizeof *step);
    struct attn_random random;
    double length = 0, h;

    attn_random_seed(&random, 5);
    run(pass, (struct attn_site_set){0});
    for (size_t i = 0; i < n; i++)
        length += fabs((double)pass->gradient[i]);
    ck_assert_double_gt(length, 1e-3);
    h = 0.01 / length;
    for (int direction = 0; direction < 4; direction++) {
        double expected = 0, both[2];

        for (size_t i = 0; i < n; i++) {
            step[i] = attn_random_bernoulli(&random, 0.5) ? 1 : -1;
            step[i] = direction % 2 == 0 ? (pass->gradient[i] > 0 ? 1.0F : -1.0F) : step[i];
            expected += (double)step[i] * (double)pass->gradient[i];
        }
        for (int sign = 0; sign < 2; sign++) {
            for (size_t i = 0; i < n; i++)
                moved[i] = pass->x[i] + (float)(sign == 0 ? h : -h) * step[i];
            both[sign] = feed(pass, moved, NULL);
        }
        ck_assert_msg(fabs((both[0] - both[1]) / (2 * h) - expected) <= 1e-2 * length,
                      "%s, direction %d: %g instead of %g", name, direction,
                      (both[0] - both[1]) / (2 * h), expected);
    }
    free(moved), free(step);
}

START_TEST(gradients_are_the_differences_of_the_forward_pass)
{
    attn_encoders_unpack();
    for (int i = 0; i < N_ALL; i++) {
        const char *name;
        struct pass pass = open_any(i, &name);

        check_differences(&pass, name);
        pass.is_log = true;
        check_differences(&pass, name);
        close_pass(&pass);
    }
    attn_encoders_remove();
}
END_TEST

/* A key that nobody sees has no effect on other rows, and its gradient is 0. */
START_TEST(masked_keys_have_no_gradient)
{
    attn_encoders_unpack();
    for (int i = 0; i < N_TEXT; i++) {
        struct pass pass = open_pass(texts[i], false);
        const size_t d = attn_model_config(pass.model)->d_embed;

        pass.has_mask = true;
        check_differences(&pass, texts[i]);
        for (size_t k = 0; k < d; k++)
            ck_assert_msg(pass.gradient[3 * d + k] == 0 && pass.gradient[8 * d + k] == 0, "%s",
                          texts[i]);
        close_pass(&pass);
    }
    attn_encoders_remove();
}
END_TEST

START_TEST(bits_do_not_depend_on_how_they_are_computed)
{
    static const struct {
        const char *what;
        int n_thread;
        bool keeps, skips_zeros, wants_all;
        size_t n_run;
    } ways[] = {
        {"2 threads", 2, false, false, false, 0}, {"5 threads", 5, false, false, true, 0},
        {"kept", 1, true, false, false, 0},       {"kept, zeros skipped", 2, true, true, true, 0},
        {"all sites", 1, false, false, true, 0},  {"zeros skipped", 1, false, true, false, 0},
        {"turned", 2, false, true, true, 50}};

    attn_encoders_unpack();
    for (int i = 0; i < N_ALL; i++) {
        const char *name;
        struct pass pass = open_any(i, &name);
        const size_t n_byte =
            pass.rows.n * attn_model_config(pass.model)->d_embed * sizeof *pass.gradient;
        float *first = malloc(n_byte);

        pass.is_log = true;
        run(&pass, (struct attn_site_set){0});
        memcpy(first, pass.gradient, n_byte);
        for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
            pass.n_thread = ways[way].n_thread;
            pass.keeps = ways[way].keeps;
            pass.n_run = ways[way].n_run;
            pass.skips_zeros = ways[way].skips_zeros;
            run(&pass, ways[way].wants_all ? attn_sites_derived() : (struct attn_site_set){0});
            ck_assert_msg(memcmp(first, pass.gradient, n_byte) == 0, "%s, %s", name,
                          ways[way].what);
        }
        free(first);
        close_pass(&pass);
    }
    attn_encoders_remove();
}
END_TEST

ATTN_SUITE("encoder gradients", gradients_are_the_differences_of_the_forward_pass,
           masked_keys_have_no_gradient, bits_do_not_depend_on_how_they_are_computed)
