/*
 * tokenize.c - attn-cli tokenize: text to token ids, and back. Needs a model's config and
 * vocabulary, no weights.
 */
#include "cmd/args/model.h"
#include "cmd/args/pairs.h"
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

/* {"ids": [...], "tokens": [...], "offsets": [[begin, end], ...]}: a list a column. */
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
