/* items_header.c - the header of CSV: the separator, and the key of each column. */
#include "base/status_internal.h"
#include "stream/csv_reader.h"
#include "stream/items_internal.h"
#include "stream/word_lines.h"

#include <string.h>
#include <strings.h>

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
            return memcmp(word, (*names)[1], size) == 0 ? NULL : (*names)[1];
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

enum attn_status attn_items_read_header(struct attn_csv_reader *csv, struct attn_word_lines *words,
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
