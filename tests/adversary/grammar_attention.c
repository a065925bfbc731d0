/*
 * grammar_attention.c - kinds of attention with their numbers, as --attention takes them.
 *
 * A valid one gives the kind and the numbers that were written; written out and read again, too.
 */
#include "attention/attention.h"
#include "attention/attention_internal.h"
#include "tests/adversary/case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a kind takes: letters for its parameters, in order; small ones may be left out. W window,
 * S stride, N count, R seed, F feature, A raw. */
static const struct {
    const char *name, *parameters;
    enum attn_attention_kind kind;
} kinds[] = {
    {"full", "", ATTN_ATTENTION_FULL},        {"window", "W", ATTN_ATTENTION_WINDOW},
    {"strided", "s", ATTN_ATTENTION_STRIDED}, {"log", "", ATTN_ATTENTION_LOG},
    {"random", "Nr", ATTN_ATTENTION_RANDOM},  {"block", "Ns", ATTN_ATTENTION_BLOCK},
    {"hybrid", "WS", ATTN_ATTENTION_HYBRID},  {"sink", "NW", ATTN_ATTENTION_SINK},
    {"linear", "fa", ATTN_ATTENTION_LINEAR},  {"lowrank", "Nr", ATTN_ATTENTION_LOWRANK},
};
enum { N_KIND = sizeof kinds / sizeof *kinds };

static const char *const defects[] = {
    "an unknown kind",           "a number that is 0", "no number",
    "an item that is no number", "an item too many",   "an empty item",
    "a number beyond 64 bits"};
enum { N_DEFECT = sizeof defects / sizeof *defects };

struct known {
    struct attn_attention attention;
};

static void put_number(struct attn_case *c, uint64_t number, bool is_seed, int defect,
                       struct attn_buffer *out)
{
    static const char *const others[] = {"x", "-1", "+1", "1.5", " 1", "1 ", "0x1", "1e1", "--1"};

    if (defect == 1 && !is_seed)
        attn_buffer_append_string(out, ":0");
    else if (defect == 3)
        attn_buffer_append_format(out, ":%s", others[attn_case_below(c, 9)]);
    else if (defect == 5)
        attn_buffer_append_char(out, ':');
    else if (defect == 6)
        attn_buffer_append_string(out, ":18446744073709551616");
    else
        attn_buffer_append_format(out, ":%" PRIu64, number);
}

static uint64_t choose_number(struct attn_case *c)
{
    const uint64_t bits = attn_case_bits(c);

    return attn_case_chance(c, 80) ? 1 + bits % 9 : bits >> attn_case_below(c, 63) | 1;
}

static void put_feature(struct attn_case *c, struct attn_attention *attention,
                        struct attn_buffer *out)
{
    static const char *const features[] = {"elu", "relu", "exp"};
    const size_t feature = attn_case_below(c, 3);

    attention->feature = (enum attn_feature)feature;
    attn_buffer_append_format(out, ":%s", features[feature]);
}

static void put_parameters(struct attn_case *c, const char *parameters, int defect,
                           struct attn_attention *attention, struct attn_buffer *out)
{
    bool is_left_out = false;

    for (; *parameters != '\0'; parameters++) {
        const uint64_t number = choose_number(c);

        /* Behind a number that is left out there is none; words may be left out one by one. */
        is_left_out =
            (*parameters >= 'a' && attn_case_chance(c, 40)) || (is_left_out && *parameters == 'r');
        if (is_left_out)
            continue;
        switch (*parameters) {
        case 'W':
            attention->window = number;
            break;
        case 'S':
        case 's':
            attention->stride = number;
            break;
        case 'N':
            attention->count = number;
            break;
        case 'r':
            attention->seed = number;
            break;
        case 'f':
            put_feature(c, attention, out);
            continue;
        default:
            attention->is_raw = true;
            attn_buffer_append_string(out, ":raw");
            continue;
        }
        put_number(c, number, *parameters == 'r', defect, out);
        defect = -1;
    }
}

static void make(struct attn_case *c)
{
    static const char *const unknown[] = {"", "Full", "windows", "win", "full ", "causal", "help2"};
    struct attn_attention *attention = &((struct known *)c->known.bytes)->attention;
    struct attn_buffer *out = attn_case_file(c, "kind");
    const int defect = attn_case_defect(c, defects, N_DEFECT);
    size_t kind = attn_case_below(c, N_KIND);

    *attention = ATTN_ATTENTION_DEFAULT;
    while (defect > 0 && defect != 4 && defect != 5 &&
           strpbrk(kinds[kind].parameters, "WN") == NULL)
        kind = attn_case_below(c, N_KIND); /* one whose first parameter is a number that it needs */
    attention->kind = kinds[kind].kind;
    attn_buffer_append_string(out, defect == 0 ? unknown[attn_case_below(c, 7)] : kinds[kind].name);
    if (defect != 2)
        put_parameters(c, kinds[kind].parameters, defect, attention, out);
    if (defect == 4)
        attn_buffer_append_string(out, kinds[kind].parameters[0] == 's' ? ":1:2" : ":1:2:3:raw");
    if (defect == 5)
        attn_buffer_append_char(out, ':');
    /* Low-rank attention wants a mask, and memory for its numbers. */
    if (attention->kind != ATTN_ATTENTION_LOWRANK)
        attn_case_run(c, 2, "run", "-q", "--attention=@kind", "--ids", "1,2,3", "--sites", "z",
                      "--npz", "out.npz", NULL);
}

static bool is_same(const struct attn_attention *a, const struct attn_attention *b)
{
    return a->kind == b->kind && a->window == b->window && a->stride == b->stride &&
           a->count == b->count && a->seed == b->seed && a->feature == b->feature &&
           a->is_raw == b->is_raw;
}

static enum attn_status take(struct attn_case *c, struct attn_error *err)
{
    const struct known *known = (const struct known *)c->known.bytes;
    const struct attn_buffer *bytes = attn_case_find(c, "kind");
    char *list = attn_fuzz_string((const uint8_t *)bytes->data, bytes->size);
    struct attn_attention read = ATTN_ATTENTION_DEFAULT, again = ATTN_ATTENTION_DEFAULT;
    const enum attn_status status = attn_attention_parse(list, &read, err);
    char text[ATTN_ATTENTION_TEXT_SIZE];

    if (status == ATTN_OK) {
        (void)attn_attention_text(&read, text);
        FUZZ_CHECK(attn_attention_parse(text, &again, err) == ATTN_OK && is_same(&read, &again));
        FUZZ_CHECK(c->meant != ATTN_MEANT_VALID || is_same(&read, &known->attention));
    }
    free(list);
    return status;
}

const struct attn_grammar attn_grammar_attention = {
    .name = "attention", .make = make, .take = take, .refused = FUZZ_BIT(ATTN_INVALID)};
