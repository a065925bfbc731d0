/* defaults.c - options from the environment, and from the file that ATTN_CLI_CONFIG names. They
 * hold where the command line says nothing else. */
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
        const char *variable = walk.option.environment;
        const char *value = variable ? getenv(variable) : NULL;

        if (value && value[0])
            ATTN_TRY(option_take(call, &walk, variable, value, CALL_ORIGIN_VARIABLE, err));
    }
    return ATTN_OK;
}

/* Whether any command has the option NAME [size]. */
static bool is_known(const char *name, size_t size)
{
    for (size_t i = 0; command_at(i); i++) {
        struct option_walk walk = {.command = command_at(i)};

        if (option_find(&walk, NULL, name, size))
            return true;
    }
    return false;
}

/* A line of the file: "--name", "--name=VALUE" or "--name VALUE", without blanks around it. */
static enum attn_status take_line(struct call *call, const char *line, const char *where,
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
        return is_known(name, size)
                   ? ATTN_OK
                   : refuse(err, NULL, "%s: unknown option '--%.*s'", where, (int)size, name);
    is_flag = walk.option.kind == OPTION_KIND_FLAG;
    if (walk.option.kind == OPTION_KIND_HELP || (is_flag && *value))
        return refuse(err, NULL, "%s: option '--%s' %s", where, walk.option.name,
                      is_flag ? "takes no value" : "cannot stand in a file");
    value += *value == '=' ? 1 : strspn(value, " \t");
    if (!is_flag && !name[size])
        return refuse(err, NULL, "%s: option '--%s' needs a value: --%s=%s", where,
                      walk.option.name, walk.option.name, walk.option.argument);
    snprintf(label, sizeof label, "%s: --%s", where, walk.option.name);
    return option_take(call, &walk, label, is_flag ? "true" : value, CALL_ORIGIN_FILE, err);
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
