/* settings.c - reads the value of an option that has settings: 'theme=dark font="DejaVu Sans"'.
 * Each setting is stored as an option is. A word without = is the value of the option itself, as
 * window:64 in --attention 'window:64 scale=off'. */
#include "cmd/line/options_internal.h"
#include "cmd/line/report.h"
#include "cmd/line/topics.h"

#include "tool.h"

#include <stdio.h>
#include <string.h>

enum { LABEL_SIZE = 96, SETTINGS_HINT_SIZE = 200 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Ends the word at TEXT with a zero byte, and removes the quotation marks in it. Returns the text
 * after it; NULL if a quotation does not end. */
static char *cut_word(char *text)
{
    char *to = text, quote = '\0';

    for (; *text && (quote || !is_blank(*text)); text++)
        if (quote ? *text == quote : *text == '"' || *text == '\'')
            quote = quote ? '\0' : *text;
        else
            *to++ = *text;
    if (quote)
        return NULL;
    text += *text != '\0';
    *to = '\0';
    return text;
}

static enum attn_status refuse_setting(const struct call *call, const struct option_walk *option,
                                       const char *label, const char *word, size_t size,
                                       struct attn_error *err)
{
    struct attn_typo typo = {.typed = word, .size = size};
    char hint[SETTINGS_HINT_SIZE];
    const char *meant;

    for (struct option_walk walk = {.command = call->command}; option_next_setting(&walk, option);)
        attn_typo_try(&typo, walk.name);
    meant = attn_typo_meant(&typo);
    if (meant)
        snprintf(hint, sizeof hint, "did you mean '%s=...'?", meant);
    else
        snprintf(hint, sizeof hint, "'attn-cli help %s' lists the settings",
                 topic_of_heading(option->heading));
    return refuse(err, hint, "'%s' has no setting '%.*s'", label, (int)size, word);
}

static enum attn_status take_setting(struct call *call, const struct option_walk *walk,
                                     const char *label, const char *word, enum call_origin origin,
                                     struct attn_error *err)
{
    const char *equals = strchr(word, '=');
    const size_t size = equals ? (size_t)(equals - word) : strlen(word);
    struct option_walk setting = {.command = call->command};
    char name[LABEL_SIZE];
    bool is_flag;

    if (!option_find(&setting, walk->name, word, size)) {
        if (equals || walk->param->type == ATTN_PARAM_SETTINGS)
            return refuse_setting(call, walk, label, word, size, err);
        return option_take_value(call, walk, label, word, origin, err);
    }
    snprintf(name, sizeof name, "%s %s", label, setting.name);
    is_flag = setting.param->type == ATTN_PARAM_FLAG;
    if (is_flag && equals)
        return refuse(err, NULL, "setting '%s' takes no value", name);
    if (!is_flag && !equals)
        return refuse(err, NULL, "setting '%s' needs a value: %s=%s", name, setting.name,
                      option_argument(setting.param));
    return option_take_value(call, &setting, name, equals ? equals + 1 : "true", origin, err);
}

enum attn_status settings_take(struct call *call, const struct option_walk *walk, const char *label,
                               const char *value, enum call_origin origin, struct attn_error *err)
{
    char *text = call_keep(call, value, strlen(value)), *word;
    size_t n = 0;

    if (!text)
        return attn_error_no_memory(err);
    for (;; n++) {
        while (is_blank(*text))
            text++;
        word = text;
        if (!*word)
            break;
        text = cut_word(word);
        if (!text)
            return refuse(err, NULL, "'%s' is '%s': a quotation does not end", label, value);
        ATTN_TRY(take_setting(call, walk, label, word, origin, err));
    }
    if (n == 0)
        return refuse(err, NULL, "'%s' is '%s', expected %s", label, value,
                      option_argument(walk->param));
    return ATTN_OK;
}
