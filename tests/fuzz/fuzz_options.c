/*
 * fuzz_options.c - a command line, its arguments separated by newlines, and the ids that one of
 * them may hold.
 *
 * A line that is taken, written out again as --name=VALUE, gives the same values, which are within
 * their limits; with an option that takes one value given again it is refused. A line that is
 * refused has a message that can be printed. --help ends the reading. Ids are those of a naive
 * reader.
 */
#include "cmd/line/help.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"
#include "cmd/line/topics.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARGUMENT = 256, MAX_NUMBER = 1024 };

struct args {
    bool is_quiet, is_verbose;
    size_t number;
    double real, share;
    int choice;
    const char *ids;
    struct text_list list, plain;
};

static const struct attn_param rows[] = {
    OPTION_TEXTS(NULL, "TEXT", struct args, plain, NULL),
    ATTN_PARAM(FLAG, "quiet", NULL, struct args, is_quiet, NULL, .letter = 'q'),
    ATTN_PARAM(FLAG, "verbose", NULL, struct args, is_verbose, NULL, .letter = 'v'),
    ATTN_PARAM(COUNT, "threads", "N", struct args, number, NULL, .letter = 't', .most = MAX_NUMBER),
    ATTN_PARAM(REAL, "eps", "E", struct args, real, NULL),
    ATTN_PARAM(REAL, "dropout", "P", struct args, share, NULL, .most = 1),
    ATTN_PARAM(CHOICE, "load", NULL, struct args, choice, NULL, .words = "map|read|"),
    ATTN_PARAM(TEXT, "ids", "LIST", struct args, ids, NULL),
    OPTION_TEXTS("next", "TEXT", struct args, list, NULL, .letter = 'n'),
};

static const char *const choices[] = {"map", "read", ""};

static const struct attn_param_part parts[] = {{OPTION_LIST("Options", rows), 0}};

static const struct command command = {.name = "fuzz", OPTION_PARTS(parts)};

const struct command *command_at(size_t i)
{
    return i == 0 ? &command : NULL;
}

const char *command_lacks(const struct command *it)
{
    return it->lacks;
}

/* What the commands of the tool have beside their options; here there is none. */
const char *topic_of_heading(const char *heading)
{
    (void)heading;
    return NULL;
}

bool help_is_asked(const char *value)
{
    (void)value;
    return false;
}

/* ERR is that of a line that is refused: one message that can be printed, and a hint. */
static void check_refusal(const struct attn_error *err)
{
    FUZZ_CHECK(err->status == ATTN_INVALID && err->stage == ATTN_STAGE_OPTIONS);
    FUZZ_CHECK(err->message[0] != '\0' &&
               attn_fuzz_is_printable(err->message, strlen(err->message)));
    FUZZ_CHECK(attn_fuzz_is_printable(err->hint, strlen(err->hint)));
}

static void release_lists(struct args *args)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        attn_param_release(&rows[i], args);
}

/* ATTN_CANCELED: the line asks for the help. */
static enum attn_status parse(int argc, char **argv, struct args *args)
{
    const char *given[sizeof rows / sizeof *rows + 2] = {NULL}; /* and --help, --help-all */
    struct call_source sources[sizeof rows / sizeof *rows + 2] = {{CALL_ORIGIN_NONE, NULL}};
    struct call call = {.command = &command,
                        .argv = argv,
                        .argc = argc,
                        .args = args,
                        .given = given,
                        .sources = sources};
    struct attn_error err = {0};
    enum attn_status status;

    status = options_parse(&call, &err);
    free(call.found);
    attn_buffer_release(&call.key);
    FUZZ_CHECK(status == err.status);
    if (status != ATTN_OK)
        check_refusal(&err);
    return status == ATTN_OK && call.help != CALL_HELP_NONE ? ATTN_CANCELED : status;
}

/* --- properties ------------------------------------------------------------------------------- */

static bool is_separator(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\n';
}

/* Reads the id at *AT, which is no separator, and moves *AT behind it; -1 when it is none. */
static int64_t read_id(const char **at)
{
    const bool is_negative = **at == '-'; /* "-0" is a way to write 0 */
    const char *begin = *at + is_negative, *end = begin;
    int64_t value = 0;

    for (; *end >= '0' && *end <= '9'; end++)
        value = value > INT32_MAX ? value : value * 10 + (*end - '0');
    *at = end;
    if (end == begin || value > INT32_MAX || (is_negative && value != 0))
        return -1;
    return *end == '\0' || is_separator(*end) ? value : -1;
}

/* Whether LIST has a comma with no id before it or after it. */
static bool has_empty_item(const char *list)
{
    bool has_comma = false, has_id = false;

    for (; *list != '\0'; list++) {
        if (*list == ',' && !has_id)
            return true;
        has_comma |= *list == ',';
        has_id = *list != ',' && (has_id || !is_separator(*list));
    }
    return has_comma && !has_id;
}

/* Ids and their number. */
struct ids {
    const int32_t *items;
    size_t n;
};

static void check_ids(const char *list)
{
    static const struct attn_param row =
        ATTN_PARAM(IDS, "ids", "LIST", struct ids, items, NULL, .second = offsetof(struct ids, n));
    struct ids ids = {NULL, 0};
    size_t n_naive = 0;
    int64_t id = 0;
    struct attn_error err = {0};
    enum attn_status status;

    status = attn_param_set(&row, &ids, "--ids", list, &err);
    for (const char *at = list; *at != '\0' && id >= 0;) {
        if (is_separator(*at)) {
            at++;
        } else if ((id = read_id(&at)) >= 0) {
            FUZZ_CHECK(status != ATTN_OK || (n_naive < ids.n && ids.items[n_naive] == id));
            n_naive++;
        }
    }
    const bool is_refused = id < 0 || has_empty_item(list);
    FUZZ_CHECK(status == (is_refused ? ATTN_INVALID : ATTN_OK));
    if (is_refused)
        check_refusal(&err);
    FUZZ_CHECK(is_refused || ids.n == n_naive);
    attn_param_release(&row, &ids);
}

/* Arguments in a block of exactly their size. */
struct line {
    char *items[MAX_ARGUMENT];
    int n;
};

static void append(struct line *line, const char *name, const char *value)
{
    const size_t size = strlen(name) + strlen(value) + 1;

    FUZZ_CHECK(line->n < MAX_ARGUMENT);
    line->items[line->n] = malloc(size);
    FUZZ_CHECK(line->items[line->n] != NULL);
    snprintf(line->items[line->n++], size, "%s%s", name, value);
}

static void release(struct line *line)
{
    for (int i = 0; i < line->n; i++)
        free(line->items[i]);
}

static bool is_same_list(const struct text_list *a, const struct text_list *b)
{
    bool is_same = a->n == b->n;

    for (size_t i = 0; is_same && i < a->n; i++)
        is_same = strcmp(a->items[i], b->items[i]) == 0;
    return is_same;
}

/* ARGS as another command line. */
static void write_again(const struct args *args, struct line *line)
{
    char number[32];

    if (args->is_quiet)
        append(line, "-", "q");
    if (args->is_verbose)
        append(line, "--verbose", "");
    snprintf(number, sizeof number, "%zu", args->number);
    append(line, "--threads=", number);
    snprintf(number, sizeof number, "%.17g", args->real);
    append(line, "--eps=", number);
    snprintf(number, sizeof number, "%.17g", args->share);
    append(line, "--dropout=", number);
    append(line, "--load=", choices[args->choice]);
    if (args->ids != NULL)
        append(line, "--ids=", args->ids);
    for (size_t i = 0; i < args->list.n; i++)
        append(line, "--next=", args->list.items[i]);
    append(line, "--", "");
    for (size_t i = 0; i < args->plain.n; i++)
        append(line, "", args->plain.items[i]);
}

/* An option that takes one value, given again after a line that was taken. */
static void check_refused_twice(const struct line *line, const char *argument)
{
    char *items[MAX_ARGUMENT + 2];
    char *copy = strdup(argument);
    struct args args = {0};

    FUZZ_CHECK(copy != NULL);
    items[0] = copy;
    for (int i = 0; i < line->n; i++)
        items[i + 1] = line->items[i];
    FUZZ_CHECK(parse(line->n + 1, items, &args) == ATTN_INVALID);
    release_lists(&args);
    free(copy);
}

static void check_taken(const struct args *args)
{
    struct line line = {.n = 0};
    struct args again = {0};

    FUZZ_CHECK(args->number <= MAX_NUMBER);
    FUZZ_CHECK(args->choice >= 0 && args->choice < 3);
    FUZZ_CHECK(args->real >= 0 && args->real <= 1.7976931348623157e308);
    FUZZ_CHECK(args->share >= 0 && args->share < 1);
    write_again(args, &line);
    FUZZ_CHECK(parse(line.n, line.items, &again) == ATTN_OK);
    FUZZ_CHECK(again.is_quiet == args->is_quiet && again.is_verbose == args->is_verbose);
    FUZZ_CHECK(again.number == args->number && again.choice == args->choice);
    FUZZ_CHECK(again.real == args->real && again.share == args->share);
    FUZZ_CHECK((again.ids == NULL) == (args->ids == NULL));
    FUZZ_CHECK(args->ids == NULL || strcmp(again.ids, args->ids) == 0);
    FUZZ_CHECK(is_same_list(&again.list, &args->list));
    FUZZ_CHECK(is_same_list(&again.plain, &args->plain));
    release_lists(&again);
    check_refused_twice(&line, "-t1");
    check_refused_twice(&line, "--eps=2");
    check_refused_twice(&line, "--load=map");
    release(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = attn_fuzz_string(data, size);
    struct line line = {.n = 0};
    struct args args = {0};

    for (char *at = text, *end; at != NULL && line.n < MAX_ARGUMENT - 16; at = end) {
        end = strchr(at, '\n');
        if (end != NULL)
            *end++ = '\0';
        append(&line, "", at);
    }
    if (parse(line.n, line.items, &args) == ATTN_OK) {
        check_taken(&args);
        check_ids(args.ids != NULL ? args.ids : text);
    }
    release_lists(&args);
    release(&line);
    free(text);
    return 0;
}
