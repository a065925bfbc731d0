/*
 * fuzz_settings.c - the values of init's --set, one a line, with a vocabulary or without (first
 * byte).
 *
 * What is taken gives strict JSON with each key once, whose value is the last that was set: a
 * literal as it stands, a list of blocks, or a string. A refusal writes nothing.
 */
#include "base/text/number.h"
#include "drawn/model_init_internal.h"
#include "formats/json_reader.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SETTING = 32 };

/* The last of SETTINGS [n] for KEY: its value, or NULL. */
static const char *find_value(const char *const *settings, size_t n,
                              const struct attn_json_token *key)
{
    const char *value = NULL;

    for (size_t i = 0; i < n; i++) {
        const size_t size = strcspn(settings[i], "=");
        char *name = attn_fuzz_string((const uint8_t *)settings[i], size);

        if (attn_json_equals(key, name))
            value = settings[i] + size + 1;
        free(name);
    }
    return value;
}

static bool is_literal(const char *value)
{
    static const char *const words[] = {"true", "false", "null"};
    double number;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(value, words[i]) == 0)
            return true;
    return attn_parse_double(value, strlen(value), &number);
}

/* Pulls the value of KEY, which must be VALUE. */
static void check_value(struct attn_json_reader *reader, const struct attn_json_token *key,
                        const char *value)
{
    struct attn_error err = {0};
    struct attn_json_token token;

    FUZZ_CHECK(attn_json_next(reader, &token, &err) == ATTN_OK);
    if (attn_json_equals(key, "blocks")) {
        FUZZ_CHECK(token.type == ATTN_JSON_ARRAY_BEGIN);
        for (size_t size; value != NULL; value = value[size] == ',' ? value + size + 1 : NULL) {
            char *block;

            size = strcspn(value, ",");
            block = attn_fuzz_string((const uint8_t *)value, size);
            FUZZ_CHECK(attn_json_next(reader, &token, &err) == ATTN_OK);
            FUZZ_CHECK(token.type == ATTN_JSON_STRING && attn_json_equals(&token, block));
            free(block);
        }
        FUZZ_CHECK(attn_json_next(reader, &token, &err) == ATTN_OK);
        FUZZ_CHECK(token.type == ATTN_JSON_ARRAY_END);
    } else if (is_literal(value)) {
        FUZZ_CHECK(token.type != ATTN_JSON_STRING && token.size == strlen(value));
        FUZZ_CHECK(memcmp(token.text, value, token.size) == 0);
    } else {
        FUZZ_CHECK(token.type == ATTN_JSON_STRING && attn_json_equals(&token, value));
    }
}

static void check_config(const struct attn_buffer *text, const struct attn_init_options *options)
{
    struct attn_json_reader reader = attn_json_reader_init(text->data, text->size, "config.json");
    struct attn_error err = {0};
    struct attn_json_token token;
    size_t n_found = 0, n_key = 0;

    FUZZ_CHECK(attn_json_check_keys(reader, NULL, &err) == ATTN_OK);
    FUZZ_CHECK(attn_json_next(&reader, &token, &err) == ATTN_OK);
    FUZZ_CHECK(token.type == ATTN_JSON_OBJECT_BEGIN);
    while (attn_json_next(&reader, &token, &err) == ATTN_OK && token.type == ATTN_JSON_KEY) {
        const char *value = find_value(options->settings, options->n_setting, &token);

        n_found += value != NULL;
        if (value != NULL)
            check_value(&reader, &token, value);
        else
            FUZZ_CHECK(attn_json_skip(&reader, &err) == ATTN_OK);
    }
    for (size_t i = 0; i < options->n_setting; i++) {
        const size_t size = strcspn(options->settings[i], "=") + 1;
        bool is_last = true;

        for (size_t k = i + 1; k < options->n_setting; k++)
            is_last = is_last && strncmp(options->settings[i], options->settings[k], size) != 0;
        n_key += is_last;
    }
    FUZZ_CHECK(n_found == n_key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct attn_word_list words = {.n = 3, .drop = (char[]){',', '\0'}};
    const bool has_words = attn_fuzz_byte(&data, &size) % 2 == 1;
    char *text = attn_fuzz_string(data, size);
    const char *settings[MAX_SETTING];
    struct attn_init_options options = {
        .size = sizeof options, .settings = settings, .words = has_words ? &words : NULL};
    struct attn_buffer out = {0};
    struct attn_error err = {0};
    enum attn_status status;

    for (char *at = text, *end; at != NULL && options.n_setting < MAX_SETTING; at = end) {
        end = strchr(at, '\n');
        if (end != NULL)
            *end++ = '\0';
        settings[options.n_setting++] = at;
    }
    status = attn_init_config_write(&out, &options, &err);
    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_INVALID));
    FUZZ_CHECK(status == ATTN_OK || out.size == 0);
    if (status == ATTN_OK)
        check_config(&out, &options);
    attn_buffer_release(&out);
    free(text);
    return 0;
}
