/* items_header.c - the header of CSV: the separator, and the key of each column. */
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "stream/csv_reader.h"
#include "stream/items_internal.h"

#include <string.h>
#include <strings.h>

/* Parses the column names in TEXT, separated by SEPARATOR. *HAS_INPUT: some column contains
 * inputs. */
static enum attn_status read_names(struct attn_csv_reader *csv, const char *text, size_t size,
                                   char separator, bool *has_input, struct attn_error *err)
{

    attn_csv_reader_release(csv);
    csv->separator = separator;
    *has_input = false;
    ATTN_TRY(attn_csv_reader_begin(csv, text, size, err));
    for (size_t c = 0; c < csv->n_column; c++) {
        struct attn_csv_column *column = &csv->columns[c];

        attn_record_find_key(column->name, strlen(column->name), &column->key);
        *has_input = *has_input || column->key.traits & ATTN_KEY_IS_INPUT;
    }
    return ATTN_OK;
}

/* Parses the column names with the default separator; if no column then contains inputs, tries
 * other separators. */
static enum attn_status find_names(struct attn_csv_reader *csv, const char *text, size_t size,
                                   bool *has_input, struct attn_error *err)
{
    static const char others[] = ",;\t";
    const char usual = csv->separator;

    for (size_t i = 0; i <= strlen(others); i++) {
        struct attn_error unseen = {0};
        const char separator = i == 0 ? usual : others[i - 1];
        const enum attn_status status = read_names(csv, text, size, separator, has_input, &unseen);

        if (status == ATTN_NO_MEMORY)
            return attn_error_copy(err, &unseen);
        if (status == ATTN_OK && *has_input)
            return ATTN_OK;
    }
    return read_names(csv, text, size, usual, has_input, err);
}

const char *attn_items_meant(const char *word, size_t size)
{
    static const char *const names[][2] = {
        {"sentence", "text"},  {"prompt", "text"},    {"input", "text"},    {"text", "text"},
        {"ids", "ids"},        {"image", "image"},    {"clean", "clean"},   {"a", "a"},
        {"good", "good"},      {"target", "target"},  {"answer", "target"}, {"correct", "target"},
        {"targets", "target"}, {"foil", "foil"},      {"wrong", "foil"},    {"incorrect", "foil"},
        {"foils", "foil"},     {"distractor", "foil"}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i][0]) == size && strncasecmp(word, names[i][0], size) == 0)
            return memcmp(word, names[i][1], size) == 0 ? NULL : names[i][1];
    return NULL;
}

/* Sets the error that the header TEXT has no inputs. The hint names the columns that probably have
 * them, and their targets. */
static enum attn_status refuse_names(const char *name, const char *text, size_t size,
                                     struct attn_error *err)
{
    char hint[ATTN_ERROR_HINT_SIZE] = "";
    size_t n, used = 0;

    size -= size > 0 && text[size - 1] == '\r';
    attn_error_set(err, ATTN_FORMAT,
                   "the first line of '%s' is '%s', expected a header with 'text', 'ids', 'image', "
                   "'clean', 'a' or 'good'",
                   attn_quote_string(name).text, attn_quote(text, size).text);
    for (size_t at = 0; at < size; at += n + 1) {
        for (n = 0; at + n < size && !strchr(",;\t\r\"", text[at + n]);)
            n++;
        const char *meant = attn_items_meant(text + at, n);

        if (meant)
            attn_fixed_text_append(hint, sizeof hint, &used, "%s'%s' to '%s'",
                                   used > 0 ? ", " : "rename the column ",
                                   attn_quote(text + at, n).text, meant);
    }
    if (used > 0)
        attn_error_hint(err, "%s", hint);
    return ATTN_FORMAT;
}

enum attn_status attn_items_read_header(struct attn_csv_reader *csv, const char *name,
                                        const char *text, size_t size, struct attn_error *err)
{
    struct attn_error why = {0};
    bool has_input;

    if (find_names(csv, text, size, &has_input, &why) == ATTN_OK)
        return has_input ? ATTN_OK : refuse_names(name, text, size, err);
    if (why.status == ATTN_NO_MEMORY)
        return attn_error_copy(err, &why);
    attn_error_set(err, ATTN_FORMAT, "the header of '%s': %s", attn_quote_string(name).text,
                   why.message);
    if (*why.hint)
        attn_error_hint(err, "%s", why.hint);
    return ATTN_FORMAT;
}
