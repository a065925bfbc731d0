/*
 * completion.c - attn-cli completion: the script that lets a shell complete command lines.
 * Commands, options and their values come from the table of commands and their options; only what
 * stands for a kind of value in each shell is written here.
 */
#include "cmd/args/model.h"
#include "cmd/line/command.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"
#include "cmd/line/topic.h"

#include "tool.h"

#include <string.h>

/* What may stand where an option, or a command, takes a value. */
enum value {
    VALUE_OWN,   /* text of the user's: nothing to propose */
    VALUE_WORDS, /* one of the words in the name of the argument, "map|read" */
    VALUE_FILE,  /* or one of such words: "causal|none|FILE.npy" */
    VALUE_FOLDER,
    VALUE_MODEL,
    VALUE_SITES,
    VALUE_KIND,    /* of attention */
    VALUE_SUBJECT, /* a command, or a topic of the help */
};

/* It follows from the name of the argument, "FILE"; for three options from their own names. */
static enum value value_of(const struct option *option)
{
    static const struct {
        const char *name;
        enum value value;
    } known[] = {
        {"PATH", VALUE_FILE},
        {"DIR", VALUE_FOLDER},
        {"COMMAND|TOPIC", VALUE_SUBJECT},
    };
    if (option->name && strcmp(option->name, "model") == 0)
        return VALUE_MODEL;
    if (option->name && strcmp(option->name, "sites") == 0)
        return VALUE_SITES;
    if (option->name && strcmp(option->name, "attention") == 0)
        return VALUE_KIND;
    if (strstr(option->argument, "FILE"))
        return VALUE_FILE;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(option->argument, known[i].name) == 0)
            return known[i].value;
    return strchr(option->argument, '|') ? VALUE_WORDS : VALUE_OWN;
}

/* Walks to the row for arguments that are no options; returns whether there is one. */
static bool find_plain(struct option_walk *walk)
{
    while (option_next(walk))
        if (!walk->option.name)
            return true;
    return false;
}

static bool has_choices(const struct option *option)
{
    enum value value = value_of(option);
    return value == VALUE_WORDS || value == VALUE_KIND ||
           (value == VALUE_FILE && option->argument[0] >= 'a');
}

/* "map|read" as "map read"; words in capitals stand for something else. */
static void print_choices(struct attn_sink *out, const struct option *option)
{
    const char *gap = "";
    for (int i = 0; value_of(option) == VALUE_KIND && i < ATTN_N_ATTENTION_KIND; i++)
        print(out, "%s%s", i > 0 ? " " : "",
              attn_attention_kind_name(attn_attention_kind_order[i]));
    if (value_of(option) == VALUE_KIND) {
        print_text(out, " help");
        return;
    }
    for (const char *word = option->argument; *word;) {
        size_t size = strcspn(word, "|");
        if (word[0] >= 'a') {
            print(out, "%s%.*s", gap, (int)size, word);
            gap = " ";
        }
        word += size + (word[size] == '|');
    }
}

static void print_commands(struct attn_sink *out)
{
    for (size_t i = 0; i < n_command; i++)
        print(out, "%s%s", i > 0 ? " " : "", commands[i]->name);
}

static void print_topics(struct attn_sink *out)
{
    for (size_t i = 0; i < n_topic; i++)
        print(out, "%s%s", i > 0 ? " " : "", topics[i].name);
}

static void print_sites(struct attn_sink *out)
{
    for (int i = 0; i < ATTN_N_SITE; i++)
        print(out, "%s%s", i > 0 ? " " : "", attn_site_name(attn_site_order[i]));
}

/*
 * What OPTION does in few words, inside 'quotes': its help up to the first break, without the
 * characters that mean something to a shell's own descriptions.
 */
static void print_brief(struct attn_sink *out, const char *help)
{
    size_t size = strcspn(help, ";:");
    for (size_t i = 0; i < size; i++)
        if (help[i] == '\'')
            print_text(out, "’");
        else if (!strchr("[]\\", help[i]))
            attn_sink_write(out, help + i, 1);
}

/* --- bash ------------------------------------------------------------------------------------- */

static void print_bash_value(struct attn_sink *out, const struct option *option)
{
    static const char *const actions[] = {
        [VALUE_OWN] = ":",
        [VALUE_WORDS] = "_attn_cli_words",
        [VALUE_FILE] = "_attn_cli_files",
        [VALUE_FOLDER] = "_attn_cli_folders",
        [VALUE_MODEL] = "_attn_cli_models",
        [VALUE_SITES] = "_attn_cli_sites",
        [VALUE_KIND] = "_attn_cli_words",
        [VALUE_SUBJECT] = "_attn_cli_subjects",
    };
    print_text(out, actions[value_of(option)]);
    if (!has_choices(option) && value_of(option) != VALUE_FILE)
        return;
    print_text(out, " '");
    print_choices(out, option);
    print_text(out, "'");
}

/* Values: a line of `case "$command $before"` for each option that takes one. */
static void print_bash_values(struct attn_sink *out, const struct command *command)
{
    for (struct option_walk walk = {.command = command}; option_next(&walk);) {
        const struct option *option = &walk.option;
        if (!option->name || !option->argument)
            continue;
        print_text(out, "    ");
        if (option->letter)
            print(out, "'%s -%c' | ", command->name, option->letter);
        print(out, "'%s --%s') ", command->name, option->name);
        print_bash_value(out, option);
        print_text(out, " ;;\n");
    }
}

/* All else: a line of `case "$command $kind"` for names of options and one for plain arguments. */
static void print_bash_names(struct attn_sink *out, const struct command *command)
{
    print(out, "        '%s option') _attn_cli_words '", command->name);
    const char *gap = "";
    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        if (walk.option.name) {
            print(out, "%s--%s", gap, walk.option.name);
            gap = " ";
        }
    print_text(out, "' ;;\n");
    struct option_walk plain = {.command = command};
    if (find_plain(&plain) && value_of(&plain.option) != VALUE_OWN) {
        print(out, "        '%s plain') ", command->name);
        print_bash_value(out, &plain.option);
        print_text(out, " ;;\n");
    }
}

static void print_bash(struct attn_sink *out)
{
    print_text(out,
               "# bash completion for attn-cli " ATTN_VERSION ", by 'attn-cli completion bash'\n\n"
               "_attn_cli_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
               "_attn_cli_paths() {\n"
               "    compopt -o filenames 2>/dev/null\n"
               "    mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\")\n"
               "}\n"
               "_attn_cli_files() { _attn_cli_paths -f -W \"$1\"; }\n"
               "_attn_cli_folders() { _attn_cli_paths -d; }\n"
               "_attn_cli_models() {\n"
               "    _attn_cli_paths -d -W \"$(attn-cli completion --models 2>/dev/null)\"\n"
               "}\n"
               "_attn_cli_sites() {\n"
               "    local before=''\n"
               "    [[ $cur != *,* ]] || before=${cur%,*},\n"
               "    mapfile -t COMPREPLY < <(compgen -P \"$before\" -W '");
    print_sites(out);
    print_text(out, " help' -- \"${cur##*,}\")\n"
                    "}\n"
                    "_attn_cli_commands() { _attn_cli_words '");
    print_commands(out);
    print_text(out, "'; }\n"
                    "_attn_cli_subjects() { _attn_cli_words '");
    print_commands(out);
    print_text(out, " ");
    print_topics(out);
    print_text(out, "'; }\n\n"
                    "_attn_cli() {\n"
                    "    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
                    "    local command=${COMP_WORDS[1]} kind=plain\n"
                    "    COMPREPLY=()\n"
                    "    [[ $cur != -* ]] || kind=option\n"
                    "    if ((COMP_CWORD == 1)); then\n"
                    "        command='' before=''\n"
                    "    elif [[ $cur == '=' ]]; then # --name=VALUE comes as three words\n"
                    "        cur=''\n"
                    "    elif [[ $before == '=' ]]; then\n"
                    "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
                    "    fi\n"
                    "    case \"$command $before\" in\n");
    for (size_t i = 0; i < n_command; i++)
        print_bash_values(out, commands[i]);
    print_text(out, "    *)\n"
                    "        case \"$command $kind\" in\n"
                    "        ' plain') _attn_cli_commands ;;\n"
                    "        ' option') _attn_cli_words '--help --version' ;;\n");
    for (size_t i = 0; i < n_command; i++)
        print_bash_names(out, commands[i]);
    print_text(out, "        esac\n"
                    "        ;;\n"
                    "    esac\n"
                    "}\n\n"
                    "complete -F _attn_cli attn-cli\n");
}

/* --- zsh -------------------------------------------------------------------------------------- */

/* ":what: how to complete it" of a specification for _arguments. */
static void print_zsh_value(struct attn_sink *out, const struct option *option)
{
    static const char *const actions[] = {
        [VALUE_OWN] = " ",
        [VALUE_WORDS] = "(",
        [VALUE_FILE] = "_files",
        [VALUE_FOLDER] = "_files -/",
        [VALUE_MODEL] = "_attn_cli_models",
        [VALUE_SITES] = "_attn_cli_sites",
        [VALUE_KIND] = "(",
        [VALUE_SUBJECT] = "_attn_cli_subjects",
    };
    enum value value = value_of(option);
    bool is_either = value == VALUE_FILE && has_choices(option);
    print(out, ":%s:", has_choices(option) ? "value" : option->argument);
    print_text(out, is_either ? " _attn_cli_words_or_files " : actions[value]);
    if (!has_choices(option))
        return;
    print_choices(out, option);
    print_text(out, is_either ? "" : ")");
}

static void print_zsh_option(struct attn_sink *out, const struct option *option)
{
    const char *attached = option->argument ? "=" : "";
    if (option->kind == OPTION_LIST)
        print(out, "'*--%s%s", option->name, attached);
    else if (option->letter)
        print(out, "'(-%c --%s)'{-%c%s,--%s%s}'", option->letter, option->name, option->letter,
              option->argument ? "+" : "", option->name, attached);
    else
        print(out, "'--%s%s", option->name, attached);
    print_text(out, "[");
    print_brief(out, option->help);
    print_text(out, "]");
    if (option->argument)
        print_zsh_value(out, option);
    print_text(out, "'");
}

static void print_zsh_command(struct attn_sink *out, const struct command *command)
{
    print(out, "    %s) _arguments -s -S", command->name);
    for (struct option_walk walk = {.command = command}; option_next(&walk);) {
        const struct option *option = &walk.option;
        print_text(out, " \\\n        ");
        if (option->name) {
            print_zsh_option(out, option);
        } else {
            print_text(out, "'*");
            print_zsh_value(out, option);
            print_text(out, "'");
        }
    }
    print_text(out, " ;;\n");
}

static void print_zsh(struct attn_sink *out)
{
    print_text(out,
               "#compdef attn-cli\n"
               "# zsh completion for attn-cli " ATTN_VERSION ", by 'attn-cli completion zsh'\n\n"
               "_attn_cli_models() {\n"
               "    local -a models=(${(f)\"$(attn-cli completion --models 2>/dev/null)\"})\n"
               "    _alternative 'models:model:compadd -a models' 'folders:folder:_files -/'\n"
               "}\n\n"
               "_attn_cli_words_or_files() { compadd -- $*; _files; }\n\n"
               "_attn_cli_sites() { _values -s , site ");
    print_sites(out);
    print_text(out, " help; }\n\n"
                    "_attn_cli_commands() {\n"
                    "    local -a names=(\n");
    for (size_t i = 0; i < n_command; i++) {
        print(out, "        '%s:", commands[i]->name);
        print_brief(out, commands[i]->summary);
        print_text(out, "'\n");
    }
    print_text(out, "    )\n"
                    "    _describe -t commands command names\n"
                    "}\n\n"
                    "_attn_cli_subjects() { _attn_cli_commands; compadd -- ");
    print_topics(out);
    print_text(out, "; }\n\n"
                    "_attn-cli() {\n"
                    "    local curcontext=$curcontext state line\n"
                    "    typeset -A opt_args\n"
                    "    _arguments -C '(- *)'{-h,--help}'[print help]' \\\n"
                    "        '(- *)--version[print the version]' \\\n"
                    "        '1:command:_attn_cli_commands' '*::argument:->rest'\n"
                    "    [[ $state == rest ]] || return\n"
                    "    case $words[1] in\n");
    for (size_t i = 0; i < n_command; i++)
        print_zsh_command(out, commands[i]);
    print_text(out, "    esac\n"
                    "}\n\n"
                    "# Loaded as a function of this name, or sourced.\n"
                    "if [[ $funcstack[1] == _attn-cli ]]; then\n"
                    "    _attn-cli \"$@\"\n"
                    "else\n"
                    "    compdef _attn-cli attn-cli\n"
                    "fi\n");
}

/* --- fish ------------------------------------------------------------------------------------- */

/* Flags of fish's `complete`: -x takes a value and offers no files, -r -F offers them. */
static void print_fish_value(struct attn_sink *out, const struct option *option)
{
    static const char *const flags[] = {
        [VALUE_OWN] = " -x",
        [VALUE_WORDS] = " -x",
        [VALUE_FILE] = " -r -F",
        [VALUE_FOLDER] = " -x -a '(__fish_complete_directories)'",
        [VALUE_MODEL] = " -x -a '(__attn_cli_models)'",
        [VALUE_SITES] = " -x -a '(__attn_cli_sites)'",
        [VALUE_KIND] = " -x",
        [VALUE_SUBJECT] = " -x -a '(__attn_cli_commands; __attn_cli_topics)'",
    };
    print_text(out, flags[value_of(option)]);
    if (!has_choices(option))
        return;
    print_text(out, " -a '");
    print_choices(out, option);
    print_text(out, "'");
}

static void print_fish_command(struct attn_sink *out, const struct command *command)
{
    for (struct option_walk walk = {.command = command}; option_next(&walk);) {
        const struct option *option = &walk.option;
        if (!option->name && value_of(option) == VALUE_OWN)
            continue;
        print(out, "complete -c attn-cli -n '__attn_cli_is %s'", command->name);
        if (option->letter)
            print(out, " -s %c", option->letter);
        if (option->name)
            print(out, " -l %s", option->name);
        if (option->argument)
            print_fish_value(out, option);
        if (option->help) {
            print_text(out, " -d '");
            print_brief(out, option->help);
            print_text(out, "'");
        }
        print_text(out, "\n");
    }
}

static void print_fish(struct attn_sink *out)
{
    print_text(out,
               "# fish completion for attn-cli " ATTN_VERSION ", by 'attn-cli completion fish'\n\n"
               "function __attn_cli_is -a command\n"
               "    set -l words (commandline -opc) ''\n"
               "    test \"$words[2]\" = \"$command\"\n"
               "end\n"
               "function __attn_cli_models\n"
               "    attn-cli completion --models 2>/dev/null\n"
               "    __fish_complete_directories\n"
               "end\n"
               "function __attn_cli_sites\n"
               "    set -l before (string match -r '.*,' -- (commandline -ct))\n"
               "    printf '%s\\n' $before{");
    for (int i = 0; i < ATTN_N_SITE; i++)
        print(out, "%s,", attn_site_name(attn_site_order[i]));
    print_text(out, "help}\n"
                    "end\n"
                    "function __attn_cli_commands\n"
                    "    printf '%s\\t%s\\n'");
    for (size_t i = 0; i < n_command; i++) {
        print(out, " %s '", commands[i]->name);
        print_brief(out, commands[i]->summary);
        print_text(out, "'");
    }
    print_text(out, "\nend\n"
                    "function __attn_cli_topics\n"
                    "    printf '%s\\n' ");
    print_topics(out);
    print_text(out,
               "\nend\n\n"
               "complete -c attn-cli -f\n"
               "complete -c attn-cli -n '__attn_cli_is \"\"' -a '(__attn_cli_commands)'\n"
               "complete -c attn-cli -n '__attn_cli_is \"\"' -s h -l help -d 'print help'\n"
               "complete -c attn-cli -n '__attn_cli_is \"\"' -l version -d 'print the version'\n");
    for (size_t i = 0; i < n_command; i++)
        print_fish_command(out, commands[i]);
}

/* --- the command ------------------------------------------------------------------------------ */

struct completion_args {
    struct text_list shells;
    bool has_models;
};

static const struct option rows[] = {
    {.argument = "bash|zsh|fish",
     .kind = OPTION_LIST,
     .offset = offsetof(struct completion_args, shells)},
    {.name = "models",
     .heading = "Output",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct completion_args, has_models),
     .help = "print the names that --model takes, one per line, as the scripts need them"},
};

static const struct option_group own_options = OPTION_GROUP(rows);

static const struct option_part parts[] = {{&own_options, 0}, {&help_options, 0}};

static int completion_main(int argc, char **argv);

const struct command command_completion = {
    .name = "completion",
    .summary = "complete command lines in a shell",
    .usage = "bash|zsh|fish",
    .description =
        "Prints a script that lets the shell complete commands, options and their values.\n"
        "'make install' puts it where shells look for it.\n",
    .examples = "  source <(attn-cli completion bash)\n"
                "  source <(attn-cli completion zsh)\n"
                "  attn-cli completion fish | source\n",
    .parts = parts,
    .n_part = sizeof(parts) / sizeof(parts[0]),
    .main = completion_main,
};

static const struct {
    const char *name;
    void (*print)(struct attn_sink *out);
} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

static int complete(const struct completion_args *args, struct attn_sink *out)
{
    if (args->has_models && args->shells.n == 0)
        return model_names_print(out);
    if (args->shells.n != 1 || args->has_models)
        return report_problem(EXIT_USAGE, NULL, "'completion' takes one shell: bash, zsh or fish");
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
        if (strcmp(args->shells.items[0], shells[i].name) == 0) {
            shells[i].print(out);
            return EXIT_DONE;
        }
    return report_problem(EXIT_USAGE, NULL, "unknown shell '%s', expected bash, zsh or fish",
                          args->shells.items[0]);
}

static int completion_main(int argc, char **argv)
{
    struct completion_args args = {0};
    struct attn_sink *out = NULL;
    int code = options_parse(&command_completion, argc, argv, &args);
    if (code == OPTIONS_OK)
        code = print_open(&out);
    if (out)
        code = complete(&args, out);
    text_list_release(&args.shells);
    return print_close(out, code);
}
