/* tokenize.c - attn-cli tokenize: converts text to token ids, and back. It needs the config and the
 * vocabulary of a model, but no weights. */
#include "cmd/args/document.h"
#include "cmd/args/model.h"
#include "cmd/args/prompt.h"
#include "cmd/line/command.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <stdio.h>
#include <string.h>

enum format { FORMAT_TABLE, FORMAT_IDS, FORMAT_PAIRS, FORMAT_TEXT };

/* Options for pairs of input and target, on which a model is trained. A pair is either a prefix of
 * the text with its next token, or a window that slides over the text with the same window one
 * token later, which contains one prediction per token. */
struct pairs_args {
    size_t window; /* in tokens; 0: prefixes instead of windows */
    size_t stride; /* tokens from one window to the next; 0: not given */
};

struct tokenize_args {
    struct prompt_args prompt; /* with --decode, its text argument is a list of ids */
    struct model_args model;
    struct pairs_args pairs;
    const char *pair;   /* --pair: the second text, or NULL */
    bool is_of_decoder; /* --stack decoder */
    int format;         /* enum format */
    bool is_quiet;
    struct document_args document;
    int invalid; /* enum attn_invalid_text */
};

static const struct attn_param input_rows[] = {
    ATTN_PARAM(TEXT, "pair", "TEXT", struct tokenize_args, pair,
               "a second text, put after the first as the tokenizer says: [CLS] text [SEP] pair "
               "[SEP]; lines then end with a type and a text"),
    ATTN_PARAM(SWITCH, "stack", NULL, struct tokenize_args, is_of_decoder,
               "of a translator with two tokenizers, source.spm and target.spm: what reads the "
               "text, encoder (default), or decoder, in the target language",
               .words = "encoder|decoder"),
    ATTN_PARAM(CHOICE, "invalid", NULL, struct tokenize_args, invalid,
               "what to do with bytes that are not UTF-8: report an error (default), replace "
               "them by U+FFFD, or take them as they are (byte-level BPE only)",
               .words = "refuse|replace|bytes"),
    ATTN_PARAM(IDS, "decode", "IDS", struct tokenize_args, prompt.asked.input.ids,
               "print the text of these ids, separated by spaces or commas; a terminal gets "
               "control characters as \\xNN",
               .second = offsetof(struct tokenize_args, prompt.asked.input.n_id)),
};

static const struct attn_param format_rows[] = {
    ATTN_PARAM(CHOICE, "format", NULL, struct tokenize_args, format,
               "one token per line (default); all ids on one line; beginnings of the text, each "
               "with the next token; or the text that is tokenized, as of `chat`",
               .words = "table|ids|pairs|text"),
};

static const struct attn_param other_rows[] = {
    ATTN_PARAM(FLAG, "quiet", NULL, struct tokenize_args, is_quiet,
               "no notes on standard error, only errors", .letter = 'q'),
};

static const struct attn_param pairs_rows[] = {
    ATTN_PARAM(COUNT, "window", "W", struct pairs_args, window,
               "print each window of W tokens, its target (the window one token later) and "
               "the W predictions in it",
               .least = 1, .most = INT32_MAX),
    ATTN_PARAM(COUNT, "stride", "S", struct pairs_args, stride,
               "tokens from one window to the next; default: 1", .least = 1, .most = INT32_MAX),
};

static const struct attn_param_part parts[] = {
    {&prompt_text_options, offsetof(struct tokenize_args, prompt)},
    {&prompt_options, offsetof(struct tokenize_args, prompt)},
    {&attn_reading_params, offsetof(struct tokenize_args, prompt.asked)},
    {OPTION_LIST("Input", input_rows), 0},
    {&attn_chat_params, offsetof(struct tokenize_args, prompt.asked)},
    {&model_options, offsetof(struct tokenize_args, model)},
    {OPTION_LIST("Output", format_rows), 0},
    {&document_options, offsetof(struct tokenize_args, document)},
    {OPTION_LIST("Training pairs", pairs_rows), offsetof(struct tokenize_args, pairs)},
    {OPTION_LIST("Other", other_rows), 0},
};

/* The tokens of a text, and where their pairs are written. */
struct page {
    struct attn_sink *out;
    const struct attn_tokenizer *tokenizer;
    const int32_t *ids; /* [n] */
    size_t n;
    bool is_json;
    struct attn_table *pair;      /* owned; scratch for one pair */
    struct attn_buffer text;      /* output that is not yet written to `out` */
    struct attn_json_writer json; /* writes to `text` */
};

static bool pairs_are_wanted(const struct tokenize_args *args)
{
    return args->format == FORMAT_PAIRS || args->pairs.window > 0;
}

/* Returns false after the reader closed the pipe. There are many more pairs than tokens, so no more
 * should then be made. */
static bool is_going_on(const struct page *page)
{
    return attn_sink_check(page->out, NULL) == ATTN_OK;
}

/* Writes a pair: N tokens from FIRST on, and the next token. */
static enum attn_status put_pair(struct page *page, size_t first, size_t n, struct attn_error *err)
{
    enum { INPUT = 2, TARGET }; /* indices of columns */
    const struct attn_table *pair = page->pair;

    attn_table_reset(page->pair);
    ATTN_TRY(at_stage(
        ATTN_STAGE_INPUT,
        attn_pair_table_append(page->pair, page->tokenizer, page->ids + first, n, err), err));
    if (page->is_json)
        attn_json_begin(&page->json, '{');
    for (size_t column = page->is_json ? 0 : INPUT; column <= TARGET; column++) {
        const struct attn_cell cell = attn_table_cell(pair, 0, column);

        if (page->is_json) {
            attn_table_push_member(&page->json, attn_table_column(pair, column), &cell, -1);
        } else {
            attn_escape_append(&page->text, cell.text, cell.size);
            attn_buffer_append_char(&page->text, column == TARGET ? '\n' : '\t');
        }
    }
    if (page->is_json)
        attn_json_end(&page->json);
    return print_buffer(page->out, &page->text, err);
}

/* Writes one side of a window, its input or its target. The tokens begin at FIRST. */
static enum attn_status put_side(struct page *page, const char *name, size_t number, size_t first,
                                 size_t n, struct attn_error *err)
{
    struct attn_json_writer *json = &page->json;
    char key[16], *text;
    size_t size;

    ATTN_TRY(at_stage(
        ATTN_STAGE_INPUT,
        attn_tokenizer_decode(page->tokenizer, page->ids + first, n, &text, &size, err), err));
    if (page->is_json) {
        snprintf(key, sizeof key, "%s_ids", name);
        attn_json_ids(attn_json_key(json, key), page->ids + first, n);
        attn_json_string(attn_json_key(json, name), text, size);
    } else {
        attn_buffer_append_format(&page->text, "%zu\t%s\t", number, name);
        attn_escape_append(&page->text, text, size);
        attn_buffer_append_char(&page->text, '\n');
    }
    attn_tokenizer_text_free(text);
    return ATTN_OK;
}

static enum attn_status put_window(struct page *page, size_t number, size_t first, size_t n,
                                   struct attn_error *err)
{
    if (page->is_json)
        attn_json_begin(&page->json, '{');
    ATTN_TRY(put_side(page, "input", number, first, n, err));
    ATTN_TRY(put_side(page, "target", number, first + 1, n, err));
    if (page->is_json)
        attn_json_begin(attn_json_key(&page->json, "predictions"), '[');
    for (size_t i = 1; i <= n && is_going_on(page); i++) {
        if (!page->is_json)
            attn_buffer_append_format(&page->text, "%zu\tpredict\t", number);
        ATTN_TRY(put_pair(page, first, i, err));
    }
    if (page->is_json) {
        attn_json_end(&page->json);
        attn_json_end(&page->json);
    }
    return ATTN_OK;
}

/* Writes the pairs of all prefixes or, if WINDOW is not 0, all windows of WINDOW tokens. */
static enum attn_status put_all(struct page *page, size_t window, size_t stride,
                                struct attn_error *err)
{
    if (page->is_json) {
        attn_json_begin(&page->json, '{');
        attn_json_head(&page->json, ATTN_DOCUMENT_TOKENIZE);
        attn_json_begin(attn_json_key(&page->json, window > 0 ? "windows" : "pairs"), '[');
    }
    for (size_t n = 1; window == 0 && n < page->n && is_going_on(page); n++)
        ATTN_TRY(put_pair(page, 0, n, err));
    for (size_t i = 0; window > 0 && window < page->n - i * stride && is_going_on(page); i++) {
        ATTN_TRY(put_window(page, i, i * stride, window, err));
        if (page->n - i * stride <= stride)
            break;
    }
    if (page->is_json) {
        attn_json_end(&page->json);
        attn_json_end(&page->json);
        attn_buffer_append_char(&page->text, '\n');
    }
    return print_buffer(page->out, &page->text, err);
}

static enum attn_status print_pairs(const struct tokenize_args *all,
                                    const struct attn_tokenizer *tokenizer,
                                    const struct attn_encoding *encoding, struct attn_sink *out,
                                    struct attn_error *err)
{
    const struct pairs_args *args = &all->pairs;
    struct page page = {.out = out,
                        .tokenizer = tokenizer,
                        .ids = encoding->ids,
                        .n = encoding->n,
                        .is_json = all->document.json != NULL,
                        .json.out = &page.text};
    const size_t least = args->window > 0 ? args->window : 1;
    enum attn_status status;

    if (encoding->n <= least)
        return problem(err, ATTN_STAGE_INPUT, NULL,
                       "the text has %zu token%s, expected %zu or more: %s of %zu and the "
                       "token after it",
                       encoding->n, encoding->n == 1 ? "" : "s", least + 1,
                       args->window > 0 ? "a window" : "a beginning", least);
    ATTN_TRY(attn_pair_table(&page.pair, err));
    status = put_all(&page, args->window, args->stride > 0 ? args->stride : 1, err);
    attn_table_free(page.pair);
    attn_buffer_release(&page.text);
    return status;
}

/* Appends lists of integers for those columns that only some tokenizers have. */
static void push_types(struct attn_json_writer *json, const struct attn_encoding *encoding)
{
    attn_json_begin(attn_json_key(json, "types"), '[');
    for (size_t i = 0; i < encoding->n; i++)
        attn_json_integer(json, encoding->types[i]);
    attn_json_end(json);
    attn_json_begin(attn_json_key(json, "pair"), '[');
    for (size_t i = 0; i < encoding->n; i++)
        if (encoding->texts[i] == ATTN_TEXT_SECOND)
            attn_json_size(json, i);
    attn_json_end(json);
}

/* Appends the list KEY, the texts of COLUMN. */
static void push_column(struct attn_json_writer *json, const char *key,
                        const struct attn_table *table, size_t column)
{
    attn_json_begin(attn_json_key(json, key), '[');
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        const struct attn_cell cell = attn_table_cell(table, i, column);

        attn_json_string(json, cell.type == ATTN_VALUE_MISSING ? NULL : cell.text, cell.size);
    }
    attn_json_end(json);
}

/* {"schema": 1, "kind": "tokenize", "ids": [...], "tokens": [...], "offsets": [[begin, end], ...]}:
 * one list per column. If there are any, also lists of the positions of the tokens that the
 * tokenizer added, of the types, and of the positions of tokens that belong to the second text; of
 * a conversation, `messages`: the name of the message of each token, or null. */
static enum attn_status print_json(struct attn_sink *out, const struct attn_table *tokens,
                                   const struct attn_encoding *encoding, bool is_chat,
                                   struct attn_error *err)
{
    struct attn_buffer text = {0};
    struct attn_json_writer json = {.out = &text};
    enum attn_status status;

    attn_json_begin(&json, '{');
    attn_json_head(&json, ATTN_DOCUMENT_TOKENIZE);
    attn_json_ids(attn_json_key(&json, "ids"), encoding->ids, encoding->n);
    push_column(&json, "tokens", tokens, 4);
    attn_json_begin(attn_json_key(&json, "offsets"), '[');
    for (size_t i = 0; i < encoding->n; i++)
        attn_buffer_append_format(attn_json_value(&json), "[%lld, %lld]",
                                  (long long)attn_table_cell(tokens, i, 2).integer,
                                  (long long)attn_table_cell(tokens, i, 3).integer);
    attn_json_end(&json);
    if (is_chat)
        push_column(&json, "messages", tokens, 5);
    if (encoding->n_front + encoding->n_back > 0) {
        attn_json_begin(attn_json_key(&json, "added"), '[');
        for (size_t i = 0; i < encoding->n; i++)
            if (encoding->texts[i] == ATTN_TEXT_NONE)
                attn_json_size(&json, i);
        attn_json_end(&json);
    }
    if (attn_encoding_has_types(encoding))
        push_types(&json, encoding);
    attn_json_end(&json);
    attn_buffer_append_char(&text, '\n');
    status = print_buffer(out, &text, err);
    attn_buffer_release(&text);
    return status;
}

static enum attn_status print_tokens(const struct tokenize_args *args,
                                     const struct attn_tokenizer *tokenizer,
                                     const struct attn_encoding *encoding,
                                     const struct attn_chat_text *chat, struct attn_sink *out,
                                     struct attn_error *err)
{
    struct attn_table *tokens = NULL;
    enum attn_status status;

    if (args->format == FORMAT_IDS) {
        for (size_t i = 0; i < encoding->n; i++)
            print(out, "%s%d", i > 0 ? " " : "", (int)encoding->ids[i]);
        print_text(out, "\n");
        return ATTN_OK;
    }
    status = attn_token_table(tokenizer, encoding, chat, &tokens, err);
    if (status == ATTN_OK)
        status =
            args->document.json
                ? print_json(out, tokens, encoding, chat != NULL, err)
                : attn_table_write(tokens, args->document.csv ? ATTN_TABLE_CSV : ATTN_TABLE_TABBED,
                                   -1, out, err);
    attn_table_free(tokens);
    return at_stage(ATTN_STAGE_OUTPUT, status, err);
}

/* Tokenizes TEXT and prints its tokens. */
static enum attn_status encode_text(const struct tokenize_args *args,
                                    const struct attn_tokenizer *tokenizer, struct text text,
                                    const struct attn_chat_text *chat, struct attn_sink *out,
                                    struct attn_error *err)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_encoding encoding = {0};
    enum attn_status status;

    if (args->format == FORMAT_TEXT) {
        attn_sink_write(out, text.data, text.size);
        return ATTN_OK;
    }
    options.special = args->prompt.asked.reading.special;
    options.special_tokens =
        chat ? ATTN_SPECIAL_TOKENS_OFF : args->prompt.asked.reading.special_tokens;
    options.invalid = (enum attn_invalid_text)args->invalid;
    options.cancel = interrupt_flag();
    options.pair = args->pair;
    options.n_pair = args->pair ? strlen(args->pair) : 0;
    status = at_stage(
        ATTN_STAGE_INPUT,
        attn_tokenizer_encode(tokenizer, text.data, text.size, &options, &encoding, err), err);
    attn_encoding_note(&encoding, tokenizer, (struct attn_notes){note_message, NULL, NULL});
    ATTN_THEN(status, pairs_are_wanted(args)
                          ? print_pairs(args, tokenizer, &encoding, out, err)
                          : print_tokens(args, tokenizer, &encoding, chat, out, err));
    attn_encoding_release(&encoding);
    return status;
}

static enum attn_status encode(const struct tokenize_args *args,
                               const struct attn_tokenizer *tokenizer, struct attn_sink *out,
                               struct attn_error *err)
{
    struct attn_chat_request chat = args->prompt.asked.chat;
    struct attn_chat_text written = {0};
    const bool is_chat = attn_chat_is_wanted(&chat);
    const char *model = args->model.name ? args->model.name : "the model";
    enum attn_status status = ATTN_OK;
    struct text text = {0};

    if (!chat.messages)
        ATTN_TRY(prompt_read(&args->prompt, &text, err));
    status = prompt_read_messages(&text, &chat.messages, err);
    chat.now = prompt_time();
    if (is_chat && status == ATTN_OK)
        status = attn_chat_write(
            &chat, &(struct attn_chat_turn){tokenizer, model, text.data, text.size, false},
            &written, err);
    if (status == ATTN_OK)
        status =
            encode_text(args, tokenizer,
                        is_chat ? (struct text){.data = written.text, .size = written.size} : text,
                        is_chat ? &written : NULL, out, err);
    attn_chat_release(&written);
    text_release(&text);
    return status;
}

static enum attn_status decode(const struct tokenize_args *args,
                               const struct attn_tokenizer *tokenizer, struct attn_sink *out,
                               struct attn_error *err)
{
    const struct attn_input *asked = &args->prompt.asked.input;
    enum attn_status status = ATTN_OK;
    size_t size;
    char *text;

    ATTN_TRY(at_stage(ATTN_STAGE_INPUT,
                      attn_tokenizer_decode(tokenizer, asked->ids, asked->n_id, &text, &size, err),
                      err));
    /* the text may contain escape sequences */
    if (attn_os_is_terminal(ATTN_OS_OUTPUT))
        status = print_lines(out, text, size, err);
    else
        attn_sink_write(out, text, size);
    print_text(out, "\n");
    attn_tokenizer_text_free(text);
    return status;
}

static enum attn_status check(const struct call *call, struct attn_error *err)
{
    const struct tokenize_args *args = call->args;
    const struct pairs_args *pairs = &args->pairs;

    if (args->prompt.asked.input.ids &&
        option_find_given(call, "format|json|csv|special|special-tokens|invalid"))
        return refuse(err, NULL, "`%s` is for a text, and `decode` has ids",
                      option_find_given(call, "format|json|csv|special|special-tokens|invalid"));
    ATTN_TRY(prompt_check(call, &args->prompt, "attn-cli tokenize \"Life is short\"", err));
    if (args->prompt.asked.chat.form || attn_chat_is_wanted(&args->prompt.asked.chat)) {
        const struct attn_input input = {.ids = args->prompt.asked.input.ids, .pair = args->pair};

        ATTN_TRY(
            attn_chat_check(&args->prompt.asked.chat, &input, &args->prompt.asked.reading, err));
    }
    if (args->pair && (args->prompt.asked.input.ids || pairs_are_wanted(args)))
        return refuse(err, NULL, "'`pair`' is a second text, which '`%s`' does not take",
                      args->prompt.asked.input.ids ? "decode"
                      : pairs->window > 0          ? "window"
                                                   : "format pairs");
    if (args->format != FORMAT_TABLE && pairs->window > 0)
        return refuse(err, NULL, "'`format`' and '`window`' are two forms of output");
    if (args->format != FORMAT_PAIRS && (args->document.json || args->document.csv) &&
        option_find_given(call, "format"))
        return refuse(err, NULL, "`format` and `%s` are two forms of output",
                      args->document.json ? "json" : "csv");
    if (pairs->stride > 0 && pairs->window == 0)
        return refuse(err, "--window W says how long a window is",
                      "'`stride`' is given without '`window`'");
    if (pairs_are_wanted(args) && args->prompt.asked.input.ids)
        return refuse(err, NULL, "pairs are made of a text, not of '`decode`'");
    if (pairs_are_wanted(args) && args->document.csv)
        return refuse(err, "`json` FILE writes pairs",
                      "`csv` has one line per token, and no pairs");
    return ATTN_OK;
}

static enum attn_status tokenize(struct call *call, struct attn_error *err)
{
    struct tokenize_args *args = call->args;
    const struct attn_tokenizer *side;
    struct attn_tokenizer *tokenizer;
    struct model_source source;
    enum attn_status status;

    ATTN_TRY(check(call, err));
    ATTN_TRY(document_open(call, &args->document, err));
    ATTN_TRY(model_source_find(&args->model, NULL, &source, err));
    status = args->prompt.asked.input.ids
                 ? attn_tokenizer_open_lazily(&source.source, NULL, NULL, &tokenizer, err)
                 : attn_tokenizer_open(&source.source, &tokenizer, err);
    ATTN_TRY(at_stage(ATTN_STAGE_MODEL, status, err));
    if (attn_tokenizer_note(tokenizer))
        note("%s", attn_tokenizer_note(tokenizer));
    side = args->is_of_decoder ? attn_tokenizer_target(tokenizer) : tokenizer;
    if (args->is_of_decoder && side == tokenizer)
        status = refuse(err, NULL,
                        "'`stack decoder`' is for a translator with two tokenizers, source.spm and "
                        "target.spm; this model has one");
    else
        status = (args->prompt.asked.input.ids ? decode : encode)(args, side, call->out, err);
    attn_tokenizer_free(tokenizer);
    return status;
}

static enum attn_status tabulate(size_t i, struct command_table *shown, struct attn_error *err)
{
    return i == 0 ? attn_token_table(NULL, NULL, NULL, &shown->table, err) : ATTN_OK;
}

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
        "With --format pairs a line is a beginning of the text, a tab and the token that\n"
        "comes next. With --window a line is the number of the window, then input or\n"
        "target and its text, or predict, the tokens so far and the next one.\n",
    .examples = "  attn-cli tokenize -m fable \"The cat sat on the mat\"\n"
                "  attn-cli tokenize --decode \"804 1041 1446\"\n"
                "  attn-cli tokenize --format pairs \"Life is short\"\n"
                "  attn-cli tokenize -m fable --format ids -f text.txt\n"
                "  attn-cli tokenize -m fable --json cat.json \"The cat sat\"\n"
                "  attn-cli tokenize --window 4 --stride 4 \"Life is short eat dessert first\"\n",
    OPTION_PARTS(parts),
    .lacks = "prompt-name|max-input",
    .args_size = sizeof(struct tokenize_args),
    .work = tokenize,
    .tabulate = tabulate,
};
