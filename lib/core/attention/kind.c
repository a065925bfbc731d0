/* kind.c - the list of kinds, and kinds parsed from and written as text. */
#include "attention/attention_internal.h"

#include "base/text/fixed_text.h"
#include "base/text/given.h"
#include "base/text/number.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *written;
} rows[ATTN_N_ATTENTION_KIND] = {
#define KIND_ROW(id, number, name, written) [ATTN_ATTENTION_##id] = {#name, written},
    ATTN_ATTENTION_KIND_MAP(KIND_ROW)
#undef KIND_ROW
};

const enum attn_attention_kind attn_attention_kind_order[ATTN_N_ATTENTION_KIND] = {
#define KIND_PLACE(id, ...) ATTN_ATTENTION_##id,
    ATTN_ATTENTION_KIND_MAP(KIND_PLACE)
#undef KIND_PLACE
};

/* Names of enum attn_feature, in its order. */
static const char *const features[] = {"elu", "relu", "exp"};
enum { N_FEATURE = sizeof features / sizeof *features };

const struct attn_kind *attn_kind_find(const struct attn_attention *attention)
{
    assert(attention->kind < ATTN_N_ATTENTION_KIND);
    return attn_kinds[attention->kind];
}

size_t attn_kind_width(const struct attn_attention *attention)
{
    const struct attn_kind_param *param = attn_kind_find(attention)->params;

    return param->type == ATTN_KIND_PARAM_COUNT
               ? *(const size_t *)(const void *)((const char *)attention + param->offset)
               : SIZE_MAX;
}

const char *attn_attention_kind_name(enum attn_attention_kind kind)
{
    return rows[kind].name;
}

const char *attn_attention_kind_written(enum attn_attention_kind kind)
{
    return rows[kind].written;
}

const char *attn_attention_kind_summary(enum attn_attention_kind kind)
{
    return attn_kinds[kind]->summary;
}

struct kind_reading {
    const char *text;  /* the whole text, for messages */
    const char *field; /* the rest of the text, after a ':'; NULL at the end */
    struct attn_attention result;
};

static enum attn_status report_number(const struct kind_reading *reading,
                                      const struct attn_kind_param *param, size_t size,
                                      struct attn_error *err)
{
    return attn_error_set(err, ATTN_INVALID, "%s of '%s' is '%s', expected a whole number from %d",
                          param->name, attn_quote_string(reading->text).text,
                          attn_quote(reading->field, size).text,
                          param->type == ATTN_KIND_PARAM_COUNT);
}

/* Parses the first field as PARAM. A word that PARAM cannot be is left for the next parameter. */
static enum attn_status read_param(struct kind_reading *reading,
                                   const struct attn_kind_param *param, struct attn_error *err)
{
    const char *field = reading->field;
    const size_t size = strcspn(field, ":");
    void *place = (char *)&reading->result + param->offset;
    uint64_t number = 0;
    bool is_taken = true;

    switch (param->type) {
    case ATTN_KIND_PARAM_COUNT:
        if (!attn_parse_uint(field, size, &number) || number < 1 || number > SIZE_MAX)
            return report_number(reading, param, size, err);
        *(size_t *)place = (size_t)number;
        break;
    case ATTN_KIND_PARAM_SEED:
        if (!attn_parse_uint(field, size, &number))
            return report_number(reading, param, size, err);
        *(uint64_t *)place = number;
        break;
    case ATTN_KIND_PARAM_FEATURE:
        while (number < N_FEATURE &&
               (strlen(features[number]) != size || memcmp(field, features[number], size) != 0))
            number++;
        is_taken = number < N_FEATURE;
        *(enum attn_feature *)place = is_taken ? (enum attn_feature)number : ATTN_FEATURE_ELU;
        break;
    case ATTN_KIND_PARAM_RAW:
        *(bool *)place = is_taken = size == 3 && memcmp(field, "raw", 3) == 0;
        break;
    case ATTN_KIND_PARAM_NONE:
        break;
    }
    if (is_taken)
        reading->field = field[size] == ':' ? field + size + 1 : NULL;
    return ATTN_OK;
}

static enum attn_status read_params(struct kind_reading *reading, struct attn_error *err)
{
    static const size_t sizes[] = {
        [ATTN_KIND_PARAM_COUNT] = sizeof(size_t),
        [ATTN_KIND_PARAM_SEED] = sizeof(uint64_t),
        [ATTN_KIND_PARAM_FEATURE] = sizeof(enum attn_feature),
        [ATTN_KIND_PARAM_RAW] = sizeof(bool),
    };
    const struct attn_kind_param *param = attn_kind_find(&reading->result)->params;
    const char *written = rows[reading->result.kind].written;

    for (; param->type != ATTN_KIND_PARAM_NONE; param++) {
        /* A parameter that is missing is 0. */
        memset((char *)&reading->result + param->offset, 0, sizes[param->type]);
        if (!reading->field && param->is_optional)
            continue;
        if (!reading->field)
            return attn_error_set(err, ATTN_INVALID, "'%s' lacks %s, expected %s",
                                  attn_quote_string(reading->text).text, param->name, written);
        ATTN_TRY(read_param(reading, param, err));
    }
    if (!reading->field)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID, "'%s' has '%s' too many, expected %s",
                          attn_quote_string(reading->text).text,
                          attn_quote_string(reading->field).text, written);
}

enum attn_status attn_attention_parse(const char *text, struct attn_attention *attention,
                                      struct attn_error *err)
{
    struct kind_reading reading = {.text = text};
    char known[256] = "";
    size_t size, used = 0;
    int kind = 0;

    ATTN_NEED(err, text, attention);
    size = strcspn(text, ":");
    while (kind < ATTN_N_ATTENTION_KIND && (!attn_kinds[kind] || strlen(rows[kind].name) != size ||
                                            memcmp(text, rows[kind].name, size) != 0))
        kind++;
    for (int i = 0; kind == ATTN_N_ATTENTION_KIND && i < kind; i++)
        if (attn_kinds[attn_attention_kind_order[i]])
            attn_fixed_text_append(known, sizeof known, &used, i > 0 ? ", %s" : "%s",
                                   rows[attn_attention_kind_order[i]].written);
    if (kind == ATTN_N_ATTENTION_KIND)
        return attn_error_set(err, ATTN_INVALID, "unknown attention '%s', expected one of %s",
                              attn_quote_string(text).text, known);
    reading.result = *attention;
    reading.result.kind = (enum attn_attention_kind)kind;
    reading.field = text[size] == ':' ? text + size + 1 : NULL;
    ATTN_TRY(read_params(&reading, err));
    *attention = reading.result;
    return ATTN_OK;
}

size_t attn_attention_text(const struct attn_attention *attention,
                           char text[ATTN_ATTENTION_TEXT_SIZE])
{
    const struct attn_kind_param *param;
    size_t used = 0;

    text[0] = '\0';
    if (!attention || (unsigned)attention->kind >= ATTN_N_ATTENTION_KIND ||
        (unsigned)attention->feature >= N_FEATURE)
        return 0;
    param = attn_kind_find(attention)->params;
    attn_fixed_text_append(text, ATTN_ATTENTION_TEXT_SIZE, &used, "%s", rows[attention->kind].name);
    for (; param->type != ATTN_KIND_PARAM_NONE; param++) {
        const void *place = (const char *)attention + param->offset;
        char value[32] = "";

        if (param->type == ATTN_KIND_PARAM_COUNT && *(const size_t *)place > 0)
            snprintf(value, sizeof value, ":%zu", *(const size_t *)place);
        else if (param->type == ATTN_KIND_PARAM_SEED)
            snprintf(value, sizeof value, ":%llu", (unsigned long long)*(const uint64_t *)place);
        else if (param->type == ATTN_KIND_PARAM_FEATURE)
            snprintf(value, sizeof value, ":%s", features[*(const enum attn_feature *)place]);
        else if (param->type == ATTN_KIND_PARAM_RAW && *(const bool *)place)
            snprintf(value, sizeof value, ":raw");
        attn_fixed_text_append(text, ATTN_ATTENTION_TEXT_SIZE, &used, "%s", value);
    }
    return used;
}
