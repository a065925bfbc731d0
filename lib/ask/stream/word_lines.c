#include "stream/word_lines.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "run/run_internal.h"
#include "stream/record_reader.h"

#include <string.h>

bool attn_word_lines_find(struct attn_word_lines *lines, struct attn_csv_reader *csv)
{
    lines->word = lines->item = lines->glue = SIZE_MAX;
    for (size_t i = 0; i < csv->n_column; i++) {
        const char *name = csv->columns[i].name;

        csv->columns[i].key =
            (struct attn_record_key){.kind = ATTN_KEY_LABEL, .failure = ATTN_REASON_BAD_VALUE};
        if (strcmp(name, "word") == 0)
            lines->word = i;
        else if (strcmp(name, "item") == 0)
            lines->item = i;
        else if (strcmp(name, "glue") == 0)
            lines->glue = i;
    }
    return lines->word < SIZE_MAX && lines->item < SIZE_MAX;
}

/* --- The names so far ------------------------------------------------------------------------- */

/* Returns the hashes of NAME. The size of a key changes few bits of attn_hash_bytes, so that `s1`
 * and `s10` have one hash; here it changes the seeds. */
static struct attn_word_lines_name name_of(const char *name, size_t size)
{
    return (struct attn_word_lines_name){attn_hash_bytes(attn_hash_mix(2 * size + 1), name, size) |
                                             1,
                                         attn_hash_bytes(attn_hash_mix(2 * size + 2), name, size)};
}

/* Returns the slot of NAME, which is free unless NAME is there. */
static struct attn_word_lines_name *find_slot(const struct attn_word_lines *lines,
                                              struct attn_word_lines_name name)
{
    size_t at = (size_t)name.hash % lines->n_slot;

    while ((lines->met[at].hash != 0 || lines->met[at].other != 0) &&
           (lines->met[at].hash != name.hash || lines->met[at].other != name.other))
        at = (at + 1) % lines->n_slot;
    return &lines->met[at];
}

/* Doubles the table. */
static enum attn_status grow(struct attn_word_lines *lines, struct attn_error *err)
{
    const struct attn_word_lines former = *lines;

    lines->n_slot = former.n_slot > 0 ? 2 * former.n_slot : 256;
    lines->met = attn_alloc(lines->n_slot, sizeof *lines->met, err);
    if (!lines->met) {
        lines->met = former.met;
        lines->n_slot = former.n_slot;
        return ATTN_NO_MEMORY;
    }
    for (size_t i = 0; i < former.n_slot; i++)
        if (former.met[i].hash != 0 || former.met[i].other != 0)
            *find_slot(lines, former.met[i]) = former.met[i];
    attn_free(former.met);
    return ATTN_OK;
}

/* --- Lines ------------------------------------------------------------------------------------ */

enum attn_status attn_word_lines_begin(struct attn_word_lines *lines,
                                       const struct attn_csv_reader *csv, struct attn_item *item,
                                       struct attn_error *err)
{
    const struct attn_csv_column *column = &csv->columns[lines->item];
    const struct attn_word_lines_name name = name_of(column->text, column->size);
    struct attn_record_key key;
    struct attn_record_value value;
    struct attn_word_lines_name *slot;

    if (2 * lines->n_met >= lines->n_slot)
        ATTN_TRY(grow(lines, err));
    slot = find_slot(lines, name);
    if (slot->hash != 0) {
        attn_error_set(err, ATTN_FORMAT,
                       "line %zu: item '%s' begins a second time, expected its lines together",
                       item->line, attn_quote(column->text, column->size).text);
        attn_error_hint(err, "the file is sorted otherwise, or has a line for each reader");
        return ATTN_FORMAT;
    }
    *slot = name;
    lines->n_met++;
    attn_buffer_reset(&lines->name);
    attn_buffer_append(&lines->name, column->text, column->size);
    attn_buffer_reset(&lines->text);
    attn_buffer_reset(&lines->words);
    lines->capacity = 0;
    attn_record_find_key("id", strlen("id"), &key);
    value = attn_record_field(&key, column->text, column->size);
    ATTN_TRY(attn_buffer_check(&lines->name, err));
    ATTN_TRY(attn_item_read_fields(csv, item, err));
    return column->size > 0 ? attn_record_set(item, &key, &value, err) : ATTN_OK;
}

/* Adds the labels of the line to ITEM. */
static enum attn_status add_labels(struct attn_word_lines *lines, const struct attn_csv_reader *csv,
                                   struct attn_item *item, struct attn_error *err)
{
    struct attn_item line = {.store = item->store}; /* the store keeps its texts */
    enum attn_status status = attn_item_read_fields(csv, &line, err);
    struct attn_item_label *labels;

    item->store = line.store;
    item->n_row_label = csv->n_column;
    ATTN_THEN(status, attn_grow(&item->row_labels, &lines->capacity,
                                (item->words.n + 1) * csv->n_column, sizeof *labels, err));
    if (status == ATTN_OK) {
        labels = item->row_labels + item->words.n * csv->n_column;
        memset(labels, 0, csv->n_column * sizeof *labels);
        memcpy(labels, line.labels, line.n_label * sizeof *labels);
    }
    attn_free(line.labels);
    return status;
}

enum attn_status attn_word_lines_add(struct attn_word_lines *lines,
                                     const struct attn_csv_reader *csv, struct attn_item *item,
                                     struct attn_error *err)
{
    const struct attn_csv_column *column = &csv->columns[lines->word];
    const struct attn_csv_column *glue = lines->glue < SIZE_MAX ? &csv->columns[lines->glue] : NULL;
    const bool is_glued = glue && glue->size == 1 && *glue->text == '1';
    const char *word = column->text;
    size_t size = column->size;

    attn_record_trim(&word, &size);
    if (size == 0 || memchr(word, '\0', size))
        attn_item_fail(item, ATTN_REASON_BAD_TEXT, "word %zu is %s", item->words.n,
                       size == 0 ? "empty" : "no text, it has a NUL");
    ATTN_TRY(add_labels(lines, csv, item, err));
    if (item->words.n > 0 && !is_glued)
        attn_buffer_append_char(&lines->text, ' ');
    attn_buffer_append(&lines->text, word, size);
    attn_buffer_append(&lines->words, word, size);
    attn_buffer_append_char(&lines->words, '\0');
    item->words.n++;
    return lines->text.has_failed || lines->words.has_failed ? attn_error_no_memory(err) : ATTN_OK;
}

enum attn_status attn_word_lines_end(struct attn_word_lines *lines, struct attn_item *item,
                                     struct attn_error *err)
{
    const char *text = attn_store_copy(&item->store, lines->text.size > 0 ? lines->text.data : "",
                                       lines->text.size, err);
    const char *words =
        text ? attn_store_copy(&item->store, lines->words.data, lines->words.size, err) : NULL;

    if (!words)
        return ATTN_NO_MEMORY;
    item->words.text = words;
    item->texts[0].text = item->input.text = text;
    item->texts[0].n_text = item->input.n_text = lines->text.size;
    return ATTN_OK;
}

void attn_word_lines_reset(struct attn_word_lines *lines)
{
    attn_free(lines->met);
    lines->met = NULL;
    lines->n_met = lines->n_slot = 0;
}

void attn_word_lines_release(struct attn_word_lines *lines)
{
    attn_word_lines_reset(lines);
    attn_buffer_release(&lines->name);
    attn_buffer_release(&lines->text);
    attn_buffer_release(&lines->words);
}
