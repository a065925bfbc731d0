/*
 * grammar_ids.c - lists of token ids, as --ids and --decode take them: numbers, with a comma,
 * blanks or both between them.
 *
 * A valid list gives the numbers that were written.
 */
#include "params/param_internal.h"
#include "tests/adversary/case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ID = 40, LARGE = 20000, N_FABLE = 2041 /* tokens of the built-in model */ };

static const char *const wrong[] = {"x",   "-1",         "+1",       "1.5", "0x10",
                                    "1e3", "2147483648", "1;2",      "'1'", "18446744073709551616",
                                    "--1", "1-2",        "\xc2\xb2", "1\v2"};
enum { N_WRONG = sizeof wrong / sizeof *wrong };

static const char *const defects[] = {"an item that is no id", "nothing between two commas",
                                      "a comma in front", "a comma at the end"};
enum { N_DEFECT = sizeof defects / sizeof *defects };

struct known {
    int32_t ids[LARGE];
    size_t n;
};

static void put_blanks(struct attn_case *c, struct attn_buffer *out)
{
    while (attn_case_chance(c, 30))
        attn_buffer_append_char(out, " \t\n"[attn_case_below(c, 3)]);
}

static void put_id(struct attn_case *c, struct attn_buffer *out, int32_t id)
{
    attn_buffer_append_format(out, attn_case_chance(c, 95) ? "%" PRId32 : "00%" PRId32, id);
}

static void make(struct attn_case *c)
{
    struct known *known = (struct known *)c->known.bytes;
    struct attn_buffer *out = attn_case_file(c, "list");
    const int defect = attn_case_defect(c, defects, N_DEFECT);
    const bool is_of_fable = attn_case_chance(c, 70);
    size_t at;

    known->n = attn_case_is_large(c) ? LARGE : 1 + attn_case_below(c, MAX_ID);
    at = attn_case_below(c, known->n);
    put_blanks(c, out);
    attn_buffer_append_string(out, defect == 2 ? "," : "");
    for (size_t i = 0; i < known->n; i++) {
        known->ids[i] = (int32_t)attn_case_below(c, is_of_fable ? N_FABLE : (size_t)INT32_MAX + 1);
        if (defect == 0 && i == at)
            attn_buffer_append_string(out, wrong[attn_case_below(c, N_WRONG)]);
        else
            put_id(c, out, known->ids[i]);
        put_blanks(c, out);
        if (i + 1 < known->n || (defect == 1 && at == i))
            attn_buffer_append_string(out, attn_case_chance(c, 70) ? "," : " ");
        if (defect == 1 && at == i)
            attn_buffer_append_string(out, ",,1");
        put_blanks(c, out);
        if (defect == 1 && at == i && i + 1 < known->n)
            attn_buffer_append_string(out, ",");
    }
    attn_buffer_append_string(out, defect == 3 ? "," : "");
    if (is_of_fable || c->meant == ATTN_MEANT_REFUSED)
        attn_case_run(c, 2, "tokenize", "--decode=@list", NULL);
}

/* What the list is read as. */
struct taken {
    const int32_t *ids;
    size_t n;
};

static enum attn_status take(struct attn_case *c, struct attn_error *err)
{
    const struct known *known = (const struct known *)c->known.bytes;
    const struct attn_buffer *bytes = attn_case_find(c, "list");
    char *list = attn_fuzz_string((const uint8_t *)bytes->data, bytes->size);
    const struct attn_param row = ATTN_PARAM(IDS, "ids", "LIST", struct taken, ids, NULL,
                                             .second = offsetof(struct taken, n));
    struct taken taken = {NULL, 0};
    const enum attn_status status = attn_param_set(&row, &taken, "--ids", list, err);

    if (status == ATTN_OK && c->meant == ATTN_MEANT_VALID)
        FUZZ_CHECK(taken.n == known->n &&
                   memcmp(taken.ids, known->ids, taken.n * sizeof *taken.ids) == 0);
    attn_param_release(&row, &taken);
    free(list);
    return status;
}

const struct attn_grammar attn_grammar_ids = {
    .name = "ids", .make = make, .take = take, .refused = FUZZ_BIT(ATTN_INVALID)};
