/* pairs.c - see pairs.h. */
#include "cmd/args/pairs.h"

#include "cmd/line/command.h"
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
    int code; /* the first failure */
};

bool pairs_are_wanted(const struct pairs_args *args)
{
    return args->is_wanted || args->window > 0;
}

int pairs_check(const struct pairs_args *args)
{
    if (args->is_wanted && args->window > 0)
        return report_problem(EXIT_USAGE, NULL, "'--pairs' and '--window' are two forms of output");
    if (args->stride > 0 && args->window == 0)
        return report_problem(EXIT_USAGE, "--window W says how long a window is",
                              "'--stride' is given without '--window'");
    return EXIT_DONE;
}

/* Pairs are many more than tokens: none are made for a reader that has gone. */
static bool is_going_on(const struct page *page)
{
    return page->code == EXIT_DONE && attn_sink_check(page->out, NULL) == ATTN_OK;
}

/* The text of tokens FIRST .. FIRST + N - 1, printable. */
static void put_text(struct page *page, size_t first, size_t n)
{
    struct attn_error err = {0};
    char *text;
    size_t size;
    int code;
    if (attn_tokenizer_decode(page->tokenizer, page->ids + first, n, &text, &size, &err) !=
        ATTN_OK) {
        code = report(&err, EXIT_INPUT);
    } else {
        code = page->is_json ? print_json_string(page->out, text, size)
                             : print_escaped(page->out, text, size);
        attn_text_free(text);
    }
    if (page->code == EXIT_DONE)
        page->code = code;
}

static void put_ids(struct page *page, size_t first, size_t n)
{
    print_text(page->out, "[");
    for (size_t i = first; i < first + n; i++)
        print(page->out, "%s%d", i > first ? ", " : "", (int)page->ids[i]);
    print_text(page->out, "]");
}

/* --- pairs ------------------------------------------------------------------------------------ */

/* A text of the pair, printable, and END behind it. */
static void put_cell(struct page *page, size_t column, const char *end)
{
    struct attn_cell cell = attn_table_cell(page->pair, 0, column);
    int code = print_escaped(page->out, cell.text, cell.size);
    print_text(page->out, end);
    if (page->code == EXIT_DONE)
        page->code = code;
}

/* N tokens from FIRST on, and the one that comes next. */
static void put_pair(struct page *page, size_t first, size_t n)
{
    enum { INPUT = 2, TARGET }; /* columns */
    struct attn_error err = {0};
    attn_table_reset(page->pair);
    enum attn_status status =
        attn_pair_table_append(page->pair, page->tokenizer, page->ids + first, n, &err);
    if (status == ATTN_OK && page->is_json)
        status = attn_table_write_row(page->pair, 0, ATTN_TABLE_JSON, -1, page->out, &err);
    if (status != ATTN_OK) {
        page->code = page->code == EXIT_DONE ? report(&err, EXIT_INPUT) : page->code;
    } else if (!page->is_json) {
        put_cell(page, INPUT, "\t");
        put_cell(page, TARGET, "\n");
    }
}

static void put_pairs(struct page *page)
{
    print_text(page->out, page->is_json ? "{\"pairs\": [" : "");
    for (size_t n = 1; n < page->n && is_going_on(page); n++) {
        print_text(page->out, page->is_json && n > 1 ? ", " : "");
        put_pair(page, 0, n);
    }
    print_text(page->out, page->is_json ? "]}\n" : "");
}

/* --- windows ---------------------------------------------------------------------------------- */

/* One of the two sides of a window that begins at FIRST. */
static void put_side(struct page *page, const char *name, size_t number, size_t first, size_t n)
{
    if (page->is_json) {
        print(page->out, "\"%s_ids\": ", name);
        put_ids(page, first, n);
        print(page->out, ", \"%s\": ", name);
        put_text(page, first, n);
        print_text(page->out, ", ");
    } else {
        print(page->out, "%zu\t%s\t", number, name);
        put_text(page, first, n);
        print_text(page->out, "\n");
    }
}

static void put_window(struct page *page, size_t number, size_t first, size_t n)
{
    print_text(page->out, page->is_json ? "{" : "");
    put_side(page, "input", number, first, n);
    put_side(page, "target", number, first + 1, n);
    print_text(page->out, page->is_json ? "\"predictions\": [" : "");
    for (size_t i = 1; i <= n && is_going_on(page); i++) {
        if (page->is_json)
            print_text(page->out, i > 1 ? ", " : "");
        else
            print(page->out, "%zu\tpredict\t", number);
        put_pair(page, first, i);
    }
    print_text(page->out, page->is_json ? "]}" : "");
}

static void put_windows(struct page *page, size_t n, size_t stride)
{
    size_t number = 0;
    print_text(page->out, page->is_json ? "{\"windows\": [" : "");
    for (size_t first = 0; page->n - first > n && is_going_on(page); first += stride) {
        print_text(page->out, page->is_json && number > 0 ? ", " : "");
        put_window(page, number++, first, n);
        if (page->n - first <= stride)
            break;
    }
    print_text(page->out, page->is_json ? "]}\n" : "");
}

int pairs_print(const struct pairs_args *args, struct attn_sink *out,
                const struct attn_tokenizer *tokenizer, const struct attn_encoding *encoding,
                bool is_json)
{
    struct page page = {.out = out,
                        .tokenizer = tokenizer,
                        .ids = encoding->ids,
                        .n = encoding->n,
                        .is_json = is_json};
    struct attn_error err = {0};
    size_t window = args->is_wanted ? 1 : (size_t)args->window;
    if (encoding->n <= window)
        return report_problem(EXIT_INPUT, NULL,
                              "the text has %zu token%s, expected %zu or more: %s of %zu and the "
                              "token after it",
                              encoding->n, encoding->n == 1 ? "" : "s", window + 1,
                              args->is_wanted ? "a beginning" : "a window", window);
    if (attn_pair_table(&page.pair, &err) != ATTN_OK)
        return report(&err, EXIT_INTERNAL);
    if (args->is_wanted)
        put_pairs(&page);
    else
        put_windows(&page, window, args->stride > 0 ? (size_t)args->stride : 1);
    attn_table_free(page.pair);
    return page.code;
}
