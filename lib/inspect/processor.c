/* processor.c - reads /proc/cpuinfo, on x86 and ARM. */
#include "inspect/processor.h"

#include "base/file.h"
#include "base/fixed_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The words of "flags" (x86) and "Features" (ARM) that are reported. */
static const char *const features[] = {"avx2",     "avx512f", "avx512_bf16", "avx512_fp16",
                                       "amx_bf16", "asimd",   "sve",         "bf16"};

/* A part of a text. */
struct span {
    const char *data;
    size_t size;
};

/* Removes the first line from TEXT and stores it in LINE. False at the end of the text. */
static bool next_line(struct span *text, struct span *line)
{
    const char *end;

    if (text->size == 0)
        return false;
    end = memchr(text->data, '\n', text->size);
    *line = (struct span){text->data, end ? (size_t)(end - text->data) : text->size};
    text->data += line->size + !!end;
    text->size -= line->size + !!end;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Whether LINE is "KEY : value"; if so, stores the value. */
static bool has_key(struct span line, const char *key, struct span *value)
{
    size_t at = strlen(key);

    if (line.size < at || memcmp(line.data, key, at) != 0)
        return false;
    while (at < line.size && is_blank(line.data[at]))
        at++;
    if (at == line.size || line.data[at] != ':')
        return false;
    do
        at++;
    while (at < line.size && is_blank(line.data[at]));
    *value = (struct span){line.data + at, line.size - at};
    return true;
}

/* Returns the first value of KEY in TEXT; empty if there is none. */
static struct span find(struct span text, const char *key)
{
    struct span line, value;

    while (next_line(&text, &line))
        if (has_key(line, key, &value))
            return value;
    return (struct span){"", 0};
}

static size_t find_number(struct span text, const char *key)
{
    char digits[16];
    const struct span value = find(text, key);

    snprintf(digits, sizeof digits, "%.*s", (int)value.size, value.data);
    return strtoul(digits, NULL, 10);
}

/* Appends ", KEY VALUE" to TEXT, or ", VALUE" if KEY is NULL; no comma if TEXT is empty. */
static void append(char text[ATTN_PROCESSOR_TEXT_SIZE], const char *key, struct span value)
{
    const size_t n = strlen(text);

    if (value.size > 0) /* a long name is cut */
        snprintf(text + n, ATTN_PROCESSOR_TEXT_SIZE - n, "%s%s%s%.*s", n > 0 ? ", " : "",
                 key ? key : "", key ? " " : "", (int)value.size, value.data);
}

/* Copies to TEXT those words of LIST that are in `features`. LIST has blanks between words. */
static void find_features(struct span list, char text[ATTN_PROCESSOR_TEXT_SIZE])
{
    size_t used = 0;

    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        for (size_t at = 0, n; at < list.size; at += n + 1) {
            const char *end = memchr(list.data + at, ' ', list.size - at);

            n = end ? (size_t)(end - list.data) - at : list.size - at;
            if (n != strlen(features[i]) || memcmp(list.data + at, features[i], n) != 0)
                continue;
            attn_fixed_text_append(text, ATTN_PROCESSOR_TEXT_SIZE, &used, "%s%s",
                                   used > 0 ? " " : "", features[i]);
            break;
        }
}

void attn_processor_read(const char *text, size_t size, struct attn_processor *processor)
{
    const struct span all = {text, size};
    const size_t n_sibling = find_number(all, "siblings");
    struct span rest = all, line, number;

    *processor = (struct attn_processor){.n_thread = 0};
    while (next_line(&rest, &line))
        processor->n_thread += has_key(line, "processor", &number);
    append(processor->name, NULL, find(all, "model name"));
    append(processor->name, "family", find(all, "cpu family"));
    append(processor->name, "model", find(all, "model"));
    append(processor->name, "ARM implementer", find(all, "CPU implementer"));
    append(processor->name, "part", find(all, "CPU part"));
    if (processor->name[0] == '\0')
        append(processor->name, NULL, (struct span){"unknown processor", 17});
    find_features(find(all, "flags"), processor->features);
    if (processor->features[0] == '\0')
        find_features(find(all, "Features"), processor->features);
    if (n_sibling > 0)
        processor->n_core = processor->n_thread * find_number(all, "cpu cores") / n_sibling;
}

void attn_processor_find(struct attn_processor *processor)
{
    struct attn_error err = {0};
    struct attn_file file = {0};

    if (attn_file_open("/proc/cpuinfo", ATTN_READ, &file, &err) == ATTN_OK)
        attn_processor_read((const char *)file.data, file.size, processor);
    else
        attn_processor_read("", 0, processor);
    attn_file_release(&file);
}
