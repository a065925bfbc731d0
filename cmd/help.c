/*
 * help.c - lays out the help of the program and of a command: usage, description, options by
 * heading, examples; and attn-cli help, which prints them.
 */
#include "help.h"

#include "manual.h"
#include "options.h"
#include "print.h"
#include "report.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, OPTION_COLUMN = 29 };

void help_row(struct attn_sink *out, const char *name, const char *text, size_t column)
{
    print(out, "  %s", name);
    size_t at = 2 + strlen(name);
    bool is_first = true;
    while (*text) {
        size_t word = strcspn(text, " ");
        bool is_new_line = is_first ? at + 2 > column : at + 1 + word > WIDTH;
        if (is_new_line) {
            print_text(out, "\n");
            at = 0;
        }
        size_t gap = is_first || is_new_line ? column - at : 1;
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
    char name[64], text[1024];
    char letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof(letter), "-%c, ", option->letter);
    snprintf(name, sizeof(name), "%s--%s%s%s", letter, option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
    snprintf(text, sizeof(text), "%s%s%s%s", option->help, option->environment ? " [" : "",
             option->environment ? option->environment : "", option->environment ? "]" : "");
    help_row(out, name, text, OPTION_COLUMN);
}

void help_command(struct attn_sink *out, const struct command *command)
{
    print(out, "attn-cli %s: %s\n\nUsage: attn-cli %s %s\n", command->name, command->summary,
          command->name, command->usage);
    if (command->description) {
        print_text(out, "\n");
        print_text(out, command->description);
    }
    const char *heading = NULL;
    for (struct option_walk walk = {.command = command}; option_next(&walk);) {
        const struct option *option = &walk.option;
        if (!option->name)
            continue;
        if (!heading || strcmp(heading, option->heading) != 0)
            print(out, "\n%s:\n", option->heading);
        heading = option->heading;
        print_option(out, option);
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
    print_text(out, "attn-cli " ATTN_VERSION ": runs GPT-style models on a CPU and shows their "
                    "attention\n\nUsage: attn-cli COMMAND [OPTIONS]\n\nCommands:\n");
    for (size_t i = 0; i < n_command; i++)
        help_row(out, commands[i]->name, commands[i]->summary, 14);
    print_text(out, "\nOptions:\n");
    help_row(out, "-h, --help", "print this help; 'attn-cli help COMMAND' lists its options", 16);
    help_row(out, "--version", "print the version and what the numeric code uses here", 16);
    print_text(out, "\nExit codes:\n");
#define EXIT_ROW(name, code, text) help_row(out, #code, text, 9);
    EXIT_MAP(EXIT_ROW)
#undef EXIT_ROW
    help_row(out, "128+n", "ended by signal n", 9);
    print_text(out, "\nTry:\n  attn-cli run --sentence \"Life is short, eat dessert first\"\n");
}

int help_print(const struct command *command)
{
    struct attn_sink *out = NULL;
    int code = print_open(&out);
    if (code == EXIT_DONE && command)
        help_command(out, command);
    else if (code == EXIT_DONE)
        print_overview(out);
    return print_close(out, code);
}

/* --- The command ------------------------------------------------------------------------------ */

struct help_args {
    struct text_list names;
    bool is_manual;
};

static const struct option rows[] = {
    {.argument = "COMMAND", .kind = OPTION_LIST, .offset = offsetof(struct help_args, names)},
    {.name = "man",
     .heading = "Output",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct help_args, is_manual),
     .help = "print the manual page, for 'man -l' or groff"},
};

static const struct option_group own_options = OPTION_GROUP(rows);

static const struct option_part parts[] = {{&own_options, 0}, {&help_options, 0}};

static int help_main(int argc, char **argv);

const struct command command_help = {
    .name = "help",
    .summary = "help on attn-cli, or on one command",
    .usage = "[COMMAND]",
    .parts = parts,
    .n_part = sizeof(parts) / sizeof(parts[0]),
    .main = help_main,
};

static int print_manual(void)
{
    struct attn_sink *out = NULL;
    int code = print_open(&out);
    if (code == EXIT_DONE)
        manual_page(out);
    return print_close(out, code);
}

static int help(const struct help_args *args)
{
    if (args->names.n > 1)
        return report_problem(EXIT_USAGE, NULL, "'help' takes one command, got %zu", args->names.n);
    if (args->is_manual)
        return print_manual();
    if (args->names.n == 0)
        return help_print(NULL);
    const struct command *command = command_find(args->names.items[0]);
    return command ? help_print(command) : command_report_unknown("command", args->names.items[0]);
}

static int help_main(int argc, char **argv)
{
    struct help_args args = {0};
    int code = options_parse(&command_help, argc, argv, &args);
    if (code == OPTIONS_OK)
        code = help(&args);
    text_list_release(&args.names);
    return code;
}
