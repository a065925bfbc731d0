/*
 * help.c - lays out the help of a command: usage, description, options by heading, examples.
 */
#include "help.h"

#include "options.h"
#include "print.h"

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
