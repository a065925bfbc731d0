/* Memory, arenas, buffers and errors. */
#include "base/buffer.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/utf8.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <string.h>

START_TEST(blocks_are_aligned_and_cleared)
{
    for (size_t size = 0; size < 300; size++) {
        unsigned char *block = attn_alloc(size, 1, NULL);

        ck_assert_ptr_nonnull(block);
        ck_assert_uint_eq((uintptr_t)block % ATTN_ALIGNMENT, 0);
        ck_assert(size == 0 || (block[0] == 0 && memcmp(block, block + 1, size - 1) == 0));
        memset(block, 0xff, size);
        attn_free(block);
    }
}
END_TEST

START_TEST(sizes_that_overflow_are_out_of_memory)
{
    static const size_t sizes[][2] = {
        {SIZE_MAX, 1},     {SIZE_MAX / 2 + 1, 2},        {SIZE_MAX / 8, 9},
        {3, SIZE_MAX / 2}, {(size_t)PTRDIFF_MAX + 1, 1},
    };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct attn_error err = {0};

        ck_assert_ptr_null(attn_alloc(sizes[i][0], sizes[i][1], &err));
        ck_assert_int_eq(err.status, ATTN_NO_MEMORY);
        ck_assert_str_eq(err.message, "out of memory");
        ck_assert_ptr_null(attn_alloc_uninitialized(sizes[i][0], sizes[i][1], NULL));
        ck_assert_ptr_null(attn_alloc_large(sizes[i][0], sizes[i][1], NULL));
    }
    ck_assert_ptr_null(attn_strndup("", SIZE_MAX, NULL));
}
END_TEST

START_TEST(large_blocks_begin_with_a_large_page)
{
    const size_t page = 2 << 20;

    for (size_t n = page / 8; n < 3 * page; n += page / 8 + 1) {
        unsigned char *block = attn_alloc_large(n, 1, NULL);

        ck_assert_ptr_nonnull(block);
        ck_assert_uint_eq((uintptr_t)block % (n < page / 4 ? ATTN_ALIGNMENT : page), 0);
        memset(block, 0xff, n);
        attn_free(block);
    }
    attn_alloc_fail_at(0);
    ck_assert_ptr_null(attn_alloc_large(page, 1, NULL));
    attn_alloc_fail_off();
}
END_TEST

START_TEST(growing_keeps_the_content_and_is_linear)
{
    size_t *numbers = NULL;
    size_t capacity = 0;

    attn_alloc_fail_off();
    for (size_t i = 0; i < 100000; i++) {
        void *block = numbers;

        ck_assert_int_eq(attn_grow(&block, &capacity, i + 1, sizeof *numbers, NULL), ATTN_OK);
        numbers = block;
        ck_assert_uint_gt(capacity, i);
        numbers[i] = i;
    }
    ck_assert_int_lt(attn_alloc_count(), 20);
    for (size_t i = 0; i < 100000; i++)
        ck_assert_uint_eq(numbers[i], i);
    attn_free(numbers);
}
END_TEST

START_TEST(growing_that_fails_changes_nothing)
{
    void *block = attn_strndup("seven", 5, NULL), *before = block;
    size_t capacity = 6;
    struct attn_error err = {0};

    attn_alloc_fail_at(0);
    ck_assert_int_eq(attn_grow(&block, &capacity, 7, 1, &err), ATTN_NO_MEMORY);
    attn_alloc_fail_off();
    ck_assert_int_eq(attn_grow(&block, &capacity, SIZE_MAX / 2, 4, NULL), ATTN_NO_MEMORY);
    ck_assert_ptr_eq(block, before);
    ck_assert_uint_eq(capacity, 6);
    ck_assert_str_eq(block, "seven");
    ck_assert_int_eq(err.status, ATTN_NO_MEMORY);
    attn_free(block);
}
END_TEST

START_TEST(copies_end_with_a_nul)
{
    char *copy = attn_strndup("sweets", 5, NULL);

    ck_assert_str_eq(copy, "sweet");
    attn_free(copy);
    copy = attn_strndup(NULL, 0, NULL);
    ck_assert_str_eq(copy, "");
    attn_free(copy);
    attn_free(NULL);
}
END_TEST

struct plan {
    float *a, *b;
    char *c, *d;
};

static void take_plan(struct plan *plan, struct attn_arena *arena)
{
    plan->a = attn_arena_take(arena, 17, sizeof(float));
    plan->b = attn_arena_take(arena, 16, sizeof(float));
    plan->c = attn_arena_take(arena, 0, 1);
    plan->d = attn_arena_take(arena, 1, 1);
}

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
enum { RED_ZONE = 256 }; /* bytes that nobody may touch, after each part */

/* Each part is ours, and nothing after it. */
static void check_zones(const struct plan *plan)
{
    const char *const parts[] = {(char *)plan->a, (char *)plan->b, plan->c, plan->d};
    static const size_t sizes[] = {68, 64, 0, 1};

    for (size_t i = 0; i < 4; i++)
        for (size_t at = 0; at < sizes[i] + RED_ZONE; at++)
            ck_assert_int_eq(__asan_address_is_poisoned(parts[i] + at), at >= sizes[i]);
}
#else
enum { RED_ZONE = 0 };

static void check_zones(const struct plan *plan)
{
    memset(plan->a, 1, 128 + 64 + 0 + 64); /* all of it is ours */
}
#endif

START_TEST(arena_measures_then_carves)
{
    struct attn_arena arena = {0};
    struct plan plan;

    take_plan(&plan, &arena);
    ck_assert_ptr_null(plan.a);
    ck_assert_ptr_null(plan.d);
    ck_assert_uint_eq(arena.used, 128 + 64 + 0 + 64 + 4 * RED_ZONE);

    ck_assert_int_eq(attn_arena_allocate(&arena, NULL), ATTN_OK);
    take_plan(&plan, &arena);
    ck_assert_uint_eq((uintptr_t)plan.a % ATTN_ALIGNMENT, 0);
    ck_assert_uint_eq((uintptr_t)plan.b % ATTN_ALIGNMENT, 0);
    ck_assert_ptr_eq((char *)plan.b, (char *)plan.a + 128 + RED_ZONE);
    ck_assert_ptr_eq(plan.d, (char *)plan.b + 64 + 2 * RED_ZONE);
    ck_assert_uint_eq(arena.used, arena.capacity);
    check_zones(&plan);
    attn_arena_release(&arena);
    ck_assert_ptr_null(arena.base);
}
END_TEST

START_TEST(arenas_are_zeroed_when_that_is_asked_for)
{
    static const size_t sizes[] = {0, 1000, 5 << 20}; /* the last comes from the system */

    struct attn_spare *spare = attn_spare_create(NULL);

#ifdef M_PERTURB
    mallopt(M_PERTURB, 1); /* fills the heap's memory; ASan fills it by itself, and says no */
#endif
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        const size_t size = sizes[i / 2];
        struct attn_arena arena = {.spare = attn_spare_hold(spare)};
        unsigned char *bytes;

        attn_arena_take(&arena, size, 1);
        ck_assert_int_eq(attn_arena_allocate_zeroed(&arena, NULL), ATTN_OK);
        bytes = attn_arena_take(&arena, size, 1);
        ck_assert_uint_eq((uintptr_t)bytes % ATTN_ALIGNMENT, 0);
        for (size_t k = 0; k < size; k++)
            ck_assert_uint_eq(bytes[k], 0);
        memset(bytes, 1, size); /* the next one may get the same memory */
        attn_arena_release(&arena);
    }
    attn_spare_drop(spare);
}
END_TEST

/* The base of an arena of SIZE zeros, which has been released to SPARE, perhaps its last holder. */
static const void *use_arena(struct attn_spare *spare, size_t size)
{
    struct attn_arena arena = {.spare = attn_spare_hold(spare)};
    const void *base;

    attn_arena_take(&arena, size, 1);
    ck_assert_int_eq(attn_arena_allocate_zeroed(&arena, NULL), ATTN_OK);
    base = arena.base;
    attn_arena_release(&arena);
    return base;
}

START_TEST(a_released_block_waits_for_an_arena_of_its_size)
{
    struct attn_spare *spare = attn_spare_create(NULL);
    struct attn_arena last = {.spare = attn_spare_hold(spare)};
    const void *base = use_arena(spare, 8 << 20), *larger;

    ck_assert_ptr_eq(use_arena(spare, 5 << 20), base);
    ck_assert_ptr_eq(use_arena(spare, 8 << 20), base);
    larger = use_arena(spare, (8 << 20) + 1);
    ck_assert_ptr_ne(larger, base);
    ck_assert_ptr_eq(use_arena(spare, 8 << 20), larger); /* it took the place */
    ck_assert_ptr_ne(use_arena(spare, 1 << 20), larger);
    attn_arena_take(&last, 3 << 20, 1);
    ck_assert_int_eq(attn_arena_allocate_zeroed(&last, NULL), ATTN_OK);
    attn_spare_drop(spare);
    attn_arena_release(&last); /* the last holder frees all */
}
END_TEST

START_TEST(arena_without_takes_can_be_allocated)
{
    struct attn_arena arena = {0};

    attn_arena_release(&arena);
    ck_assert_int_eq(attn_arena_allocate(&arena, NULL), ATTN_OK);
    ck_assert_ptr_nonnull(arena.base);
    attn_arena_release(&arena);
}
END_TEST

START_TEST(arena_reports_overflow_and_lack_of_memory)
{
    struct attn_arena arena = {0};
    struct attn_error err = {0};

    attn_arena_take(&arena, SIZE_MAX / 4, 8);
    attn_arena_take(&arena, 1, 1);
    ck_assert_int_eq(attn_arena_allocate(&arena, &err), ATTN_NO_MEMORY);
    ck_assert_int_eq(err.status, ATTN_NO_MEMORY);

    arena = (struct attn_arena){0};
    attn_arena_take(&arena, SIZE_MAX - 200, 1);
    attn_arena_take(&arena, 200, 1);
    ck_assert_int_eq(attn_arena_allocate(&arena, NULL), ATTN_NO_MEMORY);

    arena = (struct attn_arena){0};
    attn_arena_take(&arena, 10, 1);
    attn_alloc_fail_at(0);
    ck_assert_int_eq(attn_arena_allocate(&arena, NULL), ATTN_NO_MEMORY);
    attn_alloc_fail_off();
    ck_assert_ptr_null(arena.base);
    attn_arena_release(&arena);
}
END_TEST

START_TEST(buffer_appends_in_order)
{
    struct attn_buffer buffer = {0};

    ck_assert_str_eq(attn_buffer_string(&buffer), "");
    attn_buffer_append(&buffer, NULL, 0);
    attn_buffer_append_string(&buffer, "Life");
    attn_buffer_append_char(&buffer, ' ');
    attn_buffer_append_format(&buffer, "%s %d%c", "is", 42, 'x');
    attn_buffer_append(&buffer, "short", 3);
    ck_assert_uint_eq(buffer.size, 14);
    ck_assert_str_eq(attn_buffer_string(&buffer), "Life is 42xsho");
    ck_assert_uint_eq(buffer.size, 14);
    ck_assert_int_eq(attn_buffer_check(&buffer, NULL), ATTN_OK);
    attn_buffer_reset(&buffer);
    ck_assert_str_eq(attn_buffer_string(&buffer), "");
    attn_buffer_release(&buffer);
    ck_assert_ptr_null(buffer.data);
}
END_TEST

/* Callers add offsets to `data`, which must not be NULL then, and take NULL for a failure. */
START_TEST(buffer_has_memory_after_an_empty_append)
{
    struct attn_buffer appended = {0}, reserved = {0};

    attn_buffer_append(&appended, NULL, 0);
    ck_assert_ptr_nonnull(appended.data);
    ck_assert_ptr_nonnull(attn_buffer_reserve(&reserved, 0));
    ck_assert_uint_eq(appended.size + reserved.size, 0);
    attn_buffer_release(&appended);
    attn_buffer_release(&reserved);
}
END_TEST

START_TEST(buffer_writes_integers_in_decimal)
{
    static const int64_t numbers[] = {0, 7, -1, 10, 1234567890, INT64_MAX, INT64_MIN};
    struct attn_buffer buffer = {0};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        attn_buffer_append_integer(&buffer, numbers[i]);
        attn_buffer_append_char(&buffer, ' ');
    }
    ck_assert_str_eq(attn_buffer_string(&buffer),
                     "0 7 -1 10 1234567890 9223372036854775807 -9223372036854775808 ");
    attn_buffer_release(&buffer);
}
END_TEST

START_TEST(buffer_formats_text_longer_than_its_memory)
{
    struct attn_buffer buffer = {0};

    for (int i = 0; i < 300; i++) {
        attn_buffer_reset(&buffer);
        attn_buffer_append_format(&buffer, "%0*d", i + 1, 7);
        ck_assert_uint_eq(buffer.size, (size_t)i + 1);
        ck_assert_int_eq(buffer.data[i], '7');
    }
    attn_buffer_release(&buffer);
}
END_TEST

START_TEST(buffer_keeps_its_first_failure)
{
    struct attn_buffer buffer = {0};
    struct attn_error err = {0};

    attn_buffer_append_string(&buffer, "kept");
    attn_alloc_fail_at(0);
    ck_assert_ptr_null(attn_buffer_reserve(&buffer, 1000));
    attn_alloc_fail_off();
    attn_buffer_append_string(&buffer, "not appended");
    attn_buffer_append_format(&buffer, "nor %s", "this");
    ck_assert_ptr_null(attn_buffer_string(&buffer));
    ck_assert_uint_eq(buffer.size, 4);
    ck_assert_int_eq(attn_buffer_check(&buffer, &err), ATTN_NO_MEMORY);
    ck_assert_int_eq(err.status, ATTN_NO_MEMORY);

    attn_buffer_reset(&buffer);
    attn_buffer_append_string(&buffer, "again");
    ck_assert_str_eq(attn_buffer_string(&buffer), "again");
    ck_assert_ptr_null(attn_buffer_reserve(&buffer, SIZE_MAX));
    attn_buffer_release(&buffer);
}
END_TEST

START_TEST(first_error_and_first_hint_win)
{
    struct attn_error err = {0};

    attn_error_hint(&err, "there is no failure to explain");
    ck_assert_str_eq(err.hint, "");
    ck_assert_int_eq(attn_error_set(&err, ATTN_FORMAT, "'%s' is bad", "a"), ATTN_FORMAT);
    ck_assert_int_eq(attn_error_set(&err, ATTN_IO, "second"), ATTN_IO);
    attn_error_hint(&err, "try %d", 1);
    ck_assert_int_eq(attn_error_hint(&err, "try %d", 2), ATTN_FORMAT);
    ck_assert_int_eq(err.status, ATTN_FORMAT);
    ck_assert_str_eq(err.message, "'a' is bad");
    ck_assert_str_eq(err.hint, "try 1");
    ck_assert_int_eq(attn_error_set(NULL, ATTN_INVALID, "nobody listens"), ATTN_INVALID);
    ck_assert_int_eq(attn_error_hint(NULL, "nobody listens"), ATTN_INVALID);
}
END_TEST

START_TEST(long_messages_are_cut_between_characters)
{
    static const char *const letters[] = {"e", "\xc3\xa9", "\xe6\xbc\xa2", "\xf0\x9f\x98\x80"};
    char text[3000];

    for (size_t width = 1; width <= 4; width++) {
        for (size_t shift = 0; shift < 4; shift++) {
            struct attn_error err = {0};
            size_t length = shift;

            memset(text, '.', shift);
            for (; length < 2900; length += width)
                memcpy(text + length, letters[width - 1], width);
            text[length] = '\0';
            attn_error_set(&err, ATTN_FORMAT, "%s", text);
            attn_error_hint(&err, "%s", text);

            length = strlen(err.message);
            ck_assert_uint_eq(length,
                              (ATTN_ERROR_MESSAGE_SIZE - 1 - shift) / width * width + shift);
            ck_assert_uint_eq(attn_utf8_valid_length(err.message, length), length);
            length = strlen(err.hint);
            ck_assert_uint_eq(length, (ATTN_ERROR_HINT_SIZE - 1 - shift) / width * width + shift);
        }
    }
}
END_TEST

START_TEST(system_errors_name_verb_path_and_reason)
{
    struct attn_error err = {0};

    ck_assert_int_eq(attn_error_errno(&err, "write", "out\n.npz", ENOSPC), ATTN_IO);
    ck_assert_str_eq(err.message, "cannot write 'out\\n.npz': No space left on device");
    err = (struct attn_error){0};
    ck_assert_int_eq(attn_error_errno(&err, "open", "x", ENOMEM), ATTN_NO_MEMORY);
    ck_assert_int_eq(err.status, ATTN_NO_MEMORY);
    err = (struct attn_error){0};
    attn_error_errno(&err, "open", "x", 99999);
    ck_assert_ptr_eq(strstr(err.message, "cannot open 'x': "),
                     err.message); /* C libraries differ */
}
END_TEST

START_TEST(every_status_has_a_text)
{
    for (int status = ATTN_OK; status <= ATTN_CANCELED; status++)
        ck_assert_str_ne(attn_status_text((enum attn_status)status), "unknown status");
    ck_assert_str_eq(attn_status_text((enum attn_status)(ATTN_CANCELED + 1)), "unknown status");
    ck_assert_str_eq(attn_status_text(ATTN_IO), "input or output error");
}
END_TEST

START_TEST(errors_carry_the_fields_that_they_name)
{
    static const struct {
        const char *message, *fields;
    } cases[] = {
        {"out of luck", ""},
        {"`pair` and `key_mask 1,0` do not go together", "pair|key_mask"},
        {"'`npz` a.npz' is a file", "npz"},
        {"ablate: bad item '9.9'", "ablate"},
        {"'`' is no name, and '`x+1`' is none, too", ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attn_error err = {0};

        attn_error_set(&err, ATTN_INVALID, "%s", cases[i].message);
        ck_assert_str_eq(err.fields, cases[i].fields);
        ck_assert_int_eq(attn_error_of(ATTN_OK, "x", &err), ATTN_OK);
        ck_assert_str_eq(err.fields, cases[i].fields);
        for (size_t n = 0; n < sizeof err.fields; n++) /* what does not fit is cut */
            attn_error_of(ATTN_INVALID, "heads", &err);
        ck_assert_ptr_nonnull(strstr(err.fields, "heads"));
        ck_assert_uint_lt(strlen(err.fields), sizeof err.fields);
    }
}
END_TEST

START_TEST(address_space_is_there_or_not)
{
    ck_assert(attn_has_address_space(1 << 20));
    ck_assert(!attn_has_address_space(SIZE_MAX / 2));
}
END_TEST

ATTN_SUITE("base memory", blocks_are_aligned_and_cleared, sizes_that_overflow_are_out_of_memory,
           large_blocks_begin_with_a_large_page, growing_keeps_the_content_and_is_linear,
           growing_that_fails_changes_nothing, copies_end_with_a_nul, arena_measures_then_carves,
           arenas_are_zeroed_when_that_is_asked_for,
           a_released_block_waits_for_an_arena_of_its_size, arena_without_takes_can_be_allocated,
           arena_reports_overflow_and_lack_of_memory, buffer_appends_in_order,
           buffer_writes_integers_in_decimal, buffer_formats_text_longer_than_its_memory,
           buffer_has_memory_after_an_empty_append, buffer_keeps_its_first_failure,
           first_error_and_first_hint_win, long_messages_are_cut_between_characters,
           system_errors_name_verb_path_and_reason, every_status_has_a_text,
           errors_carry_the_fields_that_they_name, address_space_is_there_or_not)
