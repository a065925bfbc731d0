/* help.c - lays out the help of the program and of a command: usage, description, options by
 * heading, examples; the beginning of it that -h prints; and the topics. */
#include "cmd/line/help.h"

#include "cmd/line/field_names.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"

#include "tool.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, OPTION_COLUMN = 29, BRIEF_COLUMN = 14, BRIEF_LINES = 20, BRIEF_EXAMPLES = 3 };

#define TITLE "attn-cli " ATTN_VERSION ": runs GPT-style models on a CPU and shows their attention"
#define TRY                                                                                        \
    "  attn-cli run \"Life is short, eat dessert first\"\n"                                        \
    "  attn-cli run --heads 2.2 --csv heads \"The cat sat on the mat\"\n"                          \
    "  attn-cli run --top 5 \"The keys to the cabinet\"\n"

void help_row(struct attn_sink *out, const char *name, const char *text, size_t column)
{
    size_t at = 2 + strlen(name);
    bool is_first = true;

    print(out, "  %s", name);
    while (*text) {
        const size_t word = strcspn(text, " ");
        const bool is_new_line = is_first ? at + 2 > column : at + 1 + word > WIDTH;
        size_t gap;

        if (is_new_line) {
            print_text(out, "\n");
            at = 0;
        }
        gap = is_first || is_new_line ? column - at : 1;
        print(out, "%*s%.*s", (int)gap, "", (int)word, text);
        at += gap + word;
        is_first = false;
        text += word;
        text += strspn(text, " ");
    }
    print_text(out, "\n");
}

static void print_option(struct attn_sink *out, const struct option *option)
{
    char name[128], text[1024];
    char letter[8] = "    ";

    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(name, sizeof name, "%s--%s%s%s", letter, option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
    snprintf(text, sizeof text, "%s%s%s%s", option->help, option->environment ? " [" : "",
             option->environment ? option->environment : "", option->environment ? "]" : "");
    help_row(out, name, text, OPTION_COLUMN);
}

static void print_command(struct attn_sink *out, const struct command *command)
{
    print(out, "attn-cli %s: %s\n\nUsage: attn-cli %s %s\n", command->name, command->summary,
          command->name, command->usage);
    if (command->description) {
        print_text(out, "\n");
        print_text(out, command->description);
    }
    for (struct option_walk walk = {.command = command}; option_next(&walk);) {
        if (walk.begins)
            print(out, "\n%s:\n", walk.heading);
        if (walk.option.name)
            print_option(out, &walk.option);
    }
    if (command->examples) {
        print_text(out, "\nExamples:\n");
        print_text(out, command->examples);
    }
}

bool help_is_asked(const char *value)
{
    return value && strcmp(value, "help") == 0;
}

static void print_overview(struct attn_sink *out)
{
    print_text(out, TITLE "\n\nUsage: attn-cli COMMAND [OPTIONS]\n\nCommands:\n");
    for (size_t i = 0; i < n_command; i++)
        help_row(out, commands[i]->name, commands[i]->summary, 14);
    print_text(out, "\nTopics:\n");
    for (size_t i = 0; i < n_topic; i++)
        help_row(out, topics[i].name, topics[i].summary, 14);
    print_text(out, "\nOptions:\n");
    help_row(out, "-h", "print examples and the names of commands", 16);
    help_row(out, "--help", "print this help; 'attn-cli help COMMAND|TOPIC' explains one of them",
             16);
    help_row(out, "--version", "print the version and what the numeric code uses here", 16);
    print_text(out, "\nExit codes:\n");
#define EXIT_ROW(name, code, text) help_row(out, #code, text, 9);
    EXIT_MAP(EXIT_ROW)
#undef EXIT_ROW
    help_row(out, "128+n", "ended by signal n", 9);
    print_text(out, "\nTry:\n" TRY);
}

/* --- The beginning ---------------------------------------------------------------------------- */

/* The first N of EXAMPLES; one that ends in a backslash continues in the next line.
 * Returns how many lines that are. */
static size_t print_examples(struct attn_sink *out, const char *examples, size_t n)
{
    const char *at = examples;
    size_t n_line = 0;

    for (; n > 0 && *at; n_line++) {
        const char *end = strchr(at, '\n');

        n -= end == at || end[-1] != '\\';
        at = end + 1;
    }
    attn_sink_write(out, examples, (size_t)(at - examples));
    return n_line;
}

/* Lines that are filled with words; the last one ends with "..." if they are too few. */
struct filled {
    struct attn_sink *out;
    size_t at;     /* column; 0: no line has begun */
    size_t n_left; /* lines after this one */
    bool is_full;
};

static void begin_lines(struct filled *lines, const char *heading, size_t n)
{
    char title[BRIEF_COLUMN + 1];

    snprintf(title, sizeof title, "%s:", heading);
    print(lines->out, "%s%-*s", lines->at > 0 ? "\n" : "", BRIEF_COLUMN, title);
    lines->at = BRIEF_COLUMN;
    lines->n_left = n - 1;
    lines->is_full = false;
}

static void add_word(struct filled *lines, const char *word)
{
    const size_t size = 1 + strlen(word), gap = lines->n_left > 0 ? 0 : strlen(" ...");

    if (lines->is_full)
        return;
    if (lines->at + size + gap > WIDTH && lines->n_left > 0) {
        print(lines->out, "\n%*s", BRIEF_COLUMN, "");
        lines->at = BRIEF_COLUMN;
        lines->n_left--;
    } else {
        lines->is_full = lines->at + size + gap > WIDTH;
    }
    print(lines->out, " %s", lines->is_full ? "..." : word);
    lines->at += size;
}

/* Options of COMMAND below HEADING. */
static size_t count_options(const struct command *command, const char *heading)
{
    size_t n = 0;

    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        n += walk.option.name && strcmp(walk.heading, heading) == 0;
    return n;
}

/* Lines for the options below HEADING: two for the longest lists, as many as N_MORE. */
static size_t count_lines(const struct command *command, const char *heading, size_t n_more)
{
    const size_t n = count_options(command, heading);
    bool is_before = true; /* of lists of one length the first is the longer one */
    size_t n_longer = 0;

    for (struct option_walk walk = {.command = command}; option_next(&walk);) {
        if (!walk.begins)
            continue;
        is_before &= strcmp(walk.heading, heading) != 0;
        n_longer += count_options(command, walk.heading) >= n + !is_before;
    }
    return n_longer < n_more ? 2 : 1;
}

/* The options of COMMAND by their names: N_LINE lines, one per heading, two for the longest. */
static void print_option_names(struct attn_sink *out, const struct command *command, size_t n_line)
{
    struct filled lines = {.out = out};
    size_t n_heading = 0;

    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        n_heading += walk.begins;
    for (struct option_walk walk = {.command = command}; option_next(&walk);) {
        char name[64];

        if (!walk.option.name)
            continue;
        if (walk.begins)
            begin_lines(
                &lines, walk.heading,
                count_lines(command, walk.heading, n_line > n_heading ? n_line - n_heading : 0));
        snprintf(name, sizeof name, "--%s", walk.option.name);
        add_word(&lines, name);
    }
    print_text(out, "\n");
}

static void print_command_briefly(struct attn_sink *out, const struct command *command)
{
    size_t n_line = 4; /* these, and the last one */

    print(out, "attn-cli %s: %s\nUsage: attn-cli %s %s\n\n", command->name, command->summary,
          command->name, command->usage);
    if (command->examples) {
        n_line += print_examples(out, command->examples, BRIEF_EXAMPLES) + 1;
        print_text(out, "\n");
    }
    print_option_names(out, command, BRIEF_LINES - n_line);
    print(out, "'attn-cli %s --help' explains them.\n", command->name);
}

static void print_overview_briefly(struct attn_sink *out)
{
    size_t at = 1;

    print_text(out, TITLE "\nUsage: attn-cli COMMAND [OPTIONS]\n\n" TRY "\nCommands:\n ");
    for (size_t i = 0; i < n_command; i++) {
        size_t size = 1 + strlen(commands[i]->name);
        bool is_new_line = at + size > WIDTH;

        print(out, "%s %s", is_new_line ? "\n " : "", commands[i]->name);
        at = is_new_line ? 1 + size : at + size;
    }
    print_text(out, "\n\n");
    help_row(out, "attn-cli --help", "what each command does, and exit codes", 28);
    help_row(out, "attn-cli COMMAND -h", "examples of a command, and its options", 28);
    help_row(out, "attn-cli COMMAND --help", "all that it can do", 28);
    for (size_t i = 0; i < n_topic; i++) {
        char name[64];

        snprintf(name, sizeof name, "attn-cli help %s", topics[i].name);
        help_row(out, name, topics[i].summary, 28);
    }
}

void help_print(struct attn_sink *out, const struct command *command, bool is_brief)
{
    if (command)
        (is_brief ? print_command_briefly : print_command)(out, command);
    else
        (is_brief ? print_overview_briefly : print_overview)(out);
}

/* --- Topics ----------------------------------------------------------------------------------- */

/* A format that has an option. */
static bool make_format(size_t i, struct topic_row *row)
{
    for (size_t k = 0; k < attn_n_format(); k++) {
        const struct attn_format *format = attn_format_at(k);

        if (!format->argument || i-- > 0)
            continue;
        snprintf(row->name, sizeof row->name, "--%s %s", format->name, format->argument);
        row->text = field_names_of_help(format->help);
        return true;
    }
    return false;
}

static bool make_measure(size_t i, struct topic_row *row)
{
    if (i >= ATTN_N_MEASURE)
        return false;
    snprintf(row->name, sizeof row->name, "%s", attn_measure_name(attn_measure_order[i]));
    row->text = attn_measure_help(attn_measure_order[i]);
    return true;
}

const struct topic topics[] = {
    {.name = "selection",
     .summary = "which layers, heads, positions and tensors are kept",
     .text = "attn-cli computes what is chosen, and what that needs. Numbers do not depend on\n"
             "the choice. Layers, heads and positions count from 0. A list has items with\n"
             "commas between them:\n"
             "\n"
             "  3          that one           -1         the last one\n"
             "  0-5        0 to 5             0-11+2     0, 2, 4, 6, 8, 10\n"
             "  all        all of them\n"
             "\n"
             "--layers takes such a list. --heads takes one too, and means these heads of\n"
             "every layer that is kept; an item may also name its layer:\n"
             "\n"
             "  5.1        head 1 of layer 5  L5H1       the same\n"
             "  9.*        all of layer 9     *.0        head 0 of every layer\n"
             "\n"
             "--queries takes positions, and words of the text: the rows of a pattern, and the\n"
             "vectors at these positions. A word is that word with or without the space before\n"
             "it; ' it' has the space; it#2 is its second place in the text. A word of several\n"
             "tokens stands for all of them.\n"
             "\n"
             "--sites takes names of tensors and globs: pattern,z (the default), 'resid_*',\n"
             "'*'. 'attn-cli run --sites help' lists them with their shapes. Globs do not\n"
             "match sites that are computed from others: rollout, weighted_pattern,\n"
             "value_zeroing, and those that need a metric (run --grad).\n"
             "\n"
             "A list that names something that the model or the text does not have is an\n"
             "error; the message says what there is.\n",
     .examples =
         "  attn-cli run -m fable --heads 2.2,3.* \"The cat sat on the mat\"\n"
         "  attn-cli run -m fable --heads 2.5 --queries cabinet \"The keys to the cabinet\"\n"
         "  attn-cli run -m fable --layers -1 --sites 'resid_*' \"The cat sat\"\n"},
    {.name = "formats",
     .summary = "how tensors, tables and pictures are written",
     .text = "Without any of these options a command prints text for reading. With one or more\n"
             "of them it writes files; '-' as FILE is standard output. A file appears whole or\n"
             "not at all; a file that exists is replaced. A DIR that exists is written into:\n"
             "run.json in it lists what was written.\n"
             "\n"
             "Rows are queries, columns are keys. A cell that is masked is empty in CSV, null\n"
             "in JSON, and in arrays 0 in patterns and -inf in scores. Numbers in CSV and JSON\n"
             "are the shortest that read back as the same float32. Tokens are printable\n"
             "everywhere: a backslash is doubled, and other bytes are \\n"
             ", \\t, \\r or \\xNN.\n",
     .make_row = make_format,
     .column = 22,
     .examples = "  attn-cli run -m fable --heads 2.2 --sites pattern --csv - \"The cat sat\"\n"
                 "  attn-cli run -m fable --npz all.npz --tidy all.csv \"The cat sat\"\n"
                 "  attn-cli run -m fable --json - \"The cat sat\" | head -n 4\n"},
    {.name = "measures",
     .summary = "the numbers of a head, and what they do not say",
     .text = "The measures of a head in the tables of 'attn-cli heads', `batch` and `attend\n"
             "--measures`. A is the pattern, i a query, j a key; a measure is a mean over the\n"
             "rows of a head. All of them say where a head looks. None says what it takes from\n"
             "there, nor whether that matters: 'attn-cli ablate', `patch` and `attribute`\n"
             "measure that.\n",
     .make_row = make_measure,
     .column = 17,
     .examples = "  attn-cli heads --sort entropy_norm --limit 5 \"The cat sat on the mat\"\n"
                 "  attn-cli heads --probe induction --sort induction --limit 4\n"
                 "  printf 'The cat sat.\\n' | attn-cli batch --lines --measures far,first -\n"},
};

const size_t n_topic = sizeof topics / sizeof *topics;

const struct topic *topic_find(const char *name)
{
    for (size_t i = 0; i < n_topic; i++)
        if (strcmp(topics[i].name, name) == 0)
            return &topics[i];
    return NULL;
}

void topic_print(struct attn_sink *out, const struct topic *topic)
{
    struct topic_row row;

    print(out, "attn-cli help %s: %s\n\n", topic->name, topic->summary);
    print_text(out, topic->text);
    for (size_t i = 0; topic->make_row && topic->make_row(i, &row); i++) {
        if (i == 0)
            print_text(out, "\n");
        help_row(out, row.name, row.text, topic->column);
    }
    print_text(out, "\nExamples:\n");
    print_text(out, topic->examples);
}
