/* print.c - see print.h. */
#include "cmd/line/print.h"

#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum attn_status print_open(struct attn_sink **out, struct attn_error *err)
{
    return at_stage(ATTN_STAGE_OUTPUT,
                    attn_sink_create_descriptor(STDOUT_FILENO, "standard output", out, err), err);
}

void print(struct attn_sink *out, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    assert(size >= 0 && (size_t)size < sizeof text);
    attn_sink_write(out, text, (size_t)size);
}

void print_text(struct attn_sink *out, const char *text)
{
    attn_sink_write(out, text, strlen(text));
}

enum attn_status print_escaped(struct attn_sink *out, const char *text, size_t size,
                               struct attn_error *err)
{
    char *escaped;

    ATTN_TRY(at_stage(ATTN_STAGE_OUTPUT, attn_escape(text, size, &escaped, err), err));
    print_text(out, escaped);
    attn_free(escaped);
    return ATTN_OK;
}

enum attn_status print_lines(struct attn_sink *out, const char *text, size_t size,
                             struct attn_error *err)
{
    static const char kept[] = "\n\t\\";

    for (size_t at = 0, end; at < size; at = end) {
        end = at;
        while (end < size && !memchr(kept, text[end], sizeof kept - 1))
            end++;
        ATTN_TRY(print_escaped(out, text + at, end - at, err));
        if (end < size)
            print(out, "%c", text[end++]);
    }
    return ATTN_OK;
}

enum attn_status print_buffer(struct attn_sink *out, struct attn_buffer *text,
                              struct attn_error *err)
{
    ATTN_TRY(at_stage(ATTN_STAGE_OUTPUT, attn_buffer_check(text, err), err));
    attn_sink_write(out, text->data, text->size);
    text->size = 0;
    return ATTN_OK;
}

enum attn_status print_flush(struct attn_sink *out, struct attn_error *err)
{
    attn_sink_flush(out);
    if (attn_sink_is_closed_pipe(out))
        return ATTN_OK;
    return at_stage(ATTN_STAGE_OUTPUT, attn_sink_check(out, err), err);
}

/* --- What it can show ------------------------------------------------------------------------- */

enum { USUAL_WIDTH = 80, MOST_WIDTH = 100000 };

size_t terminal_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    int64_t width;

    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    if (columns && attn_parse_int(columns, strlen(columns), 1, MOST_WIDTH, &width))
        return (size_t)width;
    return USUAL_WIDTH;
}

size_t terminal_room(size_t wish)
{
    return wish > 0 ? wish : isatty(STDOUT_FILENO) ? terminal_width() : 0;
}

/* The value of VARIABLE, or OTHERWISE when it is not set or empty. */
static const char *value_of(const char *variable, const char *otherwise)
{
    const char *value = getenv(variable);

    return value && *value ? value : otherwise;
}

enum attn_color_depth terminal_depth(enum color_wish wish)
{
    const char *terminal = value_of("TERM", "dumb"), *depth = value_of("COLORTERM", "");
    bool has_none = strcmp(terminal, "dumb") == 0 || strcmp(terminal, "linux") == 0;

    if (wish == COLOR_NEVER)
        return ATTN_DEPTH_NONE;
    if (wish == COLOR_AUTO && (has_none || *value_of("NO_COLOR", "") || !isatty(STDOUT_FILENO)))
        return ATTN_DEPTH_NONE;
    if (strcmp(depth, "truecolor") == 0 || strcmp(depth, "24bit") == 0 ||
        text_ends_in(terminal, "-direct"))
        return ATTN_DEPTH_24_BIT;
    return ATTN_DEPTH_256;
}

bool terminal_is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = value_of(variables[i], "");

        if (*value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}
