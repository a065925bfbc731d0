/* format.c - the list of the formats; see format.h. */
#include "tensors/format_internal.h"

#include "base/os/os.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "tensors/writer.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

size_t attn_n_format(void)
{
    size_t n = 0;

    while (attn_formats[n])
        n++;
    return n;
}

const struct attn_format *attn_format_at(size_t i)
{
    return i < attn_n_format() ? attn_formats[i] : NULL;
}

const struct attn_format *attn_format_find(const char *name)
{
    for (size_t i = 0; name && attn_formats[i]; i++)
        if (strcmp(attn_formats[i]->name, name) == 0)
            return attn_formats[i];
    return NULL;
}

bool attn_format_holds_images(const struct attn_format *format)
{
    return format->holds_arrays || format == &attn_json_format;
}

bool attn_format_is_directory(const struct attn_format *format, const char *path)
{
    const size_t n = strlen(path), n_suffix = format->suffix ? strlen(format->suffix) : 0;
    const bool names_file =
        n >= n_suffix && strcmp(path + n - n_suffix, format->suffix ? format->suffix : "") == 0;

    /* A format that can be written to a stream can also be written to a single file. */
    if (format->is_directory && (format->needs_directory || !names_file))
        return true;
    if (!format->is_directory && !format->takes_directory)
        return false;
    return (n > 0 && attn_os_is_slash(path[n - 1])) || attn_os_kind(path) == ATTN_OS_FOLDER;
}

/* Endings of names of files that are not the name of a format. */
static const char *const endings[][2] = {
    {"jpg", "JPEG"},        {"jpeg", "JPEG"},  {"gif", "GIF"},           {"webp", "WebP"},
    {"bmp", "BMP"},         {"tif", "TIFF"},   {"tiff", "TIFF"},         {"eps", "PostScript"},
    {"ps", "PostScript"},   {"htm", "HTML"},   {"ndjson", "JSON lines"}, {"tsv", "TSV"},
    {"parquet", "Parquet"}, {"xlsx", "Excel"}, {"xls", "Excel"},         {"pt", "PyTorch"},
    {"pkl", "pickle"},      {"txt", "text"},
};

/* Returns the title of the files whose names end in ENDING; NULL if it is unknown. *format becomes
 * their format, or NULL. */
static const char *find_title(const char *ending, const struct attn_format **format)
{
    *format = NULL;
    for (size_t i = 0; attn_formats[i]; i++)
        if (attn_formats[i]->argument &&
            (strcasecmp(attn_formats[i]->name, ending) == 0 ||
             (attn_formats[i]->suffix && strcasecmp(attn_formats[i]->suffix + 1, ending) == 0)))
            return (*format = attn_formats[i])->title;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(endings[i][0], ending) == 0)
            return endings[i][1];
    return NULL;
}

enum attn_status attn_format_check_name(const struct attn_format *format, const char *option,
                                        const char *path, bool is_directory, struct attn_error *err)
{
    const char *point = strrchr(path, '.'), *suffix = format->suffix ? format->suffix + 1 : "";
    const struct attn_format *named;
    const char *title = point ? find_title(point + 1, &named) : NULL;
    const struct attn_quote stem = attn_quote(path, title ? (size_t)(point - path) : 0);

    if (!title || (is_directory && attn_os_kind(path) != ATTN_OS_ABSENT))
        return ATTN_OK;
    if (is_directory) {
        attn_refuse(err, ATTN_STAGE_OPTIONS,
                    "'`%s` %s' would make a directory with the name of a file", option,
                    attn_quote_string(path).text);
        return format->needs_directory
                   ? attn_error_hint(err, "`%s` %s/", option, stem.text)
                   : attn_error_hint(err, "`%s` %s.%s is one matrix, `%s` %s/ a directory", option,
                                     stem.text, suffix, option, stem.text);
    }
    if (strcmp(title, format->title) == 0 ||
        (strcmp(title, "text") == 0 && !format->is_picture && format->medium != ATTN_MEDIUM_BINARY))
        return ATTN_OK;
    attn_refuse(err, ATTN_STAGE_OPTIONS, "'`%s` %s' would write %s under the name of %s", option,
                attn_quote_string(path).text, format->title, title);
    return named && !named->is_directory && format->medium != ATTN_MEDIUM_ROWS
               ? attn_error_hint(err, "`%s` %s", named->name, attn_quote_string(path).text)
               : attn_error_hint(err, "`%s` %s.%s", option, stem.text,
                                 *suffix ? suffix : format->name);
}

static bool is_in_list(const struct attn_format *format, attn_format_fn is_listed)
{
    return format->argument && (!is_listed || is_listed(format));
}

size_t attn_format_list(attn_format_fn is_listed, const char *last, char *out, size_t size)
{
    size_t n = 0, n_left, length = 0;

    if (size > 0)
        out[0] = '\0';
    for (size_t i = 0; attn_formats[i]; i++)
        n += is_in_list(attn_formats[i], is_listed);
    n_left = n;
    for (size_t i = 0; attn_formats[i]; i++) {
        if (!is_in_list(attn_formats[i], is_listed))
            continue;
        const char *before = n_left == n ? "" : n_left > 1 ? ", " : " ";
        const char *word = n_left == n || n_left > 1 ? "" : last;
        const bool fits = length < size;

        length +=
            (size_t)snprintf(fits ? out + length : NULL, fits ? size - length : 0, "%s%s%s`%s`",
                             before, word, *word ? " " : "", attn_formats[i]->name);
        n_left--;
    }
    return length;
}
