/* record_keys.c - the table of keys: see record_keys_internal.h. Keys about the answer are
 * parameters of the answer; `from`, `to` and `queries` have the names of parameters of
 * questions. */
#include "stream/record_keys_internal.h"

#include "predict/answer_internal.h"

#include <string.h>

enum {
    NONE = 0,
    INPUT = ATTN_KEY_IS_INPUT,
    TEXT = ATTN_KEY_IS_TEXT,
};

#define AT(member) offsetof(struct attn_item, member)
#define AT_INPUT(member, field) (AT(member) + offsetof(struct attn_input, field))
#define ROW(word, prefix, type, code, what, first, other)                                          \
    {                                                                                              \
        (word), sizeof(word) - 1, (prefix), ATTN_KEY_##type, ATTN_REASON_##code, (what), (first),  \
            (other)                                                                                \
    }
#define KEY(word, type, code, what, first, other) ROW(word, NULL, type, code, what, first, other)
#define VALUE_KEY(word, type, what, member) KEY(word, type, BAD_VALUE, what, AT(member), AT(member))
#define SOURCE_KEYS(word, what, member)                                                            \
    KEY(word, SOURCE, BAD_SOURCE, what, AT(member), AT(member)),                                   \
        ROW(word, "file:", ROWS, BAD_SOURCE, what, AT(member), AT(member)),                        \
        IDS_ROW(word, BAD_SOURCE, what, member)
#define TEXT_ROW(word, form, input)                                                                \
    ROW(word, form, BYTES, BAD_TEXT, NONE, AT_INPUT(input, text), AT_INPUT(input, n_text))
#define IDS_ROW(word, code, what, input)                                                           \
    ROW(word, "ids:", INTEGERS, code, what, AT_INPUT(input, ids), AT_INPUT(input, n_id))
#define AT_TEXT(pair, i, field)                                                                    \
    ((2 * ATTN_ITEM_##pair + (i)) * sizeof(struct attn_input) + offsetof(struct attn_input, field))
#define TEXT_KEY(word, pair, i)                                                                    \
    KEY(word, BYTES, BAD_TEXT, INPUT | TEXT, AT_TEXT(pair, i, text), AT_TEXT(pair, i, n_text))
#define PAIR_KEYS(word, pair, i)                                                                   \
    TEXT_KEY(word, pair, i), ROW(word, "ids:", INTEGERS, BAD_IDS, INPUT | TEXT,                    \
                                 AT_TEXT(pair, i, ids), AT_TEXT(pair, i, n_id))

static const struct attn_record_key keys[] = {
    KEY("text", BYTES, BAD_TEXT, INPUT, AT(input.text), AT(input.n_text)),
    KEY("id", ID, BAD_JSON, NONE, AT(id), AT(n_id)),
    KEY("ids", INTEGERS, BAD_IDS, INPUT, AT(input.ids), AT(input.n_id)),
    PAIR_KEYS("clean", CLEAN_CORRUPTED, 0),
    PAIR_KEYS("corrupted", CLEAN_CORRUPTED, 1),
    PAIR_KEYS("a", A_B, 0),
    PAIR_KEYS("b", A_B, 1),
    PAIR_KEYS("good", GOOD_BAD, 0),
    PAIR_KEYS("bad", GOOD_BAD, 1),
    /* in files of BLiMP */
    TEXT_KEY("sentence_good", GOOD_BAD, 0),
    TEXT_KEY("sentence_bad", GOOD_BAD, 1),
    VALUE_KEY("image", PLAIN_LABEL, INPUT, images[0]),
    VALUE_KEY("corrupted_image", PLAIN_LABEL, INPUT, images[1]),
    VALUE_KEY("continuation", PLAIN_LABEL, NONE, continuation),
    VALUE_KEY("messages", MESSAGES, INPUT, messages),
    ROW("messages", "file:", TEXT, BAD_VALUE, INPUT, AT(messages), AT(messages)),
    VALUE_KEY("system", PLAIN_LABEL, NONE, system),
    VALUE_KEY("chat", OBJECT, NONE, chat),
    VALUE_KEY("tools", MESSAGES, NONE, tools),
    SOURCE_KEYS("source", INPUT, source),
    SOURCE_KEYS("corrupted_source", NONE, corrupted_source),
    TEXT_ROW("baseline", "text:", baseline),
    IDS_ROW("baseline", BAD_IDS, NONE, baseline),
    TEXT_ROW("neutral", NULL, neutral),
    IDS_ROW("neutral", BAD_IDS, NONE, neutral),
    KEY("pair", BYTES, BAD_TEXT, NONE, AT(input.pair), AT(input.n_pair)),
    KEY("types", INTEGERS, BAD_VALUE, NONE, AT(input.types), AT(input.n_type)),
    KEY("key_mask", INTEGERS, BAD_VALUE, NONE, AT(input.key_mask), AT(input.n_key_mask)),
    KEY("images", TEXTS, BAD_VALUE, NONE, AT(input.images), AT(input.n_image)),
    KEY("next", CONTINUATIONS, BAD_VALUE, NONE, AT(next), AT(n_next)),
    VALUE_KEY("words", WORDS, NONE, words),
    VALUE_KEY("source_words", WORDS, NONE, source_words),
    VALUE_KEY("from", POSITION, NONE, from),
    VALUE_KEY("to", POSITION, NONE, to),
    VALUE_KEY("queries", POSITION, NONE, queries),
};

/* Parameters that can also be keys of an item. */
static const struct attn_param_list *const answers[] = {&attn_target_params, &attn_foil_params,
                                                        &attn_at_params};

static const char place_prefix[] = "pos.";

static bool is_name(const char *name, const char *text, size_t size)
{
    return strlen(name) == size && memcmp(name, text, size) == 0;
}

/* Sets KEY to that of PARAM, a parameter of the answer. */
static void take_param(const struct attn_param *param, struct attn_record_key *key)
{
    *key = (struct attn_record_key){.name = param->prefix ? param->of : param->name,
                                    .failure = ATTN_REASON_BAD_VALUE};
    key->n_name = strlen(key->name);
    key->kind = param->type == ATTN_PARAM_ID     ? ATTN_KEY_TOKEN
                : param->type == ATTN_PARAM_LIST ? ATTN_KEY_POSITION
                                                 : ATTN_KEY_TEXT;
    key->at = AT(answer) + param->offset;
}

void attn_record_trim(const char **name, size_t *size)
{
    while (*size > 0 && **name == ' ')
        (*name)++, (*size)--;
    while (*size > 0 && (*name)[*size - 1] == ' ')
        (*size)--;
}

bool attn_record_find_form(const char *name, size_t size, const char *form,
                           struct attn_record_key *key)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (is_name(keys[i].name, name, size) && keys[i].form && strcmp(keys[i].form, form) == 0) {
            *key = keys[i];
            return true;
        }
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        for (size_t k = 0; k < answers[i]->n; k++) {
            const struct attn_param *param = &answers[i]->items[k];

            if (param->prefix && strcmp(param->prefix, form) == 0 &&
                is_name(param->of, name, size)) {
                take_param(param, key);
                return true;
            }
        }
    return false;
}

void attn_record_find_key(const char *name, size_t size, struct attn_record_key *key)
{
    const size_t n_prefix = sizeof place_prefix - 1;

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (is_name(keys[i].name, name, size)) {
            *key = keys[i];
            return;
        }
    *key = (struct attn_record_key){.kind = ATTN_KEY_LABEL, .failure = ATTN_REASON_BAD_VALUE};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (is_name(answers[i]->items[0].name, name, size)) {
            take_param(&answers[i]->items[0], key);
            return;
        }
    if (size >= n_prefix && memcmp(name, place_prefix, n_prefix) == 0)
        key->kind = ATTN_KEY_PLACE;
}

bool attn_record_key_is_label(const struct attn_record_key *key)
{
    return key->kind == ATTN_KEY_LABEL || key->kind == ATTN_KEY_PLAIN_LABEL ||
           key->kind == ATTN_KEY_WORDS;
}
