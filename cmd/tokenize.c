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

static int tokenize_main(int argc, char **argv);

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
    .main = tokenize_main,
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
static int print_json(struct attn_sink *out, const struct attn_table *tokens,
                      const struct attn_encoding *encoding)
{
    size_t n = attn_table_n_row(tokens);
    int code = EXIT_DONE;
    print_text(out, "{\"ids\": [");
    for (size_t i = 0; i < n; i++)
        print(out, "%s%d", i > 0 ? ", " : "", (int)attn_table_cell(tokens, i, 1).integer);
    print_text(out, "], \"tokens\": [");
    for (size_t i = 0; code == EXIT_DONE && i < n; i++) {
        struct attn_cell token = attn_table_cell(tokens, i, 4);
        print_text(out, i > 0 ? ", " : "");
        code = print_json_string(out, token.text, token.size);
    }
    print_text(out, "], \"offsets\": [");
    for (size_t i = 0; i < n; i++)
        print(out, "%s[%lld, %lld]", i > 0 ? ", " : "",
              (long long)attn_table_cell(tokens, i, 2).integer,
              (long long)attn_table_cell(tokens, i, 3).integer);
    print_text(out, "]");
    print_added(out, encoding);
    print_text(out, "}\n");
    return code;
}

static int print_tokens(struct attn_sink *out, const struct attn_tokenizer *tokenizer,
                        const struct attn_encoding *encoding, bool is_json)
{
    struct attn_table *tokens = NULL;
    struct attn_error err = {0};
    int code = EXIT_DONE;
    enum attn_status status = attn_token_table(tokenizer, encoding, &tokens, &err);
    if (status == ATTN_OK && is_json)
        code = print_json(out, tokens, encoding);
    else if (status == ATTN_OK)
        status = attn_table_write(tokens, ATTN_TABLE_TABBED, -1, out, &err);
    attn_table_free(tokens);
    return status == ATTN_OK ? code : report(&err, EXIT_OUTPUT);
}

static void print_ids(struct attn_sink *out, const struct attn_encoding *encoding)
{
    for (size_t i = 0; i < encoding->n; i++)
        print(out, "%s%d", i > 0 ? " " : "", (int)encoding->ids[i]);
    print_text(out, "\n");
}

static int encode(const struct tokenize_args *args, const struct attn_tokenizer *tokenizer,
                  struct attn_sink *out)
{
    struct text text;
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};
    struct attn_encode_options encode_options = ATTN_ENCODE_DEFAULT;
    int code = prompt_read(&args->prompt, &text);
    if (code != EXIT_DONE)
        return code;
    encode_options.special = (enum attn_special)args->prompt.special;
    encode_options.special_tokens = (enum attn_special_tokens)args->prompt.special_tokens;
    encode_options.invalid = (enum attn_invalid_text)args->invalid;
    encode_options.cancel = interrupt_flag();
    if (attn_tokenizer_encode(tokenizer, text.data, text.size, &encode_options, &encoding, &err) !=
        ATTN_OK) {
        code = report(&err, EXIT_INPUT);
    } else if (pairs_are_wanted(&args->pairs)) {
        code = pairs_print(&args->pairs, out, tokenizer, &encoding, args->format == FORMAT_JSON);
    } else if (args->format == FORMAT_IDS) {
        print_ids(out, &encoding);
    } else {
        code = print_tokens(out, tokenizer, &encoding, args->format == FORMAT_JSON);
    }
    attn_encoding_release(&encoding);
    text_release(&text);
    return code;
}

static int decode(const struct tokenize_args *args, const struct attn_tokenizer *tokenizer,
                  struct attn_sink *out)
{
    int32_t *ids;
    size_t n, size;
    char *text;
    struct attn_error err = {0};
    int code = ids_parse(args->prompt.ids, &ids, &n);
    if (code != EXIT_DONE)
        return code;
    if (attn_tokenizer_decode(tokenizer, ids, n, &text, &size, &err) != ATTN_OK) {
        code = report(&err, EXIT_INPUT);
    } else {
        /* A text may hold what a terminal takes for a command. */
        if (!args->prompt.is_raw && isatty(STDOUT_FILENO))
            code = print_lines(out, text, size);
        else
            attn_sink_write(out, text, size);
        print_text(out, args->prompt.is_raw ? "" : "\n");
        attn_text_free(text);
    }
    free(ids);
    return code;
}

static int check(const struct tokenize_args *args)
{
    int code = prompt_check(&args->prompt, "attn-cli tokenize \"Life is short\"");
    if (code == EXIT_DONE)
        code = pairs_check(&args->pairs);
    if (code != EXIT_DONE || !pairs_are_wanted(&args->pairs))
        return code;
    if (args->prompt.ids)
        return report_problem(EXIT_USAGE, NULL, "pairs are made of a text, not of '--decode'");
    if (args->format == FORMAT_IDS)
        return report_problem(EXIT_USAGE, NULL,
                              "pairs have no '--format ids', expected table or json");
    return EXIT_DONE;
}

static int tokenize(const struct tokenize_args *args, struct attn_sink *out)
{
    struct model_source source;
    struct attn_tokenizer *tokenizer;
    struct attn_error err = {0};
    int code = check(args);
    if (code == EXIT_DONE)
        code = model_source_find(&args->model, NULL, &source);
    if (code != EXIT_DONE)
        return code;
    if ((args->prompt.ids ? attn_tokenizer_open_lazily(&source.source, NULL, NULL, &tokenizer, &err)
                          : attn_tokenizer_open(&source.source, &tokenizer, &err)) != ATTN_OK)
        return report(&err, EXIT_MODEL);
    if (attn_tokenizer_note(tokenizer))
        note("%s", attn_tokenizer_note(tokenizer));
    code = args->prompt.ids ? decode(args, tokenizer, out) : encode(args, tokenizer, out);
    attn_tokenizer_free(tokenizer);
    return code;
}

static int tokenize_main(int argc, char **argv)
{
    struct tokenize_args args = {0};
    struct attn_sink *out = NULL;
    int code = options_parse(&command_tokenize, argc, argv, &args);
    if (code == OPTIONS_OK)
        code = print_open(&out);
    if (out)
        code = tokenize(&args, out);
    text_list_release(&args.prompt.plain);
    return print_close(out, code);
}
