/* help.c - prints the help of the program and of a command: usage, description, options by heading,
 * examples. Also prints the short form for -h. */
#include "cmd/line/help.h"

#include "cmd/line/print.h"
#include "cmd/line/topics.h"

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

void help_option(struct attn_sink *out, const struct option_walk *walk, const char *help)
{
    const struct attn_param *param = walk->param;
    const char *argument = option_argument(param);
    char name[128], text[1024];
    char letter[8] = "    ";
    size_t used;

    if (param->letter)
        snprintf(letter, sizeof letter, "-%c, ", param->letter);
    if (param->of)
        snprintf(letter, sizeof letter, "      ");
    snprintf(name, sizeof name, "%s%s%s%s%s", letter, param->of ? "" : "--", walk->name,
             !argument || argument[0] == '[' ? ""
             : param->of                     ? "="
                                             : " ",
             argument ? argument : "");
    used = (size_t)snprintf(text, sizeof text, "%s", help);
    if (param->variable)
        attn_fixed_text_append(text, sizeof text, &used, " [%s]", param->variable);
    help_row(out, name, text, OPTION_COLUMN);
}

/* Prints a line for each group of COMMAND's options that other commands have, too: their names, and
 * the topic that explains them. */
static void print_groups(struct attn_sink *out, const struct command *command)
{
    enum { GROUP = 14, NAMES = 33 };
    struct option_walk walk = {.command = command};
    const char *title = "\nGroups of options, in full with --help-all:\n";

    for (bool has_more = option_next(&walk); has_more;) {
        const char *heading = walk.heading, *topic = topic_of_heading(heading);
        char names[NAMES + 1] = "";
        size_t used = 0;
        bool is_full = false;

        for (; has_more && strcmp(walk.heading, heading) == 0; has_more = option_next(&walk)) {
            if (!walk.name || walk.param->of || is_full || topic_is_own(&walk))
                continue;
            is_full = used + strlen(" -- ...") + strlen(walk.name) > NAMES;
            attn_fixed_text_append(names, sizeof names, &used, is_full ? "%s..." : "%s--%s",
                                   used > 0 ? " " : "", walk.name);
        }
        if (used == 0)
            continue;
        print(out, "%s  %-*s %-*s  attn-cli help %s\n", title, GROUP, heading, NAMES, names, topic);
        title = "";
    }
}

static void print_command(struct attn_sink *out, const struct command *command, bool is_whole)
{
    const char *examples = command_example_lines(command), *heading = NULL;
    char help[1024];

    print(out, "attn-cli %s: %s\n\nUsage: attn-cli %s %s\n", command->name,
          command_summary(command), command->name, command->usage);
    if (command_description(command)) {
        print_text(out, "\n");
        print_text(out, command_description(command));
    }
    for (struct option_walk walk = {.command = command}; option_next(&walk);) {
        if (!walk.name || walk.param->of || (!is_whole && !topic_is_own(&walk)))
            continue;
        if (!heading || strcmp(heading, walk.heading) != 0)
            print(out, "\n%s:\n", walk.heading);
        heading = walk.heading;
        option_help(&walk, true, help, sizeof help);
        help_option(out, &walk, help);
    }
    if (!is_whole)
        print_groups(out, command);
    if (examples) {
        print_text(out, "\nExamples:\n");
        print_text(out, examples);
    }
}

bool help_is_asked(const char *value)
{
    return value && strcmp(value, "help") == 0;
}

/* Variables that stand for no option. */
static const char *const variables[][2] = {
    {"ATTN_CLI_CONFIG", "a file with default options; TOPIC options explains it"},
    {"ATTN_CLI_CACHE",
     "the folder that keeps types of heads, or off; else attn-cli in XDG_CACHE_HOME"},
    {"ATTN_CLI_MODEL_PATH",
     "folders of models, separated by colons, where a bare name is looked for first"},
    {"HF_HUB_CACHE", "the Hugging Face cache; else HF_HOME/hub"},
    {"HF_HOME", "the folder of the Hugging Face cache; else XDG_CACHE_HOME/huggingface"},
    {"XDG_CACHE_HOME", "the folder of caches; else ~/.cache"},
    {"OLLAMA_MODELS", "the store of Ollama; else ~/.ollama/models and that of its service"},
    {"ATTN_LIVE_MODULE",
     "the engine of live pages, where it is not the attn.wasm that came with the program"},
    {"ATTN_CLI_GEMM",
     "jit makes all matrix products with libxsmm, portable with loops of attn-cli's own, neither "
     "with AMX; auto, the default, with the fastest"},
};

bool help_variable(size_t i, struct topic_row *row)
{
    /* `run` has all options that a variable stands for */
    for (struct option_walk walk = {.command = command_find("run")}; option_next(&walk);)
        if (walk.param->variable && i-- == 0) {
            snprintf(row->name, sizeof row->name, "%s", walk.param->variable);
            snprintf(row->own, sizeof row->own, "stands for --%s where that is not given",
                     walk.name);
            row->text = row->own;
            return true;
        }
    if (i >= sizeof variables / sizeof *variables)
        return false;
    snprintf(row->name, sizeof row->name, "%s", variables[i][0]);
    row->text = variables[i][1];
    return true;
}

static void print_overview(struct attn_sink *out)
{
    print_text(out, TITLE "\n\nUsage: attn-cli COMMAND [OPTIONS]\n\nCommands:\n");
    for (size_t g = 0; command_groups[g]; g++) {
        print(out, " %s\n", command_groups[g]);
        for (size_t i = 0; command_at(i); i++)
            if (strcmp(command_group_at(i), command_groups[g]) == 0)
                help_row(out, command_at(i)->name, command_summary(command_at(i)), 14);
    }
    print_text(out, "\nTopics:\n");
    for (size_t i = 0; i < n_topic; i++)
        help_row(out, topics[i].name, topics[i].summary, 17);
    print_text(out, "\nOptions:\n");
    help_row(out, "-h", "print examples and the names of commands", 16);
    help_row(out, "--help", "print this help; 'attn-cli help COMMAND|TOPIC' explains one of them",
             16);
    help_row(out, "--version", "print the version and what the numeric code uses here", 16);
    print_text(out, "\nExit codes:\n");
#define EXIT_ROW(name, code, text, may_retry) help_row(out, #code, text, 9);
    EXIT_MAP(EXIT_ROW)
#undef EXIT_ROW
    help_row(out, "128+n", "ended by signal n", 9);
    print_text(out, "\nTry:\n" TRY);
}

/* Prints the first N of EXAMPLES. An example that ends in a backslash continues on the next line.
 * Returns the number of lines. */
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

/* Lines that are filled with words. If there are too few lines, the last one ends in "...". */
struct filled {
    struct attn_sink *out;
    size_t at;     /* current column; 0: at the start of a line */
    size_t n_left; /* lines left after this one */
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

static size_t count_options(const struct command *command, const char *heading)
{
    size_t n = 0;

    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        n += walk.name && !walk.param->of && strcmp(walk.heading, heading) == 0;
    return n;
}

/* Returns how many lines the options under HEADING get: 2 for the N_MORE longest lists, else 1. */
static size_t count_lines(const struct command *command, const char *heading, size_t n_more)
{
    const size_t n = count_options(command, heading);
    bool is_before = true; /* of lists of the same length, the first counts as longer */
    size_t n_longer = 0;

    for (struct option_walk walk = {.command = command}; option_next(&walk);) {
        if (!walk.begins)
            continue;
        is_before &= strcmp(walk.heading, heading) != 0;
        n_longer += count_options(command, walk.heading) >= n + !is_before;
    }
    return n_longer < n_more ? 2 : 1;
}

/* Whether the first screen leaves out the options under HEADING, which almost all commands have. */
static bool is_left_out(const char *heading)
{
    return strcmp(heading, "Compute") == 0 || strcmp(heading, "Other") == 0;
}

/* Prints the names of COMMAND's options in N_LINE lines: two lines for the headings with most
 * options, one for the others. */
static void print_option_names(struct attn_sink *out, const struct command *command, size_t n_line)
{
    struct filled lines = {.out = out};
    size_t n_heading = 0;
    bool is_short; /* there are no others */

    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        n_heading += walk.begins && !is_left_out(walk.heading);
    is_short = n_heading == 0;
    for (struct option_walk walk = {.command = command}; option_next(&walk);) {
        char name[64];

        if (!walk.name || walk.param->of || (!is_short && is_left_out(walk.heading)))
            continue;
        if (walk.begins)
            begin_lines(
                &lines, walk.heading,
                count_lines(command, walk.heading, n_line > n_heading ? n_line - n_heading : 0));
        snprintf(name, sizeof name, "--%s", walk.name);
        add_word(&lines, name);
    }
    print_text(out, "\n");
}

static void print_command_briefly(struct attn_sink *out, const struct command *command)
{
    const char *examples = command_example_lines(command);
    size_t n_line = 4; /* the lines that are printed here */

    print(out, "attn-cli %s: %s\nUsage: attn-cli %s %s\n", command->name, command_summary(command),
          command->name, command->usage);
    if (command->ways) {
        print(out, "Other ways to ask: %s\n", command->ways);
        n_line++;
    }
    print_text(out, "\n");
    if (examples) {
        n_line += print_examples(out, examples, BRIEF_EXAMPLES) + 1;
        print_text(out, "\n");
    }
    print_option_names(out, command, BRIEF_LINES - n_line);
    print(out, "'attn-cli %s --help' explains them.\n", command->name);
}

/* Prints the commands in two columns, each with what it is for. */
static void print_commands_briefly(struct attn_sink *out)
{
    enum { NAMES = 11, COLUMN = 42 };
    size_t n = 0;

    while (command_at(n))
        n++;
    for (size_t i = 0; i < n; i++) {
        const size_t at = i % 2 == 0 ? i / 2 : (n + 1) / 2 + i / 2;
        const bool is_last = i % 2 == 1 || i + 1 == n;

        print(out, "%*s%-*s%-*s%s", i % 2 == 0 ? 2 : 0, "", NAMES, command_at(at)->name,
              is_last ? 0 : COLUMN - NAMES - 2, command_words_at(at), is_last ? "\n" : "");
    }
}

static void print_overview_briefly(struct attn_sink *out)
{
    print_text(out, TITLE "\nUsage: attn-cli COMMAND [OPTIONS]\n\n" TRY "\n");
    print_commands_briefly(out);
    print_text(out, "\n");
    help_row(out, "attn-cli COMMAND -h", "examples and options, which --help explains", 28);
    help_row(out, "attn-cli --help", "topics (items, pictures, chat, ...), exit codes", 28);
}

void help_print(struct attn_sink *out, const struct command *command, enum call_help kind)
{
    if (command && kind != CALL_HELP_BRIEF)
        print_command(out, command, kind == CALL_HELP_WHOLE);
    else if (command)
        print_command_briefly(out, command);
    else
        (kind == CALL_HELP_BRIEF ? print_overview_briefly : print_overview)(out);
}
