#include "cmd/line/defaults.h"

#include "cmd/line/field_names.h"
#include "cmd/line/options_internal.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_SIZE = 160, MAX_CONFIG = 1 << 20 };

static enum attn_status take_variables(struct call *call, struct attn_error *err)
{
    for (struct option_walk walk = {.command = call->command}; option_next(&walk);) {
        const char *variable = walk.param->variable;
        const char *value = variable ? getenv(variable) : NULL;

        if (value && value[0])
            ATTN_TRY(option_take(call, &walk, variable, value, CALL_ORIGIN_VARIABLE, err));
    }
    return ATTN_OK;
}

/* Reads a line of the file: "--name", "--name=VALUE" or "--name VALUE", no blanks around it. */
static enum attn_status read_line(struct call *call, const char *line, const char *where,
                                  struct attn_error *err)
{
    const char *name = line + 2;
    const size_t size = strncmp(line, "--", 2) == 0 ? strcspn(name, "= \t") : 0;
    const char *value = name + size;
    struct option_walk walk = {.command = call->command};
    char label[LABEL_SIZE + OPTION_LABEL_SIZE];
    bool is_flag;

    if (size == 0)
        return refuse(err, NULL, "%s: expected --NAME or --NAME=VALUE, found '%s'", where, line);
    if (!option_find(&walk, NULL, name, size))
        return refuse(err, NULL, "%s: unknown option '--%.*s'", where, (int)size, name);
    is_flag = walk.param->type == ATTN_PARAM_FLAG && !option_is_help(walk.param);
    if (option_is_help(walk.param) || (is_flag && *value))
        return refuse(err, NULL, "%s: option '--%s' %s", where, walk.name,
                      is_flag ? "takes no value" : "cannot stand in a file");
    value += *value == '=' ? 1 : strspn(value, " \t");
    if (!is_flag && !name[size])
        return refuse(err, NULL, "%s: option '--%s' needs a value: --%s=%s", where, walk.name,
                      walk.name, option_argument(walk.param));
    snprintf(label, sizeof label, "%s: --%s", where, walk.name);
    return option_take(call, &walk, label, is_flag ? "true" : value, CALL_ORIGIN_FILE, err);
}

/* Parses LINE alone as an option of COMMAND. */
static enum attn_status try_line(const struct command *command, const char *line, const char *where,
                                 struct attn_error *err)
{
    struct call call = {.command = command};
    enum attn_status status = options_open(&call, err);

    ATTN_THEN(status, read_line(&call, line, where, err));
    ATTN_THEN(status, options_set_late(&call, err));
    options_close(&call);
    return status;
}

/* Takes a line of the file, unless only another command has this option with such a value. */
static enum attn_status take_line(struct call *call, const char *line, const char *where,
                                  struct attn_error *err)
{
    const enum attn_status status = try_line(call->command, line, where, err);
    struct attn_error unseen = {0};

    if (status == ATTN_OK)
        return read_line(call, line, where, err);
    for (size_t i = 0; status == ATTN_INVALID && command_at(i); i++)
        if (try_line(command_at(i), line, where, &unseen) == ATTN_OK) {
            *err = (struct attn_error){0};
            return ATTN_OK;
        }
    return status;
}

/* Takes the lines of TEXT, which PATH has. Cuts TEXT into lines, which the call keeps. */
static enum attn_status take_lines(struct call *call, char *text, const char *path,
                                   struct attn_error *err)
{
    char where[LABEL_SIZE], *end;

    for (size_t n = 1; text; text = end, n++) {
        end = strchr(text, '\n');
        if (end)
            *end++ = '\0';
        text += strspn(text, " \t\r");
        for (size_t size = strlen(text); size > 0 && strchr(" \t\r", text[size - 1]); size--)
            text[size - 1] = '\0';
        snprintf(where, sizeof where, "%.120s:%zu", path, n);
        if (*text && *text != '#')
            ATTN_TRY(take_line(call, text, where, err));
    }
    return ATTN_OK;
}

static enum attn_status take_file(struct call *call, struct attn_error *err)
{
    const char *path = getenv("ATTN_CLI_CONFIG");
    struct attn_file file = {0};
    enum attn_status status;
    char *text;

    if (!path || !path[0])
        return ATTN_OK;
    status = attn_file_read_regular(path, MAX_CONFIG, &file, err);
    if (status != ATTN_OK) {
        attn_error_hint(err, "ATTN_CLI_CONFIG names this file");
        return at_stage(ATTN_STAGE_OPTIONS, status, err);
    }
    text = call_keep(call, (const char *)file.data, file.size);
    status = !text ? attn_error_no_memory(err)
             : strlen(text) != file.size
                 ? refuse(err, NULL, "'%s' is no text: it has a zero byte", path)
                 : take_lines(call, text, path, err);
    attn_file_release(&file);
    return status;
}

enum attn_status defaults_take(struct call *call, struct attn_error *err)
{
    ATTN_TRY(take_variables(call, err));
    return take_file(call, err);
}

/* Checks which options go together. */
static enum attn_status check_rules(struct call *call, struct attn_error *err)
{
    const struct attn_question *question = call->command->question;
    const bool has_means = option_is_of(call->command, "bootstrap");

    if (question)
        ATTN_TRY(attn_question_check(question, option_is_param_given, call, err));
    ATTN_TRY(attn_question_check(has_means ? &attn_question_items : &attn_question_listing,
                                 option_is_param_given, call, err));
    return attn_param_rules_check(&attn_input_rules, ATTN_PARAM_GIVEN, option_is_param_given, call,
                                  err);
}

/* Finds an option of the file that ERR is about. */
static bool find_option(const struct call *call, const struct attn_error *err,
                        struct option_walk *found)
{
    for (*found = (struct option_walk){.command = call->command}; option_next(found);)
        if (call->sources[found->n - 1].origin == CALL_ORIGIN_FILE &&
            field_names_have(err->fields, found->name))
            return true;
    return false;
}

bool defaults_pass_over(struct call *call)
{
    struct attn_error err = {0};
    struct option_walk found;

    if (check_rules(call, &err) == ATTN_OK || !find_option(call, &err, &found))
        return false;
    options_reset(call);
    call->sources[found.n - 1].origin = CALL_ORIGIN_OFF;
    return true;
}

void defaults_name(const struct call *call, struct attn_error *err)
{
    char shown[ATTN_ERROR_MESSAGE_SIZE];
    struct option_walk found;
    const char *label;
    size_t used = 0;

    if (err->stage != ATTN_STAGE_OPTIONS || !find_option(call, err, &found))
        return;
    label = call->sources[found.n - 1].label; /* FILE:LINE: --NAME */
    field_names_show(err->message, shown, sizeof shown);
    attn_fixed_text_append(err->message, sizeof err->message, &used, "%.*s%s",
                           (int)(strstr(label, "--") - label), label, shown);
}
