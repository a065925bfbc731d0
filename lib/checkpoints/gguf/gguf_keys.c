#include "gguf/gguf_keys.h"

#include "formats/float_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

struct attn_gguf_full_key attn_gguf_full_key(const struct attn_gguf_writing *w, const char *key)
{
    struct attn_gguf_full_key full;

    snprintf(full.text, sizeof full.text, "%s.%s", w->prefix, key);
    return full;
}

bool attn_gguf_has_key(const struct attn_gguf_writing *w, const char *key)
{
    return attn_gguf_find_pair(w->gguf, attn_gguf_full_key(w, key).text, NULL);
}

bool attn_gguf_has_tensor(const struct attn_gguf_writing *w, const char *name)
{
    return attn_tensor_files_find(attn_gguf_files(w->gguf), name, NULL);
}

void attn_gguf_refuse(struct attn_gguf_writing *w, enum attn_status status, const char *key,
                      const char *format, ...)
{
    char what[ATTN_ERROR_MESSAGE_SIZE];
    va_list args;

    if (w->status != ATTN_OK)
        return;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    w->status = attn_error_set(w->err, status, "'%s' in '%s' %s", attn_gguf_full_key(w, key).text,
                               w->path, what);
}

void attn_gguf_require(struct attn_gguf_writing *w, const char *key)
{
    if (w->status == ATTN_OK && !attn_gguf_has_key(w, key))
        w->status = attn_error_set(w->err, ATTN_FORMAT, "'%s' is missing in '%s'",
                                   attn_gguf_full_key(w, key).text, w->path);
}

void attn_gguf_check_divides(struct attn_gguf_writing *w, const char *key, size_t n,
                             const char *whole_key, size_t whole)
{
    if (w->status == ATTN_OK && whole % n != 0)
        w->status = attn_error_set(w->err, ATTN_FORMAT, "'%s' %zu in '%s' does not divide '%s' %zu",
                                   attn_gguf_full_key(w, key).text, n, w->path,
                                   attn_gguf_full_key(w, whole_key).text, whole);
}

size_t attn_gguf_key_count(struct attn_gguf_writing *w, const char *key, size_t usual)
{
    if (w->status == ATTN_OK)
        w->status = attn_gguf_get_size(w->gguf, attn_gguf_full_key(w, key).text, &usual, w->err);
    return usual;
}

size_t attn_gguf_key_size(struct attn_gguf_writing *w, const char *key, size_t max, size_t usual)
{
    const size_t n = attn_gguf_key_count(w, key, usual);

    if (n == 0)
        attn_gguf_require(w, key);
    if (n < 1 || n > max)
        attn_gguf_refuse(w, ATTN_FORMAT, key, "is %zu, expected 1 to %zu", n, max);
    return w->status == ATTN_OK ? n : 1;
}

bool attn_gguf_key_bool(struct attn_gguf_writing *w, const char *key, bool usual)
{
    if (w->status == ATTN_OK)
        w->status = attn_gguf_get_bool(w->gguf, attn_gguf_full_key(w, key).text, &usual, w->err);
    return usual;
}

double attn_gguf_key_real(struct attn_gguf_writing *w, const char *key, double low, double high,
                          double usual)
{
    double value = usual;

    if (w->status == ATTN_OK)
        w->status = attn_gguf_get_real(w->gguf, attn_gguf_full_key(w, key).text, &value, w->err);
    if (!(value >= low && value <= high) && attn_gguf_has_key(w, key))
        attn_gguf_refuse(w, ATTN_FORMAT, key, "is %g, expected a number from %g to %g", value, low,
                         high);
    return w->status == ATTN_OK ? value : usual;
}

void attn_gguf_put_size(const struct attn_gguf_writing *w, const char *key, size_t n)
{
    if (key)
        attn_buffer_append_format(w->json, ",\n\"%s\": %zu", key, n);
}

void attn_gguf_copy_size(struct attn_gguf_writing *w, const char *name, const char *key, size_t max,
                         size_t usual)
{
    attn_gguf_put_size(w, name, attn_gguf_key_size(w, key, max, usual));
}

void attn_gguf_put_bool(const struct attn_gguf_writing *w, const char *key, bool value)
{
    attn_buffer_append_format(w->json, ",\n\"%s\": %s", key, value ? "true" : "false");
}

void attn_gguf_put_real(const struct attn_gguf_writing *w, const char *key, double value)
{
    const bool is_float = value == (double)(float)value;
    char text[ATTN_FLOAT_TEXT_SIZE];
    int size = (int)attn_format_float((float)value, text);

    if (!is_float)
        size = snprintf(text, sizeof text, "%.17g", value);
    attn_buffer_append_format(w->json, ",\n\"%s\": %.*s", key, size, text);
}

double attn_gguf_share_of(size_t part, size_t whole)
{
    const double share = (double)part / (double)whole;

    return (size_t)(share * (double)whole) < part ? nextafter(share, (double)INFINITY) : share;
}
