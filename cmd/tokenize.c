/*
 * tokenize.c - attn-cli tokenize: text to token ids, and back. Needs a model's config and
 * vocabulary, no weights.
 */
#include "cmd/args/model.h"
#include "cmd/args/prompt.h"
#include "cmd/line/command.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum format { FORMAT_TABLE, FORMAT_IDS, FORMAT_JSON };

/* What a model is trained on: from the tokens so far to the next one. Either the prefixes of the
 * whole text, or windows that slide over it, each with its target, one token later, and the
 * predictions that are in it. */
struct pairs_args {
    bool is_wanted; /* --pairs */
    int64_t window; /* tokens; 0: no windows */
    int64_t stride; /* tokens from one window to the next; 0: not given */
};

struct tokenize_args {
    struct prompt_args prompt; /* its ids are those of --decode */
    struct model_args model;
    struct pairs_args pairs;
    int format;  /* enum format */
    int invalid; /* enum attn_invalid_text */
};

static const struct option input_rows[] = {
    OPTION_CHOICE("invalid", "refuse|replace|bytes", struct tokenize_args, invalid,
                  "what to do with bytes that are not UTF-8: report an error (default), replace "
                  "them by U+FFFD, or take them as they are (byte-level BPE only)"),
    OPTION_TEXT("decode", "IDS", struct tokenize_args, prompt.ids,
                "print the text of these ids, separated by spaces or commas; a terminal gets "
                "control characters as \\xNN, unless --raw is given"),
};

static const struct option_group input_options = OPTION_GROUP("Input", input_rows);

static const struct option format_rows[] = {
    OPTION_CHOICE("format", "table|ids|json", struct tokenize_args, format,
                  "one token per line (default); all ids on one line; or one JSON object"),
};

static const struct option_group format_options = OPTION_GROUP("Output", format_rows);

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

static const struct option_group pairs_options = OPTION_GROUP("Training pairs", pairs_rows);

static const struct option_part parts[] = {
    {&prompt_options, offsetof(struct tokenize_args, prompt)},
    {&special_options, offsetof(struct tokenize_args, prompt)},
    {&input_options, 0}, /* --invalid and --decode */
    {&model_options, offsetof(struct tokenize_args, model)},
    {&format_options, 0}, /* --format */
    {&pairs_options, offsetof(struct tokenize_args, pairs)},
};

static enum attn_status tokenize(struct call *call, struct attn_error *err);

const struct command command_tokenize = {
    .name = "tokenize",
    .summary = "text to token ids, and back",
    .usage = "[OPTIONS] TEXT",
    .description =
        "Prints the tokens of TEXT, one per line: position, id, first byte, byte after\n"
        "the last, and text, separated by tabs, and `added` for the tokens that the\n"
        "tokenizer added by itself. In a token's text a backslash is doubled, newline and\n"
        "tab are \\n"
        " and \\t, and bytes that cannot be shown are \\xNN.\n"
        "\n"
        "With --pairs a line is a beginning of the text, a tab and the token that comes\n"
        "next. With --window a line is the number of the window, then `input` or `target`\n"
        "and its text, or `predict`, the tokens so far and the next one.\n",
    .examples = "  attn-cli tokenize -m fable \"The cat sat on the mat\"\n"
                "  attn-cli tokenize --decode \"804 1041 1446\"\n"
                "  attn-cli tokenize --pairs \"Life is short\"\n"
                "  attn-cli tokenize -m fable --format ids -f text.txt\n"
                "  attn-cli tokenize --window 4 --stride 4 \"Life is short eat dessert first\"\n",
    OPTION_PARTS(parts),
    .args_size = sizeof(struct tokenize_args),
    .work = tokenize,
};

/* --- Pairs ------------------------------------------------------------------------------------ */

/* The tokens of a text, and where their pairs go. */
struct page {
    struct attn_sink *out;
    const struct attn_tokenizer *tokenizer;
    const int32_t *ids; /* [n] */
    size_t n;
    struct attn_table *pair; /* owned; scratch for one of them */
    bool is_json;
};

static bool pairs_are_wanted(const struct pairs_args *args)
{
    return args->is_wanted || args->window > 0;
}

/* There are many more pairs than tokens: none are made after the reader has closed the pipe. */
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

static enum attn_status pairs_print(const struct pairs_args *args, struct attn_sink *out,
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

/* --- Tokens ----------------------------------------------------------------------------------- */

/* The positions of the tokens that the tokenizer added, if there are any. */
static void print_added(struct attn_sink *out, const struct attn_encoding *encoding)
{
    const char *separator = ", \"added\": [";
    for (size_t i = 0; i < encoding->n; i++)
        if (i < encoding->n_front || i >= encoding->n - encoding->n_back) {
            print(out, "%s%zu", separator, i);
            separator = ", ";
        }
    print_text(out, encoding->n_front + encoding->n_back > 0 ? "]" : "");
}

/* {"ids": [...], "tokens": [...], "offsets": [[begin, end], ...]}: one list per column. */
static enum attn_status print_json(struct attn_sink *out, const struct attn_table *tokens,
                                   const struct attn_encoding *encoding, struct attn_error *err)
{
    const size_t n = attn_table_n_row(tokens);

    print_text(out, "{\"ids\": [");
    for (size_t i = 0; i < n; i++)
        print(out, "%s%d", i > 0 ? ", " : "", (int)attn_table_cell(tokens, i, 1).integer);
    print_text(out, "], \"tokens\": [");
    for (size_t i = 0; i < n; i++) {
        const struct attn_cell token = attn_table_cell(tokens, i, 4);

        print_text(out, i > 0 ? ", " : "");
        ATTN_TRY(print_json_string(out, token.text, token.size, err));
    }
    print_text(out, "], \"offsets\": [");
    for (size_t i = 0; i < n; i++)
        print(out, "%s[%lld, %lld]", i > 0 ? ", " : "",
              (long long)attn_table_cell(tokens, i, 2).integer,
              (long long)attn_table_cell(tokens, i, 3).integer);
    print_text(out, "]");
    print_added(out, encoding);
    print_text(out, "}\n");
    return ATTN_OK;
}

static enum attn_status print_tokens(struct attn_sink *out, const struct attn_tokenizer *tokenizer,
                                     const struct attn_encoding *encoding, bool is_json,
                                     struct attn_error *err)
{
    struct attn_table *tokens = NULL;
    enum attn_status status = attn_token_table(tokenizer, encoding, &tokens, err);

    if (status == ATTN_OK)
        status = is_json ? print_json(out, tokens, encoding, err)
                         : attn_table_write(tokens, ATTN_TABLE_TABBED, -1, out, err);
    attn_table_free(tokens);
    return at_stage(ATTN_STAGE_OUTPUT, status, err);
}

static void print_ids(struct attn_sink *out, const struct attn_encoding *encoding)
{
    for (size_t i = 0; i < encoding->n; i++)
        print(out, "%s%d", i > 0 ? " " : "", (int)encoding->ids[i]);
    print_text(out, "\n");
}

static enum attn_status print_encoding(const struct tokenize_args *args,
                                       const struct attn_tokenizer *tokenizer,
                                       const struct attn_encoding *encoding, struct attn_sink *out,
                                       struct attn_error *err)
{
    const bool is_json = args->format == FORMAT_JSON;

    if (pairs_are_wanted(&args->pairs))
        return pairs_print(&args->pairs, out, tokenizer, encoding, is_json, err);
    if (args->format != FORMAT_IDS)
        return print_tokens(out, tokenizer, encoding, is_json, err);
    print_ids(out, encoding);
    return ATTN_OK;
}

static enum attn_status encode(const struct tokenize_args *args,
                               const struct attn_tokenizer *tokenizer, struct attn_sink *out,
                               struct attn_error *err)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_encoding encoding = {0};
    enum attn_status status;
    struct text text;

    ATTN_TRY(prompt_read(&args->prompt, &text, err));
    options.special = (enum attn_special)args->prompt.special;
    options.special_tokens = (enum attn_special_tokens)args->prompt.special_tokens;
    options.invalid = (enum attn_invalid_text)args->invalid;
    options.cancel = interrupt_flag();
    status = at_stage(
        ATTN_STAGE_INPUT,
        attn_tokenizer_encode(tokenizer, text.data, text.size, &options, &encoding, err), err);
    if (status == ATTN_OK)
        status = print_encoding(args, tokenizer, &encoding, out, err);
    attn_encoding_release(&encoding);
    text_release(&text);
    return status;
}

static enum attn_status decode(const struct tokenize_args *args,
                               const struct attn_tokenizer *tokenizer, struct attn_sink *out,
                               struct attn_error *err)
{
    enum attn_status status;
    size_t n, size;
    int32_t *ids;
    char *text;

    ATTN_TRY(ids_parse(args->prompt.ids, &ids, &n, err));
    status = at_stage(ATTN_STAGE_INPUT, attn_tokenizer_decode(tokenizer, ids, n, &text, &size, err),
                      err);
    free(ids);
    ATTN_TRY(status);
    /* A text may hold what a terminal takes for a command. */
    if (!args->prompt.is_raw && isatty(STDOUT_FILENO))
        status = print_lines(out, text, size, err);
    else
        attn_sink_write(out, text, size);
    print_text(out, args->prompt.is_raw ? "" : "\n");
    attn_text_free(text);
    return status;
}

static enum attn_status pairs_check(const struct pairs_args *args, struct attn_error *err)
{
    if (args->is_wanted && args->window > 0)
        return refuse(err, NULL, "'--pairs' and '--window' are two forms of output");
    if (args->stride > 0 && args->window == 0)
        return refuse(err, "--window W says how long a window is",
                      "'--stride' is given without '--window'");
    return ATTN_OK;
}

static enum attn_status check(const struct tokenize_args *args, struct attn_error *err)
{
    ATTN_TRY(prompt_check(&args->prompt, "attn-cli tokenize \"Life is short\"", err));
    ATTN_TRY(pairs_check(&args->pairs, err));
    if (!pairs_are_wanted(&args->pairs))
        return ATTN_OK;
    if (args->prompt.ids)
        return refuse(err, NULL, "pairs are made of a text, not of '--decode'");
    if (args->format == FORMAT_IDS)
        return refuse(err, NULL, "pairs have no '--format ids', expected table or json");
    return ATTN_OK;
}

static enum attn_status tokenize(struct call *call, struct attn_error *err)
{
    const struct tokenize_args *args = call->args;
    struct attn_tokenizer *tokenizer;
    struct model_source source;
    enum attn_status status;

    ATTN_TRY(check(args, err));
    ATTN_TRY(model_source_find(&args->model, NULL, &source, err));
    status = args->prompt.ids
                 ? attn_tokenizer_open_lazily(&source.source, NULL, NULL, &tokenizer, err)
                 : attn_tokenizer_open(&source.source, &tokenizer, err);
    ATTN_TRY(at_stage(ATTN_STAGE_MODEL, status, err));
    if (attn_tokenizer_note(tokenizer))
        note("%s", attn_tokenizer_note(tokenizer));
    status = (args->prompt.ids ? decode : encode)(args, tokenizer, call->out, err);
    attn_tokenizer_free(tokenizer);
    return status;
}
