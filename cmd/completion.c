/*
 * completion.c - attn-cli completion: completes command lines. The script of a shell passes the
 * words of the line to `attn-cli completion words -- WORD...`, the last one to be completed,
 * and adds what that prints. Everything comes from the table of commands and their options.
 *
 * The first line of the answer is "KIND SIZE". KIND is `words`, or `file` or `directory` if the
 * shell completes paths as well. SIZE is the number of bytes of the last word before the part to
 * complete, for example 7 in --load=m. Each other line is a proposal for that part, with an
 * optional description after a tab.
 */
#include "cmd/args/model.h"
#include "cmd/line/command.h"
#include "cmd/line/options_internal.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"
#include "cmd/line/topics.h"

#include "tool.h"

#include <stdio.h>
#include <string.h>

struct answer {
    struct attn_sink *out;
    const char *word; /* the last word of the command line */
    const char *part; /* the end of `word`, which is to be completed */
};

/* Prints the first line of the answer. KIND is "words", "file" or "directory". */
static void print_kind(const struct answer *answer, const char *kind)
{
    print(answer->out, "%s %zu\n", kind, (size_t)(answer->part - answer->word));
}

/* Prints NAME [size] as a proposal if it begins with what the user has typed. HELP describes it up
 * to its first ';' or ':'; or NULL. */
static void propose(const struct answer *answer, const char *name, size_t size, const char *help)
{
    const size_t typed = strlen(answer->part);

    if (typed > size || memcmp(name, answer->part, typed) != 0)
        return;
    attn_sink_write(answer->out, name, size);
    if (help)
        print(answer->out, "\t%.*s", (int)strcspn(help, ";:"), help);
    print_text(answer->out, "\n");
}

/* Proposes the words of ARGUMENT, such as "FILE|map|ig[:N]", without the parts in brackets. Words
 * in capitals are placeholders and not proposed. */
static void propose_words(const struct answer *answer, const char *argument)
{
    for (const char *word = argument; *word;) {
        size_t size = 0;

        for (int depth = 0; word[size] && (depth > 0 || word[size] != '|'); size++)
            depth += (word[size] == '[') - (word[size] == ']');
        if (word[0] >= 'a' && (word[size] || word != argument))
            propose(answer, word, strcspn(word, "[|"), NULL);
        word += size + (word[size] == '|');
    }
}

static const char *kind_name(size_t i)
{
    return i < ATTN_N_ATTENTION_KIND ? attn_attention_kind_name(attn_attention_kind_order[i])
                                     : NULL;
}

static const char *site_name(size_t i)
{
    return i < ATTN_N_SITE ? attn_site_name(attn_site_order[i]) : NULL;
}

static const char *measure_name(size_t i)
{
    return i < (size_t)attn_measures_n() ? attn_measure_name(attn_measure_shown((int)i)) : NULL;
}

static const char *colormap_name(size_t i)
{
    return i < attn_n_colormap() ? attn_colormap_name(attn_colormap_at(i)) : NULL;
}

/* Options whose values are names from a list of the library. */
static const struct names {
    const char *option;
    const char *(*name)(size_t i); /* NULL: the values are numbers */
    bool is_list;                  /* the value is a list with commas between names */
    bool has_help;                 /* `help` is also a value, which prints the names */
} named[] = {
    {"attention", kind_name, false, true},    {"with-attention", kind_name, false, true},
    {"sites", site_name, true, true},         {"measures", measure_name, true, false},
    {"colormap", colormap_name, false, true},
};

static void propose_names(struct answer *answer, const struct names *names)
{
    const char *comma = names->is_list ? strrchr(answer->part, ',') : NULL;

    answer->part = comma ? comma + 1 : answer->part;
    print_kind(answer, "words");
    for (size_t i = 0; names->name(i); i++)
        propose(answer, names->name(i), strlen(names->name(i)), NULL);
    if (names->has_help)
        propose(answer, "help", strlen("help"), NULL);
}

static void propose_commands(const struct answer *answer)
{
    for (size_t i = 0; command_at(i); i++)
        propose(answer, command_at(i)->name, strlen(command_at(i)->name),
                command_summary(command_at(i)));
}

/* Proposes values of OPTION. If it has no name, it stands for an argument of the command. */
static enum attn_status propose_values(struct answer *answer, const struct option_walk *option,
                                       struct attn_error *err)
{
    const char *argument = option_argument(option->param);
    const bool is_model =
        (option->name && strcmp(option->name, "model") == 0) || strcmp(argument, "MODEL") == 0;
    const bool is_subject = strcmp(argument, "COMMAND|TOPIC") == 0;

    for (size_t i = 0; option->name && i < sizeof named / sizeof *named; i++)
        if (strcmp(option->name, named[i].option) == 0) {
            propose_names(answer, &named[i]);
            return ATTN_OK;
        }
    print_kind(answer, is_model || strcmp(argument, "DIR") == 0               ? "directory"
                       : strstr(argument, "FILE") || strstr(argument, "PATH") ? "file"
                                                                              : "words");
    if (is_model)
        return model_names_print(answer->part, answer->out, err);
    if (is_subject)
        propose_commands(answer);
    for (size_t i = 0; is_subject && i < n_topic; i++)
        propose(answer, topics[i].name, strlen(topics[i].name), topics[i].summary);
    propose_words(answer, argument);
    return ATTN_OK;
}

/* Proposes the settings of OPTION after the last blank of the value, or the values of
 * one that the value names. bash begins a quoted value with its quotation mark. */
static enum attn_status propose_settings(struct answer *answer, const struct option_walk *option,
                                         struct attn_error *err)
{
    const char *blank = strrchr(answer->part, ' ');
    const char *part = blank ? blank + 1 : answer->part + strspn(answer->part, "'\"");
    const char *equals = strchr(part, '=');
    struct option_walk walk = {.command = option->command};

    answer->part = part;
    if (equals && option_find(&walk, option->name, part, (size_t)(equals - part))) {
        answer->part = equals + 1;
        return propose_values(answer, &walk, err);
    }
    if (option->param->type == ATTN_PARAM_SETTINGS)
        print_kind(answer, "words");
    else
        ATTN_TRY(propose_values(answer, option, err));
    walk = (struct option_walk){.command = option->command};
    while (option_next_setting(&walk, option)) {
        char name[OPTION_LABEL_SIZE], help[1024];

        snprintf(name, sizeof name, "%s%s", walk.name, option_argument(walk.param) ? "=" : "");
        option_help(&walk, false, help, sizeof help);
        propose(answer, name, strlen(name), help);
    }
    return ATTN_OK;
}

/* Finds the option of COMMAND that WORD begins with. Sets *rest to what follows its name: "",
 * "=VALUE", or after a one-letter option "VALUE". Returns false if there is none. */
static bool find_option(const struct command *command, const char *word, struct option_walk *option,
                        const char **rest)
{
    for (struct option_walk walk = {.command = command}; word[0] == '-' && option_next(&walk);) {
        const size_t size = walk.name && !walk.param->of ? strlen(walk.name) : 0;
        const bool is_long = size > 0 && word[1] == '-' &&
                             strncmp(word + 2, walk.name, size) == 0 &&
                             (word[2 + size] == '\0' || word[2 + size] == '=');

        if (!is_long && (!walk.param->letter || word[1] != walk.param->letter))
            continue;
        *option = walk;
        *rest = word + (is_long ? 2 + size : 2);
        return true;
    }
    return false;
}

/* Returns true if OPTION is already given in WORDS [n] and must not be repeated. */
static bool is_given(const struct option_walk *option, const char *const *words, size_t n)
{
    const char *rest;
    struct option_walk other;

    for (size_t i = 0; i < n; i++)
        if (find_option(option->command, words[i], &other, &rest) &&
            strcmp(other.name, option->name) == 0)
            return !option_is_list(option->param) && !option_has_settings(option);
    return false;
}

/* Proposes the options of COMMAND that are not yet given in WORDS [n], the words before. */
static void propose_options(const struct answer *answer, const struct command *command,
                            const char *const *words, size_t n)
{
    print_kind(answer, "words");
    for (struct option_walk walk = {.command = command}; option_next(&walk);) {
        char name[64], help[1024];

        if (!walk.name || walk.param->of || is_given(&walk, words, n))
            continue;
        snprintf(name, sizeof name, "--%s", walk.name);
        option_help(&walk, false, help, sizeof help);
        propose(answer, name, strlen(name), help);
        if (walk.param->letter)
            propose(answer, (const char[]){'-', walk.param->letter}, 2, help);
    }
}

/* Returns true if an input that begins with WORD [size] and a colon is the name of a file. */
static bool is_of_file(const char *word, size_t size)
{
    return attn_param_find_word("file|image", word, size) >= 0;
}

static enum attn_status propose_value(struct answer *answer, const struct option_walk *option,
                                      struct attn_error *err)
{
    const size_t size = strcspn(answer->part, ":"); /* of "file:PATH" */

    if (answer->part[size] && option_takes_forms(option) && is_of_file(answer->part, size)) {
        answer->part += size + 1;
        print_kind(answer, "file");
        return ATTN_OK;
    }
    return (option_has_settings(option) ? propose_settings : propose_values)(answer, option, err);
}

/* Completes the argument after WORDS [n] of COMMAND. bash splits --load=map into three words, and
 * file:PATH. */
static enum attn_status complete_argument(struct answer *answer, const struct command *command,
                                          const char *const *words, size_t n,
                                          struct attn_error *err)
{
    const char *rest = "";
    struct option_walk option;
    bool is_ended = false;

    for (size_t i = 0; i < n; i++)
        is_ended |= strcmp(words[i], "--") == 0;
    if (n > 0 && strcmp(answer->word, "=") == 0)
        answer->word = answer->part = "";
    else if (n > 1 && strcmp(words[n - 1], "=") == 0)
        n--;
    if (n > 1 && strcmp(words[n - 1], ":") == 0 && is_of_file(words[n - 2], strlen(words[n - 2]))) {
        print_kind(answer, "file");
        return ATTN_OK;
    }
    if (!is_ended && n > 0 && find_option(command, words[n - 1], &option, &rest) &&
        option_argument(option.param) && !*rest)
        return propose_value(answer, &option, err);
    if (!is_ended && find_option(command, answer->word, &option, &rest) &&
        option_argument(option.param) && *rest) {
        answer->part = rest + (*rest == '=' && answer->word[1] == '-');
        return propose_value(answer, &option, err);
    }
    if (!is_ended && answer->word[0] == '-') {
        propose_options(answer, command, words, n);
        return ATTN_OK;
    }
    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        if (!walk.name)
            return propose_values(answer, &walk, err);
    print_kind(answer, "words");
    return ATTN_OK;
}

/* Completes the last of WORDS [n], which are the words after "attn-cli". */
static enum attn_status complete_line(const char *const *words, size_t n, struct attn_sink *out,
                                      struct attn_error *err)
{
    const char *last = n > 0 ? words[n - 1] : "";
    struct answer answer = {out, last, last};
    const char *name = n > 1 && strcmp(words[0], "batch") == 0 ? "run"
                       : n > 1                                 ? words[0]
                                                               : ""; /* its options */
    const struct command *command = n > 1 ? command_find(name) : NULL;

    if (command)
        return complete_argument(&answer, command, words + 1, n - 2, err);
    print_kind(&answer, "words");
    if (n > 1)
        return ATTN_OK;
    if (last[0] != '-') {
        propose_commands(&answer);
        return ATTN_OK;
    }
    propose(&answer, "--help", strlen("--help"), "print help");
    propose(&answer, "--version", strlen("--version"), "print the version");
    return ATTN_OK;
}

static const char bash_script[] =
    "# bash completion for attn-cli, by 'attn-cli completion bash': attn-cli completes the "
    "words\n\n"
    "_attn_cli() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} kind=words size=0 prefix lines\n"
    "    mapfile -t lines < <(attn-cli completion words -- \\\n"
    "        \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "    read -r kind size <<<\"${lines[0]}\"\n"
    "    lines=(\"${lines[@]:1}\")\n"
    "    [[ $cur != '=' ]] || cur='' # --name=VALUE comes as three words\n"
    "    prefix=${cur:0:size}\n"
    "    COMPREPLY=()\n"
    "    if [[ $kind == file || $kind == directory ]]; then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -A \"$kind\" -P \"$prefix\" -- \"${cur:size}\")\n"
    "    fi\n"
    "    lines=(\"${lines[@]%%$'\\t'*}\")\n"
    "    COMPREPLY+=(\"${lines[@]/#/\"$prefix\"}\")\n"
    "}\n\n"
    "complete -F _attn_cli attn-cli\n";

static const char zsh_script[] =
    "#compdef attn-cli\n"
    "# zsh completion for attn-cli, by 'attn-cli completion zsh': attn-cli completes the words\n\n"
    "_attn-cli() {\n"
    "    local kind size ret=1\n"
    "    local -a before=(${(Q)words[2,CURRENT-1]}) lines\n"
    "    lines=(\"${(@f)$(attn-cli completion words -- \\\n"
    "        \"${(@)before}\" \"${(Q)PREFIX}\" 2>/dev/null)}\")\n"
    "    read -r kind size <<<\"$lines[1]\"\n"
    "    lines=(${${lines[2,-1]//:/\\\\:}//$'\\t'/:})\n"
    "    compset -p ${size:-0}\n"
    "    (($#lines == 0)) || { _describe -V value lines && ret=0 }\n"
    "    [[ $kind != file ]] || { _files && ret=0 }\n"
    "    [[ $kind != directory ]] || { _files -/ && ret=0 }\n"
    "    return ret\n"
    "}\n\n"
    "# Loaded as a function of this name, or sourced.\n"
    "if [[ $funcstack[1] == _attn-cli ]]; then\n"
    "    _attn-cli \"$@\"\n"
    "else\n"
    "    compdef _attn-cli attn-cli\n"
    "fi\n";

static const char fish_script[] =
    "# fish completion for attn-cli, by 'attn-cli completion fish': attn-cli completes the "
    "words\n\n"
    "function __attn_cli\n"
    "    set -l word (commandline -ct)\n"
    "    set -l before (commandline -opc)\n"
    "    set -l lines (attn-cli completion words -- $before[2..-1] \"$word\" 2>/dev/null)\n"
    "    set -q lines[1]; or return\n"
    "    set -l head (string split ' ' -- $lines[1])\n"
    "    set -l prefix (string sub -l $head[2] -- \"$word\")\n"
    "    set -l rest (string sub -s (math $head[2] + 1) -- \"$word\")\n"
    "    switch $head[1]\n"
    "        case file\n"
    "            string join \\n -- \"$prefix\"(__fish_complete_path \"$rest\")\n"
    "        case directory\n"
    "            string join \\n -- \"$prefix\"(__fish_complete_directories \"$rest\")\n"
    "    end\n"
    "    string join \\n -- \"$prefix\"$lines[2..-1]\n"
    "end\n\n"
    "complete -c attn-cli -f -a '(__attn_cli)'\n";

struct completion_args {
    struct text_list words; /* a shell; or "words", then those of a line */
};

static const struct attn_param rows[] = {
    OPTION_TEXTS(NULL, "bash|zsh|fish|words", struct completion_args, words, NULL),
};

static const struct attn_param_part parts[] = {{OPTION_LIST("Output", rows), 0}};

static enum attn_status complete(struct call *call, struct attn_error *err)
{
    static const char *const scripts[] = {bash_script, zsh_script, fish_script};
    const struct completion_args *args = call->args;
    const struct text_list *words = &args->words;
    int shell;

    if (words->n > 0 && strcmp(words->items[0], "words") == 0)
        return complete_line(words->items + 1, words->n - 1, call->out, err);
    if (words->n != 1)
        return refuse(err, NULL, "'completion' takes one shell: bash, zsh or fish");
    shell = word_find("bash|zsh|fish", words->items[0]);
    if (shell < 0)
        return refuse(err, NULL, "unknown shell '%s', expected bash, zsh or fish", words->items[0]);
    print_text(call->out, scripts[shell]);
    return ATTN_OK;
}

const struct command command_completion = {
    .name = "completion",
    .summary = "complete command lines in a shell",
    .usage = "bash|zsh|fish | words -- WORD ...",
    .description =
        "Prints a script that lets the shell complete commands, options and their values.\n"
        "'make install' puts it where shells look for it. The script asks 'words', which\n"
        "completes the last WORD of a line after attn-cli.\n",
    .examples = "  source <(attn-cli completion bash)\n"
                "  source <(attn-cli completion zsh)\n"
                "  attn-cli completion fish | source\n",
    OPTION_PARTS(parts),
    .args_size = sizeof(struct completion_args),
    .work = complete,
};
