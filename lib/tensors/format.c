/* format.c - the list of the formats; see format.h. */
#include "tensors/format_internal.h"

#include "tensors/writer.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct attn_format *const formats[] = {
#define FORMAT_ADDRESS(name) &attn_##name##_format,
    ATTN_FORMAT_MAP(FORMAT_ADDRESS)
#undef FORMAT_ADDRESS
};

enum { N_FORMAT = sizeof formats / sizeof *formats };

size_t attn_n_format(void)
{
    return N_FORMAT;
}

const struct attn_format *attn_format_at(size_t i)
{
    return i < N_FORMAT ? formats[i] : NULL;
}

const struct attn_format *attn_format_find(const char *name)
{
    for (size_t i = 0; name && i < N_FORMAT; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

bool attn_format_is_directory(const struct attn_format *format, const char *path)
{
    const size_t n = strlen(path), n_suffix = format->suffix ? strlen(format->suffix) : 0;
    const bool names_file =
        n >= n_suffix && strcmp(path + n - n_suffix, format->suffix ? format->suffix : "") == 0;
    struct stat info;

    /* A format that can be written to a stream can also be written to a single file. */
    if (format->is_directory && (format->needs_directory || !names_file))
        return true;
    if (!format->is_directory && !format->takes_directory)
        return false;
    return (n > 0 && path[n - 1] == '/') || (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

size_t attn_format_list(attn_format_fn is_listed, const char *last, char *out, size_t size)
{
    const struct attn_format *listed[N_FORMAT];
    size_t n = 0, length = 0;

    if (size > 0)
        out[0] = '\0';
    for (size_t i = 0; i < N_FORMAT; i++)
        if (formats[i]->argument && (!is_listed || is_listed(formats[i])))
            listed[n++] = formats[i];
    for (size_t i = 0; i < n; i++) {
        const char *before = i == 0 ? "" : i + 1 < n ? ", " : " ";
        const char *word = i == 0 || i + 1 < n ? "" : last;
        bool fits = length < size;

        length += (size_t)snprintf(fits ? out + length : NULL, fits ? size - length : 0,
                                   "%s%s%s`%s`", before, word, *word ? " " : "", listed[i]->name);
    }
    return length;
}
