/* prompt.c - reads texts and lists of ids. */
#include "cmd/args/prompt.h"

#include "cmd/line/command.h"
#include "cmd/line/report.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct option text_rows[] = {
    {.name = "prompt",
     .letter = 'p',
     .argument = "TEXT",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct prompt_args, text),
     .help = "the text"},
    {.name = "sentence",
     .argument = "TEXT",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct prompt_args, text),
     .help = "another name for --prompt"},
};

const struct option_group prompt_text_options = OPTION_GROUP(text_rows);

static const struct option prompt_rows[] = {
    {.argument = "TEXT", .kind = OPTION_LIST, .offset = offsetof(struct prompt_args, plain)},
    {.name = "file",
     .letter = 'f',
     .argument = "FILE",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct prompt_args, file),
     .help = "read the text from FILE, '-' is standard input; one final newline is dropped"},
    {.name = "raw",
     .heading = "Input",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct prompt_args, is_raw),
     .help = "keep the final newline of that file"},
};

const struct option_group prompt_options = OPTION_GROUP(prompt_rows);

static const struct option special_rows[] = {
    {.name = "special",
     .argument = "parse|text",
     .heading = "Input",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct prompt_args, special),
     .help = "read special tokens that are written in the text as such (parse, default) or as "
             "plain text (text)"},
    {.name = "special-tokens",
     .argument = "on|off",
     .heading = "Input",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct prompt_args, special_tokens),
     .help = "add the tokens that the tokenizer adds to each text, such as Llama's <s> (on, "
             "default), or leave them out"},
};

const struct option_group special_options = OPTION_GROUP(special_rows);

static const struct option numbers_rows[] = {
    {.name = "ids",
     .argument = "LIST",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct prompt_args, ids),
     .help = "token ids instead of a text: 5,17,3"},
    {.name = "embeds",
     .argument = "FILE.npy",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct prompt_args, embeds),
     .help = "an array [T, d_model] instead of the embeddings of a text; embeddings of positions "
             "are still added"},
};

const struct option_group prompt_numbers_options = OPTION_GROUP(numbers_rows);

bool prompt_has_text(const struct prompt_args *args)
{
    return args->plain.n > 0 || args->text || args->file || args->ids || args->embeds;
}

bool prompt_is_given(const struct prompt_args *args)
{
    return args->plain.n > 0 || args->text || args->file || args->ids || args->embeds;
}

int prompt_check(const struct prompt_args *args, const char *hint)
{
    size_t n = args->plain.n + !!args->text + !!args->file + !!args->ids + !!args->embeds;
    if (n == 0)
        return report_problem(EXIT_USAGE, hint, "no text given");
    if (args->plain.n > 1)
        return report_problem(EXIT_USAGE, "put a text of several words in quotes",
                              "more than one text given: '%s' and '%s'", args->plain.items[0],
                              args->plain.items[1]);
    if (n > 1)
        return report_problem(EXIT_USAGE, NULL, "the text is given in more than one way");
    return EXIT_DONE;
}

void prompt_say_special(const struct prompt_args *args, struct attn_request *request)
{
    request->reading.special = (enum attn_special)args->special;
    request->reading.special_tokens = (enum attn_special_tokens)args->special_tokens;
}

static int report_read(const char *verb, const char *name)
{
    return report_problem(EXIT_INPUT, NULL, "cannot %s '%s': %s", verb, name, strerror(errno));
}

/* A signal that does not ask the command to end does not end the reading. */
static int read_all(int descriptor, const char *name, struct text *text)
{
    enum { FIRST_SIZE = 1 << 16 };
    size_t capacity = 0;
    ssize_t n_read;
    do {
        if (text->size == capacity) {
            capacity = capacity ? 2 * capacity : FIRST_SIZE;
            char *bigger = realloc(text->owned, capacity);
            if (!bigger)
                return report_no_memory();
            text->owned = bigger;
            text->data = bigger;
        }
        n_read = read(descriptor, text->owned + text->size, capacity - text->size);
        text->size += n_read > 0 ? (size_t)n_read : 0;
    } while (n_read > 0 || (n_read < 0 && errno == EINTR));
    return n_read < 0 ? report_read("read", name) : EXIT_DONE;
}

static int read_file(const char *path, struct text *text)
{
    int descriptor;
    if (strcmp(path, "-") == 0)
        return read_all(STDIN_FILENO, "standard input", text);
    do
        descriptor = open(path, O_RDONLY | O_CLOEXEC);
    while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0)
        return report_read("open", path);
    int code = read_all(descriptor, path, text);
    close(descriptor);
    return code;
}

int prompt_read(const struct prompt_args *args, struct text *text)
{
    const char *plain = args->plain.n ? args->plain.items[0] : args->text;
    const char *path = args->file;
    if (args->plain.n && strcmp(plain, "-") == 0)
        path = plain;
    *text = (struct text){0};
    if (!path) {
        *text = (struct text){.data = plain, .size = strlen(plain)};
        return EXIT_DONE;
    }
    int code = read_file(path, text);
    if (code != EXIT_DONE)
        text_release(text);
    else if (!args->is_raw && text->size > 0 && text->data[text->size - 1] == '\n')
        text->size--;
    return code;
}

void text_release(struct text *text)
{
    free(text->owned);
    *text = (struct text){0};
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\n");
}

/* The next item of the list behind AT: one comma, blanks, or both lie between two. */
static const char *skip_separator(const char *at)
{
    at = skip_blanks(at);
    return *at == ',' ? skip_blanks(at + 1) : at;
}

static int report_ids(const char *list, const char *item, size_t size)
{
    static const char hint[] = "ids are numbers separated by commas or spaces";
    if (size == 0)
        return report_problem(EXIT_USAGE, hint, "'%s' has an empty item, expected a token id",
                              list);
    return report_problem(EXIT_USAGE, hint, "'%.*s' is not a token id", (int)size, item);
}

int ids_parse(const char *list, int32_t **ids, size_t *n)
{
    size_t n_id = 0;
    int32_t *parsed = malloc((strlen(list) / 2 + 1) * sizeof *parsed); /* "1,2": 3 bytes, 2 ids */
    if (!parsed)
        return report_no_memory();
    const char *at = skip_blanks(list);
    bool is_done = *at == '\0';
    while (!is_done) {
        int64_t id;
        const size_t size = strcspn(at, ", \t\n");
        if (!attn_parse_int(at, size, 0, INT32_MAX, &id)) {
            free(parsed);
            return report_ids(list, at, size);
        }
        parsed[n_id++] = (int32_t)id;
        is_done = *skip_blanks(at + size) == '\0';
        at = skip_separator(at + size);
    }
    *ids = parsed;
    *n = n_id;
    return EXIT_DONE;
}
