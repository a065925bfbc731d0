/*
 * completion.c - attn-cli completion: the script that lets a shell complete command lines.
 * Commands, options and their values come from the table of commands and their options; only what
 * stands for a kind of value in each shell is written here.
 */
#include "cmd/args/model.h"
#include "cmd/line/command.h"
#include "cmd/line/help.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

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

/* How each shell completes it. For fish these are flags of `complete`: -x takes a value and offers
 * no files, -r -F offers them. */
static const struct {
    const char *bash, *zsh, *fish;
} actions[] = {
    [VALUE_OWN] = {":", " ", " -x"},
    [VALUE_WORDS] = {"_attn_cli_words", "(", " -x"},
    [VALUE_FILE] = {"_attn_cli_files", "_files", " -r -F"},
    [VALUE_FOLDER] = {"_attn_cli_folders", "_files -/", " -x -a '(__fish_complete_directories)'"},
    [VALUE_MODEL] = {"_attn_cli_models", "_attn_cli_models", " -x -a '(__attn_cli_models)'"},
    [VALUE_SITES] = {"_attn_cli_sites", "_attn_cli_sites", " -x -a '(__attn_cli_sites)'"},
    [VALUE_KIND] = {"_attn_cli_words", "(", " -x"},
    [VALUE_SUBJECT] = {"_attn_cli_subjects", "_attn_cli_subjects",
                       " -x -a '(__attn_cli_commands; __attn_cli_topics)'"},
};

/* The length of the first word of an argument, "ig[:N]|atp": to a bar that is in no brackets. */
static size_t word_size(const char *argument)
{
    size_t size = 0;

    for (int depth = 0; argument[size] && (depth > 0 || argument[size] != '|'); size++)
        depth += (argument[size] == '[') - (argument[size] == ']');
    return size;
}

/* It follows from the name of the argument, "FILE"; for some options from their own names. */
static enum value value_of(const struct option *option)
{
    static const struct {
        const char *name, *argument;
        enum value value;
    } known[] = {
        {"model", NULL, VALUE_MODEL},    {"sites", NULL, VALUE_SITES},
        {"attention", NULL, VALUE_KIND}, {"with-attention", NULL, VALUE_KIND},
        {NULL, "MODEL", VALUE_MODEL},    {NULL, "PATH", VALUE_FILE},
        {NULL, "DIR", VALUE_FOLDER},     {NULL, "COMMAND|TOPIC", VALUE_SUBJECT},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].name ? option->name && strcmp(option->name, known[i].name) == 0
                          : strcmp(option->argument, known[i].argument) == 0)
            return known[i].value;
    if (strstr(option->argument, "FILE"))
        return VALUE_FILE;
    return option->argument[word_size(option->argument)] ? VALUE_WORDS : VALUE_OWN;
}

static bool has_choices(const struct option *option)
{
    enum value value = value_of(option);

    return value == VALUE_WORDS || value == VALUE_KIND ||
           (value == VALUE_FILE && option->argument[0] >= 'a');
}

/* "map|read" as "map read", and colons as COLON; words in capitals stand for something else. */
static void print_choices(struct attn_sink *out, const struct option *option, const char *colon)
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
        const size_t size = word_size(word);

        if (word[0] >= 'a') {
            print_text(out, gap);
            for (size_t i = 0; i < size && word[i] != '['; i++)
                print(out, "%.*s", word[i] == ':' ? 2 : 1, word[i] == ':' ? colon : &word[i]);
            gap = " ";
        }
        word += size + (word[size] == '|');
    }
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
    print_text(out, actions[value_of(option)].bash);
    if (!has_choices(option) && value_of(option) != VALUE_FILE)
        return;
    print_text(out, " '");
    print_choices(out, option, ":");
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
    const char *gap = "";

    print(out, "        '%s option') _attn_cli_words '", command->name);
    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        if (walk.option.name) {
            print(out, "%s--%s", gap, walk.option.name);
            gap = " ";
        }
    print_text(out, "' ;;\n");
    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        if (!walk.option.name && value_of(&walk.option) != VALUE_OWN) {
            print(out, "        '%s plain') ", command->name);
            print_bash_value(out, &walk.option);
            print_text(out, " ;;\n");
        }
}

static const char bash_script[] =
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
    "    mapfile -t COMPREPLY < <(compgen -P \"$before\" -W '@SITES@ help' -- \"${cur##*,}\")\n"
    "}\n"
    "_attn_cli_commands() { _attn_cli_words '@COMMANDS@'; }\n"
    "_attn_cli_subjects() { _attn_cli_words '@COMMANDS@ @TOPICS@'; }\n\n"
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
    "    case \"$command $before\" in\n"
    "@BASH_VALUES@"
    "    *)\n"
    "        case \"$command $kind\" in\n"
    "        ' plain') _attn_cli_commands ;;\n"
    "        ' option') _attn_cli_words '--help --version' ;;\n"
    "@BASH_NAMES@"
    "        esac\n"
    "        ;;\n"
    "    esac\n"
    "}\n\n"
    "complete -F _attn_cli attn-cli\n";

/* --- zsh -------------------------------------------------------------------------------------- */

/* ":what: how to complete it" of a specification for _arguments. */
static void print_zsh_value(struct attn_sink *out, const struct option *option)
{
    enum value value = value_of(option);
    bool is_either = value == VALUE_FILE && has_choices(option);

    print_text(out, ":");
    for (const char *at = has_choices(option) ? "value" : option->argument; *at; at++)
        print(out, *at == ':' ? "\\%c" : "%c", *at);
    print_text(out, ":");
    print_text(out, is_either ? " _attn_cli_words_or_files " : actions[value].zsh);
    if (!has_choices(option))
        return;
    print_choices(out, option, "\\:");
    print_text(out, is_either ? "" : ")");
}

static void print_zsh_option(struct attn_sink *out, const struct option *option)
{
    const char *attached = option->argument ? "=" : "";

    if (option->kind == OPTION_KIND_LIST)
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

static void print_zsh_options(struct attn_sink *out, const struct command *command)
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

static void print_zsh_summary(struct attn_sink *out, const struct command *command)
{
    print(out, "        '%s:", command->name);
    print_brief(out, command->summary);
    print_text(out, "'\n");
}

static const char zsh_script[] =
    "#compdef attn-cli\n"
    "# zsh completion for attn-cli " ATTN_VERSION ", by 'attn-cli completion zsh'\n\n"
    "_attn_cli_models() {\n"
    "    local -a models=(${(f)\"$(attn-cli completion --models 2>/dev/null)\"})\n"
    "    _alternative 'models:model:compadd -a models' 'folders:folder:_files -/'\n"
    "}\n\n"
    "_attn_cli_words_or_files() { compadd -- $*; _files; }\n\n"
    "_attn_cli_sites() { _values -s , site @SITES@ help; }\n\n"
    "_attn_cli_commands() {\n"
    "    local -a names=(\n"
    "@ZSH_SUMMARIES@"
    "    )\n"
    "    _describe -t commands command names\n"
    "}\n\n"
    "_attn_cli_subjects() { _attn_cli_commands; compadd -- @TOPICS@; }\n\n"
    "_attn-cli() {\n"
    "    local curcontext=$curcontext state line\n"
    "    typeset -A opt_args\n"
    "    _arguments -C '(- *)'{-h,--help}'[print help]' \\\n"
    "        '(- *)--version[print the version]' \\\n"
    "        '1:command:_attn_cli_commands' '*::argument:->rest'\n"
    "    [[ $state == rest ]] || return\n"
    "    case $words[1] in\n"
    "@ZSH_OPTIONS@"
    "    esac\n"
    "}\n\n"
    "# Loaded as a function of this name, or sourced.\n"
    "if [[ $funcstack[1] == _attn-cli ]]; then\n"
    "    _attn-cli \"$@\"\n"
    "else\n"
    "    compdef _attn-cli attn-cli\n"
    "fi\n";

/* --- fish ------------------------------------------------------------------------------------- */

static void print_fish_options(struct attn_sink *out, const struct command *command)
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
            print_text(out, actions[value_of(option)].fish);
        if (option->argument && has_choices(option)) {
            print_text(out, " -a '");
            print_choices(out, option, ":");
            print_text(out, "'");
        }
        if (option->help) {
            print_text(out, " -d '");
            print_brief(out, option->help);
            print_text(out, "'");
        }
        print_text(out, "\n");
    }
}

static void print_fish_summary(struct attn_sink *out, const struct command *command)
{
    print(out, " %s '", command->name);
    print_brief(out, command->summary);
    print_text(out, "'");
}

static void print_fish_sites(struct attn_sink *out)
{
    for (int i = 0; i < ATTN_N_SITE; i++)
        print(out, "%s,", attn_site_name(attn_site_order[i]));
}

static const char fish_script[] =
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
    "    printf '%s\\n' $before{@FISH_SITES@help}\n"
    "end\n"
    "function __attn_cli_commands\n"
    "    printf '%s\\t%s\\n'@FISH_SUMMARIES@\n"
    "end\n"
    "function __attn_cli_topics\n"
    "    printf '%s\\n' @TOPICS@\n"
    "end\n\n"
    "complete -c attn-cli -f\n"
    "complete -c attn-cli -n '__attn_cli_is \"\"' -a '(__attn_cli_commands)'\n"
    "complete -c attn-cli -n '__attn_cli_is \"\"' -s h -l help -d 'print help'\n"
    "complete -c attn-cli -n '__attn_cli_is \"\"' -l version -d 'print the version'\n"
    "@FISH_OPTIONS@";

/* --- scripts ---------------------------------------------------------------------------------- */

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

/* The lists in scripts, by their marks: printed at once, or for one command after another. */
static const struct {
    const char *mark;
    void (*print)(struct attn_sink *out);
    void (*print_of)(struct attn_sink *out, const struct command *command);
} lists[] = {
    {"@COMMANDS@", print_commands, NULL},
    {"@TOPICS@", print_topics, NULL},
    {"@SITES@", print_sites, NULL},
    {"@BASH_VALUES@", NULL, print_bash_values},
    {"@BASH_NAMES@", NULL, print_bash_names},
    {"@ZSH_SUMMARIES@", NULL, print_zsh_summary},
    {"@ZSH_OPTIONS@", NULL, print_zsh_options},
    {"@FISH_SITES@", print_fish_sites, NULL},
    {"@FISH_SUMMARIES@", NULL, print_fish_summary},
    {"@FISH_OPTIONS@", NULL, print_fish_options},
};
enum { N_LIST = sizeof lists / sizeof *lists };

static void print_script(struct attn_sink *out, const char *script)
{
    for (const char *at = script; *at;) {
        const size_t size = strcspn(at, "@");
        size_t i = 0;

        attn_sink_write(out, at, size);
        at += size;
        while (i < N_LIST && strncmp(at, lists[i].mark, strlen(lists[i].mark)) != 0)
            i++;
        if (i == N_LIST && *at) { /* an @ of the shell's own */
            attn_sink_write(out, at++, 1);
        } else if (*at) {
            at += strlen(lists[i].mark);
            if (lists[i].print)
                lists[i].print(out);
            for (size_t k = 0; lists[i].print_of && k < n_command; k++)
                lists[i].print_of(out, commands[k]);
        }
    }
}

/* --- the command ------------------------------------------------------------------------------ */

struct completion_args {
    struct text_list shells;
    bool has_models;
};

static const struct option rows[] = {
    OPTION_PLAIN("bash|zsh|fish", struct completion_args, shells, NULL),
    OPTION_FLAG("models", struct completion_args, has_models,
                "print the names that --model takes, one per line, as the scripts need them"),
};

static const struct option_group own_options = OPTION_GROUP("Output", rows);

static const struct option_part parts[] = {{&own_options, 0}};

static enum attn_status complete(struct call *call, struct attn_error *err);

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
    OPTION_PARTS(parts),
    .args_size = sizeof(struct completion_args),
    .work = complete,
};

static const struct {
    const char *name, *script;
} shells[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};

static enum attn_status complete(struct call *call, struct attn_error *err)
{
    const struct completion_args *args = call->args;

    if (args->has_models && args->shells.n == 0)
        return model_names_print(call->out, err);
    if (args->shells.n != 1 || args->has_models)
        return refuse(err, NULL, "'completion' takes one shell: bash, zsh or fish");
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(args->shells.items[0], shells[i].name) == 0) {
            print_script(call->out, shells[i].script);
            return ATTN_OK;
        }
    return refuse(err, NULL, "unknown shell '%s', expected bash, zsh or fish",
                  args->shells.items[0]);
}
