/* pairs.c - see pairs.h. */
#include "cmd/args/pairs.h"

#include "cmd/line/print.h"
#include "cmd/line/report.h"
#include "tool.h"

static const struct option pairs_rows[] = {
    OPTION_FLAG("pairs", struct pairs_args, is_wanted,
                "instead of tokens, print each beginning of the text with the token that comes "
                "next"),
    OPTION_NUMBER("window", "W", struct pairs_args, window, 1, INT32_MAX,
                  "print each window of W tokens, its target (the window one token later) and "
                  "the W predictions in it"),
    OPTION_NUMBER("stride", "S", struct pairs_args, stride, 1, INT32_MAX,
                  "tokens from one window to the next; default: 1"),
};

const struct option_group pairs_options = OPTION_GROUP("Training pairs", pairs_rows);

/* The tokens of a text, and where their pairs go. */
struct page {
    struct attn_sink *out;
    const struct attn_tokenizer *tokenizer;
    const int32_t *ids; /* [n] */
    size_t n;
    struct attn_table *pair; /* owned; scratch for one of them */
    bool is_json;
};

bool pairs_are_wanted(const struct pairs_args *args)
{
    return args->is_wanted || args->window > 0;
}

enum attn_status pairs_check(const struct pairs_args *args, struct attn_error *err)
{
    if (args->is_wanted && args->window > 0)
        return refuse(err, NULL, "'--pairs' and '--window' are two forms of output");
    if (args->stride > 0 && args->window == 0)
        return refuse(err, "--window W says how long a window is",
                      "'--stride' is given without '--window'");
    return ATTN_OK;
}

/* Pairs are many more than tokens: none are made for a reader that has gone. */
static bool is_going_on(const struct page *page)
{
    return attn_sink_check(page->out, NULL) == ATTN_OK;
}

/* The text of tokens FIRST .. FIRST + N - 1, printable. */
static enum attn_status put_text(struct page *page, size_t first, size_t n, struct attn_error *err)
{
    enum attn_status status;
    char *text;
    size_t size;

    ATTN_TRY(at_stage(
        ATTN_STAGE_INPUT,
        attn_tokenizer_decode(page->tokenizer, page->ids + first, n, &text, &size, err), err));
    status = (page->is_json ? print_json_string : print_escaped)(page->out, text, size, err);
    attn_text_free(text);
    return status;
}

static void put_ids(struct page *page, size_t first, size_t n)
{
    print_text(page->out, "[");
    for (size_t i = first; i < first + n; i++)
        print(page->out, "%s%d", i > first ? ", " : "", (int)page->ids[i]);
    print_text(page->out, "]");
}

/* --- pairs ------------------------------------------------------------------------------------ */

/* N tokens from FIRST on, and the one that comes next. */
static enum attn_status put_pair(struct page *page, size_t first, size_t n, struct attn_error *err)
{
    enum { INPUT = 2, TARGET }; /* columns */
    const struct attn_table *pair = page->pair;
    struct attn_cell cell;

    attn_table_reset(page->pair);
    ATTN_TRY(at_stage(
        ATTN_STAGE_INPUT,
        attn_pair_table_append(page->pair, page->tokenizer, page->ids + first, n, err), err));
    if (page->is_json)
        return at_stage(ATTN_STAGE_INPUT,
                        attn_table_write_row(pair, 0, ATTN_TABLE_JSON, -1, page->out, err), err);
    cell = attn_table_cell(pair, 0, INPUT);
    ATTN_TRY(print_escaped(page->out, cell.text, cell.size, err));
    print_text(page->out, "\t");
    cell = attn_table_cell(pair, 0, TARGET);
    ATTN_TRY(print_escaped(page->out, cell.text, cell.size, err));
    print_text(page->out, "\n");
    return ATTN_OK;
}

static enum attn_status put_pairs(struct page *page, struct attn_error *err)
{
    print_text(page->out, page->is_json ? "{\"pairs\": [" : "");
    for (size_t n = 1; n < page->n && is_going_on(page); n++) {
        print_text(page->out, page->is_json && n > 1 ? ", " : "");
        ATTN_TRY(put_pair(page, 0, n, err));
    }
    print_text(page->out, page->is_json ? "]}\n" : "");
    return ATTN_OK;
}

/* --- windows ---------------------------------------------------------------------------------- */

/* One of the two sides of a window that begins at FIRST. */
static enum attn_status put_side(struct page *page, const char *name, size_t number, size_t first,
                                 size_t n, struct attn_error *err)
{
    if (page->is_json) {
        print(page->out, "\"%s_ids\": ", name);
        put_ids(page, first, n);
        print(page->out, ", \"%s\": ", name);
    } else {
        print(page->out, "%zu\t%s\t", number, name);
    }
    ATTN_TRY(put_text(page, first, n, err));
    print_text(page->out, page->is_json ? ", " : "\n");
    return ATTN_OK;
}

static enum attn_status put_window(struct page *page, size_t number, size_t first, size_t n,
                                   struct attn_error *err)
{
    print_text(page->out, page->is_json ? "{" : "");
    ATTN_TRY(put_side(page, "input", number, first, n, err));
    ATTN_TRY(put_side(page, "target", number, first + 1, n, err));
    print_text(page->out, page->is_json ? "\"predictions\": [" : "");
    for (size_t i = 1; i <= n && is_going_on(page); i++) {
        if (page->is_json)
            print_text(page->out, i > 1 ? ", " : "");
        else
            print(page->out, "%zu\tpredict\t", number);
        ATTN_TRY(put_pair(page, first, i, err));
    }
    print_text(page->out, page->is_json ? "]}" : "");
    return ATTN_OK;
}

static enum attn_status put_windows(struct page *page, size_t n, size_t stride,
                                    struct attn_error *err)
{
    size_t number = 0;

    print_text(page->out, page->is_json ? "{\"windows\": [" : "");
    for (size_t first = 0; page->n - first > n && is_going_on(page); first += stride) {
        print_text(page->out, page->is_json && number > 0 ? ", " : "");
        ATTN_TRY(put_window(page, number++, first, n, err));
        if (page->n - first <= stride)
            break;
    }
    print_text(page->out, page->is_json ? "]}\n" : "");
    return ATTN_OK;
}

enum attn_status pairs_print(const struct pairs_args *args, struct attn_sink *out,
                             const struct attn_tokenizer *tokenizer,
                             const struct attn_encoding *encoding, bool is_json,
                             struct attn_error *err)
{
    struct page page = {.out = out,
                        .tokenizer = tokenizer,
                        .ids = encoding->ids,
                        .n = encoding->n,
                        .is_json = is_json};
    const size_t window = args->is_wanted ? 1 : (size_t)args->window;
    enum attn_status status;

    if (encoding->n <= window)
        return problem(err, ATTN_STAGE_INPUT, NULL,
                       "the text has %zu token%s, expected %zu or more: %s of %zu and the "
                       "token after it",
                       encoding->n, encoding->n == 1 ? "" : "s", window + 1,
                       args->is_wanted ? "a beginning" : "a window", window);
    ATTN_TRY(attn_pair_table(&page.pair, err));
    if (args->is_wanted)
        status = put_pairs(&page, err);
    else
        status = put_windows(&page, window, args->stride > 0 ? (size_t)args->stride : 1, err);
    attn_table_free(page.pair);
    return status;
}
