/*
 * test_output_sparse.c - sparse matrices, which are told by the keys that they hold: every format
 * writes what it writes of the whole matrix, with the cells that are not held masked.
 *
 * Where arrays are compared the whole matrix is told with what arrays have in masked cells; where
 * text is, with a number of its own in them, which is then taken out of the text.
 */
#include "tests/support/folder.h"
#include "tests/support/picture.h"
#include "tests/support/suite.h"
#include "tests/support/written.h"

#include <stdlib.h>
#include <string.h>

static const bool is_cross[] = {false, true};

static const struct attn_dims small = {
    .n_layer = 2,
    .n_head = 3,
    .n_kv_head = 1,
    .d_model = 3,
    .d_head = 2,
    .d_value = 2,
    .d_mlp = 4,
    .n_vocab = 5,
    .n_position = 20, /* more than a table shows */
    .n_source = 23,
    .is_cross = is_cross,
};

enum { N_ROUND = 48, STAND_IN = 12345 };

static const char sites[] = "qk,attn_scores,pattern,pattern_dropped,z,v,resid_mid";

static struct attn_made_up_run made;

/* --- Which cells are held -------------------------------------------------------------------- */

static unsigned int round_number;

static unsigned int mix(unsigned int state, size_t value)
{
    state = (state ^ (unsigned int)value) * 0x9e3779b1U;
    return state ^ state >> 15;
}

static bool keeps(int layer, int head, size_t row, size_t col)
{
    size_t distance = row < col ? col - row : row - col;
    unsigned int chance = mix(mix(mix(round_number, (size_t)(layer * 8 + head)), row), 7);

    switch (round_number % 6) {
    case 0:
        return distance < 3;
    case 1:
        return distance % 4 == 0;
    case 2:
        return (distance & (distance - 1)) == 0;
    case 3:
        return row % 5 == col % 5 && head != 1; /* a head without anything */
    case 4:                                     /* rows from none to all */
        return mix(chance, col) % 8 < chance % 9;
    default:
        return mix(chance, col) % 2 == 0;
    }
}

static bool keeps_all(int layer, int head, size_t row, size_t col)
{
    (void)layer, (void)head, (void)row, (void)col;
    return true;
}

static struct attn_way begin_round(unsigned int number)
{
    static const char *const heads[] = {"all", "1", "0.0,1.2"}, *const queries[] = {"all", "3-11+2",
                                                                                    "0,18,19"};
    static const size_t n_rows[] = {SIZE_MAX, 1, 3, 7};
    unsigned int chance = mix(number, 3);

    round_number = number;
    attn_made_up_run_init(&made, &small, NULL);
    attn_made_up_run_select(&made, sites, heads[chance % 3], queries[chance / 3 % 3]);
    made.keeps = keeps;
    made.is_causal = chance / 9 % 2;
    made.ahead = chance / 18 % 2 * 3;
    made.room = chance / 864 % 2 * 3;
    return (struct attn_way){.n_row = n_rows[chance / 36 % 4],
                             .step = chance / 144 % 3 ? 0 : 6,
                             .is_stream = chance / 432 % 2};
}

static void end_round(void)
{
    attn_made_up_run_release(&made);
}

/* --- What stands for masked cells ------------------------------------------------------------- */

/* Replaces each FROM of TEXT by TO, which is not longer. */
static void replace(struct attn_part *text, const char *from, const char *to)
{
    size_t n = strlen(from), n_to = strlen(to), at = 0;

    ck_assert_uint_le(n_to, n);
    for (size_t i = 0; i < text->size;) {
        const bool is_from = i + n <= text->size && memcmp(text->bytes + i, from, n) == 0;

        if (is_from)
            memcpy(text->bytes + at, to, n_to);
        else
            text->bytes[at] = text->bytes[i];
        at += is_from ? n_to : 1;
        i += is_from ? n : 1;
    }
    text->size = at;
}

/* Drops the lines that end with END. */
static void drop_lines(struct attn_part *text, const char *end)
{
    size_t n = strlen(end), at = 0;

    for (size_t i = 0, size; i < text->size; i += size) {
        size = strcspn((const char *)text->bytes + i, "\n") + 1;
        if (size > n && memcmp(text->bytes + i + size - 1 - n, end, n) == 0)
            continue;
        memmove(text->bytes + at, text->bytes + i, size);
        at += size;
    }
    text->size = at;
}

/* Makes one blank of several: columns of a table are as wide as what they show. */
static void squeeze(struct attn_part *text)
{
    size_t n = 0;

    for (size_t i = 0; i < text->size; i++)
        if (text->bytes[i] != ' ' ||
            (n > 0 && text->bytes[n - 1] != ' ' && text->bytes[n - 1] != '\n'))
            text->bytes[n++] = text->bytes[i];
    text->size = n;
}

static struct attn_part write_bytes(const char *form, struct attn_way way)
{
    struct attn_error err = {0};
    struct attn_part part = attn_written(&made, form, NULL, way, &err);

    ck_assert_msg(err.status == ATTN_OK && part.size > 0, "%s: %s", form, err.message);
    return part;
}

/* The whole matrices. */
static struct attn_part write_whole(const char *form, struct attn_way way, float stand_in)
{
    struct attn_part part;

    made.is_dense = true;
    made.stand_in = stand_in;
    part = write_bytes(form, way);
    made.is_dense = false;
    return part;
}

static void assert_same(struct attn_part actual, struct attn_part expected, const char *form)
{
    ck_assert_msg(actual.size == expected.size &&
                      memcmp(actual.bytes, expected.bytes, actual.size) == 0,
                  "%s differs in round %u", form, round_number);
    free(actual.bytes);
    free(expected.bytes);
}

/* --- Tests ----------------------------------------------------------------------------------- */

/* Fails unless FORM is what it is of whole matrices with 12345 in cells that are not held, after
 * FROM is replaced by TO, or if that is NULL, after lines that end so are dropped. FROM NULL: with
 * what arrays have in masked cells. */
static void assert_form(const char *form, struct attn_way way, const char *from, const char *to)
{
    const bool is_table = strcmp(form, "text") == 0;
    struct attn_part expected = write_whole(form, way, from ? STAND_IN : 0);
    struct attn_part actual = write_bytes(form, way);

    if (from && to)
        replace(&expected, from, to);
    else if (from)
        drop_lines(&expected, from);
    if (is_table)
        squeeze(&expected), squeeze(&actual);
    assert_same(actual, expected, form);
}

START_TEST(cells_that_are_not_held_are_masked)
{
    attn_folder_enter();
    for (unsigned int i = 0; i < N_ROUND; i++) {
        struct attn_way way = begin_round(i);

        assert_form("json", way, "12345", "null");
        assert_form("tidy", way, ",12345", NULL);
        assert_form("text", way, "12345.0000", ".");
        assert_form("npz", way, NULL, NULL);
        assert_form("npy/", way, NULL, NULL);
        assert_form("safetensors", way, NULL, NULL);
        end_round();
    }
    attn_folder_leave();
}
END_TEST

START_TEST(csv_is_empty_where_nothing_is_held)
{
    static const char *const names[] = {"qk", "attn_scores", "pattern", "pattern_dropped", "z"};

    for (unsigned int i = 0; i < N_ROUND; i++) {
        struct attn_way way = begin_round(i);

        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            attn_made_up_run_select(&made, names[n], i % 2 ? "0.1" : "1.2", i % 3 ? "all" : "2,19");
            assert_form("csv", way, "12345", "");
        }
        end_round();
    }
}
END_TEST

START_TEST(keys_of_all_columns_are_a_dense_row)
{
    const bool can_draw = attn_can_draw();

    for (unsigned int i = 0; i < N_ROUND; i += (unsigned int)attn_one_in(5)) {
        struct attn_way way = begin_round(i);

        attn_made_up_run_select(&made, "attn_scores,pattern,pattern_dropped,z", "all", "all");
        for (size_t f = 0; f < attn_n_format(); f++) {
            const struct attn_format *format = attn_format_at(f);
            struct attn_part expected;

            if (!format->tensors || format->is_directory || (attn_is_drawn(format) && !can_draw))
                continue;
            made.keeps = NULL;
            expected = write_bytes(format->name, way);
            made.keeps = keeps_all;
            assert_same(write_bytes(format->name, way), expected, format->name);
        }
        end_round();
    }
}
END_TEST

/* A stream's rows wait in pieces of half of the keys. */
START_TEST(long_rows_wait_in_pieces)
{
    const struct attn_way way = {.n_row = 40, .is_stream = true};
    struct attn_dims dims = small;

    round_number = 5;
    dims.n_position = 64;
    dims.n_source = 4000;
    dims.d_mlp = 40000;
    attn_made_up_run_init(&made, &dims, NULL);
    attn_made_up_run_select(&made, "attn_scores,pattern", "1.0", "all");
    made.is_causal = false;
    made.keeps = keeps;
    assert_form("npz", way, NULL, NULL);
    attn_made_up_run_select(&made, "mlp_pre,resid_mid", "all", "0-5");
    assert_same(write_bytes("npz", (struct attn_way){.n_row = 3, .is_stream = true}),
                write_bytes("npz", (struct attn_way){.n_row = SIZE_MAX, .is_stream = true}), "npz");
    end_round();
}
END_TEST

START_TEST(every_failed_allocation_leaves_nothing)
{
    const bool can_draw = attn_can_draw();

    attn_folder_enter();
    for (size_t i = 0; i < attn_n_format(); i++) {
        if (!attn_format_at(i)->tensors || (attn_is_drawn(attn_format_at(i)) && !can_draw))
            continue;
        begin_round(4);
        attn_made_up_run_select(&made, "attn_scores,pattern", "0.0,0.1", "all");
        attn_written_fails_whole(&made, attn_format_at(i)->name, "written");
        end_round();
    }
    attn_folder_leave();
}
END_TEST

ATTN_SUITE("output_sparse", cells_that_are_not_held_are_masked, csv_is_empty_where_nothing_is_held,
           keys_of_all_columns_are_a_dense_row, long_rows_wait_in_pieces,
           every_failed_allocation_leaves_nothing)
