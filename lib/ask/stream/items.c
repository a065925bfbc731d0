/* items.c - see items.h: the stream of items. item.c reads each. */
#include "base/hash.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "base/text/number.h"
#include "run/run_internal.h"
#include "stream/batch_lines.h"
#include "stream/csv_reader.h"
#include "stream/items_internal.h"
#include "stream/record_reader.h"
#include "stream/seal.h"
#include "stream/word_lines.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* --- The header ------------------------------------------------------------------------------- */

/* The header of CSV: the separator, and the key of each column. */

/* The header: its line, and what is made of it. */
struct header {
    const char *text;
    size_t size;
    struct attn_csv_reader *csv;
    struct attn_word_lines *words; /* NULL: a line is an item */
};

/* Parses the column names, separated by SEPARATOR. *HAS_INPUT: some column contains inputs. */
static enum attn_status read_names(const struct header *header, char separator, bool *has_input,
                                   struct attn_error *err)
{
    struct attn_csv_reader *csv = header->csv;

    attn_csv_reader_release(csv);
    csv->separator = separator;
    *has_input = false;
    ATTN_TRY(attn_csv_reader_begin(csv, header->text, header->size, err));
    if (header->words)
        *has_input = attn_word_lines_find(header->words, csv);
    for (size_t c = 0; c < csv->n_column && !header->words; c++) {
        struct attn_csv_column *column = &csv->columns[c];

        attn_record_find_key(column->name, strlen(column->name), &column->key);
        *has_input = *has_input || column->key.traits & ATTN_KEY_IS_INPUT;
    }
    return ATTN_OK;
}

/* Parses the column names with the default separator; if no column then contains inputs, tries
 * other separators. */
static enum attn_status find_names(const struct header *header, bool *has_input,
                                   struct attn_error *err)
{
    static const char others[] = ",;\t";
    const char usual = header->csv->separator;

    for (size_t i = 0; i <= strlen(others); i++) {
        struct attn_error unseen = {0};
        const char separator = i == 0 ? usual : others[i - 1];
        const enum attn_status status = read_names(header, separator, has_input, &unseen);

        if (status == ATTN_NO_MEMORY)
            return attn_error_copy(err, &unseen);
        if (status == ATTN_OK && *has_input)
            return ATTN_OK;
    }
    return read_names(header, usual, has_input, err);
}

static const char *find_meant(const char *const (*names)[2], const char *word, size_t size)
{
    for (; (*names)[0]; names++)
        if (strlen((*names)[0]) == size && strncasecmp(word, (*names)[0], size) == 0)
            return strncmp(word, (*names)[1], size) == 0 ? NULL : (*names)[1];
    return NULL;
}

const char *attn_items_meant(const char *word, size_t size)
{
    static const char *const names[][2] = {
        {"sentence", "text"},  {"prompt", "text"},     {"input", "text"},    {"text", "text"},
        {"ids", "ids"},        {"image", "image"},     {"clean", "clean"},   {"a", "a"},
        {"good", "good"},      {"target", "target"},   {"answer", "target"}, {"correct", "target"},
        {"targets", "target"}, {"foil", "foil"},       {"wrong", "foil"},    {"incorrect", "foil"},
        {"foils", "foil"},     {"distractor", "foil"}, {NULL, NULL}};

    return find_meant(names, word, size);
}

/* The same of the columns of a file with a line for each word. */
static const char *meant_of_words(const char *word, size_t size)
{
    static const char *const names[][2] = {
        {"word", "word"},    {"IA_LABEL", "word"}, {"token", "word"},    {"item", "item"},
        {"story", "item"},   {"text", "item"},     {"text_id", "item"},  {"itemno", "item"},
        {"passage", "item"}, {"sent_id", "item"},  {"sentence", "item"}, {NULL, NULL}};

    return find_meant(names, word, size);
}

/* Sets the error that the header TEXT has no inputs. The hint names the columns that probably have
 * them, and their targets. */
static enum attn_status refuse_names(const char *name, bool is_words, const char *text, size_t size,
                                     struct attn_error *err)
{
    char hint[ATTN_ERROR_HINT_SIZE] = "";
    size_t n, used = 0;

    size -= size > 0 && text[size - 1] == '\r';
    attn_error_set(err, ATTN_FORMAT, "the first line of '%s' is '%s', expected a header with %s",
                   attn_quote_string(name).text, attn_quote(text, size).text,
                   is_words ? "'word' and 'item'"
                            : "'text', 'ids', 'image', 'clean', 'a' or 'good'");
    for (size_t at = 0; at < size; at += n + 1) {
        for (n = 0; at + n < size && !strchr(",;\t\r\"", text[at + n]);)
            n++;
        const char *meant =
            is_words ? meant_of_words(text + at, n) : attn_items_meant(text + at, n);

        if (meant)
            attn_fixed_text_append(hint, sizeof hint, &used, "%s'%s' to '%s'",
                                   used > 0 ? ", " : "rename the column ",
                                   attn_quote(text + at, n).text, meant);
    }
    if (used > 0)
        attn_error_hint(err, "%s", hint);
    return ATTN_FORMAT;
}

/* Initializes CSV from TEXT, the header of a file of items called NAME, and finds the key of each
 * column; or WORDS, unless it is NULL. Uses the separator of CSV, or the first one with which some
 * column contains inputs, or words. */
static enum attn_status use_header(struct attn_csv_reader *csv, struct attn_word_lines *words,
                                   const char *name, const char *text, size_t size,
                                   struct attn_error *err)
{
    const struct header header = {text, size, csv, words};
    struct attn_error why = {0};
    bool has_input;

    if (find_names(&header, &has_input, &why) == ATTN_OK)
        return has_input ? ATTN_OK : refuse_names(name, words, text, size, err);
    if (why.status == ATTN_NO_MEMORY)
        return attn_error_copy(err, &why);
    attn_error_set(err, ATTN_FORMAT, "the header of '%s': %s", attn_quote_string(name).text,
                   why.message);
    if (*why.hint)
        attn_error_hint(err, "%s", why.hint);
    return ATTN_FORMAT;
}

ATTN_DEFAULTS(attn_items_options, .size = sizeof(struct attn_items_options))

struct attn_items {
    struct attn_items_options options;
    attn_item_make_fn make;  /* makes the inputs; or NULL */
    void *user;              /* passed to `make` */
    atomic_bool is_unwanted; /* attn_items_stop was called */
    char *path;              /* owns; NULL: standard input, or bytes in memory */
    struct attn_batch_lines *lines;
    struct attn_batch_line line;
    struct attn_csv_reader csv;   /* separator 0: JSON Lines */
    struct attn_word_lines words; /* with a line for each word */
    size_t
        next_line; /* number of the line that was read, and is the first of the next item; 0: none
                    */
    uint64_t from, limit; /* items of the shard begin in this range of bytes */
    size_t n_read;        /* number of items read so far, counted in the whole input */
    size_t line_number;   /* number of the next line, from 1 */
    uint64_t seal;        /* hash of the lines of items read so far, and of the header */
    bool has_labels;
    char **labels; /* [n_label] owns */
    size_t n_label, label_capacity;
    struct attn_item **ahead; /* owns; items [at_ahead, n_ahead) were read ahead */
    size_t at_ahead, n_ahead, ahead_capacity;
};

static const char *text_of_line(const struct attn_items *items, size_t *size)
{
    *size = items->line.text.size;
    return *size > 0 ? items->line.text.data : "";
}

/* Returns true if each line is an item that consists of a text only. */
static bool are_texts(const struct attn_items *items)
{
    return items->options.form == ATTN_ITEMS_LINES;
}

/* Reads the current line, a text, into ITEM. */
static enum attn_status read_text(const struct attn_items *items, struct attn_item *item,
                                  struct attn_error *err)
{
    const struct attn_buffer *line = &items->line.text;
    struct attn_input *input = &item->input;

    input->n_text = line->size - (line->size > 0 && line->data[line->size - 1] == '\r');
    input->text = attn_store_copy(&item->store, line->data, input->n_text, err);
    if (item->texts)
        item->texts[0] = *input;
    return input->text ? ATTN_OK : ATTN_NO_MEMORY;
}

static enum attn_status add_label(struct attn_items *items, const char *name,
                                  struct attn_error *err)
{
    ATTN_TRY(ATTN_GROW(items->labels, items->label_capacity, items->n_label + 1, err));
    items->labels[items->n_label] = attn_strndup(name, strlen(name), err);
    return items->labels[items->n_label] ? (items->n_label++, ATTN_OK) : ATTN_NO_MEMORY;
}

/* Checks whether the first line TEXT, of a pipe or of a file of unknown type, may be JSON. */
static enum attn_status check_first(const struct attn_items *items, const char *text, size_t size,
                                    struct attn_error *err)
{
    const char *name = items->path ? items->path : "";
    const size_t n = strlen(name);
    size_t at = 0;

    while (at < size && (text[at] == ' ' || text[at] == '\t'))
        at++;
    if (items->n_read <= 1 && !items->csv.separator && at < size && text[at] == '[') {
        attn_error_set(err, ATTN_FORMAT, "'%s' is an array of JSON, expected an object per line",
                       attn_quote_string(attn_items_name(items)).text);
        attn_error_hint(err, "jq -c '.[]' %s writes its objects as lines", *name ? name : "FILE");
        return ATTN_FORMAT;
    }
    if (items->options.form != ATTN_ITEMS_BY_NAME || items->n_read > 1 || items->csv.separator ||
        (at < size && text[at] == '{') || (n >= 6 && strcmp(name + n - 6, ".jsonl") == 0))
        return ATTN_OK;
    attn_error_set(err, ATTN_FORMAT, "the first line of '%s' is '%s', expected an object of JSON",
                   attn_quote_string(attn_items_name(items)).text, attn_quote(text, size).text);
    attn_error_hint(err, "`form csv` reads CSV with a header, `form lines` a text a line");
    return ATTN_FORMAT;
}

static bool are_words(const struct attn_items *items)
{
    return items->options.form == ATTN_ITEMS_WORDS;
}

static enum attn_status read_line(struct attn_items *items, size_t *line, bool *is_over,
                                  struct attn_error *err);

/* Returns true if the last line of CSV is of the current item. */
static bool word_goes_on(const struct attn_word_lines *lines, const struct attn_csv_reader *csv)
{
    const struct attn_csv_column *column = &csv->columns[lines->item];

    return column->size == lines->name.size &&
           (column->size == 0 || memcmp(column->text, lines->name.data, column->size) == 0);
}

/* Reads ITEM, whose first word has the line that was parsed, up to a line of another item. */
static enum attn_status read_words(struct attn_items *items, struct attn_item *item,
                                   struct attn_error *err)
{
    const uint64_t limit = items->limit;
    const size_t first = item->line;
    size_t failed = 0; /* the line of the failure; 0: none */
    struct attn_error why = {0};
    bool is_over = false, goes_on = true;
    const char *text;
    size_t line, size;

    ATTN_TRY(attn_word_lines_begin(&items->words, &items->csv, item, err));
    line = item->line;
    item->line = 0;            /* it is put in front of a failure at the end */
    items->limit = UINT64_MAX; /* an item of a shard may end behind it */
    while (goes_on) {
        if (why.status == ATTN_OK)
            ATTN_TRY(attn_word_lines_add(&items->words, &items->csv, item, err));
        else
            attn_item_fail(item, ATTN_REASON_BAD_CSV, "%s", why.message);
        if (item->failure != ATTN_REASON_NONE && failed == 0)
            failed = line;
        item->end = items->line.end;
        item->seal = items->seal;
        ATTN_TRY(read_line(items, &line, &is_over, err));
        if (is_over)
            break;
        text = text_of_line(items, &size);
        why.status = attn_csv_reader_read(&items->csv, text, size, &why);
        goes_on = why.status != ATTN_OK || word_goes_on(&items->words, &items->csv);
        if (goes_on)
            items->seal = attn_hash_bytes(items->seal, text, size);
    }
    items->limit = limit;
    item->line = failed > 0 ? failed : first;
    items->next_line = is_over ? 0 : line;
    return attn_word_lines_end(&items->words, item, err);
}

/* Reads the current line into ITEM. If the line is malformed, the item fails. The labels of the
 * first readable item are used for all items. */
static enum attn_status read_item(struct attn_items *items, struct attn_item *item,
                                  struct attn_error *err)
{
    char bytes[ATTN_QUANTITY_SIZE], most[ATTN_QUANTITY_SIZE];
    struct attn_error why = {0};
    size_t size;
    const char *text = text_of_line(items, &size);

    if (items->line.is_too_long) {
        attn_item_fail(item, ATTN_REASON_LINE_TOO_LONG, "%s %s bytes, expected at most %s",
                       "it has", attn_quantity_count(items->line.size, bytes),
                       attn_quantity_count(items->options.max_line, most));
        return ATTN_OK;
    }
    if (are_texts(items))
        return read_text(items, item, err);
    ATTN_TRY(check_first(items, text, size, err));
    if (!items->csv.separator) {
        ATTN_TRY(attn_item_read_line(text, size, item, err));
    } else if (attn_csv_reader_read(&items->csv, text, size, &why) == ATTN_OK) {
        ATTN_TRY(are_words(items) ? read_words(items, item, err)
                                  : attn_item_read_fields(&items->csv, item, err));
    } else {
        attn_item_fail(item, ATTN_REASON_BAD_CSV, "%s", why.message);
        return why.status == ATTN_NO_MEMORY ? attn_error_copy(err, &why) : ATTN_OK;
    }
    ATTN_TRY(attn_item_finish(item, items->options.has_marks, err));
    if (items->has_labels || item->failure == ATTN_REASON_BAD_JSON)
        return ATTN_OK;
    items->has_labels = true;
    for (size_t i = 0; i < item->n_label; i++)
        ATTN_TRY(add_label(items, item->labels[i].name, err));
    return ATTN_OK;
}

const char *const *attn_items_labels(const struct attn_items *items, size_t *n)
{
    if (n)
        *n = items ? items->n_label : 0;
    return items && items->n_label > 0 ? (const char *const *)items->labels : NULL;
}

bool attn_items_have_header(const struct attn_items *items)
{
    return items->csv.separator != 0;
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* Reads the next line, which is not blank unless it is a text. *LINE is its number. */
static enum attn_status read_line(struct attn_items *items, size_t *line, bool *is_over,
                                  struct attn_error *err)
{
    const struct attn_stop stop = {.cancel = items->options.cancel};
    const char *text;
    size_t size;

    do {
        *is_over = true;
        if (attn_batch_lines_place(items->lines) >= items->limit)
            return ATTN_OK;
        ATTN_TRY(attn_batch_lines_next(items->lines, &items->line, is_over, err));
        if (attn_must_stop(&stop))
            return attn_report_stopped(err);
        *line = items->line_number;
        items->line_number += items->line.n_end;
        text = text_of_line(items, &size);
        while (size > 0 && (text[size - 1] == '\r' || text[size - 1] == ' '))
            size--;
    } while (!*is_over && size == 0 && !items->line.is_too_long && !are_texts(items));
    return ATTN_OK;
}

/* Creates the next item, whose input was read. */
static enum attn_status make_item(struct attn_items *items, struct attn_item **item,
                                  struct attn_error *err)
{
    const size_t n = sizeof(struct attn_input) * 2 * ATTN_N_ITEM_PAIR;
    struct attn_item *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->number = items->n_read++;
    made->texts = attn_store_take(&made->store, n, err);
    if (!made->texts) {
        attn_item_free(made);
        return ATTN_NO_MEMORY;
    }
    memset(made->texts, 0, n);
    *item = made;
    return ATTN_OK;
}

void attn_items_make(struct attn_items *items, attn_item_make_fn make, void *user)
{
    items->make = make;
    items->user = user;
}

/* Adds the pictures of ITEM to the hash of the items. */
static void seal_pictures(struct attn_items *items, struct attn_item *item)
{
    const struct attn_input *input = &item->input;
    const char *const paths[] = {input->image, item->images[0], item->images[1]};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        items->seal += paths[i] ? attn_seal_file(paths[i]) : 0;
    for (size_t i = 0; i < input->n_image; i++)
        items->seal += input->images[i] ? attn_seal_file(input->images[i]) : 0;
    item->seal = items->seal;
}

/* Creates the next item from an input in memory, or one that is made. */
static enum attn_status take_input(struct attn_items *items, struct attn_item **item,
                                   struct attn_error *err)
{
    const struct attn_items_options *options = &items->options;
    const struct attn_input *input;
    struct attn_item *made;
    enum attn_status status = ATTN_OK;

    *item = NULL;
    if (items->n_read >= options->n_input || items->n_read >= items->limit)
        return ATTN_OK;
    input = &options->inputs[items->make ? 0 : items->n_read];
    ATTN_TRY(make_item(items, &made, err));
    made->input = *input;
    if (items->make)
        status = items->make(items->user, made, err);
    if (made->texts)
        made->texts[0] = made->input;
    made->line = made->end = items->n_read;
    items->seal = attn_hash_bytes(items->seal, made->input.text, made->input.n_text);
    items->seal = attn_hash_bytes(items->seal, (const char *)made->input.ids,
                                  made->input.n_id * sizeof *made->input.ids);
    seal_pictures(items, made);
    ATTN_RETURN_MADE(status, item, made, attn_item_free);
}

static enum attn_status read_next(struct attn_items *items, struct attn_item **item,
                                  struct attn_error *err)
{
    *item = NULL;
    if (items->options.inputs)
        return take_input(items, item, err);
    for (;;) {
        struct attn_item *made;
        enum attn_status status;
        size_t line;
        bool is_over, is_of_shard;

        line = items->next_line; /* it is of an item that has ended */
        is_over = line > 0 && items->line.begin >= items->limit;
        items->next_line = 0;
        if (line == 0)
            ATTN_TRY(read_line(items, &line, &is_over, err));
        if (is_over && items->n_read == 0 && are_texts(items))
            return attn_error_set(err, ATTN_INVALID,
                                  "'%s' has no lines, expected one text per line",
                                  attn_quote_string(attn_items_name(items)).text);
        if (is_over)
            return ATTN_OK;
        is_of_shard = items->line.begin >= items->from;
        if (!is_of_shard && items->has_labels && !are_words(items)) {
            items->n_read++;
            continue;
        }
        ATTN_TRY(make_item(items, &made, err));
        items->seal = attn_hash_bytes(items->seal, items->line.text.data, items->line.text.size);
        made->seal = items->seal;
        made->line = line;
        made->begin = items->line.begin;
        made->end = items->line.end;
        status = read_item(items, made, err);
        seal_pictures(items, made);
        if (status == ATTN_OK && is_of_shard) {
            *item = made;
            return ATTN_OK;
        }
        attn_item_free(made);
        ATTN_TRY(status);
    }
}

enum attn_status attn_items_peek(struct attn_items *items, size_t i, struct attn_item **item,
                                 struct attn_error *err)
{
    while (items->n_ahead - items->at_ahead <= i) {
        struct attn_item *next = NULL;

        ATTN_TRY(ATTN_GROW(items->ahead, items->ahead_capacity, items->n_ahead + 1, err));
        ATTN_TRY(attn_error_at(read_next(items, &next, err), ATTN_STAGE_INPUT, err));
        if (!next) {
            *item = NULL;
            return ATTN_OK;
        }
        items->ahead[items->n_ahead++] = next;
    }
    *item = items->ahead[items->at_ahead + i];
    return ATTN_OK;
}

/* Frees the items that were read ahead. */
static void forget_ahead(struct attn_items *items)
{
    while (items->at_ahead < items->n_ahead)
        attn_item_free(items->ahead[items->at_ahead++]);
    items->at_ahead = items->n_ahead = 0;
}

enum attn_status attn_items_next(struct attn_items *items, struct attn_item **item,
                                 struct attn_error *err)
{
    struct attn_error failure = {0}; /* used because ERR may be NULL */
    enum attn_status status;

    ATTN_NEED(err, items, item);
    if (items->at_ahead < items->n_ahead) {
        *item = items->ahead[items->at_ahead++];
        if (items->at_ahead == items->n_ahead)
            items->at_ahead = items->n_ahead = 0;
        return ATTN_OK;
    }
    status = attn_error_at(read_next(items, item, &failure), ATTN_STAGE_INPUT, &failure);
    return status == ATTN_OK ? ATTN_OK : attn_error_copy(err, &failure);
}

/* Counts the items after the offset AT. */
static enum attn_status count(struct attn_items *items, uint64_t at, uint64_t *n,
                              struct attn_error *err)
{
    bool is_over = false;

    attn_batch_lines_seek(items->lines, at);
    for (bool is_header = items->csv.separator != 0; !is_over; is_header = false) {
        size_t line;

        ATTN_TRY(read_line(items, &line, &is_over, err));
        *n += !is_over && !is_header && items->line.begin >= items->from;
    }
    return ATTN_OK;
}

enum attn_status attn_items_count(struct attn_items *items, uint64_t *n, struct attn_error *err)
{
    enum { MOST_COUNTED = 16 << 20 };
    const size_t line_number = items->line_number;
    uint64_t size, at;
    enum attn_status status;

    *n = 0;
    if (are_words(items)) /* lines are no items */
        return ATTN_OK;
    if (!attn_batch_lines_is_file(items->lines, &size) || size > MOST_COUNTED)
        return ATTN_OK;
    if (items->options.inputs)
        *n = (items->limit < items->options.n_input ? items->limit : items->options.n_input) -
             items->from;
    if (items->options.inputs)
        return ATTN_OK;
    at = attn_batch_lines_place(items->lines);
    status = attn_error_at(count(items, 0, n, err), ATTN_STAGE_INPUT, err);
    attn_batch_lines_seek(items->lines, at);
    items->line_number = line_number;
    return status;
}

void attn_items_stop(struct attn_items *items)
{
    items->is_unwanted = true;
}

/* Reads the header, which names the labels of all items. */
static enum attn_status read_header(struct attn_items *items, struct attn_error *err)
{
    const char *name = attn_items_name(items), *text;
    size_t line, size;
    bool is_over;

    ATTN_TRY(read_line(items, &line, &is_over, err));
    if (is_over || items->line.is_too_long)
        return attn_error_set(err, ATTN_FORMAT, "'%s' has %s, expected a header of CSV",
                              attn_quote_string(name).text,
                              is_over ? "no line" : "a first line that is too long");
    text = text_of_line(items, &size);
    items->seal = attn_hash_bytes(0, text, size);
    ATTN_TRY(
        use_header(&items->csv, are_words(items) ? &items->words : NULL, name, text, size, err));
    attn_batch_lines_set_separator(items->lines, items->csv.separator);
    items->has_labels = true;
    for (size_t i = 0; i < items->csv.n_column; i++) {
        const struct attn_record_key *key = &items->csv.columns[i].key;

        if (attn_record_key_is_label(key))
            ATTN_TRY(add_label(items, items->csv.columns[i].name, err));
    }
    return ATTN_OK;
}

/* --- Opening ---------------------------------------------------------------------------------- */

const char *attn_items_name(const struct attn_items *items)
{
    return items ? attn_batch_lines_name(items->lines) : "";
}

bool attn_items_are_of_file(const struct attn_items *items, uint64_t *size)
{
    return attn_batch_lines_is_file(items->lines, size);
}

void attn_items_note_mark(const struct attn_items *items, attn_note_fn on_note, void *user)
{
    attn_batch_lines_note_mark(items->lines, on_note, user);
}

bool attn_items_are_of_path(const struct attn_items *items, const char *path)
{
    return attn_batch_lines_is_path(items->lines, path);
}

void attn_items_shard(const struct attn_items *items, size_t *shard, size_t *n)
{
    *shard = items ? items->options.shard : 0;
    *n = items ? items->options.shards : 0;
}

double attn_items_share(const struct attn_items *items)
{
    const uint64_t at = items ? attn_batch_lines_place(items->lines) : 0;

    return attn_items_share_at(items, items && items->options.inputs ? items->n_read : at);
}

double attn_items_share_at(const struct attn_items *items, uint64_t at)
{
    uint64_t size, from;

    if (!items || !attn_batch_lines_is_file(items->lines, &size))
        return (double)NAN;
    size = items->options.inputs ? items->options.n_input : attn_batch_lines_end(items->lines);
    size = items->limit < size ? items->limit : size;
    from = items->from;
    if (at <= from)
        return 0;
    return at >= size ? 1 : (double)(at - from) / (double)(size - from);
}

/* Returns the default separator of the form or, by name, of the file; 0 for JSON Lines. */
static char find_separator(const struct attn_items_options *options)
{
    const bool is_words = options->form == ATTN_ITEMS_WORDS;
    const bool is_named = options->form == ATTN_ITEMS_BY_NAME || is_words;
    const char *path = is_named && options->path ? options->path : "";
    const size_t n = strlen(path);

    if (is_words && (n < 4 || strcmp(path + n - 4, ".tsv") != 0))
        return ',';
    if (options->form == ATTN_ITEMS_CSV || (n >= 4 && strcmp(path + n - 4, ".csv") == 0))
        return ',';
    return options->form == ATTN_ITEMS_TSV || (n >= 4 && strcmp(path + n - 4, ".tsv") == 0) ? '\t'
                                                                                            : '\0';
}

static enum attn_status cut_shard(struct attn_items *items, struct attn_error *err)
{
    const struct attn_items_options *options = &items->options;
    uint64_t size;
    const bool is_file = attn_batch_lines_is_file(items->lines, &size);

    if (options->inputs)
        size = options->n_input;
    if (options->shards == 0)
        return ATTN_OK;
    if (options->shard >= options->shards)
        attn_error_set(err, ATTN_INVALID, "shard is %zu of %zu, expected less", options->shard,
                       options->shards);
    else if (!is_file)
        attn_error_set(err, ATTN_INVALID,
                       "'%s' is no file that can be sought, as `shard` needs one",
                       attn_quote_string(attn_items_name(items)).text);
    if (options->shard >= options->shards || !is_file)
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    items->from = attn_batch_lines_share(size, options->shard, options->shards);
    items->n_read = options->inputs ? (size_t)items->from : 0;
    items->limit = attn_batch_lines_share(size, options->shard + 1, options->shards);
    return ATTN_OK;
}

static enum attn_status open_items(struct attn_items *items, struct attn_error *err)
{
    const struct attn_items_options *options = &items->options;
    const bool is_path = options->path && strcmp(options->path, "-") != 0 && !options->inputs;
    struct attn_batch_lines_options lines = {
        .path = options->inputs ? "inputs" : NULL,
        .data = options->inputs ? "" : options->data,
        .n_data = options->inputs ? 0 : options->n_data,
        .is_fasta = options->form == ATTN_ITEMS_FASTA,
        .may_be_fasta = options->form == ATTN_ITEMS_BY_NAME,
        .separator = options->inputs ? '\0' : find_separator(options),
        .max_line = options->max_line > 0 ? options->max_line : ATTN_MAX_LINE,
        .stop = {options->cancel, &items->is_unwanted},
    };

    if (is_path) {
        ATTN_TRY(ATTN_NEW(items->path, attn_strndup(options->path, strlen(options->path), err)));
        lines.path = items->path;
    }
    items->options.max_line = lines.max_line;
    items->csv = (struct attn_csv_reader){.separator = lines.separator};
    items->line_number = 1;
    items->limit = UINT64_MAX;
    ATTN_TRY(attn_batch_lines_open(&lines, &items->lines, err));
    if (items->csv.separator)
        ATTN_TRY(read_header(items, err));
    return cut_shard(items, err);
}

enum attn_status attn_items_open(const struct attn_items_options *given, struct attn_items **items,
                                 struct attn_error *err)
{
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;
    struct attn_error failure = {0};
    struct attn_items *made;
    enum attn_status status;

    if (!attn_is_given(given, "options", err) || !attn_is_given(items, "items", err))
        return ATTN_INVALID;
    ATTN_TRY(attn_error_at(attn_options_read(given, &options, err), ATTN_STAGE_OPTIONS, err));
    if (!attn_is_choice(options.form, ATTN_ITEMS_WORDS + 1, "form", err) ||
        (options.n_input > 0 && !attn_is_given(options.inputs, "inputs", err)))
        return ATTN_INVALID;
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->options = options;
    status = attn_error_at(open_items(made, &failure), ATTN_STAGE_INPUT, &failure);
    if (status == ATTN_OK) {
        *items = made;
        return ATTN_OK;
    }
    attn_items_free(made);
    return attn_error_copy(err, &failure);
}

enum attn_status attn_items_open_again(const struct attn_items *items, struct attn_items **again,
                                       struct attn_error *err)
{
    struct attn_items_options options = items->options;

    options.path = items->path;
    options.shards = 0;
    return attn_items_open(&options, again, err);
}

void attn_items_free(struct attn_items *items)
{
    if (!items)
        return;
    attn_batch_lines_free(items->lines);
    attn_batch_line_release(&items->line);
    attn_csv_reader_release(&items->csv);
    attn_word_lines_release(&items->words);
    for (size_t i = 0; i < items->n_label; i++)
        attn_free(items->labels[i]);
    attn_free(items->labels);
    forget_ahead(items);
    attn_free(items->ahead);
    attn_free(items->path);
    attn_free(items);
}

enum attn_status attn_items_rewind(struct attn_items *items, struct attn_error *err)
{
    uint64_t size;
    size_t line;
    bool is_over;

    ATTN_NEED(err, items);
    if (!attn_batch_lines_is_file(items->lines, &size))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' is read twice, expected a file",
                           attn_quote_string(attn_items_name(items)).text);
    forget_ahead(items);
    attn_word_lines_reset(&items->words);
    items->next_line = 0;
    attn_batch_lines_seek(items->lines, 0);
    items->n_read = items->options.inputs ? (size_t)items->from : 0;
    items->line_number = 1;
    return items->csv.separator
               ? attn_error_at(read_line(items, &line, &is_over, err), ATTN_STAGE_INPUT, err)
               : ATTN_OK;
}
