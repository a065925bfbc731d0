/* help.c - attn-cli help: prints help on the program, a command or a topic, or a manual page. The
 * pages describe topics, options, variables and exit codes from the same tables as --help. They use
 * macros of man(7) that both groff and mandoc have. */
#include "cmd/line/help.h"

#include "cmd/args/document.h"
#include "cmd/line/command.h"
#include "cmd/line/help_json.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"
#include "cmd/line/topics.h"

#include "tool.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Prints TEXT [size] literally, in one line. "-" and quotes are escaped, because roff would replace
 * them by typographic characters, and pasted commands would fail; so is a '.' at the start, which
 * would make the line a request. */
static void print_roff(struct attn_sink *out, const char *text, size_t size)
{
    static const char *const escapes[128] = {
        ['\\'] = "\\e",  ['-'] = "\\-",   ['\''] = "\\(aq", ['"'] = "\\(dq",
        ['`'] = "\\(ga", ['^'] = "\\(ha", ['~'] = "\\(ti",
    };
    if (size > 0 && text[0] == '.')
        print_text(out, "\\&");
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c < 128 && escapes[c])
            print_text(out, escapes[c]);
        else
            attn_sink_write(out, text + i, 1);
    }
}

/* Prints TEXT [size] as a paragraph, broken into short lines, because mandoc wants lines below 80
 * columns. roff puts two spaces after a line that ends in a full stop; \& prevents that where the
 * line isn't the end of a sentence ("9.*"). */
static void print_filled(struct attn_sink *out, const char *text, size_t size)
{
    enum { WIDTH = 70 };
    char last = ' '; /* the last character of this line, or a blank */

    for (size_t at = 0, column = 0; at < size;) {
        const char *space = memchr(text + at, ' ', size - at);
        size_t word = space ? (size_t)(space - text) - at : size - at;

        if (column > 0 && column + 1 + word > WIDTH) {
            print_text(out, strchr(".!?*", last) ? "\\&\n" : "\n");
            column = 0;
        } else if (column > 0) {
            print_text(out, " ");
        }
        print_roff(out, text + at, word);
        if (word > 0)
            last = text[at + word - 1];
        column += word + 1;
        at += word + 1;
    }
    print_text(out, "\n");
}

static void print_line(struct attn_sink *out, const char *text)
{
    print_filled(out, text, strlen(text));
}

/* Prints paragraphs, which are separated by empty lines. roff does not fill an indented line. */
static void print_paragraphs(struct attn_sink *out, const char *text)
{
    for (size_t size; *text; text += size + (text[size] == '\n')) {
        size = strcspn(text, "\n");
        if (size == 0)
            print_text(out, ".PP\n");
        else
            print_filled(out, text, size);
    }
}

/* Prints examples without the two spaces before each line, which are for --help. */
static void print_examples(struct attn_sink *out, const char *text)
{
    print_text(out, ".EX\n");
    for (size_t size; *text; text += size + (text[size] == '\n')) {
        size_t indent = strspn(text, " ");

        size = strcspn(text, "\n");
        print_roff(out, text + indent, size - indent);
        print_text(out, "\n");
    }
    print_text(out, ".EE\n");
}

static void print_option(struct attn_sink *out, const struct option_walk *walk, const char *help)
{
    const struct attn_param *param = walk->param;
    const char *argument = option_argument(param);

    print_text(out, ".TP\n");
    if (param->letter)
        print(out, "\\fB\\-%c\\fP, ", param->letter);
    print_text(out, param->of ? "\\fB" : "\\fB\\-\\-");
    print_roff(out, walk->name, strlen(walk->name));
    print_text(out, "\\fP");
    if (argument) {
        print_text(out, param->of ? "=\\fI" : " \\fI");
        print_roff(out, argument, strlen(argument));
        print_text(out, "\\fP");
    }
    print_text(out, "\n");
    print_line(out, help);
    if (param->variable)
        print(out, "[\\fB%s\\fP]\n", param->variable);
}

/* Prints the first lines of the page of attn-cli, or of COMMAND. */
static void print_head(struct attn_sink *out, const struct command *command, const char *summary)
{
    print_text(out, ".TH ATTN\\-CLI");
    for (const char *at = command ? command->name : ""; *at; at++)
        print(out, "%s%c", at == command->name ? "\\-" : "", *at - 'a' + 'A');
    print(out,
          " 1 " ATTN_VERSION_DATE " \"attn\\-cli " ATTN_VERSION "\" \"User Commands\"\n"
          ".SH NAME\nattn\\-cli%s%s \\- ",
          command ? "\\-" : "", command ? command->name : "");
    print_line(out, summary);
    print(out, ".SH SYNOPSIS\n.B attn\\-cli%s%s\n", command ? " " : "",
          command ? command->name : "");
}

static void print_command(struct attn_sink *out, const struct command *command)
{
    char help[1024];

    print_head(out, command, command_summary(command));
    print_line(out, command->usage);
    if (command_description(command)) {
        print_text(out, ".SH DESCRIPTION\n");
        print_paragraphs(out, command_description(command));
    }
    print_text(out, ".SH OPTIONS\n");
    for (struct option_walk walk = {.command = command}; option_next(&walk);) {
        if (walk.begins)
            print(out, ".SS %s\n", walk.heading);
        if (walk.name && !walk.param->of) {
            option_help(&walk, true, help, sizeof help);
            print_option(out, &walk, help);
        }
    }
    if (command_example_lines(command)) {
        print_text(out, ".SH EXAMPLES\n");
        print_examples(out, command_example_lines(command));
    }
    print_text(out, ".SH SEE ALSO\n.BR attn\\-cli (1)\n");
}

/* Prints the text and the rows of a topic, and the options that are explained there instead of in
 * commands. */
static void print_topic(struct attn_sink *out, const struct topic *topic)
{
    struct topic_row row;
    struct topic_walk walk = {0};

    print(out, ".SH TOPIC %s\n", topic->name);
    print_paragraphs(out, topic->text);
    for (size_t i = 0; topic_row(topic, i, &row); i++) {
        print_text(out, ".TP\n.B ");
        print_line(out, row.name);
        print_line(out, row.text);
    }
    while (topic_option_next(topic, &walk))
        if (walk.options.param->of)
            print_option(out, &walk.options, walk.help);
}

static void print_environment(struct attn_sink *out)
{
    struct topic_row row;

    print_text(out, ".SH ENVIRONMENT\n");
    for (size_t i = 0; help_variable(i, &row); i++) {
        print(out, ".TP\n.B %s\n", row.name);
        print_line(out, row.text);
    }
}

static void print_memory(struct attn_sink *out)
{
    print_text(
        out, ".SH MEMORY\n"
             "A run of T tokens needs memory for the weights that it uses, at most 64 MiB for\n"
             "matrices, however many it writes, 50 MiB for the rest, and these bytes:\n"
             ".PP\n"
             ".RS\n"
             "4 T (3 D + max(F, (H + G) (E + V)) + G (E + V))\n"
             ".RE\n"
             ".PP\n"
             "for vectors of D components, an MLP of F, H heads, G key/value heads, and E and V\n"
             "components of a key and a value. They hold, for each token, three rows of the\n"
             "residual stream and q, k, v and z, whose memory the MLP uses later, and the packed\n"
             "keys and values of one layer; with \\fB\\-\\-next\\fP, and with \\fB\\-\\-top\\fP at "
             "chosen\n"
             "positions, of all layers. \\fBattn\\-cli inspect \\-\\-length\\fP \\fIT\\fP adds it "
             "up for\n"
             "a model.\n");
}

static void print_exit_status(struct attn_sink *out)
{
    print_text(out, ".SH EXIT STATUS\n");
#define EXIT_ROW(name, code, text, may_retry)                                                      \
    print_text(out, ".TP\n.B " #code "\n");                                                        \
    print_line(out, text);
    EXIT_MAP(EXIT_ROW)
#undef EXIT_ROW
    print_text(out, ".TP\n.B 128+n\nended by signal n\n"
                    ".PP\n"
                    "A closed pipe ends the program quietly with 0.\n");
}

static void print_manual(struct attn_sink *out)
{
    print_head(out, NULL, "run GPT-style models on a CPU and show their attention");
    print_text(
        out, "COMMAND [OPTIONS]\n"
             ".br\n"
             ".B attn\\-cli \\-\\-version\n"
             ".SH DESCRIPTION\n"
             "Runs GPT\\-style decoders on a CPU and shows what their attention does, as text or\n"
             "as arrays.\n"
             "It reads directories of Hugging Face, of GPT\\-2, Pythia, Llama and others, finds\n"
             "them by name in the Hugging Face cache, and has small models of its own; without\n"
             "\\fB\\-\\-model\\fP a small built\\-in example is used.\n"
             ".PP\n"
             "Options may be written \\fB\\-\\-name\\fP \\fIVALUE\\fP,\n"
             "\\fB\\-\\-name=\\fP\\fIVALUE\\fP, \\fB\\-n\\fP \\fIVALUE\\fP and "
             "\\fB\\-n\\fP\\fIVALUE\\fP;\n"
             "names are never abbreviated, and \\fB\\-\\-\\fP ends the options.\n"
             "An option that takes one value is given once.\n"
             "Standard output holds data only. An error is one line on standard error; a second\n"
             "line may be a hint what to try.\n"
             ".SH COMMANDS\n");
    for (size_t i = 0; command_at(i); i++) {
        print(out, ".TP\n.BR attn\\-cli\\-%s (1)\n", command_at(i)->name);
        print_line(out, command_summary(command_at(i)));
    }
    for (size_t i = 0; i < n_topic; i++)
        print_topic(out, &topics[i]);
    print_memory(out);
    print_exit_status(out);
    print_environment(out);
    print_text(out, ".SH FILES\n"
                    ".TP\n"
                    ".I ../share/attn\\-cli/models\n"
                    "models that come with the program, found from the folder it lies in\n"
                    ".TP\n"
                    ".I .attn\\-XXXXXX.tmp\n"
                    "an output that is not whole yet, in the folder of the output.\n"
                    "Only SIGKILL and a loss of power leave such files, which nothing needs.\n"
                    "This removes those in DIR that are older than a day:\n"
                    ".B find DIR \\-maxdepth 1 \\-type f \\-name \\(aq.attn\\-??????.tmp\\(aq "
                    "\\-mtime +0 \\-delete\n"
                    ".SH SEE ALSO\n"
                    "The library that the program is made of: \\fI<attn.h>\\fP,\n"
                    ".B pkg\\-config \\-\\-cflags \\-\\-libs attn\n");
}

struct help_args {
    struct text_list names; /* name of a command or a topic */
    bool is_manual;
    struct document_args document;
};

static const struct attn_param rows[] = {
    OPTION_TEXTS(NULL, "COMMAND|TOPIC", struct help_args, names, NULL),
    ATTN_PARAM(FLAG, "man", NULL, struct help_args, is_manual,
               "print the manual page, or that of COMMAND, for 'man -l' or groff"),
    DOCUMENT_JSON(struct help_args, document.json,
                  "the help as JSON, for programs: commands with their options, tables with "
                  "their columns, topics, models, exit codes and variables"),
};

static const struct attn_param_part parts[] = {{OPTION_LIST("Output", rows), 0}};

static enum attn_status help(struct call *call, struct attn_error *err)
{
    const struct help_args *args = call->args;
    const char *name = args->names.n > 0 ? args->names.items[0] : NULL;
    const struct command *command = name ? command_find(name) : NULL;
    const struct topic *topic = name ? topic_find(name) : NULL;

    if (args->names.n > 1)
        return refuse(err, NULL, "'help' takes one command or topic, got %zu", args->names.n);
    if (name && !command && !topic)
        return command_refuse_unknown("command or topic", name, err);
    ATTN_TRY(document_open(call, &args->document, err));
    if (args->document.json)
        return help_json_print(call->out, topic ? NULL : command, topic, err);
    if (args->is_manual && command)
        print_command(call->out, command);
    else if (args->is_manual)
        print_manual(call->out);
    else if (topic)
        topic_print(call->out, topic);
    else
        help_print(call->out, command, CALL_HELP_OWN);
    return ATTN_OK;
}

const struct command command_help = {
    .name = "help",
    .summary = "help on attn-cli, on one command, or on a topic",
    .usage = "[--json|--man] [COMMAND|TOPIC]",
    OPTION_PARTS(parts),
    .args_size = sizeof(struct help_args),
    .work = help,
};
