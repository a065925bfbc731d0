/*
 * test_output_memory.c - memory of writers over a long sparse run: it follows the number of
 * positions and not that of pairs, of which a whole matrix would have ten thousand million.
 */
#include "tensors/writer.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { N = 100000, N_KEPT = 64, N_ROW = 500 };

/* Rows of one matrix: the 64 keys up to the query. */
struct block {
    float data[N_ROW * N_KEPT];
    int32_t keys[N_ROW * N_KEPT];
    size_t n_kept[N_ROW];
};

static struct attn_dims dims = {
    .n_layer = 1,
    .n_head = 1,
    .n_kv_head = 1,
    .d_model = 1,
    .d_head = 1,
    .d_value = 1,
    .n_position = N,
    .sites = {{UINT64_C(1) << ATTN_SITE_ATTN_SCORES | UINT64_C(1) << ATTN_SITE_PATTERN}},
};

static void fill(struct block *block, size_t row0)
{
    for (size_t r = 0; r < N_ROW; r++) {
        size_t row = row0 + r, first = row < N_KEPT ? 0 : row + 1 - N_KEPT;

        block->n_kept[r] = row + 1 - first;
        for (size_t i = 0; i < block->n_kept[r]; i++) {
            block->keys[r * N_KEPT + i] = (int32_t)(first + i);
            block->data[r * N_KEPT + i] = 1.0F / (float)(i + 1);
        }
    }
}

/* Both sites of the rows before END, in blocks in which one follows the other. */
static void play(struct attn_writer *writer, size_t end, const struct attn_selection *selection)
{
    struct block *block = malloc(sizeof *block);
    struct attn_trace_event event = {.n_row = N_ROW,
                                     .n_col = N,
                                     .ld = N_KEPT,
                                     .data = block->data,
                                     .keys = block->keys,
                                     .n_kept = block->n_kept,
                                     .is_causal = true};
    struct attn_error err = {0};

    for (event.row0 = 0; event.row0 < end; event.row0 += N_ROW) {
        fill(block, event.row0);
        for (int site = ATTN_SITE_ATTN_SCORES; site <= ATTN_SITE_PATTERN; site++) {
            event.at.site = (enum attn_site)site;
            if (attn_selection_wants(selection, &(struct attn_location){.site = event.at.site}))
                ck_assert_msg(attn_writer_event(writer, &event, &err) == ATTN_OK, "%s",
                              err.message);
        }
    }
    ck_assert_msg(attn_writer_finish(writer, &err) == ATTN_OK, "%s", err.message);
    free(block);
}

static long resident_kib(void)
{
    struct rusage usage;

    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* Writes the first N_QUERY rows of SITES to nowhere, and says what that took. */
static void ck_assert_memory(const char *format, struct attn_site_set sites, const char *queries,
                             size_t n_query, long limit_kib)
{
    struct attn_selection *selection;
    struct attn_labels run = {0};
    struct attn_error err = {0};
    struct attn_writer *writer;
    long before = resident_kib(), used;

    ck_assert_int_eq(attn_selection_create(&dims, &selection, &err), ATTN_OK);
    ck_assert_int_eq(attn_selection_set_sites(selection, sites, &err), ATTN_OK);
    ck_assert_int_eq(attn_selection_set_queries(selection, ATTN_STACK_ONLY, queries, &err),
                     ATTN_OK);
    run.selection = selection;
    ck_assert_msg(attn_writer_open(attn_format_find(format),
                                   &(struct attn_writer_target){.path = "/dev/null"}, &run,
                                   &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err) == ATTN_OK,
                  "%s", err.message);
    play(writer, n_query, selection);
    attn_writer_free(writer);
    attn_selection_free(selection);
    used = resident_kib() - before;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ck_assert_msg(used < limit_kib, "%ld KiB, expected less than %ld", used, limit_kib);
#else
    (void)used, (void)limit_kib;
#endif
}

#define PATTERN ATTN_SITES(ATTN_SITE_PATTERN)
#define BOTH ATTN_SITES(ATTN_SITE_PATTERN, ATTN_SITE_ATTN_SCORES)

START_TEST(tidy_takes_memory_by_position)
{
    ck_assert_memory("tidy", PATTERN, "all", N, 10 * 1024);
}
END_TEST

/* The pattern waits for the scores: as arrays both are 400 MB, and 0.5 MB of pairs. */
START_TEST(what_waits_is_what_is_kept)
{
    ck_assert_memory("json", BOTH, "0-999", 1000, 10 * 1024);
    ck_assert_memory("npz", BOTH, "0-999", 1000, 10 * 1024);
}
END_TEST

START_TEST(tables_keep_what_they_show)
{
    ck_assert_memory("text", BOTH, "all", N, 10 * 1024);
}
END_TEST

ATTN_SUITE("output_memory", tidy_takes_memory_by_position, what_waits_is_what_is_kept,
           tables_keep_what_they_show)
