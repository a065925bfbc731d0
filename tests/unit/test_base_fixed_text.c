/* test_base_fixed_text.c - lists of names in an array of fixed size, at its limit. */
#include "base/text/fixed_text.h"

#include "base/text/utf8.h"
#include "tests/support/suite.h"

#include <stddef.h>
#include <string.h>

enum { MOST = 64 };

/* An array of SIZE bytes between bytes that nobody may write. */
struct guarded {
    char before[8], text[MOST];
};

static void begin(struct guarded *guarded)
{
    memset(guarded, '#', sizeof *guarded);
    guarded->text[0] = '\0';
}

static void check_guards(const struct guarded *guarded, size_t size)
{
    for (size_t i = 0; i < sizeof guarded->before; i++)
        ck_assert_int_eq(guarded->before[i], '#');
    for (size_t i = size; i < MOST; i++)
        ck_assert_int_eq(guarded->text[i], '#');
}

START_TEST(items_that_fit_stand_whole)
{
    char text[8] = "";
    size_t used = 0;

    attn_fixed_text_append(text, sizeof text, &used, "%s", "abc");
    attn_fixed_text_append(text, sizeof text, &used, "%d", 4567);
    ck_assert_str_eq(text, "abc4567"); /* the last byte is the NUL */
    ck_assert_uint_eq(used, 7);
    attn_fixed_text_append(text, sizeof text, &used, "%s", "");
    ck_assert_uint_eq(used, 7);
}
END_TEST

START_TEST(the_first_item_that_does_not_fit_is_dots)
{
    char text[12] = "";
    size_t used = 0;

    attn_fixed_text_append(text, sizeof text, &used, "%s", "one");
    attn_fixed_text_append(text, sizeof text, &used, "%s", ", two");
    attn_fixed_text_append(text, sizeof text, &used, "%s", ", three");
    ck_assert_str_eq(text, "one, two...");
    ck_assert_uint_eq(used, sizeof text);
    attn_fixed_text_append(text, sizeof text, &used, "%s", "x");
    ck_assert_str_eq(text, "one, two...");
}
END_TEST

/* Lists of any length in arrays of any size: nothing beyond is written, and what stands there is
 * the list, or whole characters of its beginning and dots. */
START_TEST(nothing_is_written_beyond_arrays_of_any_size)
{
    static const char item[] = "\xc3\xa4\xe2\x82\xac"; /* characters of 2 and 3 bytes */

    for (size_t size = 1; size <= MOST; size++)
        for (size_t n = 0; n < MOST; n++) {
            struct guarded guarded;
            char whole[MOST * sizeof item] = "";
            size_t used = 0, length, n_dots = 0;

            begin(&guarded);
            for (size_t i = 0; i < n; i++) {
                attn_fixed_text_append(guarded.text, size, &used, "%s", item);
                memcpy(whole + i * (sizeof item - 1), item, sizeof item);
            }
            check_guards(&guarded, size);
            length = strlen(guarded.text);
            ck_assert_uint_lt(length, size);
            ck_assert_uint_eq(attn_utf8_valid_length(guarded.text, length), length);
            while (n_dots < length && guarded.text[length - 1 - n_dots] == '.')
                n_dots++;
            ck_assert_mem_eq(guarded.text, whole, length - n_dots);
            if (strlen(whole) < size) {
                ck_assert_uint_eq(used, length);
                ck_assert_uint_eq(length, strlen(whole));
            } else {
                ck_assert_uint_eq(used, size);
                ck_assert_uint_eq(n_dots, size > 3 ? 3 : size - 1);
            }
        }
}
END_TEST

ATTN_SUITE("base/fixed_text", items_that_fit_stand_whole, the_first_item_that_does_not_fit_is_dots,
           nothing_is_written_beyond_arrays_of_any_size)
