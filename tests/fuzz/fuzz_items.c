/*
 * fuzz_items.c - any bytes as the items of a study: JSON Lines, CSV or TSV by the first byte, which
 * also says how long a line may be.
 *
 * Every item is there once, with numbers and lines that grow; what it points to is terminated and
 * printable where it must be; it has an input or a reason why not, whichever texts are asked for.
 * Read again, and in shards, they are the same items. A good one written as a line of JSON is that
 * item again.
 */
#include "base/buffer.h"
#include "base/text/escape.h"
#include "run/run_internal.h"
#include "stream/items_internal.h"
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ITEMS = 4096, N_SHARD = 3 };

/* What is compared of two passes. */
struct seen {
    size_t n;
    size_t numbers[MOST_ITEMS];
    size_t lines[MOST_ITEMS];
    enum attn_reason failures[MOST_ITEMS];
};

static struct attn_items_options options_of(unsigned bits, const uint8_t *data, size_t size)
{
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;

    options.path = "fuzz";
    options.data = (const char *)data;
    options.n_data = size;
    options.form = (enum attn_items_form)(ATTN_ITEMS_JSON_LINES + (bits & 3) % 3);
    options.max_line = bits & 4 ? 64 : 0;
    return options;
}

/* --- An item ---------------------------------------------------------------------------------- */

static bool is_input(const struct attn_input *input)
{
    return input->text || input->ids;
}

static void check_label(const struct attn_item *item, size_t i)
{
    const struct attn_item_label *label = &item->labels[i];
    const struct attn_cell *value = &label->value;

    FUZZ_CHECK(label->name && *label->name && label->text);
    for (size_t k = 0; k < i; k++)
        FUZZ_CHECK(strcmp(item->labels[k].name, label->name) != 0);
    FUZZ_CHECK(value->type == ATTN_VALUE_TEXT || value->type == ATTN_VALUE_INTEGER ||
               value->type == ATTN_VALUE_REAL || value->type == ATTN_VALUE_BOOLEAN);
    if (value->type == ATTN_VALUE_TEXT)
        FUZZ_CHECK(value->text == label->text && strlen(label->text) <= value->size);
    if (value->type == ATTN_VALUE_BOOLEAN)
        FUZZ_CHECK(strcmp(label->text, value->integer ? "true" : "false") == 0);
}

static void check_item(struct attn_item *item)
{
    const bool has_failed = item->failure != ATTN_REASON_NONE;
    struct attn_error why = item->err;

    FUZZ_CHECK(has_failed == (item->err.message[0] != '\0'));
    if (has_failed)
        attn_fuzz_check_error(why.status, &why, FUZZ_BIT(ATTN_INVALID));
    FUZZ_CHECK((item->id_kind == ATTN_RECORD_ID_NUMBER) == (item->id == NULL));
    FUZZ_CHECK(has_failed || is_input(&item->input) || is_input(&item->other) ||
               is_input(&item->source));
    for (size_t i = 0; !has_failed && i < item->n_label; i++)
        check_label(item, i);
    for (size_t i = 0; !has_failed && i < item->n_place; i++)
        FUZZ_CHECK(*item->places[i].name && item->places[i].spec.text);
    for (size_t i = 0; !has_failed && i < item->n_next; i++)
        FUZZ_CHECK(item->next[i]);
}

/* --- Again ------------------------------------------------------------------------------------ */

static void append_text(struct attn_buffer *line, const char *key, const char *text, size_t size)
{
    if (!text)
        return;
    attn_buffer_append_string(line, ",");
    attn_json_append_string(line, key, strlen(key));
    attn_buffer_append_string(line, ":");
    attn_json_append_string(line, text, size);
}

static void append_input(struct attn_buffer *line, const char *key, const char *ids_key,
                         const struct attn_input *input)
{
    append_text(line, key, input->text, input->n_text);
    if (!input->ids)
        return;
    attn_buffer_append_format(line, ",\"%s\":[", ids_key);
    for (size_t i = 0; i < input->n_id; i++)
        attn_buffer_append_format(line, "%s%" PRId32, i > 0 ? "," : "", input->ids[i]);
    attn_buffer_append_string(line, "]");
}

static void append_string(struct attn_buffer *line, const char *key, const char *text)
{
    append_text(line, key, text, text ? strlen(text) : 0);
}

/* Writes a good item with a text or a source as a line. */
static void append_item(struct attn_buffer *line, const struct attn_item *item)
{
    attn_buffer_append_string(line, "{\"none\":null");
    append_input(line, "text", "ids", &item->input);
    append_input(line, "source", "source_ids", &item->source);
    append_string(line, "target", item->answer.target);
    append_string(line, "foil", item->answer.foil);
    append_string(line, "at", item->answer.at.text);
    append_string(line, "from", item->from.text);
    append_string(line, "to", item->to.text);
    append_string(line, "queries", item->queries.text);
    if (item->answer.target_id)
        attn_buffer_append_format(line, ",\"target_id\":%" PRId32, *item->answer.target_id);
    for (size_t i = 0; i < item->n_label; i++) {
        const struct attn_item_label *label = &item->labels[i];

        if (label->value.type == ATTN_VALUE_TEXT) {
            append_text(line, label->name, label->text, label->value.size);
        } else {
            attn_buffer_append_string(line, ",");
            attn_json_append_string(line, label->name, strlen(label->name));
            attn_buffer_append_format(line, ":%s", label->text);
        }
    }
    attn_buffer_append_string(line, "}");
    FUZZ_CHECK(!line->has_failed);
}

static bool is_same(const char *a, const char *b)
{
    return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

static void check_same_input(const struct attn_input *a, const struct attn_input *b)
{
    FUZZ_CHECK(a->n_text == b->n_text && a->n_id == b->n_id);
    FUZZ_CHECK(a->n_text == 0 || memcmp(a->text, b->text, a->n_text) == 0);
    FUZZ_CHECK(a->n_id == 0 || memcmp(a->ids, b->ids, a->n_id * sizeof *a->ids) == 0);
}

static void check_same(const struct attn_item *a, const struct attn_item *b)
{
    FUZZ_CHECK(b->failure == ATTN_REASON_NONE);
    check_same_input(&a->input, &b->input);
    check_same_input(&a->source, &b->source);
    FUZZ_CHECK(
        is_same(a->answer.target, b->answer.target) && is_same(a->answer.foil, b->answer.foil) &&
        is_same(a->answer.at.text, b->answer.at.text) && is_same(a->from.text, b->from.text) &&
        is_same(a->to.text, b->to.text) && is_same(a->queries.text, b->queries.text));
    FUZZ_CHECK(!a->answer.target_id == !b->answer.target_id);
    FUZZ_CHECK(!a->answer.target_id || *a->answer.target_id == *b->answer.target_id);
    FUZZ_CHECK(a->n_label == b->n_label);
    for (size_t i = 0; i < a->n_label; i++) {
        const struct attn_item_label *x = &a->labels[i], *y = &b->labels[i];

        FUZZ_CHECK(strcmp(x->name, y->name) == 0 && strcmp(x->text, y->text) == 0);
        FUZZ_CHECK(x->value.type == y->value.type && x->value.size == y->value.size);
        FUZZ_CHECK(x->value.integer == y->value.integer && x->value.real == y->value.real);
    }
}

/* Writes ITEM, a good one with a text, as a line of JSON, and reads that. */
static void check_again(const struct attn_item *item)
{
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;
    struct attn_buffer line = {0};
    struct attn_items *items;
    struct attn_item *again;

    append_item(&line, item);
    options.path = "again";
    options.data = line.data;
    options.n_data = line.size;
    FUZZ_CHECK(attn_items_open(&options, &items, NULL) == ATTN_OK);
    FUZZ_CHECK(attn_items_next(items, &again, NULL) == ATTN_OK && again);
    check_same(item, again);
    attn_item_free(again);
    attn_items_free(items);
    attn_buffer_release(&line);
}

/* --- All of them ------------------------------------------------------------------------------ */

/* Whether ERR says that the input is UTF-16 or UTF-32. */
static bool is_wide(const struct attn_error *err)
{
    return strstr(err->message, "expected UTF-8") != NULL;
}

/* Reads all ITEMS; the first time they are also CHECKED. */
static void read_all(struct attn_items *items, struct seen *seen, bool are_checked)
{
    struct attn_error err = {0};
    struct attn_item *item;
    enum attn_status status;
    uint64_t end, before = 0;

    for (;;) {
        status = attn_items_next(items, &item, &err);
        /* An encoding that is not UTF-8 is seen with the first line. */
        attn_fuzz_check_error(status, &err,
                              before == 0 && is_wide(&err) ? FUZZ_BIT(ATTN_FORMAT) : 0);
        if (status != ATTN_OK || !item)
            return;
        if (seen->n < MOST_ITEMS) {
            seen->numbers[seen->n] = item->number;
            seen->lines[seen->n] = item->line;
            seen->failures[seen->n] = item->failure;
            end = item->end;
            FUZZ_CHECK(end > before);
            before = end;
            FUZZ_CHECK(seen->n == 0 || item->line > seen->lines[seen->n - 1]);
            seen->n++;
        }
        if (are_checked) {
            check_item(item);
            if (item->failure == ATTN_REASON_NONE && item->pair == ATTN_ITEM_SINGLE)
                check_again(item);
            attn_item_choose(item, (unsigned)item->line % (1U << ATTN_N_ITEM_PAIR));
            FUZZ_CHECK(item->failure == ATTN_REASON_NONE || item->err.message[0] != '\0');
        }
        attn_item_free(item);
    }
}

static void check_same_items(const struct seen *a, const struct seen *b)
{
    FUZZ_CHECK(a->n == b->n);
    for (size_t i = 0; i < a->n; i++) {
        FUZZ_CHECK(a->numbers[i] == i && b->numbers[i] == i && a->lines[i] == b->lines[i]);
        FUZZ_CHECK(a->failures[i] == b->failures[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct seen whole, again;
    const unsigned bits = attn_fuzz_byte(&data, &size);
    struct attn_items_options options = options_of(bits, data, size);
    struct attn_items *items = NULL;
    struct attn_error err = {0};
    enum attn_status status = attn_items_open(&options, &items, &err);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT));
    if (status != ATTN_OK)
        return 0;
    whole.n = again.n = 0;
    read_all(items, &whole, true);
    FUZZ_CHECK(attn_items_rewind(items, NULL) == ATTN_OK);
    read_all(items, &again, false);
    attn_items_free(items);
    check_same_items(&whole, &again);
    again.n = 0;
    options.shards = N_SHARD;
    for (options.shard = 0; options.shard < N_SHARD; options.shard++) {
        FUZZ_CHECK(attn_items_open(&options, &items, NULL) == ATTN_OK);
        read_all(items, &again, false);
        attn_items_free(items);
    }
    if (whole.n < MOST_ITEMS)
        check_same_items(&whole, &again);
    return 0;
}
