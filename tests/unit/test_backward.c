/*
 * test_backward.c - gradients: of every family against float64, against differences of the forward
 * pass, and the same bits however they are computed. tests/golden/PROVENANCE.md says what is
 * expected.
 */
#include "base/random.h"
#include "forward/session_internal.h"
#include "gradient/backward.h"
#include "gradient/kept_layers.h"
#include "tests/support/families.h"
#include "tests/support/kept.h"
#include "tests/support/npy.h"
#include "tests/support/suite.h"
#include "trace/blocks_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 16 };

/* What is differentiated: the difference of two logits after the last position; or with ids, the
 * mean of -ln p(next). */
struct question {
    int32_t target, foil;
    const int32_t *ids; /* [n], or NULL */
    size_t n, n_vocab;
    float weight; /* of that difference; 0: 1 */
};

static void differentiate(const void *context, size_t row, const float *logits, float *d)
{
    const struct question *question = context;
    double largest = -(double)INFINITY, sum = 0;

    if (!question->ids) {
        d[question->target] += question->weight != 0 ? question->weight : 1;
        d[question->foil] -= question->weight != 0 ? question->weight : 1;
        return;
    }
    for (size_t i = 0; i < question->n_vocab; i++)
        largest = fmax(largest, (double)logits[i]);
    for (size_t i = 0; i < question->n_vocab; i++)
        sum += exp((double)logits[i] - largest);
    for (size_t i = 0; i < question->n_vocab; i++)
        d[i] = (float)((exp((double)logits[i] - largest) / sum -
                        (i == (size_t)question->ids[row + 1])) /
                       (double)(question->n - 1));
}

/* A text, how it is computed, and what came of it. */
struct pass {
    struct attn_model *model;
    int32_t ids[64];
    size_t n_left; /* masked cells that a trace saw, and that were not 0 */
    size_t n;
    struct question question;
    enum attn_backward_rule rule;
    struct attn_site_set sites; /* empty: all gradients */
    bool is_at_first;           /* the answer comes after the first position */
    bool skips_zeros;       /* and of the stream after the last layer only the goal's rows exist */
    const char *refused_in; /* the backward pass is, as too large there; NULL: it is not */
    int n_thread;
    enum attn_isa isa;
    enum attn_gemm gemm;
    bool reads_once;
    bool keeps;   /* no layer is computed again */
    size_t n_run; /* that are expected */
    struct attn_selection *stream, *wanted;
    struct attn_capture *resid, *gradients;
};

static struct pass open_pass(const char *directory)
{
    const struct attn_source source = {.directory = directory};
    struct pass pass = {.n_thread = 1, .isa = ATTN_ISA_BEST};
    struct attn_error err = {0};

    ck_assert_msg(attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &pass.model, &err) ==
                      ATTN_OK,
                  "%s", err.message);
    pass.question.n_vocab = attn_model_config(pass.model)->n_vocab;
    return pass;
}

static void release(struct pass *pass)
{
    attn_capture_free(pass->resid);
    attn_capture_free(pass->gradients);
    attn_selection_free(pass->stream);
    attn_selection_free(pass->wanted);
    pass->resid = pass->gradients = NULL;
    pass->stream = pass->wanted = NULL;
}

static void feed(const struct pass *pass, const struct attn_attention *attention,
                 struct attn_pool *pool, const struct attn_trace *trace)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;

    options.n_max = pass->n;
    options.trace = trace;
    options.attention = attention;
    options.pool = pool;
    ck_assert(attn_session_create(pass->model, &options, &session, NULL) == ATTN_OK);
    ck_assert(attn_session_feed(session, pass->ids, pass->n, NULL) == ATTN_OK);
    attn_session_free(session);
}

/* The residual stream of a feed of the text. */
static void go_forward(struct pass *pass, const struct attn_attention *attention,
                       struct attn_pool *pool)
{
    const struct attn_dims dims = attn_config_dims(attn_model_config(pass->model), pass->n);

    ck_assert(attn_selection_create(&dims, &pass->stream, NULL) == ATTN_OK);
    ck_assert(attn_selection_set_sites(pass->stream,
                                       ATTN_SITES(ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_POST),
                                       NULL) == ATTN_OK);
    ck_assert(attn_capture_create(pass->stream, &pass->resid, NULL) == ATTN_OK);
    feed(pass, attention, pool, attn_capture_trace(pass->resid));
}

static void want(struct pass *pass)
{
    struct attn_dims dims = attn_config_dims(attn_model_config(pass->model), pass->n);

    attn_sites_extend(&dims.sites, attn_sites_gradients_of(dims.sites));
    attn_sites_add(&dims.sites, ATTN_SITE_PATTERN_X_GRAD);
    ck_assert(attn_selection_create(&dims, &pass->wanted, NULL) == ATTN_OK);
    ck_assert(attn_selection_set_sites(pass->wanted,
                                       attn_sites_are_empty(pass->sites)
                                           ? attn_sites_common(dims.sites, attn_sites_derived())
                                           : pass->sites,
                                       NULL) == ATTN_OK);
    ck_assert(attn_capture_create(pass->wanted, &pass->gradients, NULL) == ATTN_OK);
}

/* An attn_trace_fn: counts masked cells of causal matrices that are not +0, and hands on. */
static enum attn_status watch(void *user, const struct attn_trace_event *event,
                              struct attn_error *err)
{
    struct pass *pass = user;
    const struct attn_trace *trace = attn_capture_trace(pass->gradients);

    for (size_t i = 0; event->is_causal && i < event->n_row; i++)
        for (size_t j = event->row0 + i + 1; j < event->n_col; j++) {
            const float x = event->data[i * event->ld + j];

            pass->n_left += x < 0 || x > 0 || signbit(x);
        }
    return trace->on_event(trace->user, event, err);
}

/* The stream into each layer and after the last, there NaN before row FIRST. The caller frees it.
 */
static float *copy_stream(const struct pass *pass, size_t first)
{
    const struct attn_config *config = attn_model_config(pass->model);
    const size_t n = pass->n * config->d_model;
    float *stream = malloc((config->n_layer + 1) * n * sizeof *stream);
    float *after = stream + config->n_layer * n;

    for (size_t i = 0; i < config->n_layer; i++)
        memcpy(stream + i * n, attn_kept(pass->resid, ATTN_SITE_RESID_PRE, (int)i),
               n * sizeof *stream);
    memcpy(after, attn_kept(pass->resid, ATTN_SITE_RESID_POST, (int)config->n_layer - 1),
           n * sizeof *stream);
    for (size_t i = 0; i < first * config->d_model; i++)
        after[i] = NAN;
    return stream;
}

/* Fills pass->gradients. */
static void run_with(struct pass *pass, const struct attn_attention *attention)
{
    const bool is_of_all = pass->question.ids;
    const struct attn_backward_goal goal = {.first =
                                                is_of_all || pass->is_at_first ? 0 : pass->n - 1,
                                            .n = is_of_all ? pass->n - 1 : 1,
                                            .reads_logits = is_of_all,
                                            .differentiate = differentiate,
                                            .context = &pass->question};
    float *stream;
    struct attn_backward *backward;
    struct attn_kept_layers *kept = NULL;
    struct attn_pool *pool = NULL;
    struct attn_error err = {0};

    release(pass);
    if (pass->n_thread > 1)
        ck_assert(attn_pool_create(pass->n_thread, &pool, NULL) == ATTN_OK);
    go_forward(pass, attention, pool);
    want(pass);
    if (pass->keeps) {
        ck_assert(attn_kept_layers_create(attn_model_config(pass->model), pass->n, pool, &kept,
                                          NULL) == ATTN_OK);
        feed(pass, attention, pool, attn_kept_layers_trace(kept));
    }
    const struct attn_trace trace = {.selection = pass->wanted, .on_event = watch, .user = pass};
    const struct attn_backward_options options = {.n = pass->n,
                                                  .rule = pass->rule,
                                                  .n_goal = goal.n,
                                                  .trace = &trace,
                                                  .attention = attention,
                                                  .pool = pool,
                                                  .reads_once = pass->reads_once,
                                                  .kept = kept,
                                                  .n_run = pass->n_run,
                                                  .skips_zeros = pass->skips_zeros,
                                                  .gemm = pass->gemm,
                                                  .isa = pass->isa};

    stream = copy_stream(pass, pass->skips_zeros ? goal.first : 0);
    ck_assert_msg(attn_backward_create(pass->model, &options, &backward, &err) == ATTN_OK, "%s",
                  err.message);
    ck_assert_msg(attn_backward_run(backward, stream, &goal, &err) ==
                      (pass->refused_in ? ATTN_FORMAT : ATTN_OK),
                  "%s", err.message);
    ck_assert_msg(!pass->refused_in || (strstr(err.message, "too large for float32") &&
                                        strstr(err.message, pass->refused_in)),
                  "%s", err.message);
    attn_backward_free(backward);
    attn_kept_layers_free(kept);
    free(stream);
    attn_pool_free(pool);
}

static void run(struct pass *pass)
{
    run_with(pass, attn_model_config(pass->model)->attention);
}

/* A text of N made-up tokens. */
static void make_up(struct pass *pass, size_t n)
{
    const size_t n_vocab = pass->question.n_vocab;
    const size_t n_ctx = attn_model_config(pass->model)->n_ctx;

    n = n < n_ctx ? n : n_ctx;
    pass->n = n;
    for (size_t i = 0; i < n; i++)
        pass->ids[i] = (int32_t)((i * 37 + 11) % n_vocab);
    pass->question.target = (int32_t)(n_vocab / 3);
    pass->question.foil = (int32_t)(n_vocab / 2);
}

/* --- float64 ---------------------------------------------------------------------------------- */

static const char *const families[] = {"family-gpt-neo",
                                       "family-gpt-neox-parallel",
                                       "family-gpt-neox-sequential",
                                       "family-llama-biases",
                                       "family-llama-gqa-tied-bf16",
                                       "family-llama3-untied-sharded",
                                       "family-mistral",
                                       "family-qwen2",
                                       "family-qwen3",
                                       "family-olmo2",
                                       "family-gemma2",
                                       "family-gemma3-text",
                                       "family-phi",
                                       "decoder-mixtral",
                                       "decoder-qwen2-moe",
                                       "decoder-qwen3-moe",
                                       "decoder-olmoe",
                                       "decoder-granitemoe",
                                       "decoder-gpt-oss"};
enum { N_FAMILY = sizeof families / sizeof *families };

static const char golden[] = "tests/golden/gradients.npz";

/* Element I of an expected array, in a captured one, which has heads first. */
static size_t captured_at(enum attn_site site, const struct attn_npy *array, size_t i)
{
    const enum attn_site_layout layout = attn_site_layout(site);
    size_t row, head, column;

    if (layout != ATTN_LAYOUT_QUERY && layout != ATTN_LAYOUT_KEY)
        return i;
    column = i % array->shape[2];
    head = i / array->shape[2] % array->shape[1];
    row = i / array->shape[2] / array->shape[1];
    return (head * array->shape[0] + row) * array->shape[2] + column;
}

/* The largest difference, as a share of the largest value; below 0: the archive has no such. */
static double compare(const struct pass *pass, const char *folder, enum attn_site site, int layer)
{
    const float *actual = attn_kept(pass->gradients, site, layer);
    char path[256], name[ATTN_SITE_ARCHIVE_NAME_SIZE];
    double difference = 0, largest = 0;
    struct attn_npy expected;

    attn_site_archive_name(site, layer, name);
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    if (!actual || !attn_npy_read(path, &expected))
        return -1;
    for (size_t i = 0; i < expected.n; i++) {
        const double x = (double)actual[captured_at(site, &expected, i)];

        difference = fmax(difference, fabs(x - expected.values[i]));
        largest = fmax(largest, fabs(expected.values[i]));
        ck_assert_msg(isfinite(x), "%s", path);
    }
    attn_npy_release(&expected);
    return largest > 0 ? difference / largest : difference;
}

/* Returns the number of tensors. */
static size_t check_against(const struct pass *pass, const char *folder)
{
    const double allowed = 3e-5; /* float32 itself: 1.1e-5 */
    const int n_layer = (int)attn_model_config(pass->model)->n_layer;
    size_t n = 0;

    for (int site = 0; site < ATTN_N_SITE; site++)
        for (int layer = ATTN_NO_LAYER; layer < n_layer; layer++) {
            const double difference = compare(pass, folder, (enum attn_site)site, layer);

            n += difference >= 0;
            ck_assert_msg(difference <= allowed, "%s, '%s' of layer %d: off by %g of the largest",
                          folder, attn_site_name((enum attn_site)site), layer, difference);
        }
    return n;
}

static void read_question(struct pass *pass, const char *family)
{
    char path[256];
    int32_t *ids;
    size_t n;

    snprintf(path, sizeof path, "%s/%s/ids.npy", golden, family);
    ids = attn_npy_read_ids(path, &pass->n);
    memcpy(pass->ids, ids, pass->n * sizeof *ids);
    free(ids);
    snprintf(path, sizeof path, "%s/%s/answer.npy", golden, family);
    ids = attn_npy_read_ids(path, &n);
    pass->question.target = ids[0];
    pass->question.foil = ids[1];
    pass->question.n = pass->n;
    free(ids);
}

static void check_family(int family)
{
    char directory[64], folder[128];
    struct pass pass;
    size_t n;

    snprintf(directory, sizeof directory, "tests/fixtures/%s", families[family]);
    snprintf(folder, sizeof folder, "%s/%s/logit_diff", golden, families[family]);
    pass = open_pass(directory);
    read_question(&pass, families[family]);
    run(&pass);
    n = check_against(&pass, folder);
    ck_assert_msg(n >= 10, "%zu tensors", n);
    pass.question.ids = pass.ids;
    snprintf(folder, sizeof folder, "%s/%s/ce", golden, families[family]);
    run(&pass);
    n = check_against(&pass, folder);
    ck_assert_uint_eq(n, strcmp(families[family], "family-gemma2") == 0 ? 3 : 0);
    release(&pass);
    attn_model_free(pass.model);
}

START_TEST(every_gradient_of_every_family_is_that_of_float64)
{
    for (int i = 0; i < N_FAMILY; i++)
        check_family(i);
}
END_TEST

/* AttnLRP: a token's share is the sum of its embedding times the gradient by the rules. */
static void check_rules(int family)
{
    char path[256];
    struct attn_npy expected;
    struct pass pass;

    snprintf(path, sizeof path, "tests/fixtures/%s", families[family]);
    pass = open_pass(path);
    read_question(&pass, families[family]);
    snprintf(path, sizeof path, "%s/%s/attnlrp.npy", golden, families[family]);
    if (attn_npy_read(path, &expected)) {
        const size_t d = attn_model_config(pass.model)->d_model;
        const float *x, *gradient;
        double largest = 0;

        pass.rule = ATTN_BACKWARD_ATTNLRP;
        run(&pass);
        x = attn_kept(pass.resid, ATTN_SITE_RESID_PRE, 0); /* no learned positions */
        gradient = attn_kept(pass.gradients, ATTN_SITE_EMBED_GRAD, ATTN_NO_LAYER);
        for (size_t i = 0; i < expected.n; i++)
            largest = fmax(largest, fabs(expected.values[i]));
        for (size_t i = 0; i < expected.n; i++) {
            double sum = 0;

            for (size_t e = 0; e < d; e++)
                sum += (double)x[i * d + e] * (double)gradient[i * d + e];
            ck_assert_double_eq_tol(sum, expected.values[i], 5e-5 * largest);
        }
        attn_npy_release(&expected);
    }
    release(&pass);
    attn_model_free(pass.model);
}

START_TEST(relevance_by_rules_is_that_of_float64)
{
    for (int i = 0; i < N_FAMILY; i++)
        check_rules(i);
}
END_TEST

/* RelP: what a corrupted text's stream at each place would gain towards the clean one, the gradient
 * at the corrupted text times the difference, as a share of what all of it gains. */
static void check_relp(int family)
{
    struct attn_npy expected, metrics;
    char path[256];
    struct pass clean, corrupted;
    int32_t *ids;
    size_t d, n;

    snprintf(path, sizeof path, "%s/%s/relp.npy", golden, families[family]);
    if (!attn_npy_read(path, &expected))
        return;
    snprintf(path, sizeof path, "%s/%s/metrics.npy", golden, families[family]);
    ck_assert(attn_npy_read(path, &metrics));
    snprintf(path, sizeof path, "tests/fixtures/%s", families[family]);
    clean = open_pass(path);
    read_question(&clean, families[family]);
    corrupted = clean;
    snprintf(path, sizeof path, "%s/%s/corrupted.npy", golden, families[family]);
    ids = attn_npy_read_ids(path, &n);
    memcpy(corrupted.ids, ids, n * sizeof *ids);
    free(ids);
    corrupted.rule = ATTN_BACKWARD_RELP;
    run(&clean);
    run(&corrupted);
    d = attn_model_config(clean.model)->d_model;
    for (size_t i = 0; i < expected.n; i++) {
        const int layer = (int)(i / n);
        const size_t at = i % n * d;
        const float *from = attn_kept(corrupted.resid, ATTN_SITE_RESID_PRE, layer) + at;
        const float *to = attn_kept(clean.resid, ATTN_SITE_RESID_PRE, layer) + at;
        const float *gradient =
            attn_kept(corrupted.gradients, ATTN_SITE_RESID_PRE_GRAD, layer) + at;
        double sum = 0;

        for (size_t e = 0; e < d; e++)
            sum += ((double)to[e] - (double)from[e]) * (double)gradient[e];
        ck_assert_double_eq_tol(sum / (metrics.values[0] - metrics.values[1]), expected.values[i],
                                1e-4);
    }
    attn_npy_release(&expected), attn_npy_release(&metrics);
    release(&clean), release(&corrupted);
    attn_model_free(clean.model);
}

START_TEST(estimates_by_relp_are_those_of_float64)
{
    for (int i = 0; i < N_FAMILY; i++)
        check_relp(i);
}
END_TEST

/* --- differences of the forward pass ---------------------------------------------------------- */

static const char *const models[] = {
    "models/fable",
    "models/tiny-gpt2",
    "tests/fixtures/gpt2-gelu",
    "tests/fixtures/gpt2-relu",
    "tests/fixtures/gpt2-silu",
    "tests/fixtures/gpt2-tanh",
    "tests/fixtures/family-gemma2",
    "tests/fixtures/family-gpt-neox-parallel",
    "tests/fixtures/family-phi",
    "tests/fixtures/family-whole-tinyllama",
    "tests/fixtures/decoder-bloom",
    "tests/fixtures/decoder-mpt",
    "tests/fixtures/decoder-falcon-rw",
    "tests/fixtures/decoder-mixtral",
    "tests/fixtures/decoder-qwen2-moe",
    "tests/fixtures/decoder-qwen3-moe",
    "tests/fixtures/decoder-olmoe",
    "tests/fixtures/decoder-granitemoe",
    "tests/fixtures/decoder-gpt-oss",
    "tests/fixtures/row-ministral3",
    "tests/fixtures/row-hunyuan-v1-dense",
    "tests/fixtures/row-apertus",
    "tests/fixtures/row-nemotron",
    "tests/fixtures/row-xglm",
    "tests/fixtures/row-phimoe",
    "tests/fixtures/row-granitemoehybrid-experts",
};
enum { N_MODEL = sizeof models / sizeof *models };

/* The question's answer for embeddings X. */
static double answer(const struct pass *pass, const struct attn_attention *attention,
                     const float *x)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    const float *logits;
    double value;

    options.n_max = pass->n;
    options.has_logits = true;
    options.attention = attention;
    ck_assert(attn_session_create(pass->model, &options, &session, NULL) == ATTN_OK);
    ck_assert(attn_session_feed_embeddings(session, x, pass->n, NULL) == ATTN_OK);
    ck_assert(attn_session_logits(session, &logits, NULL) == ATTN_OK);
    value = (double)logits[pass->question.target] - (double)logits[pass->question.foil];
    attn_session_free(session);
    return value;
}

/* Along some made-up directions of all embeddings. */
static void check_differences(struct pass *pass, const struct attn_attention *attention)
{
    const size_t d = attn_model_config(pass->model)->d_model, n = pass->n * d;
    float *x = malloc(n * sizeof *x), *moved = malloc(n * sizeof *x);
    const float *gradient;
    struct attn_random random;
    double length = 0, h;

    attn_random_seed(&random, 5);
    run_with(pass, attention);
    gradient = attn_kept(pass->gradients, ATTN_SITE_EMBED_GRAD, ATTN_NO_LAYER);
    const struct attn_session_options options = {.size = sizeof options, .n_max = pass->n};
    struct attn_session *session;

    ck_assert(attn_session_create(pass->model, &options, &session, NULL) == ATTN_OK);
    attn_session_gather(&session->forward, pass->ids, pass->n, x);
    attn_session_free(session);
    for (size_t i = 0; i < n; i++)
        length += fabs((double)gradient[i]);
    h = 0.01 / length; /* far above the noise of float32, and nearly a straight line */
    for (int direction = 0; direction < 4; direction++) {
        double expected = 0, both[2];
        float *step = malloc(n * sizeof *step);

        for (size_t i = 0; i < n; i++) {
            step[i] = attn_random_bernoulli(&random, 0.5) ? 1 : -1;
            /* Half of the way along the gradient, so that the difference is not noise. */
            step[i] = direction % 2 == 0 ? (gradient[i] > 0 ? 1.0F : -1.0F) : step[i];
            expected += (double)step[i] * (double)gradient[i];
        }
        for (int sign = 0; sign < 2; sign++) {
            for (size_t i = 0; i < n; i++)
                moved[i] = x[i] + (float)(sign == 0 ? h : -h) * step[i];
            both[sign] = answer(pass, attention, moved);
        }
        ck_assert_double_eq_tol((both[0] - both[1]) / (2 * h), expected, 1e-2 * length);
        free(step);
    }
    free(x), free(moved);
}

static void check_model(int i)
{
    struct pass pass = open_pass(models[i]);

    make_up(&pass, 7);
    check_differences(&pass, attn_model_config(pass.model)->attention);
    release(&pass);
    attn_model_free(pass.model);
}

START_TEST(gradients_are_the_differences_of_the_forward_pass)
{
    for (int i = 0; i < N_MODEL; i++)
        check_model(i);
}
END_TEST

/* Of keys that are listed, and of masks that are given. */
START_TEST(gradients_go_through_other_kinds_of_attention)
{
    enum { N = 40 };
    static uint8_t cells[N * N];
    struct attn_attention attention[MOST_LAYERS];
    struct pass pass = open_pass("models/fable");

    make_up(&pass, N);
    for (size_t i = 0; i < (size_t)N * N; i++)
        cells[i] = i / N == i % N || i * 7 % 5 > 2;
    for (int kind = 0; kind < 5; kind++) {
        for (size_t layer = 0; layer < attn_model_config(pass.model)->n_layer; layer++) {
            struct attn_attention *a = &attention[layer];

            *a = attn_model_config(pass.model)->attention[layer];
            a->kind = kind == 0   ? ATTN_ATTENTION_WINDOW
                      : kind == 1 ? ATTN_ATTENTION_STRIDED
                      : kind == 2 ? ATTN_ATTENTION_RANDOM
                      : kind == 4 ? ATTN_ATTENTION_SINK
                                  : ATTN_ATTENTION_FULL;
            a->window = 5, a->stride = 4, a->count = 6, a->seed = 3;
            if (kind == 3) {
                a->mask = ATTN_MASK_MATRIX;
                a->matrix = (struct attn_mask_matrix){cells, 1, N, N};
            }
        }
        check_differences(&pass, attention);
    }
    release(&pass);
    attn_model_free(pass.model);
}
END_TEST

/* --- bits ------------------------------------------------------------------------------------- */

/* Rows of SITE of LAYER that PASS does not have. */
static size_t n_skipped(const struct pass *pass, enum attn_site site, int layer)
{
    const bool is_last = layer + 1 == (int)attn_model_config(pass->model)->n_layer ||
                         site == ATTN_SITE_LN_FINAL_GRAD;

    return pass->skips_zeros && is_last && !pass->question.ids &&
                   attn_site_layout(site) != ATTN_LAYOUT_KEY && site != ATTN_SITE_RESID_PRE_GRAD
               ? pass->n - 1
               : 0;
}

/* Whether what B has is what A has. */
static void check_same(const struct pass *a, const struct pass *b, const char *what)
{
    const int n_layer = (int)attn_model_config(a->model)->n_layer;
    size_t n_compared = 0;

    for (int site = 0; site < ATTN_N_SITE; site++)
        for (int layer = ATTN_NO_LAYER; layer < n_layer; layer++) {
            const float *x = attn_kept(a->gradients, (enum attn_site)site, layer);
            const float *y = attn_kept(b->gradients, (enum attn_site)site, layer);
            const size_t first = n_skipped(b, (enum attn_site)site, layer);
            size_t shape[3], n = 1, width = 0; /* heads come first in a capture */
            int rank;

            if (!x || !y)
                continue;
            rank = attn_selection_shape(
                a->wanted, &(struct attn_location){.site = (enum attn_site)site, .layer = layer},
                shape);
            for (int i = 0; i < rank; i++) {
                n *= shape[i];
                width = shape[i];
            }
            for (size_t at = first * width; at < n; at += a->n * width)
                ck_assert_msg(memcmp(x + at, y + at, (a->n - first) * width * sizeof *x) == 0,
                              "%s: '%s' of layer %d", what, attn_site_name((enum attn_site)site),
                              layer);
            n_compared++;
        }
    ck_assert_uint_gt(n_compared, 0);
}

static void check_bits(int i)
{
    const struct {
        const char *what;
        int n_thread;
        enum attn_isa isa;
        enum attn_gemm gemm;
        bool reads_once;
        struct attn_site_set sites;
        bool skips_zeros;
        bool keeps;
        size_t n_run;
    } ways[] = {
        {"2 threads", 2, ATTN_ISA_BEST, ATTN_GEMM_AUTO, false, {{0}}, false, false, 0},
        {"5 threads", 5, ATTN_ISA_BEST, ATTN_GEMM_JIT, false, {{0}}, false, false, 0},
        {"portable products", 1, ATTN_ISA_BEST, ATTN_GEMM_PORTABLE, false, {{0}}, false, false, 0},
        {"baseline", 1, ATTN_ISA_BASELINE, ATTN_GEMM_PORTABLE, false, {{0}}, false, false, 0},
        {"avx2", 2, ATTN_ISA_AVX2, ATTN_GEMM_PORTABLE, false, {{0}}, false, false, 0},
        {"read once", 1, ATTN_ISA_BEST, ATTN_GEMM_AUTO, true, {{0}}, false, false, 0},
        {"one site", 1, ATTN_ISA_BEST, ATTN_GEMM_AUTO, false, ATTN_SITES(ATTN_SITE_EMBED_GRAD),
         false, false, 0},
        {"one matrix", 1, ATTN_ISA_BEST, ATTN_GEMM_AUTO, false, ATTN_SITES(ATTN_SITE_QK_GRAD),
         false, false, 0},
        {"z", 1, ATTN_ISA_BEST, ATTN_GEMM_AUTO, false, ATTN_SITES(ATTN_SITE_Z_GRAD), false, false,
         0},
        {"values", 1, ATTN_ISA_BEST, ATTN_GEMM_AUTO, false, ATTN_SITES(ATTN_SITE_V_GRAD), false,
         false, 0},
        {"zeros skipped", 2, ATTN_ISA_BEST, ATTN_GEMM_AUTO, false, {{0}}, true, false, 0},
        {"kept", 2, ATTN_ISA_BEST, ATTN_GEMM_AUTO, false, {{0}}, false, true, 0},
        {"turned", 2, ATTN_ISA_BEST, ATTN_GEMM_AUTO, false, {{0}}, false, false, 50},
    };
    struct pass pass = open_pass(models[i]), other;

    make_up(&pass, 37);
    if (i % 2 != 0 && attn_model_config(pass.model)->n_expert == 0)
        pass.rule = ATTN_BACKWARD_ATTNLRP;
    pass.gemm = ATTN_GEMM_JIT;
    pass.question.n = pass.n;
    if (i % 3 == 0)
        pass.question.ids = pass.ids;
    run(&pass);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        other = pass;
        other.resid = other.gradients = NULL;
        other.stream = other.wanted = NULL;
        other.n_thread = ways[w].n_thread;
        other.isa = ways[w].isa;
        other.gemm = ways[w].gemm;
        other.reads_once = ways[w].reads_once;
        other.sites = ways[w].sites;
        other.skips_zeros = ways[w].skips_zeros;
        other.keeps = ways[w].keeps;
        other.n_run = ways[w].n_run;
        if (other.question.ids)
            other.question.ids = other.ids;
        run(&other);
        check_same(&pass, &other, ways[w].what);
        release(&other);
    }
    release(&pass);
    attn_model_free(pass.model);
}

START_TEST(gradients_are_the_same_bits_however_they_are_computed)
{
    for (int i = 0; i < N_MODEL; i++)
        check_bits(i);
}
END_TEST

/* --- odd inputs ------------------------------------------------------------------------------- */

/* One token has a pattern of exactly 1: no score has a gradient. */
START_TEST(a_lone_token_has_scores_without_gradient)
{
    struct pass pass = open_pass("models/fable");
    const float *scores;

    make_up(&pass, 1);
    run(&pass);
    for (int layer = 0; layer < (int)attn_model_config(pass.model)->n_layer; layer++) {
        scores = attn_kept(pass.gradients, ATTN_SITE_QK_GRAD, layer);
        for (size_t head = 0; head < attn_model_config(pass.model)->n_head; head++)
            ck_assert(scores[head] == 0 && !signbit(scores[head]));
    }
    release(&pass);
    attn_model_free(pass.model);
}
END_TEST

/* Masked cells are +0 in all matrices. */
/* In layers around one that has no mask. */
START_TEST(masked_cells_have_no_gradient)
{
    enum { N = 60, UNMASKED = 2 };
    struct attn_attention attention[MOST_LAYERS];
    struct pass pass = open_pass("models/fable");

    make_up(&pass, N);
    for (size_t layer = 0; layer < attn_model_config(pass.model)->n_layer; layer++)
        attention[layer] = attn_model_config(pass.model)->attention[layer];
    attention[UNMASKED].mask = ATTN_MASK_NONE;
    run_with(&pass, attention);
    ck_assert(attn_kept(pass.gradients, ATTN_SITE_QK_GRAD, UNMASKED)[N - 1] != 0);
    ck_assert_uint_eq(pass.n_left, 0);
    release(&pass);
    attn_model_free(pass.model);
}
END_TEST

/* Scores so large that each row has one 1 and else exact zeros: no score has a gradient, but the
 * pattern and the values have. */
START_TEST(a_pattern_of_zeros_and_ones_has_scores_without_gradient)
{
    enum { N = 9 };
    struct attn_attention attention[MOST_LAYERS];
    struct pass pass = open_pass("models/fable");
    const int n_layer = (int)attn_model_config(pass.model)->n_layer;
    const size_t n = attn_model_config(pass.model)->n_head * N * N;
    bool has_pattern = false;

    for (int layer = 0; layer < n_layer; layer++) {
        attention[layer] = attn_model_config(pass.model)->attention[layer];
        attention[layer].factor = 1e9;
    }
    make_up(&pass, N);
    pass.sites = ATTN_SITES(ATTN_SITE_QK_GRAD, ATTN_SITE_ATTN_SCORES_GRAD, ATTN_SITE_PATTERN_GRAD,
                            ATTN_SITE_PATTERN);
    run_with(&pass, attention);
    for (int layer = 0; layer < n_layer; layer++) {
        const float *qk = attn_kept(pass.gradients, ATTN_SITE_QK_GRAD, layer);
        const float *scores = attn_kept(pass.gradients, ATTN_SITE_ATTN_SCORES_GRAD, layer);
        const float *d = attn_kept(pass.gradients, ATTN_SITE_PATTERN_GRAD, layer);
        const float *pattern = attn_kept(pass.gradients, ATTN_SITE_PATTERN, layer);

        for (size_t i = 0; i < n; i++) {
            ck_assert(pattern[i] == 0 || pattern[i] == 1);
            ck_assert(scores[i] == 0 && qk[i] == 0 && isfinite(d[i]));
            has_pattern = has_pattern || d[i] != 0;
        }
    }
    ck_assert(has_pattern);
    release(&pass);
    attn_model_free(pass.model);
}
END_TEST

/* Of an answer after the first position, all later ones have none, and it has that of a lone
 * token. */
START_TEST(a_target_at_the_first_position_has_gradients_there_alone)
{
    struct pass pass = open_pass("models/fable"), lone = open_pass("models/fable");
    const size_t d = attn_model_config(pass.model)->d_model;
    const float *gradient, *expected;

    make_up(&pass, 7), make_up(&lone, 1);
    pass.is_at_first = true;
    run(&pass), run(&lone);
    gradient = attn_kept(pass.gradients, ATTN_SITE_EMBED_GRAD, ATTN_NO_LAYER);
    expected = attn_kept(lone.gradients, ATTN_SITE_EMBED_GRAD, ATTN_NO_LAYER);
    ck_assert_mem_eq(gradient, expected, d * sizeof *expected);
    for (size_t i = 0; i < d; i++)
        ck_assert(isfinite(gradient[i]) && gradient[i] != 0);
    for (size_t i = d; i < 7 * d; i++)
        ck_assert(gradient[i] == 0);
    release(&pass), release(&lone);
    attn_model_free(pass.model), attn_model_free(lone.model);
}
END_TEST

/* What does not fit into float32 is refused: of the stream after the last layer, and in a layer
 * below steep scores, whatever is watched. */
START_TEST(gradients_that_overflow_are_refused)
{
    const struct attn_site_set sites[] = {
        {{0}}, ATTN_SITES(ATTN_SITE_QK_GRAD), ATTN_SITES(ATTN_SITE_EMBED_GRAD)};
    struct attn_attention attention[MOST_LAYERS];
    struct pass pass = open_pass("models/fable");

    for (size_t layer = 0; layer < attn_model_config(pass.model)->n_layer; layer++)
        attention[layer] = attn_model_config(pass.model)->attention[layer];
    make_up(&pass, 9);
    pass.refused_in = "outside of its layers";
    pass.question.weight = 3e38F;
    run_with(&pass, attention);
    pass.refused_in = "in layer 2";
    pass.question.weight = 5e36F;
    attention[3].factor = 400;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        pass.sites = sites[i];
        run_with(&pass, attention);
    }
    release(&pass);
    attn_model_free(pass.model);
}
END_TEST

ATTN_SUITE("backward", every_gradient_of_every_family_is_that_of_float64,
           relevance_by_rules_is_that_of_float64, estimates_by_relp_are_those_of_float64,
           gradients_are_the_differences_of_the_forward_pass,
           gradients_go_through_other_kinds_of_attention,
           gradients_are_the_same_bits_however_they_are_computed,
           a_lone_token_has_scores_without_gradient, masked_cells_have_no_gradient,
           a_pattern_of_zeros_and_ones_has_scores_without_gradient,
           a_target_at_the_first_position_has_gradients_there_alone,
           gradients_that_overflow_are_refused)
