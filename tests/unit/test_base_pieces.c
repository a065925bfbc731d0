/* Text made piece by piece on a pool. Run it under MODE=tsan too. */
#include "base/pieces.h"
#include "base/sink_internal.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int thread_counts[] = {0, 1, 2, 3, 8}; /* 0: no pool */
enum { N_THREAD_COUNT = sizeof thread_counts / sizeof *thread_counts };

/* Pieces for a sink in memory, with a pool or without. */
struct maker {
    struct attn_pool *pool;
    struct attn_pieces *pieces;
    struct attn_sink *sink;
};

static struct maker start(int n_thread)
{
    struct maker maker = {0};
    struct attn_error err = {0};

    if (n_thread > 0)
        ck_assert_int_eq(attn_pool_create(n_thread, &maker.pool, &err), ATTN_OK);
    ck_assert_int_eq(attn_pieces_create(maker.pool, &maker.pieces, &err), ATTN_OK);
    ck_assert_int_eq(attn_sink_create_memory(&maker.sink, &err), ATTN_OK);
    return maker;
}

static void stop(struct maker *maker)
{
    attn_pieces_free(maker->pieces);
    attn_pool_free(maker->pool);
    attn_sink_free(maker->sink);
}

/* Its number, and as many points as take some pieces longer than others. */
static void append_number(const void *context, size_t i, struct attn_buffer *text)
{
    (void)context;
    attn_buffer_append_format(text, "%zu", i);
    for (size_t n = i * 7919 % 1000; n > 0; n--)
        attn_buffer_append_char(text, '.');
}

static void ck_assert_numbers(const struct attn_sink *sink, size_t n)
{
    struct attn_buffer expected = {0};
    size_t size;
    const void *bytes = attn_sink_bytes(sink, &size);

    for (size_t i = 0; i < n; i++)
        append_number(NULL, i, &expected);
    ck_assert_uint_eq(size, expected.size);
    ck_assert(size == 0 || memcmp(bytes, expected.data, size) == 0);
    attn_buffer_release(&expected);
}

START_TEST(pieces_come_in_order_whatever_the_threads)
{
    static const size_t counts[] = {0, 1, 2, 7, 1000};

    for (int t = 0; t < N_THREAD_COUNT; t++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            struct maker maker = start(thread_counts[t]);
            struct attn_error err = {0};

            ck_assert_int_eq(
                attn_pieces_write(maker.pieces, counts[c], append_number, NULL, maker.sink, &err),
                ATTN_OK);
            ck_assert_numbers(maker.sink, counts[c]);
            stop(&maker);
        }
}
END_TEST

struct race {
    atomic_size_t n_begun;
    size_t n_ahead; /* begun while piece 0 was made */
};

/* Piece 0 takes its time. */
static void append_slowly(const void *context, size_t i, struct attn_buffer *text)
{
    struct race *race = *(struct race *const *)context;

    atomic_fetch_add(&race->n_begun, 1);
    if (i == 0) {
        usleep(50 * 1000);
        race->n_ahead = atomic_load(&race->n_begun);
    }
    append_number(NULL, i, text);
}

START_TEST(few_pieces_are_held_while_one_is_awaited)
{
    struct maker maker = start(3);
    struct race race = {0}, *context = &race;
    struct attn_error err = {0};

    ck_assert_int_eq(
        attn_pieces_write(maker.pieces, 1000, append_slowly, &context, maker.sink, &err), ATTN_OK);
    ck_assert_uint_le(race.n_ahead, 3 * 3);
    ck_assert_numbers(maker.sink, 1000);
    stop(&maker);
}
END_TEST

enum { BROKEN = 500 };

static void append_or_fail(const void *context, size_t i, struct attn_buffer *text)
{
    append_number(context, i, text);
    text->has_failed = i == BROKEN;
}

START_TEST(nothing_follows_a_piece_that_failed)
{
    for (int t = 0; t < N_THREAD_COUNT; t++) {
        struct maker maker = start(thread_counts[t]);
        struct attn_error err = {0};

        ck_assert_int_eq(
            attn_pieces_write(maker.pieces, 1000, append_or_fail, NULL, maker.sink, &err),
            ATTN_NO_MEMORY);
        ck_assert_numbers(maker.sink, BROKEN);
        attn_sink_free(maker.sink);
        ck_assert_int_eq(attn_sink_create_memory(&maker.sink, &err), ATTN_OK);
        ck_assert_int_eq(
            attn_pieces_write(maker.pieces, 1000, append_number, NULL, maker.sink, &err), ATTN_OK);
        ck_assert_numbers(maker.sink, 1000);
        stop(&maker);
    }
}
END_TEST

START_TEST(a_pipe_that_closes_ends_it)
{
    struct maker maker = start(2);
    struct attn_error err = {0};
    struct attn_sink *sink;
    int ends[2];

    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    ck_assert_int_eq(attn_sink_create_descriptor(ends[1], "pipe", &sink, &err), ATTN_OK);
    ck_assert_int_eq(attn_pieces_write(maker.pieces, 1000, append_number, NULL, sink, &err),
                     ATTN_OK);
    ck_assert_int_eq(attn_sink_check(sink, &err), ATTN_IO);
    ck_assert(attn_sink_is_closed_pipe(sink));
    attn_sink_free(sink);
    close(ends[1]);
    stop(&maker);
}
END_TEST

START_TEST(creation_survives_each_failed_allocation)
{
    struct attn_pieces *pieces = NULL;
    enum attn_status status = ATTN_NO_MEMORY;

    for (long n = 0; status != ATTN_OK; n++) {
        struct attn_error err = {0};

        attn_alloc_fail_at(n);
        status = attn_pieces_create(NULL, &pieces, &err);
        attn_alloc_fail_off();
        ck_assert_int_eq(status, n < 4 ? ATTN_NO_MEMORY : ATTN_OK);
        ck_assert_int_eq(err.status, status);
    }
    attn_pieces_free(pieces);
    attn_pieces_free(NULL);
}
END_TEST

ATTN_SUITE("base pieces", pieces_come_in_order_whatever_the_threads,
           few_pieces_are_held_while_one_is_awaited, nothing_follows_a_piece_that_failed,
           a_pipe_that_closes_ends_it, creation_survives_each_failed_allocation)
