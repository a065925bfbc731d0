/* test_held.c - the store of events that are played again. */
#include "measures/run_measures.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { N_ROW = 3, N_KEY = 9, LD = 2 };

static enum attn_status compare(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    const struct attn_trace_event *expected = user;

    (void)err;
    ck_assert_uint_eq(event->ld, LD);
    ck_assert_uint_eq(event->n_col, N_KEY);
    ck_assert_mem_eq(event->data, expected->data, N_ROW * LD * sizeof *event->data);
    ck_assert_mem_eq(event->keys, expected->keys, N_ROW * LD * sizeof *event->keys);
    ck_assert_mem_eq(event->n_kept, expected->n_kept, N_ROW * sizeof *event->n_kept);
    return ATTN_OK;
}

/* Rows of listed keys have room for the most that a row keeps, not for all keys. */
START_TEST(rows_of_listed_keys_are_as_long_as_they_are)
{
    const float data[N_ROW * LD] = {1, 2, 3, 4, 5, 6};
    const int32_t keys[N_ROW * LD] = {0, 1, 0, 2, 1, 8};
    const size_t n_kept[N_ROW] = {2, 2, 2};
    struct attn_trace_event event = {.n_row = N_ROW, .n_col = N_KEY, .ld = LD};
    const struct attn_trace to = {.on_event = compare, .user = &event};
    struct attn_held *held;
    float *own_data = malloc(sizeof data); /* so that ASan sees a read beyond them */
    int32_t *own_keys = malloc(sizeof keys);

    ck_assert(own_data && own_keys);
    event.data = memcpy(own_data, data, sizeof data);
    event.keys = memcpy(own_keys, keys, sizeof keys);
    event.n_kept = n_kept;
    ck_assert_int_eq(attn_held_create(sizeof data + sizeof keys + sizeof n_kept, &held, NULL),
                     ATTN_OK);
    ck_assert_int_eq(attn_held_add(held, &event, NULL), ATTN_OK);
    ck_assert(attn_held_is_whole(held));
    ck_assert_int_eq(attn_held_play(held, &to, NULL), ATTN_OK);
    attn_held_free(held);
    free(own_data);
    free(own_keys);
}
END_TEST

ATTN_SUITE("held", rows_of_listed_keys_are_as_long_as_they_are)
