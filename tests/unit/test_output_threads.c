/* What several threads write is what one does. Run it under MODE=tsan too. */
#include "attn.h"
#include "tensors/writer.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 192, N_HEAD = 2, KEPT_EVERY = 3 };

/* A matrix that makes several pieces, and its sparse form: every third key. */
static float data[N * N], sparse[N * N];
static int32_t keys[N * N];
static size_t n_kept[N];

static void fill(void)
{
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            data[i * N + j] = (float)exp(-(double)((i * 37 + j * 11) % 89) / 7);
            if (j <= i && j % KEPT_EVERY == 0) {
                sparse[i * N + n_kept[i]] = data[i * N + j];
                keys[i * N + n_kept[i]++] = (int32_t)j;
            }
        }
    data[N + 1] = INFINITY;
    data[7 * N] = NAN;
}

static enum attn_status tell(struct attn_writer *writer, bool is_sparse, int n_head,
                             struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    for (int head = 0; head < n_head && status == ATTN_OK; head++) {
        const struct attn_trace_event event = {.at.site = ATTN_SITE_PATTERN,
                                               .at.head = head,
                                               .n_row = N,
                                               .n_col = N,
                                               .ld = N,
                                               .data = is_sparse ? sparse : data,
                                               .keys = is_sparse ? keys : NULL,
                                               .n_kept = is_sparse ? n_kept : NULL,
                                               .is_causal = true};

        status = attn_writer_event(writer, &event, err);
    }
    return status == ATTN_OK ? attn_writer_finish(writer, err) : status;
}

struct job {
    const char *format;
    bool is_sparse;
    struct attn_pool *pool;
    long failing; /* this allocation while rows are told fails; LONG_MAX: none does */
};

/* Writes the patterns into SINK; one head of them where that is all that fits. */
static enum attn_status write_patterns(const struct job *job, struct attn_sink *sink,
                                       struct attn_error *err)
{
    const int n_head = strcmp(job->format, "csv") == 0 ? 1 : N_HEAD;
    const struct attn_dims dims = {.n_layer = 1,
                                   .n_head = (size_t)n_head,
                                   .n_kv_head = (size_t)n_head,
                                   .n_position = N,
                                   .sites = ATTN_SITES(ATTN_SITE_PATTERN)};
    struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
    struct attn_labels run = {.model = "made up"};
    struct attn_selection *selection = NULL;
    struct attn_writer *writer = NULL;
    enum attn_status status = attn_selection_create(&dims, &selection, err);

    run.selection = selection;
    options.pool = job->pool;
    if (status == ATTN_OK)
        status = attn_writer_create_sink(attn_format_find(job->format), sink, &run, &options,
                                         &writer, err);
    attn_alloc_fail_at(job->failing);
    if (status == ATTN_OK)
        status = tell(writer, job->is_sparse, n_head, err);
    attn_writer_free(writer);
    attn_selection_free(selection);
    return status;
}

static struct attn_sink *written(const struct job *job)
{
    struct attn_error err = {0};
    struct attn_sink *sink;

    ck_assert_int_eq(attn_sink_create_memory(&sink, &err), ATTN_OK);
    ck_assert_msg(write_patterns(job, sink, &err) == ATTN_OK, "%s", err.message);
    return sink;
}

static bool is_same(const struct attn_sink *a, const struct attn_sink *b)
{
    size_t size, other_size;
    const void *bytes = attn_sink_bytes(a, &size), *others = attn_sink_bytes(b, &other_size);

    return size == other_size && memcmp(bytes, others, size) == 0;
}

static const char *const formats[] = {"csv", "tidy", "npz", "json"};

START_TEST(any_number_of_threads_writes_the_same)
{
    fill();
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int is_sparse = 0; is_sparse < 2; is_sparse++) {
            struct job job = {formats[f], is_sparse == 1, NULL, LONG_MAX};
            struct attn_sink *alone = written(&job);

            for (int n_thread = 1; n_thread <= 5; n_thread++) {
                struct attn_error err = {0};
                struct attn_sink *together;

                ck_assert_int_eq(attn_pool_create(n_thread, &job.pool, &err), ATTN_OK);
                together = written(&job);
                ck_assert_msg(is_same(alone, together), "%s, %d threads", job.format, n_thread);
                attn_sink_free(together);
                attn_pool_free(job.pool);
            }
            attn_sink_free(alone);
        }
}
END_TEST

/* Which allocation is the n-th depends on the threads, so that all that is sure is what comes out:
 * the file, or ATTN_NO_MEMORY. */
START_TEST(memory_that_a_thread_lacks_is_reported)
{
    struct job job = {.failing = LONG_MAX};
    struct attn_error err = {0};

    fill();
    ck_assert_int_eq(attn_pool_create(3, &job.pool, &err), ATTN_OK);
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        struct attn_sink *expected;
        long n_failed = 0, n_asked = 0;

        job.format = formats[f];
        expected = written(&job);
        n_asked = attn_alloc_count();
        for (job.failing = 0; job.failing <= n_asked; job.failing += 2) {
            struct attn_sink *sink;
            enum attn_status status;

            ck_assert_int_eq(attn_sink_create_memory(&sink, &err), ATTN_OK);
            err = (struct attn_error){0};
            status = write_patterns(&job, sink, &err);
            attn_alloc_fail_off();
            ck_assert_int_eq(status, err.status);
            ck_assert_int_eq(status, status == ATTN_OK ? ATTN_OK : ATTN_NO_MEMORY);
            ck_assert(status != ATTN_OK || is_same(sink, expected));
            n_failed += status != ATTN_OK;
            attn_sink_free(sink);
        }
        ck_assert_int_gt(n_failed, 0);
        attn_sink_free(expected);
        job.failing = LONG_MAX;
    }
    attn_pool_free(job.pool);
}
END_TEST

ATTN_SUITE("output threads", any_number_of_threads_writes_the_same,
           memory_that_a_thread_lacks_is_reported)
