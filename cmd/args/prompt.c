/* prompt.c - reads texts, lists of ids, and arrays of embeddings. */
#include "cmd/args/prompt.h"

#include "cmd/line/command.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"
#include "tool.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOUR = 3600 };

static const struct attn_param text_rows[] = {
    ATTN_PARAM(TEXT, "sentence", "TEXT", struct prompt_args, text, "the text", .letter = 'p'),
};

const struct attn_param_list prompt_text_options = ATTN_PARAM_LIST("Input", text_rows);

static const struct attn_param prompt_rows[] = {
    OPTION_TEXTS(NULL, "TEXT", struct prompt_args, plain, NULL),
    ATTN_PARAM(TEXT, "file", "FILE", struct prompt_args, file,
               "read the text from FILE, '-' is standard input, "
               "without one final newline; of FASTA the one record",
               .letter = 'f'),
};

const struct attn_param_list prompt_options = ATTN_PARAM_LIST("Input", prompt_rows);

bool prompt_has_labels(const struct prompt_args *args)
{
    return args->asked.predict.n_label + args->labels.n_ids + args->labels.n_image > 0;
}

bool prompt_is_given(const struct prompt_args *args)
{
    const struct attn_input *asked = &args->asked.input;

    return args->plain.n > 0 || args->text || args->file || asked->ids || asked->embeddings ||
           asked->image || args->asked.chat.messages;
}

/* Refuses the second of TEXTS. If a single word comes before a text of several words, the word may
 * be meant as a model. */
static enum attn_status refuse_second(const struct call *call, const struct text_list *texts,
                                      struct attn_error *err)
{
    const char *heads = option_is_of(call->command, "heads") ? option_text(call, "heads") : NULL;
    const char *first = texts->items[0], *second = texts->items[1];
    const bool is_name = texts->n == 2 && !strchr(first, ' ');
    char hint[ATTN_ERROR_HINT_SIZE] = "put a text of several words in quotes";

    if (heads && isdigit((unsigned char)*first) && strspn(first, "0123456789.*-,") == strlen(first))
        snprintf(hint, sizeof hint, "heads stand between commas: --heads %s,%s",
                 attn_quote_string(heads).text, first);
    else if (is_name && text_ends_in(first, ".html"))
        snprintf(hint, sizeof hint, "a page goes after --html: --html %s",
                 attn_quote_string(first).text);
    else if (is_name && strchr(second, ' '))
        snprintf(hint, sizeof hint, "a model goes after -m: -m %s", attn_quote_string(first).text);
    else if (is_name)
        snprintf(hint, sizeof hint,
                 "put a text of several words in quotes; a model goes after -m: -m %s",
                 attn_quote_string(first).text);
    return refuse(err, hint, "more than one text given: '%s' and '%s'", first, second);
}

enum attn_status prompt_check(const struct call *call, const struct prompt_args *args,
                              const char *hint, struct attn_error *err)
{
    const struct attn_input *asked = &args->asked.input;
    const size_t n = args->plain.n + !!args->text + !!args->file + !!asked->ids +
                     !!asked->embeddings + /* a picture stands alone or beside them */
                     !!args->asked.chat.messages;
    const char *form = args->asked.chat.form;
    struct attn_os_info input;

    if (n == 0 && !asked->image && form && strcmp(form, "on") != 0 && strcmp(form, "off") != 0 &&
        !attn_os_exists(form))
        return refuse(err, "--chat on TEXT puts a text into the form of a conversation",
                      "no text given: '%s' is the value of --chat", attn_quote_string(form).text);
    if (n == 0 && !asked->image)
        return refuse(err,
                      attn_os_stat_open(ATTN_OS_INPUT, &input) == 0 && input.kind == ATTN_OS_PIPE &&
                              option_is_of(call->command, "file")
                          ? "-f - reads the text from standard input"
                          : hint,
                      "no text given");
    if (args->plain.n > 1)
        return refuse_second(call, &args->plain, err);
    if (n > 1)
        return refuse(err, NULL, "the text is given in more than one way");
    return attn_param_rules_check(&attn_input_rules, ATTN_PARAM_GIVEN, option_is_param_given,
                                  (void *)(uintptr_t)call, err);
}

int64_t prompt_time(void)
{
    const char *fixed = getenv("SOURCE_DATE_EPOCH");
    int64_t seconds;

    if (fixed && attn_parse_int(fixed, strlen(fixed), 1, INT64_C(1) << 40, &seconds))
        return seconds;
    return attn_os_local_time();
}

void prompt_fill(const struct prompt_args *args, struct attn_request *request)
{
    *request = args->asked;
    request->predict.more = &args->labels;
    request->chat.now = prompt_time();
    request->max_seconds = HOUR;
    attn_input_give_key_mask(&request->input, &request->source);
}

static enum attn_status refuse_file(const char *verb, const char *name, struct attn_error *err)
{
    return problem(err, ATTN_STAGE_INPUT, NULL, "cannot %s '%s': %s", verb, name,
                   attn_os_error_text(errno));
}

/* Skips a byte order mark in front of TEXT, with a note. */
static enum attn_status skip_mark(const char *name, struct text *text, struct attn_error *err)
{
    size_t n;

    ATTN_TRY(at_stage(ATTN_STAGE_INPUT, attn_text_find_mark(text->data, text->size, name, &n, err),
                      err));
    if (n > 0)
        note("a byte order mark in front of '%s' was skipped", attn_quote_string(name).text);
    text->data += n;
    text->size -= n;
    return ATTN_OK;
}

/* A signal that does not end the command does not end the reading either. */
static enum attn_status read_all(int descriptor, const char *name, struct text *text,
                                 struct attn_error *err)
{
    enum { FIRST_SIZE = 1 << 16 };
    size_t capacity = 0;
    ptrdiff_t n_read;
    do {
        if (text->size == capacity) {
            char *bigger = realloc(text->owned, capacity ? 2 * capacity : FIRST_SIZE);

            if (!bigger)
                return attn_error_no_memory(err);
            capacity = capacity ? 2 * capacity : FIRST_SIZE;
            text->owned = bigger;
            text->data = bigger;
        }
        n_read = attn_os_read(descriptor, text->owned + text->size, capacity - text->size);
        text->size += n_read > 0 ? (size_t)n_read : 0;
    } while (n_read > 0 || (n_read < 0 && errno == EINTR));
    return n_read < 0 ? refuse_file("read", name, err) : skip_mark(name, text, err);
}

static enum attn_status read_file(const char *path, struct text *text, struct attn_error *err)
{
    int descriptor;
    enum attn_status status;

    if (strcmp(path, "-") == 0)
        return read_all(ATTN_OS_INPUT, "standard input", text, err);
    do
        descriptor = attn_os_open(path, ATTN_OS_READ, 0);
    while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0)
        return refuse_file("open", path, err);
    status = read_all(descriptor, path, text, err);
    attn_os_close(descriptor);
    return status;
}

/* Reads the only record of a FASTA file. */
static enum attn_status read_record(const char *path, struct text *text, struct attn_error *err)
{
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;
    struct attn_items *items = NULL;
    struct attn_item *item = NULL, *next = NULL;
    enum attn_status status;

    options.path = path;
    options.form = ATTN_ITEMS_FASTA;
    options.cancel = interrupt_flag();
    ATTN_TRY(attn_items_open(&options, &items, err));
    status = attn_items_next(items, &item, err);
    ATTN_THEN(status, attn_items_next(items, &next, err));
    if (status == ATTN_OK && (!item || next || !item->input.text))
        status =
            problem(err, ATTN_STAGE_INPUT, next ? "--items takes a file of several proteins" : NULL,
                    "'%s' has %s, expected one", path,
                    next                        ? "several records"
                    : item && !item->input.text ? "a record without letters"
                                                : "no record");
    else if (status == ATTN_OK) {
        text->size = item->input.n_text;
        text->data = text->owned = malloc(text->size);
        if (text->owned)
            memcpy(text->owned, item->input.text, text->size);
        else
            status = attn_error_no_memory(err);
    }
    attn_item_free(item);
    attn_item_free(next);
    attn_items_free(items);
    return status;
}

enum attn_status prompt_read(const struct prompt_args *args, struct text *text,
                             struct attn_error *err)
{
    const char *plain = args->plain.n ? args->plain.items[0] : args->text;
    const char *path = args->file;
    enum attn_status status;

    if (args->plain.n && strcmp(plain, "-") == 0)
        path = plain;
    *text = (struct text){0};
    if (!path) {
        *text = (struct text){.data = plain, .size = strlen(plain)};
        return ATTN_OK;
    }
    if (attn_path_is_fasta(path))
        return read_record(path, text, err);
    status = read_file(path, text, err);
    if (status != ATTN_OK)
        text_release(text);
    else if (!args->is_raw && text->size > 0 && text->data[text->size - 1] == '\n')
        text->size--;
    return status;
}

void text_release(struct text *text)
{
    free(text->owned);
    *text = (struct text){0};
}

const char *pair_find_given(const struct prompt_args *args)
{
    const struct attn_input *asked = &args->asked.input;

    return asked->pair ? "pair" : asked->key_mask ? "key-mask" : asked->types ? "types" : NULL;
}

enum attn_status prompt_read_messages(struct text *text, const char **messages,
                                      struct attn_error *err)
{
    char *terminated;

    if (!*messages || strcmp(*messages, "-") != 0)
        return ATTN_OK;
    ATTN_TRY(read_all(ATTN_OS_INPUT, "standard input", text, err));
    while (text->size > 0 && isspace((unsigned char)*text->data))
        text->data++, text->size--;
    if (text->size == 0 || *text->data != '[' || memchr(text->data, '\0', text->size))
        return problem(err, ATTN_STAGE_INPUT, NULL,
                       "standard input of `messages` is no JSON list, expected one");
    terminated = strndup(text->data, text->size);
    free(text->owned);
    text->owned = terminated;
    *messages = text->data = terminated;
    return terminated ? ATTN_OK : attn_error_no_memory(err);
}

enum attn_status prompt_read_into(const struct prompt_args *args, struct text *text,
                                  struct attn_request *request, struct attn_error *err)
{
    const struct attn_input *asked = &args->asked.input;

    ATTN_TRY(prompt_read_messages(text, &request->chat.messages, err));
    if (asked->ids || asked->embeddings || (args->plain.n == 0 && !args->text && !args->file))
        return ATTN_OK;
    ATTN_TRY(prompt_read(args, text, err));
    request->input.text = text->data;
    request->input.n_text = text->size;
    return ATTN_OK;
}
