#include "predict/class_label.h"

#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/number.h"
#include "model/config_internal.h"

#include <string.h>

enum { MOST_LISTED = 20 };

bool attn_model_is_classifier(const struct attn_model *model)
{
    return attn_model_config(model)->pooling != ATTN_POOLING_NONE;
}

bool attn_model_has_labels(const struct attn_model *model)
{
    const enum attn_task task = attn_model_config(model)->task;

    return task == ATTN_TASK_SEQUENCE || task == ATTN_TASK_TOKENS;
}

bool attn_model_has_one_label(const struct attn_model *model)
{
    return attn_model_has_labels(model) && attn_model_config(model)->n_vocab == 1;
}

enum attn_status attn_model_check_tokens(const struct attn_model *model, struct attn_error *err)
{
    if (attn_config_looks_both_ways(attn_model_config(model)))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' looks both ways: it has no next token",
                           attn_quote_string(attn_model_name(model)).text);
    if (attn_model_config(model)->task == ATTN_TASK_VOCABULARY)
        return ATTN_OK;
    attn_refuse(err, ATTN_STAGE_OPTIONS,
                "'%s' answers with labels or spans: it has no surprisal of tokens",
                attn_quote_string(attn_model_name(model)).text);
    return attn_error_hint(err, "run prints labels, or cosines; score takes items with targets");
}

const char *attn_class_label(const struct attn_model *model, size_t id)
{
    const struct attn_config *config = attn_model_config(model);

    return config->labels && id < config->n_vocab ? config->labels[id] : NULL;
}

void attn_class_label_hint(const struct attn_model *model, const char *text, struct attn_error *err)
{
    const size_t n = attn_model_config(model)->n_vocab;
    char list[ATTN_ERROR_HINT_SIZE - 64];
    size_t used = 0, n_listed = 0;

    list[0] = '\0';
    for (size_t i = 0; i < n && n_listed < MOST_LISTED; i++) {
        const char *label = attn_class_label(model, i);

        if (!label || !strstr(label, text))
            continue;
        attn_fixed_text_append(list, sizeof list, &used, "%s%zu '%s'", n_listed > 0 ? ", " : "", i,
                               attn_quote_string(label).text);
        n_listed++;
    }
    if (n_listed > 0)
        attn_error_hint(err, "%s %s", text[0] ? "labels that hold it:" : "labels:", list);
    else if (text[0])
        attn_class_label_hint(model, "", err);
}

enum attn_status attn_class_label_find(const struct attn_model *model, const char *field,
                                       const char *text, int32_t *id, struct attn_error *err)
{
    const size_t n = attn_model_config(model)->n_vocab;
    size_t n_found = 0, first = 0;
    int64_t number;

    for (size_t i = n; i-- > 0;) {
        const char *label = attn_class_label(model, i);

        if (label && strcmp(label, text) == 0) {
            n_found++;
            first = i;
        }
    }
    if (n_found == 0 && attn_parse_int(text, strlen(text), 0, (int64_t)n - 1, &number)) {
        first = (size_t)number;
        n_found = 1;
    }
    if (n_found == 1) {
        *id = (int32_t)first;
        return ATTN_OK;
    }
    if (n_found > 1)
        return attn_error_set(err, ATTN_INVALID,
                              "`%s` '%s' is the name of %zu labels, the first is %zu, expected a "
                              "number",
                              field, attn_quote_string(text).text, n_found, first);
    attn_error_set(err, ATTN_INVALID, "`%s` '%s' is no label of '%s', expected one, or 0 to %zu",
                   field, attn_quote_string(text).text,
                   attn_quote_string(attn_model_name(model)).text, n - 1);
    attn_class_label_hint(model, text, err);
    return ATTN_INVALID;
}
