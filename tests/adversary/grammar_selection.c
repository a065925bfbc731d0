/*
 * grammar_selection.c - lists of layers, heads and queries, as --layers, --heads and --queries take
 * them, for models of different sizes.
 *
 * A valid list selects what was written, and nothing else.
 */
#include "tests/adversary/case.h"
#include "trace/blocks_internal.h"
#include "trace/trace_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LAYER = 13, MAX_HEAD = 12, MAX_QUERY = 24, MAX_ITEM = 6 };
enum list { LAYERS, HEADS, QUERIES, N_LIST };

static const char *const options[] = {"--layers=@list", "--heads=@list", "--queries=@list"};

/* Items that are wrong whatever the sizes are, but for the first, which is the size itself. */
static const char *const wrong[] = {
    "",   "999", "3-1", "-0",  "1-",    "0-0+0", "0+1",    "a",    "ALL", "1--2",  "0x0",
    "0 ", " 0",  "1e0", "--1", "0-999", "-999",  "0-0+-1", "0-0+", "*1",  "0-all", "1-0"};
enum { N_WRONG = sizeof wrong / sizeof *wrong };

static const char *const defects[] = {"an item that is wrong", "an index that is the size",
                                      "a list that is empty", "a head that is wrong"};
enum { N_DEFECT = sizeof defects / sizeof *defects };

struct known {
    size_t n_layer, n_head, n_query;
    enum list list;
    bool layers[MAX_LAYER], heads[MAX_LAYER][MAX_HEAD], queries[MAX_QUERY];
};

/* Writes an item of indices below N and marks them. */
static void put_item(struct attn_case *c, size_t n, struct attn_buffer *out, bool *is_wanted)
{
    const size_t first = attn_case_below(c, n), last = first + attn_case_below(c, n - first);
    size_t step = 1;

    switch (attn_case_below(c, 5)) {
    case 0:
        attn_buffer_append_string(out, "all");
        memset(is_wanted, 1, n);
        break;
    case 1:
        attn_buffer_append_format(out, "-%zu", n - first);
        is_wanted[first] = true;
        break;
    case 2:
        step = attn_case_chance(c, 10) ? SIZE_MAX / 2 : 1 + attn_case_below(c, 4);
        attn_buffer_append_format(out, "%zu-%zu+%zu", first, last, step);
        for (size_t i = first; i <= last; i += step)
            is_wanted[i] = true;
        break;
    case 3:
        attn_buffer_append_format(out, "%zu-%zu", first, last);
        memset(is_wanted + first, 1, last - first + 1);
        break;
    default:
        attn_buffer_append_format(out, "%zu", first);
        is_wanted[first] = true;
        break;
    }
}

/* One side of "L.h". */
static void put_side(struct attn_case *c, size_t n, struct attn_buffer *out, bool *is_wanted)
{
    if (attn_case_chance(c, 30)) {
        attn_buffer_append_char(out, '*');
        memset(is_wanted, 1, n);
    } else {
        put_item(c, n, out, is_wanted);
    }
}

static void put_head(struct attn_case *c, struct known *known, struct attn_buffer *out)
{
    bool layers[MAX_LAYER] = {false}, heads[MAX_HEAD] = {false};
    const size_t form = attn_case_below(c, 3);

    if (form == 0) {
        memset(layers, 1, sizeof layers);
        put_side(c, known->n_head, out, heads);
    } else {
        attn_buffer_append_string(out, form == 1 ? "" : "L");
        put_side(c, known->n_layer, out, layers);
        attn_buffer_append_char(out, form == 1 ? '.' : 'H');
        put_side(c, known->n_head, out, heads);
    }
    for (size_t layer = 0; layer < known->n_layer; layer++)
        for (size_t head = 0; head < known->n_head; head++)
            known->heads[layer][head] |= layers[layer] && heads[head];
}

static void put_wrong(struct attn_case *c, const struct known *known, int defect,
                      struct attn_buffer *out)
{
    static const char *const heads[] = {"1.",   ".1",   "L0",   "H0",     "L0H", "LH", "0.0.0",
                                        "0..0", "L0.0", "l0h0", "L0H0H0", "*.",  ".",  "0.**"};
    const size_t n = known->list == LAYERS  ? known->n_layer
                     : known->list == HEADS ? known->n_head
                                            : known->n_query;

    if (defect == 1)
        attn_buffer_append_format(out, "%zu", n);
    else if (defect == 3)
        attn_buffer_append_string(out, heads[attn_case_below(c, sizeof heads / sizeof *heads)]);
    else
        attn_buffer_append_string(out, wrong[attn_case_below(c, N_WRONG)]);
}

static void make(struct attn_case *c)
{
    struct known *known = (struct known *)c->known.bytes;
    struct attn_buffer *out = attn_case_file(c, "list");
    const int defect = attn_case_defect(c, defects, N_DEFECT);
    const bool is_fable = attn_case_chance(c, 40);
    const size_t n = 1 + attn_case_below(c, MAX_ITEM), at = attn_case_below(c, n);

    known->n_layer = is_fable ? 4 : 1 + attn_case_below(c, MAX_LAYER);
    known->n_head = is_fable ? 8 : 1 + attn_case_below(c, MAX_HEAD);
    known->n_query = is_fable ? 6 : 1 + attn_case_below(c, MAX_QUERY);
    known->list = (enum list)attn_case_below(c, N_LIST);
    for (size_t i = 0; i < n && defect != 2; i++) {
        attn_buffer_append_string(out, i > 0 ? "," : "");
        if (defect >= 0 && i == at)
            put_wrong(c, known, defect, out);
        else if (known->list == HEADS)
            put_head(c, known, out);
        else if (known->list == LAYERS)
            put_item(c, known->n_layer, out, known->layers);
        else
            put_item(c, known->n_query, out, known->queries);
    }
    if (is_fable)
        attn_case_run(c, 2, "run", "-q", options[known->list], "--ids", "1,2,3,4,5,6", "--npz",
                      "out.npz", NULL);
}

static void check_flags(const struct known *known, const struct attn_selection *selection)
{
    for (size_t layer = 0; layer < known->n_layer; layer++) {
        FUZZ_CHECK(
            known->list != LAYERS ||
            (attn_selection_count_heads(selection, &(struct attn_location){.layer = (int)layer}) >
             0) == known->layers[layer]);
        for (size_t head = 0; head < known->n_head; head++)
            FUZZ_CHECK(
                known->list != HEADS ||
                attn_selection_has_head(
                    selection, &(struct attn_location){.layer = (int)layer, .head = (int)head}) ==
                    known->heads[layer][head]);
    }
    for (size_t query = 0; query < known->n_query; query++)
        FUZZ_CHECK(known->list != QUERIES ||
                   attn_selection_has_query(selection, ATTN_STACK_ONLY, query) ==
                       known->queries[query]);
}

static enum attn_status take(struct attn_case *c, struct attn_error *err)
{
    const struct known *known = (const struct known *)c->known.bytes;
    const struct attn_buffer *bytes = attn_case_find(c, "list");
    const struct attn_dims dims = {.n_layer = known->n_layer,
                                   .n_head = known->n_head,
                                   .n_kv_head = 1,
                                   .d_model = 8,
                                   .d_head = 4,
                                   .d_value = 4,
                                   .n_vocab = 5,
                                   .n_position = known->n_query,
                                   .sites = attn_sites_all()};
    char *list = attn_fuzz_string((const uint8_t *)bytes->data, bytes->size);
    struct attn_selection *selection = NULL;
    enum attn_status status;

    FUZZ_CHECK(attn_selection_create(&dims, &selection, err) == ATTN_OK);
    if (known->list == LAYERS)
        status = attn_selection_set_layers(selection, list, err);
    else if (known->list == HEADS)
        status = attn_selection_set_heads(selection, list, err);
    else
        status = attn_selection_set_queries(selection, ATTN_STACK_ONLY, list, err);
    if (status == ATTN_OK && c->meant == ATTN_MEANT_VALID)
        check_flags(known, selection);
    attn_selection_free(selection);
    free(list);
    return status;
}

const struct attn_grammar attn_grammar_selection = {
    .name = "selection", .make = make, .take = take, .refused = FUZZ_BIT(ATTN_INVALID)};
