/*
 * test_session_threads.c - what is immutable may be shared: sessions on one model and texts through
 * one tokenizer, from several threads at once, give the bits that they give alone. ThreadSanitizer
 * looks on in `make check-sanitized`.
 */
#include "attn.h"
#include "base/pool.h"
#include "kernels/gemm_internal.h"
#include "model/config_fields.h"
#include "tests/support/open.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"
#include "tokenizer/tokenizer_internal.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { N_CALLER = 4, N_ROUND = 3, N_ID_MAX = 70 };

/* One thread of the test, with a session of its own in each round. */
struct caller {
    const struct attn_model *model;
    struct attn_session_options options;
    struct attn_recording recording;
    const int32_t *ids; /* as many as the recording has positions */
    size_t step;        /* positions a feed */
    pthread_barrier_t *barrier;
    enum attn_status status;
    struct attn_error err;
};

static void *call(void *argument)
{
    struct caller *caller = argument;

    pthread_barrier_wait(caller->barrier);
    for (int i = 0; i < N_ROUND && caller->status == ATTN_OK; i++)
        caller->status = attn_recording_run(&caller->recording, caller->model, &caller->options,
                                            caller->ids, caller->step, &caller->err);
    return NULL;
}

static struct attn_pool *create_pool(int n_thread)
{
    struct attn_pool *pool;
    struct attn_error err = {0};

    ck_assert_msg(attn_pool_create(n_thread, &pool, &err) == ATTN_OK, "%s", err.message);
    return pool;
}

/* Each caller its own pool, or all of them SHARED, which may be NULL. */
static void check_callers(const char *directory, enum attn_gemm gemm, bool has_own_pools,
                          struct attn_pool *shared)
{
    struct attn_model *model = attn_open_model(directory, NULL);
    const struct attn_config *config = attn_model_config(model);
    size_t n = config->n_ctx < N_ID_MAX ? config->n_ctx : N_ID_MAX;
    struct attn_recording expected;
    struct caller callers[N_CALLER];
    pthread_t threads[N_CALLER];
    pthread_barrier_t barrier;
    struct attn_error err = {0};
    int32_t ids[N_ID_MAX];

    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)((7 * i + i * i / 3) % config->n_vocab);
    ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, N_CALLER), 0);
    for (int i = 0; i < N_CALLER; i++) {
        callers[i] = (struct caller){.model = model,
                                     .options = ATTN_SESSION_OPTIONS_DEFAULT,
                                     .ids = ids,
                                     .step = i == 0 ? n : (size_t)i * 3,
                                     .barrier = &barrier};
        callers[i].options.gemm = gemm;
        callers[i].options.pool = has_own_pools ? create_pool(2) : shared;
        attn_recording_init(&callers[i].recording, config, n);
    }
    for (int i = 0; i < N_CALLER; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    for (int i = 0; i < N_CALLER; i++)
        pthread_join(threads[i], NULL);

    attn_recording_init(&expected, config, n);
    ck_assert_msg(attn_recording_run(&expected, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, n,
                                     &err) == ATTN_OK,
                  "%s", err.message);
    for (int i = 0; i < N_CALLER; i++) {
        ck_assert_msg(callers[i].status == ATTN_OK, "%s", callers[i].err.message);
        attn_assert_same_recording(directory, &callers[i].recording, &expected);
        attn_recording_release(&callers[i].recording);
        if (has_own_pools)
            attn_pool_free(callers[i].options.pool);
    }
    attn_recording_release(&expected);
    pthread_barrier_destroy(&barrier);
    attn_model_free(model);
}

START_TEST(sessions_on_one_model_do_not_disturb_each_other)
{
    check_callers("tests/fixtures/gpt2-long", ATTN_GEMM_PORTABLE, true, NULL);
    check_callers("models/tiny-gpt2", ATTN_GEMM_PORTABLE, true, NULL);
    check_callers("tests/fixtures/attn-grouped", ATTN_GEMM_AUTO, true, NULL);
    check_callers("tests/fixtures/family-gemma3-text", ATTN_GEMM_AUTO, true, NULL);
}
END_TEST

START_TEST(sessions_may_share_a_pool)
{
    struct attn_pool *pool = create_pool(3);

    check_callers("tests/fixtures/gpt2-long", ATTN_GEMM_PORTABLE, false, pool);
    check_callers("models/tiny-gpt2", ATTN_GEMM_AUTO, false, pool);
    attn_pool_free(pool);
}
END_TEST

/* libxsmm's own locks are not ThreadSanitizer's to see. */
START_TEST(sessions_that_begin_together_may_compile_kernels)
{
#ifndef __SANITIZE_THREAD__
    if (!attn_gemm_can_jit()) {
        attn_skip_test("libxsmm cannot make code here");
        return;
    }
    check_callers("tests/fixtures/gpt2-long", ATTN_GEMM_JIT, false, NULL);
    check_callers("tests/fixtures/gpt2-wide", ATTN_GEMM_JIT, true, NULL);
#endif
}
END_TEST

/* One thread that looks at tokens, encodes and decodes with a tokenizer that others use, too. */
struct reader {
    const struct attn_tokenizer *tokenizer, *expected; /* the second is this thread's own */
    pthread_barrier_t *barrier;
    bool has_same_tokens;
    int n_good;
};

/* Whether each token is the expected one. */
static bool read_tokens(const struct reader *reader)
{
    const size_t n = attn_tokenizer_n_vocab(reader->expected);
    bool is_same = attn_tokenizer_n_vocab(reader->tokenizer) == n;

    for (size_t i = 0; i < n; i++) {
        size_t size = 0, expected_size = 1;
        const char *token = attn_tokenizer_token(reader->tokenizer, (int32_t)i, &size);
        const char *expected = attn_tokenizer_token(reader->expected, (int32_t)i, &expected_size);

        is_same = is_same && size == expected_size && memcmp(token, expected, size) == 0;
    }
    return is_same;
}

static const char text[] = "The keys to the cabinet are on the table, d\xc3\xa9j\xc3\xa0 vu 42";

static void *read_text(void *argument)
{
    struct reader *reader = argument;
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};

    pthread_barrier_wait(reader->barrier);
    reader->has_same_tokens = read_tokens(reader);
    for (int i = 0; i < 50; i++) {
        char *decoded;
        size_t size;

        if (attn_tokenizer_encode(reader->tokenizer, text, sizeof text - 1, &ATTN_ENCODE_DEFAULT,
                                  &encoding, &err) != ATTN_OK ||
            attn_tokenizer_decode(reader->tokenizer, encoding.ids, encoding.n, &decoded, &size,
                                  &err) != ATTN_OK)
            break;
        reader->n_good += size == sizeof text - 1 && memcmp(decoded, text, size) == 0;
        attn_tokenizer_text_free(decoded);
    }
    attn_encoding_release(&encoding);
    return NULL;
}

/* Opened lazily: all threads want what is not read yet. */
static void serve_threads(const struct attn_source *source)
{
    struct attn_tokenizer *tokenizer, *expected[N_CALLER];
    struct reader readers[N_CALLER];
    pthread_t threads[N_CALLER];
    pthread_barrier_t barrier;
    struct attn_error err = {0};

    ck_assert_msg(attn_tokenizer_open_lazily(source, NULL, NULL, &tokenizer, &err) == ATTN_OK, "%s",
                  err.message);
    ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, N_CALLER), 0);
    for (int i = 0; i < N_CALLER; i++) {
        readers[i] = (struct reader){.tokenizer = tokenizer, .barrier = &barrier};
        ck_assert_int_eq(attn_tokenizer_open(source, &expected[i], &err), ATTN_OK);
        readers[i].expected = expected[i];
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_text, &readers[i]), 0);
    }
    for (int i = 0; i < N_CALLER; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(readers[i].n_good, 50);
        ck_assert(readers[i].has_same_tokens);
        attn_tokenizer_free(expected[i]);
    }
    pthread_barrier_destroy(&barrier);
    attn_tokenizer_free(tokenizer);
}

START_TEST(a_tokenizer_serves_several_threads)
{
    for (int i = 0; i < 10; i++)
        serve_threads(&(struct attn_source){.directory = "models/tiny-gpt2"});
    for (int i = 0; i < 10; i++)
        serve_threads(&(struct attn_source){.directory = "tests/fixtures/tokenizers/smollm2"});
}
END_TEST

ATTN_SUITE("session threads", sessions_on_one_model_do_not_disturb_each_other,
           sessions_may_share_a_pool, sessions_that_begin_together_may_compile_kernels,
           a_tokenizer_serves_several_threads)
