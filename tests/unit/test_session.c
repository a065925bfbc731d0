/*
 * test_session.c - what must not change a result does not, bit for bit: threads, watching, the
 * split into feeds, loading, instruction sets, JIT; and the life of a session: rewind, reset,
 * cancel, limits.
 */
#include "attn.h"
#include "forward/logit_rows.h"
#include "forward/session_internal.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/families.h"
#include "tests/support/near.h"
#include "tests/support/open.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"
#include "trace/blocks_internal.h"
#include "trace/trace_extra.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* test_session_core.c has the same tests with the families of the core alone. */
#ifdef CORE_ALONE
#define FAMILY_DIRECTORIES
#define OF_FAMILIES
#else
#define FAMILY_DIRECTORIES ATTN_FAMILY_DIRECTORIES
#define OF_FAMILIES a_text_that_grows_beyond_its_rotary_factors_has_the_bits_of_a_whole_one,
#endif

static const char *const directories[] = {
    "tests/fixtures/gpt2-long", /* 70 positions: several panels of keys and tiles of rows */
    "tests/fixtures/gpt2-wide", "models/tiny-gpt2",     "tests/fixtures/attn-grouped",
    "tests/fixtures/attn-mlp",  "models/life-is-short", FAMILY_DIRECTORIES};
enum { N_DIRECTORY = sizeof directories / sizeof *directories, N_ID_MAX = 70 };

/* Some ids for MODEL, as many as it takes and at most N_ID_MAX. */
static size_t make_ids(const struct attn_model *model, int32_t ids[N_ID_MAX])
{
    const struct attn_config *config = attn_model_config(model);
    size_t n = config->n_ctx < N_ID_MAX ? config->n_ctx : N_ID_MAX;

    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)((7 * i + i * i / 3) % config->n_vocab);
    return n;
}

/* A reference recording and a second one made with other options, STEP positions a feed. */
struct pair {
    struct attn_model *model;
    int32_t ids[N_ID_MAX];
    size_t n;
    struct attn_recording expected, actual;
};

static void record(struct pair *pair, struct attn_recording *recording,
                   const struct attn_session_options *options, size_t step)
{
    struct attn_error err = {0};

    ck_assert_msg(attn_recording_run(recording, pair->model, options, pair->ids, step, &err) ==
                      ATTN_OK,
                  "%s", err.message);
}

static void pair_open(struct pair *pair, const char *directory)
{
    const struct attn_config *config;

    pair->model = attn_open_model(directory, NULL);
    config = attn_model_config(pair->model);
    pair->n = make_ids(pair->model, pair->ids);
    attn_recording_init(&pair->expected, config, pair->n);
    attn_recording_init(&pair->actual, config, pair->n);
    record(pair, &pair->expected, &ATTN_SESSION_OPTIONS_DEFAULT, pair->n);
}

static void pair_close(struct pair *pair)
{
    attn_recording_release(&pair->expected);
    attn_recording_release(&pair->actual);
    attn_model_free(pair->model);
}

static void check_options(const struct attn_session_options *options, size_t step)
{
    for (int i = 0; i < N_DIRECTORY; i++) {
        struct pair pair;

        pair_open(&pair, directories[i]);
        record(&pair, &pair.actual, options, step < pair.n ? step : pair.n);
        attn_assert_same_recording(directories[i], &pair.actual, &pair.expected);
        pair_close(&pair);
    }
}

START_TEST(threads_do_not_change_bits)
{
    static const int n_thread[] = {1, 2, 8};

    for (int i = 0; i < 3; i++) {
        struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
        struct attn_error err = {0};

        ck_assert(attn_pool_create(n_thread[i], &options.pool, &err) == ATTN_OK);
        check_options(&options, SIZE_MAX);
        attn_pool_free(options.pool);
    }
}
END_TEST

START_TEST(feeding_in_steps_does_not_change_bits)
{
    static const size_t steps[] = {1, 2, 5, 31, 33};

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        check_options(&ATTN_SESSION_OPTIONS_DEFAULT, steps[i]);
}
END_TEST

/* A session that takes few rows at a time has room for these, and for the keys of all. */
START_TEST(room_for_fewer_rows_does_not_change_bits)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;

    options.n_feed = 5;
    check_options(&options, 5);
}
END_TEST

START_TEST(room_for_fewer_rows_is_less_and_holds_no_more)
{
    struct attn_model *model = attn_open_model(directories[0], NULL);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};
    int32_t ids[N_ID_MAX];
    size_t whole, pieces;

    options.n_max = make_ids(model, ids);
    ck_assert(attn_session_measure(model, &options, &whole, &err) == ATTN_OK);
    options.n_feed = 4;
    ck_assert(attn_session_measure(model, &options, &pieces, &err) == ATTN_OK);
    /* resid, normed, out; then q, k, v and z, or the MLP */
    ck_assert_uint_ge(whole - pieces, (options.n_max - 4) * (3 + 4) * 10 * sizeof(float) / 2);
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, ids, 5, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message, "5 tokens are too many for one feed, the session takes 4");
    ck_assert(attn_session_feed(session, ids, 4, &err) == ATTN_OK);
    attn_session_free(session);
    attn_model_free(model);
}
END_TEST

/* Whether libxsmm can be tested here; when not, says so. */
static bool has_jit(void)
{
    if (!attn_gemm_can_jit())
        attn_skip_test("libxsmm cannot make code here");
    return attn_gemm_can_jit();
}

START_TEST(jit_does_not_change_bits)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;

    if (!has_jit())
        return;
    options.gemm = ATTN_GEMM_JIT;
    check_options(&options, SIZE_MAX);
    check_options(&options, 3);
    options.gemm = ATTN_GEMM_PORTABLE;
    check_options(&options, SIZE_MAX);
}
END_TEST

START_TEST(instruction_sets_do_not_change_bits)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;

    options.gemm = ATTN_GEMM_PORTABLE;
    for (options.isa = ATTN_ISA_BASELINE; options.isa <= ATTN_ISA_BEST; options.isa++)
        check_options(&options, SIZE_MAX);
}
END_TEST

/* libxsmm takes its target once a process: the test's own process is the first to start it. */
START_TEST(jit_for_avx2_does_not_change_bits)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;

    if (!has_jit())
        return;
    options.gemm = ATTN_GEMM_JIT;
    options.isa = ATTN_ISA_AVX2;
    check_options(&options, SIZE_MAX);
}
END_TEST

START_TEST(remembering_one_layer_does_not_change_bits)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;

    options.cache = ATTN_CACHE_ONE_LAYER;
    check_options(&options, SIZE_MAX);
}
END_TEST

/* Weights packed for one instruction set, and read with it, or with the best one. */
START_TEST(a_model_opened_for_reuse_gives_the_same_bits)
{
    struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
    struct attn_session_options session = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_error err = {0};

    options.reuse = true;
    ck_assert(attn_pool_create(2, &options.pool, &err) == ATTN_OK);
    for (int i = 0; i < 2 * N_DIRECTORY; i++) {
        const struct attn_source source = {.directory = directories[i / 2]};
        struct pair pair;
        struct attn_model *first;

        options.isa = i % 2 == 0 ? ATTN_ISA_BEST : ATTN_ISA_AVX2;
        pair_open(&pair, source.directory);
        first = pair.model;
        ck_assert(attn_model_open(&source, &options, &pair.model, &err) == ATTN_OK);
        ck_assert_int_eq(pair.model->weights.blocks[0].q.is_sliced,
                         attn_kernels_find(options.isa)->isa == ATTN_ISA_AVX2);
        for (session.isa = ATTN_ISA_AVX2; session.isa <= ATTN_ISA_BEST; session.isa++) {
            record(&pair, &pair.actual, &session, pair.n);
            attn_assert_same_recording(source.directory, &pair.actual, &pair.expected);
        }
        attn_model_free(first);
        pair_close(&pair);
    }
    attn_pool_free(options.pool);
}
END_TEST

START_TEST(reading_and_mapping_give_the_same_bits)
{
    for (int i = 0; i < N_DIRECTORY; i++) {
        struct pair pair;
        struct attn_model *mapped;

        pair_open(&pair, directories[i]);
        mapped = pair.model;
        pair.model = attn_open_model(
            directories[i], &(struct attn_model_options){.size = sizeof(struct attn_model_options),
                                                         .load = ATTN_READ});
        record(&pair, &pair.actual, &ATTN_SESSION_OPTIONS_DEFAULT, pair.n);
        attn_assert_same_recording(directories[i], &pair.actual, &pair.expected);
        attn_model_free(mapped);
        pair_close(&pair);
    }
}
END_TEST

/* Compares what events hold with a recording, and counts them. */
struct checker {
    const struct attn_recording *expected;
    size_t n_value;
};

static enum attn_status compare(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    struct checker *checker = user;
    const struct attn_recorded *record =
        attn_recording_find(checker->expected, event->at.site, event->at.layer);
    const enum attn_site_layout layout = attn_site_layout(event->at.site);
    const size_t h = event->at.head == ATTN_ALL_HEADS ? 0 : (size_t)event->at.head;

    (void)err;
    for (size_t i = 0; i < event->n_row; i++) {
        const size_t p = event->row0 + i;
        const size_t row = layout == ATTN_LAYOUT_VECTOR   ? p
                           : layout == ATTN_LAYOUT_MATRIX ? h * record->shape[1] + p
                                                          : p * record->shape[1] + h;
        size_t n = event->n_col;

        if (event->at.site == ATTN_SITE_QK && event->is_causal)
            n = p + 1; /* the rest is not kept by the recording */
        attn_assert_same_bits(attn_site_name(event->at.site), event->data + i * event->ld,
                              record->data + row * record->shape[record->rank - 1], n);
        checker->n_value += event->n_col;
    }
    return ATTN_OK;
}

/* What to select; NULL leaves all. */
struct choice {
    const char *sites, *layers, *heads, *queries;
};

static struct attn_selection *select_part(const struct attn_dims *dims, const struct choice *choice)
{
    struct attn_selection *selection;
    struct attn_error err = {0};
    struct attn_site_set sites;

    ck_assert(attn_selection_create(dims, &selection, &err) == ATTN_OK);
    if (choice->sites != NULL)
        ck_assert_msg(attn_sites_parse(choice->sites, &sites, &err) == ATTN_OK &&
                          attn_selection_set_sites(selection, sites, &err) == ATTN_OK,
                      "%s", err.message);
    if (choice->layers != NULL)
        ck_assert(attn_selection_set_layers(selection, choice->layers, &err) == ATTN_OK);
    if (choice->heads != NULL)
        ck_assert(attn_selection_set_heads(selection, choice->heads, &err) == ATTN_OK);
    if (choice->queries != NULL)
        ck_assert(attn_selection_set_queries(selection, ATTN_STACK_ONLY, choice->queries, &err) ==
                  ATTN_OK);
    return selection;
}

static size_t count_selected(const struct attn_selection *selection)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    size_t sum = 0, shape[3];

    for (int s = 0; s < ATTN_N_SITE; s++) {
        const enum attn_site site = (enum attn_site)s;
        const int n_layer = attn_site_is_in_layer(site) ? (int)dims->n_layer : 1;

        for (int layer = 0; layer < n_layer; layer++)
            if (attn_selection_wants_block(selection, site, layer)) {
                const int rank = attn_selection_shape(
                    selection, &(struct attn_location){.site = site, .layer = layer}, shape);

                sum += shape[0] * shape[1] * (rank == 3 ? shape[2] : 1);
            }
    }
    return sum;
}

START_TEST(selecting_does_not_change_bits_and_tells_exactly_what_was_asked)
{
    /* gpt2-long has one layer and two heads, tiny-gpt2 three of each. */
    static const struct {
        const char *directory;
        struct choice choice;
    } rows[] = {
        {"tests/fixtures/gpt2-long", {"pattern", NULL, NULL, NULL}},
        {"tests/fixtures/gpt2-long", {"pattern,z", "0", NULL, "-1"}},
        {"tests/fixtures/gpt2-long", {"pattern", NULL, "1", "0-66+11"}},
        {"tests/fixtures/gpt2-long", {"attn_scores,qk,k,v", "-1", "0", "3,40-42"}},
        {"tests/fixtures/gpt2-long", {"q,pattern", NULL, "0.1", "69"}},
        {"tests/fixtures/gpt2-long", {"mlp_pre,mlp_post,mlp_out", NULL, NULL, "68,69"}},
        {"tests/fixtures/gpt2-long", {"logits", NULL, NULL, "33,64-69"}},
        {"tests/fixtures/gpt2-long", {"ln_final", NULL, NULL, "0,69"}},
        {"models/tiny-gpt2", {"z", NULL, NULL, NULL}},
        {"models/tiny-gpt2", {"k", NULL, "1.2", NULL}},
        {"models/tiny-gpt2", {"v", "0", "2", NULL}},
        {"models/tiny-gpt2", {"pattern", NULL, "0.0,2.1-2", "5"}},
        {"models/tiny-gpt2", {"embed", NULL, NULL, NULL}},
        {"models/tiny-gpt2", {"resid_pre", "1", NULL, "5"}},
        {"models/tiny-gpt2", {"resid_mid,attn_out", "0", NULL, NULL}},
        {"models/tiny-gpt2", {"resid_post", "0,2", NULL, NULL}},
        {"models/tiny-gpt2", {"logits,pattern", "0", "1", "12"}},
        {"tests/fixtures/attn-grouped", {"k,v,pattern", "1", "1,5", "2"}},
#ifndef CORE_ALONE
        {"tests/fixtures/family-llama3-untied-sharded", {"rot_q", NULL, "1.3", NULL}},
        {"tests/fixtures/family-llama3-untied-sharded", {"rot_k", "1", "1", "3,9"}},
        {"tests/fixtures/family-qwen3", {"rot_q,rot_k,q", "0", "2", NULL}},
        {"tests/fixtures/family-qwen3", {"mlp_pre_linear", NULL, NULL, "7"}},
        {"tests/fixtures/family-qwen3", {"mlp_pre", "1", NULL, "7"}},
        {"tests/fixtures/family-olmo2", {"q", "1", "2", NULL}},
        {"tests/fixtures/family-olmo2", {"rot_k", NULL, "1.1", NULL}},
        {"tests/fixtures/family-olmo2", {"pattern", "1", "2", "-1"}},
        {"tests/fixtures/family-olmo2", {"attn_out,mlp_out", NULL, NULL, NULL}},
        {"tests/fixtures/family-gemma2", {"attn_scores", "1", "2", "-1"}},
        {"tests/fixtures/family-gemma2", {"qk,pattern", "1", "2", "-1"}},
        {"tests/fixtures/family-gemma2", {"embed,logits", NULL, NULL, "4"}},
        {"tests/fixtures/family-gpt-neox-parallel", {"attn_out", "1", NULL, NULL}},
        {"tests/fixtures/family-gpt-neox-parallel", {"mlp_post", "1", NULL, "2"}},
        {"tests/fixtures/family-phi", {"mlp_out,resid_post", "0", NULL, NULL}},
#endif
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
        struct attn_selection *selection;
        struct attn_session *session;
        struct attn_error err = {0};
        struct checker checker;
        struct attn_trace trace;
        struct pair pair;

        pair_open(&pair, rows[i].directory);
        selection = select_part(&pair.expected.dims, &rows[i].choice);
        checker = (struct checker){&pair.expected, 0};
        trace = (struct attn_trace){.selection = selection, .on_event = compare, .user = &checker};
        options.n_max = pair.n;
        options.trace = &trace;
        ck_assert(attn_session_create(pair.model, &options, &session, &err) == ATTN_OK);
        ck_assert(attn_session_feed(session, pair.ids, pair.n, &err) == ATTN_OK);
        ck_assert_msg(checker.n_value == count_selected(selection), "choice %zu told %zu of %zu", i,
                      checker.n_value, count_selected(selection));
        attn_session_free(session);
        attn_selection_free(selection);
        pair_close(&pair);
    }
}
END_TEST

START_TEST(a_later_token_leaves_earlier_rows_alone)
{
    for (int i = 0; i < N_DIRECTORY; i++) {
        struct pair pair;
        size_t changed;

        pair_open(&pair, directories[i]);
        changed = pair.n - 2;
        pair.ids[changed] =
            (int32_t)((size_t)(pair.ids[changed] + 1) % attn_model_config(pair.model)->n_vocab);
        record(&pair, &pair.actual, &ATTN_SESSION_OPTIONS_DEFAULT, pair.n);
        for (int layer = 0; layer < (int)pair.expected.dims.n_layer; layer++) {
            const struct attn_recorded *a =
                attn_recording_find(&pair.actual, ATTN_SITE_PATTERN, layer);
            const struct attn_recorded *e =
                attn_recording_find(&pair.expected, ATTN_SITE_PATTERN, layer);
            const struct attn_recorded *za = attn_recording_find(&pair.actual, ATTN_SITE_Z, layer);
            const struct attn_recorded *ze =
                attn_recording_find(&pair.expected, ATTN_SITE_Z, layer);

            for (size_t h = 0; h < a->shape[0]; h++)
                attn_assert_same_bits("pattern", a->data + h * pair.n * pair.n,
                                      e->data + h * pair.n * pair.n, changed * pair.n);
            attn_assert_same_bits("z", za->data, ze->data, changed * za->shape[1] * za->shape[2]);
            ck_assert(memcmp(za->data, ze->data, za->n * sizeof(float)) != 0);
        }
        pair_close(&pair);
    }
}
END_TEST

START_TEST(rows_sum_to_one_and_masked_cells_are_zero)
{
    for (int i = 0; i < N_DIRECTORY; i++) {
        struct pair pair;

        pair_open(&pair, directories[i]);
        for (int layer = 0; layer < (int)pair.expected.dims.n_layer; layer++) {
            const struct attn_recorded *pattern =
                attn_recording_find(&pair.expected, ATTN_SITE_PATTERN, layer);
            const struct attn_recorded *sink =
                attn_recording_find(&pair.expected, ATTN_SITE_SINK, layer);
            const bool has_sink = sink && sink->n > 0;

            for (size_t row = 0; row < pattern->n_row; row++) {
                const float *x = pattern->data + row * pair.n;
                double sum = has_sink ? (double)sink->data[row] : 0;

                for (size_t j = 0; j < pair.n; j++) {
                    sum += (double)x[j];
                    ck_assert(j <= row % pair.n || x[j] == 0);
                }
                ck_assert_double_eq_tol(sum, 1, 1e-6);
            }
        }
        pair_close(&pair);
    }
}
END_TEST

/* A digest of every row told, by site and head, so that blocks can be compared with whole
 * layers. */
struct digest {
    uint64_t rows[3][4][2048]; /* [site][head][row]; FNV-1a over the row's bytes */
    size_t n_event;
    bool is_in_order;
    struct attn_trace_event last;
};

static enum attn_status digest_event(void *user, const struct attn_trace_event *event,
                                     struct attn_error *err)
{
    struct digest *digest = user;

    (void)err;
    if (digest->n_event++ > 0 && event->at.site < digest->last.at.site)
        digest->is_in_order = false;
    digest->last = *event;
    for (size_t i = 0; i < event->n_row; i++) {
        const unsigned char *bytes = (const void *)(event->data + i * event->ld);
        uint64_t hash = UINT64_C(14695981039346656037);

        for (size_t b = 0; b < event->n_col * sizeof(float); b++)
            hash = (hash ^ bytes[b]) * UINT64_C(1099511628211);
        digest->rows[event->at.site - ATTN_SITE_QK][event->at.head][event->row0 + i] = hash;
    }
    return ATTN_OK;
}

/* Four heads of 700 or 2000 positions, three matrices: 23 MB fit in the buffer of a layer, 192 MB
 * do not. */
START_TEST(matrices_that_do_not_fit_come_in_blocks_with_the_same_bits)
{
    static const size_t lengths[] = {700, 2000};
    struct attn_model *model = attn_open_model("tests/fixtures/attn-values", NULL);
    struct digest *whole = calloc(1, sizeof *whole), *apart = calloc(1, sizeof *apart);
    const struct attn_config *config = attn_model_config(model);
    int32_t ids[2000];

    ck_assert(config->n_head <= 4 && config->n_ctx >= 2000 && whole != NULL && apart != NULL);
    for (int i = 0; i < 2000; i++)
        ids[i] = i * 5 % (int)config->n_vocab;
    for (int i = 0; i < 2; i++) {
        const size_t n = lengths[i];
        const struct attn_dims dims = attn_config_dims(config, n);

        whole->is_in_order = true, whole->n_event = 0;
        for (int part = 0; part < 2; part++) {
            /* The second time one site and head at a time, which fits. */
            for (int site = 0; site < (part == 0 ? 1 : 3); site++)
                for (int head = 0; head < (part == 0 ? 1 : (int)config->n_head); head++) {
                    const char *const sites[] = {"qk", "attn_scores", "pattern"};
                    const char *const heads[] = {"0", "1", "2", "3"};
                    const struct choice all = {"qk,attn_scores,pattern", NULL, NULL, NULL};
                    const struct choice one = {sites[site], NULL, heads[head], NULL};
                    struct attn_selection *selection = select_part(&dims, part == 0 ? &all : &one);
                    struct attn_trace trace = {.selection = selection,
                                               .on_event = digest_event,
                                               .user = part == 0 ? whole : apart};
                    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
                    struct attn_session *session;
                    struct attn_error err = {0};

                    options.n_max = n;
                    options.trace = &trace;
                    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
                    ck_assert(attn_session_feed(session, ids, n, &err) == ATTN_OK);
                    attn_session_free(session);
                    attn_selection_free(selection);
                }
        }
        ck_assert_mem_eq(whole->rows, apart->rows, sizeof whole->rows);
        ck_assert_int_eq(whole->is_in_order, n == 700);
    }
    free(whole);
    free(apart);
    attn_model_free(model);
}
END_TEST

/* A session over models/tiny-gpt2 with logits. */
struct talk {
    struct attn_model *model;
    struct attn_session *session;
    int32_t ids[N_ID_MAX];
    size_t n;
    struct attn_error err;
};

static void talk_open(struct talk *talk, const struct attn_session_options *options)
{
    struct attn_session_options own = *options;

    memset(talk, 0, sizeof *talk);
    talk->model = attn_open_model("models/tiny-gpt2", NULL);
    talk->n = make_ids(talk->model, talk->ids);
    own.n_max = talk->n;
    own.has_logits = true;
    ck_assert_msg(attn_session_create(talk->model, &own, &talk->session, &talk->err) == ATTN_OK,
                  "%s", talk->err.message);
}

static void talk_close(struct talk *talk)
{
    attn_session_free(talk->session);
    attn_model_free(talk->model);
}

static const float *logits_of(struct talk *talk)
{
    const float *logits;

    ck_assert_msg(attn_session_logits(talk->session, &logits, &talk->err) == ATTN_OK, "%s",
                  talk->err.message);
    return logits;
}

START_TEST(rewinding_forgets_what_came_after)
{
    struct talk talk;
    float expected[512];
    size_t n_vocab;

    talk_open(&talk, &ATTN_SESSION_OPTIONS_DEFAULT);
    n_vocab = attn_model_config(talk.model)->n_vocab;
    ck_assert_uint_le(n_vocab, 512);
    ck_assert(attn_session_feed(talk.session, talk.ids, 9, &talk.err) == ATTN_OK);
    memcpy(expected, logits_of(&talk), n_vocab * sizeof(float));
    ck_assert(attn_session_feed(talk.session, talk.ids + 2, 8, &talk.err) == ATTN_OK);
    ck_assert(memcmp(expected, logits_of(&talk), n_vocab * sizeof(float)) != 0);

    ck_assert(attn_session_rewind(talk.session, 5, &talk.err) == ATTN_OK);
    ck_assert_uint_eq(attn_session_n_position(talk.session), 5);
    ck_assert(attn_session_feed(talk.session, talk.ids + 5, 4, &talk.err) == ATTN_OK);
    attn_assert_same_bits("logits", logits_of(&talk), expected, n_vocab);

    attn_session_reset(talk.session);
    ck_assert(attn_session_feed(talk.session, talk.ids, 9, &talk.err) == ATTN_OK);
    attn_assert_same_bits("logits", logits_of(&talk), expected, n_vocab);
    ck_assert(attn_session_rewind(talk.session, 10, &talk.err) == ATTN_INVALID);
    talk_close(&talk);
}
END_TEST

/* Logits after every position [n, n_vocab], each fed alone; free() them. */
static float *logits_one_by_one(const struct attn_model *model, const int32_t *ids, size_t n)
{
    const size_t n_vocab = attn_model_config(model)->n_vocab;
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};
    float *expected = malloc(n * n_vocab * sizeof *expected);
    const float *logits;

    ck_assert_ptr_nonnull(expected);
    options.n_max = n;
    options.has_logits = true;
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    for (size_t i = 0; i < n; i++) {
        ck_assert(attn_session_feed(session, ids + i, 1, &err) == ATTN_OK);
        ck_assert(attn_session_logits(session, &logits, &err) == ATTN_OK);
        memcpy(expected + i * n_vocab, logits, n_vocab * sizeof *logits);
    }
    attn_session_free(session);
    return expected;
}

START_TEST(logits_after_a_rewind_are_those_of_the_position_that_is_last_then)
{
    struct attn_model *model = attn_open_model("tests/fixtures/gpt2-long", NULL);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    const size_t n_vocab = attn_model_config(model)->n_vocab;
    struct attn_session *session;
    struct attn_error err = {0};
    int32_t ids[N_ID_MAX];
    const size_t n = make_ids(model, ids);
    float *expected = logits_one_by_one(model, ids, n);
    const float *logits;

    options.n_max = n;
    options.has_logits = true;
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, ids, n, &err) == ATTN_OK);
    for (size_t i = n; i-- > 0;) {
        ck_assert(attn_session_rewind(session, i + 1, &err) == ATTN_OK);
        ck_assert(attn_session_logits(session, &logits, &err) == ATTN_OK);
        attn_assert_same_bits("logits", logits, expected + i * n_vocab, n_vocab);
    }
    attn_session_free(session);
    attn_model_free(model);
    free(expected);
}
END_TEST

START_TEST(a_block_that_sees_itself_is_one_feed_and_tokens_may_follow)
{
    enum { FIRST = 3, END = 11, N = 20 };
    struct attn_model *model = attn_open_model("tests/fixtures/gpt2-long", NULL);
    const struct attn_config *config = attn_model_config(model);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    const size_t n_vocab = config->n_vocab, n_layer = config->n_layer;
    struct attn_attention *attention = malloc(n_layer * sizeof *attention);
    struct attn_session *session;
    struct attn_error err = {0};
    int32_t ids[N_ID_MAX];
    float *whole = malloc(N * n_vocab * sizeof *whole),
          *steps = malloc(N * n_vocab * sizeof *steps);

    ck_assert(attention && whole && steps && make_ids(model, ids) > N);
    memcpy(attention, config->attention, n_layer * sizeof *attention);
    for (size_t layer = 0; layer < n_layer; layer++)
        attention[layer].block = (struct attn_mask_block){FIRST, END, false};
    options.attention = attention;
    options.n_max = N;
    options.has_logits = true;
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, ids, N, &err) == ATTN_OK);
    ck_assert(attn_session_logits_at(session, 0, N, whole, &err) == ATTN_OK);
    attn_session_reset(session);
    ck_assert(attn_session_feed(session, ids, END - 1, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message, "positions 3 to 10 see each other, expected them in one feed");
    ck_assert(attn_session_feed(session, ids, FIRST, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, ids + FIRST, 1, &err) == ATTN_INVALID);
    ck_assert(attn_session_feed(session, ids + FIRST, END - FIRST, &err) == ATTN_OK);
    for (size_t i = END; i < N; i++)
        ck_assert(attn_session_feed(session, ids + i, 1, &err) == ATTN_OK);
    ck_assert(attn_session_logits_at(session, 0, N, steps, &err) == ATTN_OK);
    attn_assert_same_bits("steps", steps, whole, N * n_vocab);
    ck_assert(attn_session_rewind(session, FIRST + 1, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, ids + FIRST + 1, N - FIRST - 1, &err) == ATTN_INVALID);
    attn_session_free(session);
    attn_model_free(model);
    free(attention);
    free(whole);
    free(steps);
}
END_TEST

static enum attn_status ignore_event(void *user, const struct attn_trace_event *event,
                                     struct attn_error *err)
{
    (void)user, (void)event, (void)err;
    return ATTN_OK;
}

START_TEST(logits_of_any_position_can_be_had_when_it_was_computed_to_its_end)
{
    struct attn_model *model = attn_open_model("tests/fixtures/gpt2-long", NULL);
    const size_t n_vocab = attn_model_config(model)->n_vocab;
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    int32_t ids[N_ID_MAX];
    const size_t n = make_ids(model, ids);
    const struct attn_dims dims = attn_config_dims(attn_model_config(model), n);
    float *expected = logits_one_by_one(model, ids, n),
          *logits = malloc(n * n_vocab * sizeof(float));
    struct attn_trace trace = {.on_event = ignore_event};
    struct attn_selection *selection;
    struct attn_error err = {0};

    ck_assert(logits != NULL && n > 40);
    ck_assert(attn_selection_create(&dims, &selection, &err) == ATTN_OK);
    ck_assert(attn_selection_set_queries(selection, ATTN_STACK_ONLY, "3-6", &err) == ATTN_OK);
    trace.selection = selection;
    options.n_max = n;
    options.has_logits = true;
    for (int is_watched = 0; is_watched < 2; is_watched++) {
        struct attn_session *session;

        options.cache = is_watched ? ATTN_CACHE_ONE_LAYER : ATTN_CACHE_ALL_LAYERS;
        options.trace = is_watched ? &trace : NULL;
        ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
        ck_assert(attn_session_logits_at(session, 0, 1, logits, &err) == ATTN_INVALID);
        err = (struct attn_error){0};
        ck_assert(attn_session_feed(session, ids, n, &err) == ATTN_OK);
        ck_assert(attn_session_logits_at(session, 3, 4, logits, &err) == ATTN_OK);
        attn_assert_same_bits("some", logits, expected + 3 * n_vocab, 4 * n_vocab);
        ck_assert(attn_session_logits_at(session, n - 1, 1, logits, &err) == ATTN_OK);
        attn_assert_same_bits("last", logits, expected + (n - 1) * n_vocab, n_vocab);
        ck_assert(attn_session_logits_at(session, n - 1, 2, logits, &err) == ATTN_INVALID);
        err = (struct attn_error){0};
        if (is_watched)
            ck_assert(attn_session_logits_at(session, 6, 2, logits, &err) == ATTN_INVALID);
        else
            ck_assert(attn_session_logits_at(session, 0, n, logits, &err) == ATTN_OK);
        if (!is_watched)
            attn_assert_same_bits("all", logits, expected, n * n_vocab);
        err = (struct attn_error){0};
        attn_session_free(session);
    }
    attn_selection_free(selection);
    attn_model_free(model);
    free(expected);
    free(logits);
}
END_TEST

/* Three rows at a time, of queries with gaps: 1, 4-10 and the last. */
START_TEST(rows_of_logits_are_those_of_the_selected_positions_in_order)
{
    struct attn_model *model = attn_open_model("tests/fixtures/gpt2-long", NULL);
    const size_t n_vocab = attn_model_config(model)->n_vocab;
    const size_t firsts[] = {1, 4, 7, 10, 69}, counts[] = {1, 3, 3, 1, 1};
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    int32_t ids[N_ID_MAX];
    const size_t n = make_ids(model, ids);
    const struct attn_dims dims = attn_config_dims(attn_model_config(model), n);
    float *expected = logits_one_by_one(model, ids, n);
    struct attn_logit_rows rows = {.end = n, .n_most = 3}, canceled;
    struct attn_selection *selection;
    struct attn_error err = {0};
    size_t n_block = 0;

    ck_assert_uint_eq(n, 70);
    ck_assert(attn_selection_create(&dims, &selection, &err) == ATTN_OK);
    ck_assert(attn_selection_set_queries(selection, ATTN_STACK_ONLY, "1,4-10,-1", &err) == ATTN_OK);
    options.n_max = n;
    options.has_logits = true;
    ck_assert(attn_session_create(model, &options, &rows.session, &err) == ATTN_OK);
    ck_assert(attn_session_feed(rows.session, ids, n, &err) == ATTN_OK);
    rows.selection = selection;
    canceled = rows;
    for (; attn_logit_rows_next(&rows, &err); n_block++) {
        ck_assert_uint_lt(n_block, sizeof firsts / sizeof *firsts);
        ck_assert_uint_eq(rows.first, firsts[n_block]);
        ck_assert_uint_eq(rows.n, counts[n_block]);
        attn_assert_same_bits("rows", rows.logits, expected + rows.first * n_vocab,
                              rows.n * n_vocab);
    }
    ck_assert_uint_eq(n_block, sizeof firsts / sizeof *firsts);
    ck_assert(attn_logit_rows_end(&rows) == ATTN_OK);
    ck_assert(attn_logit_rows_next(&canceled, &err));
    canceled.status = ATTN_CANCELED;
    ck_assert(!attn_logit_rows_next(&canceled, &err));
    ck_assert(attn_logit_rows_end(&canceled) == ATTN_CANCELED);
    ck_assert_uint_eq(attn_logit_rows_at_once(1 << 20, 9), 4);
    ck_assert_uint_eq(attn_logit_rows_at_once(1 << 30, 9), 1);
    ck_assert_uint_eq(attn_logit_rows_at_once(7, 9), 9);
    attn_selection_free(selection);
    attn_session_free(rows.session);
    attn_model_free(model);
    free(expected);
}
END_TEST

START_TEST(probabilities_of_all_tokens_sum_to_one)
{
    struct talk talk;
    double sum = 0, log_probability;

    talk_open(&talk, &ATTN_SESSION_OPTIONS_DEFAULT);
    ck_assert(attn_session_log_probability(talk.session, 0, &log_probability, &talk.err) ==
              ATTN_INVALID);
    talk.err.status = ATTN_OK;
    ck_assert(attn_session_feed(talk.session, talk.ids, talk.n, &talk.err) == ATTN_OK);
    for (size_t id = 0; id < attn_model_config(talk.model)->n_vocab; id++) {
        ck_assert(attn_session_log_probability(talk.session, (int32_t)id, &log_probability,
                                               &talk.err) == ATTN_OK);
        sum += exp(log_probability);
    }
    ck_assert_double_eq_tol(sum, 1, 1e-6);
    talk_close(&talk);
}
END_TEST

START_TEST(refuses_what_does_not_fit_and_changes_nothing)
{
    struct talk talk;
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};
    int32_t bad[] = {1, 100000}, negative = -1;
    const float *logits;

    talk_open(&talk, &ATTN_SESSION_OPTIONS_DEFAULT);
    options.n_max = 4;
    options.n_source = ((size_t)1 << 30) + 1;
    ck_assert(attn_session_create(talk.model, &options, &session, &err) == ATTN_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, "expected at most 1073741824"));
    ck_assert(attn_session_feed(talk.session, talk.ids, 4, &talk.err) == ATTN_OK);
    logits = logits_of(&talk);
    ck_assert(attn_session_feed(talk.session, bad, 2, &talk.err) == ATTN_INVALID);
    ck_assert_ptr_nonnull(strstr(talk.err.message, "token id 100000 at position 5"));
    ck_assert(attn_session_feed(talk.session, &negative, 1, NULL) == ATTN_INVALID);
    ck_assert(attn_session_feed(talk.session, talk.ids, 0, NULL) == ATTN_INVALID);
    ck_assert(attn_session_feed(talk.session, talk.ids, talk.n, NULL) == ATTN_INVALID);
    ck_assert_uint_eq(attn_session_n_position(talk.session), 4);
    ck_assert_ptr_eq(logits_of(&talk), logits);
    talk_close(&talk);
}
END_TEST

START_TEST(a_model_without_a_mask_wants_its_sequence_whole)
{
    struct attn_model *model = attn_open_model("tests/fixtures/attn-bidirectional", NULL);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};
    const int32_t ids[] = {0, 1, 2};

    options.n_max = 3;
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, ids, 2, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, ids, 1, &err) == ATTN_INVALID);
    attn_session_free(session);
    attn_model_free(model);
}
END_TEST

START_TEST(a_canceled_session_works_again_after_a_reset)
{
    volatile sig_atomic_t cancel = 1;
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct talk talk;

    options.cancel = &cancel;
    talk_open(&talk, &options);
    ck_assert(attn_session_feed(talk.session, talk.ids, 4, &talk.err) == ATTN_CANCELED);
    cancel = 0;
    ck_assert(attn_session_feed(talk.session, talk.ids, 4, NULL) == ATTN_INVALID);
    attn_session_reset(talk.session);
    ck_assert(attn_session_feed(talk.session, talk.ids, 4, NULL) == ATTN_OK);
    talk_close(&talk);
}
END_TEST

START_TEST(embeddings_may_be_fed_instead_of_tokens)
{
    struct pair pair;
    const struct attn_recorded *embed;
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct checker checker;
    struct attn_trace trace;
    struct attn_error err = {0};

    pair_open(&pair, "models/tiny-gpt2");
    checker = (struct checker){&pair.expected, 0};
    trace = (struct attn_trace){
        .selection = pair.expected.selection, .on_event = compare, .user = &checker};
    embed = attn_recording_find(&pair.expected, ATTN_SITE_EMBED, ATTN_NO_LAYER);
    options.n_max = pair.n;
    options.trace = &trace;
    ck_assert(attn_session_create(pair.model, &options, &session, &err) == ATTN_OK);
    ck_assert(attn_session_feed_embeddings(session, embed->data, pair.n, &err) == ATTN_OK);
    ck_assert_uint_eq(checker.n_value, count_selected(pair.expected.selection));
    attn_session_free(session);
    pair_close(&pair);
}
END_TEST

START_TEST(a_failing_allocation_leaves_nothing_behind)
{
    const struct attn_source source = {.directory = "models/tiny-gpt2"};
    const int32_t ids[] = {1, 2, 3};

    for (long n = 0;; n++) {
        struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
        struct attn_model *model = NULL;
        struct attn_session *session = NULL;
        struct attn_error err = {0};
        enum attn_status status;

        options.n_max = 3;
        options.has_logits = true;
        attn_alloc_fail_at(n);
        status = attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err);
        if (status == ATTN_OK)
            status = attn_session_create(model, &options, &session, &err);
        if (status == ATTN_OK)
            status = attn_session_feed(session, ids, 3, &err);
        attn_alloc_fail_off();
        attn_session_free(session);
        attn_model_free(model);
        if (status == ATTN_OK)
            break;
        ck_assert_msg(status == ATTN_NO_MEMORY, "allocation %ld: %s", n, err.message);
        ck_assert_int_lt(n, 10000);
    }
}
END_TEST

#ifndef CORE_ALONE
/* The logits after each of the first N tokens, fed one by one from FIRST on, are those of one feed.
 */
static void assert_steps(const struct attn_model *model, struct attn_session *steps, size_t first,
                         size_t n)
{
    const size_t n_vocab = attn_model_config(model)->n_vocab;
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    int32_t ids[20];

    options.n_max = n;
    options.has_logits = true;
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)(i * 7 + 3) % 80;
    for (size_t i = first; i < n; i++) {
        const float *expected, *logits;
        struct attn_session *whole;

        ck_assert_int_eq(attn_session_create(model, &options, &whole, &err), ATTN_OK);
        ck_assert_int_eq(attn_session_feed(whole, ids, i + 1, &err), ATTN_OK);
        ck_assert_int_eq(attn_session_logits(whole, &expected, &err), ATTN_OK);
        ck_assert_msg(attn_session_feed(steps, ids + i, 1, &err) == ATTN_OK, "%s", err.message);
        ck_assert_int_eq(attn_session_logits(steps, &logits, &err), ATTN_OK);
        attn_assert_same_bits("logits", logits, expected, n_vocab);
        attn_session_free(whole);
    }
}

/* Up to 12 tokens the model has other factors of rotary positions than beyond. */
START_TEST(a_text_that_grows_beyond_its_rotary_factors_has_the_bits_of_a_whole_one)
{
    const struct attn_source source = {.directory = "tests/fixtures/family-phi3-longrope"};
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    struct attn_model *model;
    struct attn_session *steps;

    options.n_max = 20;
    options.has_logits = true;
    ck_assert_int_eq(attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err), ATTN_OK);
    ck_assert_int_eq(attn_session_create(model, &options, &steps, &err), ATTN_OK);
    assert_steps(model, steps, 0, 20);
    ck_assert_int_eq(attn_session_rewind(steps, 8, &err), ATTN_OK);
    assert_steps(model, steps, 8, 20);
    attn_session_free(steps);
    attn_model_free(model);
}
END_TEST
#endif

ATTN_SUITE("session", OF_FAMILIES threads_do_not_change_bits, feeding_in_steps_does_not_change_bits,
           room_for_fewer_rows_does_not_change_bits, room_for_fewer_rows_is_less_and_holds_no_more,
           jit_does_not_change_bits, instruction_sets_do_not_change_bits,
           jit_for_avx2_does_not_change_bits, remembering_one_layer_does_not_change_bits,
           a_model_opened_for_reuse_gives_the_same_bits, reading_and_mapping_give_the_same_bits,
           selecting_does_not_change_bits_and_tells_exactly_what_was_asked,
           a_later_token_leaves_earlier_rows_alone, rows_sum_to_one_and_masked_cells_are_zero,
           matrices_that_do_not_fit_come_in_blocks_with_the_same_bits,
           rewinding_forgets_what_came_after,
           a_block_that_sees_itself_is_one_feed_and_tokens_may_follow,
           logits_after_a_rewind_are_those_of_the_position_that_is_last_then,
           logits_of_any_position_can_be_had_when_it_was_computed_to_its_end,
           rows_of_logits_are_those_of_the_selected_positions_in_order,
           probabilities_of_all_tokens_sum_to_one, refuses_what_does_not_fit_and_changes_nothing,
           a_model_without_a_mask_wants_its_sequence_whole,
           a_canceled_session_works_again_after_a_reset, embeddings_may_be_fed_instead_of_tokens,
           a_failing_allocation_leaves_nothing_behind)
