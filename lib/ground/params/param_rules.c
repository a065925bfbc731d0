#include "params/param_rules.h"

#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/given.h"

#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 32 };

/* Copies the name at *LIST, "per|regions", to NAME and advances *LIST. Returns false at the end. */
static bool next_name(const char **list, char name[NAME_SIZE])
{
    const size_t size = *list ? strcspn(*list, "|") : 0;

    if (size == 0)
        return false;
    snprintf(name, NAME_SIZE, "%.*s", (int)size, *list);
    *list += size + ((*list)[size] == '|');
    return true;
}

/* Copies the first name of LIST that is given to NAME. Returns false if none is given. */
static bool find_given(const char *list, attn_param_given_fn is_given, void *user,
                       char name[NAME_SIZE])
{
    while (next_name(&list, name))
        if (is_given(user, name))
            return true;
    return false;
}

/* Sets the error that RULE is violated by the parameter NAME. OTHER is the parameter that is
 * missing or must not be given, "metric:kl" with its value. */
static enum attn_status refuse_by(const struct attn_param_rule *rule, const char *name,
                                  char other[NAME_SIZE], struct attn_error *err)
{
    const char *at = rule->message ? rule->message
                     : rule->needs ? "@ needs #"
                                   : "@ and # do not go together";
    const int size = (int)strcspn(name, ":");
    char text[ATTN_ERROR_MESSAGE_SIZE] = "";
    size_t used = 0;

    if (strchr(other, ':'))
        *strchr(other, ':') = ' ';
    for (size_t n; *at; at += n + (at[n] != '\0')) {
        n = strcspn(at, "@#");
        attn_fixed_text_append(text, sizeof text, &used, "%.*s", (int)n, at);
        if (at[n])
            attn_fixed_text_append(text, sizeof text, &used, "`%.*s`", at[n] == '@' ? size : 64,
                                   at[n] == '@' ? name : other);
    }
    attn_refuse(err, ATTN_STAGE_OPTIONS, "%s", text);
    if (rule->hint)
        attn_error_hint(err, "%s", rule->hint);
    return ATTN_INVALID;
}

enum attn_status attn_param_rules_check(const struct attn_param_rules *rules,
                                        enum attn_param_time time, attn_param_given_fn is_given,
                                        void *user, struct attn_error *err)
{
    char name[NAME_SIZE], other[NAME_SIZE] = "";

    if (!attn_is_given(rules, "rules", err) || !attn_is_given(is_given, "is_given", err))
        return ATTN_INVALID;
    for (size_t i = 0; i < rules->n; i++) {
        const struct attn_param_rule *rule = &rules->items[i];
        const char *needed = rule->needs;
        bool is_broken = !rule->needs && !rule->excludes;

        if ((rule->time != time && rule->time != ATTN_PARAM_BOTH) ||
            !find_given(rule->given, is_given, user, name) ||
            (rule->when && !find_given(rule->when, is_given, user, other)) ||
            find_given(rule->unless, is_given, user, other))
            continue;
        if (rule->needs && !find_given(rule->needs, is_given, user, other))
            is_broken = next_name(&needed, other);
        else if (rule->excludes)
            is_broken = find_given(rule->excludes, is_given, user, other);
        if (is_broken)
            return refuse_by(rule, name, other, err);
    }
    return ATTN_OK;
}
