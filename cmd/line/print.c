#include "cmd/line/print.h"

#include "cmd/line/ask_terminal.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum attn_status print_open(struct attn_sink **out, struct attn_error *err)
{
    return at_stage(ATTN_STAGE_OUTPUT,
                    attn_sink_create_descriptor(ATTN_OS_OUTPUT, "standard output", out, err), err);
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

/* Prints the escaped form of a token (base/text/escape.h). */
static enum attn_status print_escaped(struct attn_sink *out, const char *text, size_t size,
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
    return at_stage(ATTN_STAGE_OUTPUT, attn_sink_write_buffer(out, text, err), err);
}

enum attn_status print_flush(struct attn_sink *out, struct attn_error *err)
{
    attn_sink_flush(out);
    if (attn_sink_is_closed_pipe(out))
        return ATTN_OK;
    return at_stage(ATTN_STAGE_OUTPUT, attn_sink_check(out, err), err);
}

enum { USUAL_WIDTH = 80, MOST_WIDTH = 100000 };

size_t terminal_width(void)
{
    const char *columns = getenv("COLUMNS");
    const size_t seen = attn_os_is_terminal(ATTN_OS_OUTPUT) ? attn_os_columns(ATTN_OS_OUTPUT) : 0;
    int64_t width;

    if (seen > 0)
        return seen;
    if (columns && attn_parse_int(columns, strlen(columns), 1, MOST_WIDTH, &width))
        return (size_t)width;
    return USUAL_WIDTH;
}

size_t terminal_room(size_t wish)
{
    return wish > 0 ? wish : attn_os_is_terminal(ATTN_OS_OUTPUT) ? terminal_width() : 0;
}

/* Returns the value of the environment variable VARIABLE; OTHERWISE if it is unset or empty. */
static const char *value_of(const char *variable, const char *otherwise)
{
    const char *value = getenv(variable);

    return value && *value ? value : otherwise;
}

/* Returns true if TERM is that of a terminal without colors. */
static bool is_without_colors(const char *terminal)
{
    return strcmp(terminal, "dumb") == 0 || strcmp(terminal, "linux") == 0;
}

enum attn_color_depth terminal_depth(enum color_wish wish)
{
    const char *terminal = value_of("TERM", "dumb"), *depth = value_of("COLORTERM", "");
    const bool has_none = is_without_colors(terminal);

    if (wish == COLOR_NEVER)
        return ATTN_DEPTH_NONE;
    if (wish == COLOR_AUTO &&
        (has_none || *value_of("NO_COLOR", "") || !attn_os_is_terminal(ATTN_OS_OUTPUT)))
        return ATTN_DEPTH_NONE;
    if (strcmp(depth, "truecolor") == 0 || strcmp(depth, "24bit") == 0 ||
        text_ends_in(terminal, "-direct"))
        return ATTN_DEPTH_24_BIT;
    return ATTN_DEPTH_256;
}

/* Returns the theme of COLORFGBG, such as "15;0" or "0;default;15". The background colors 0 to 6
 * and 8 are dark. */
static enum attn_theme colorfgbg_theme(void)
{
    const char *last = strrchr(value_of("COLORFGBG", ""), ';');
    int64_t color;

    if (!last || !attn_parse_int(last + 1, strlen(last + 1), 0, 15, &color))
        return ATTN_THEME_AUTO;
    return color == 7 || color > 8 ? ATTN_THEME_LIGHT : ATTN_THEME_DARK;
}

enum attn_theme terminal_theme(enum attn_color_depth depth)
{
    static bool is_asked;
    static enum attn_theme answer;
    const enum attn_theme theme = colorfgbg_theme();

    if (depth == ATTN_DEPTH_NONE || theme != ATTN_THEME_AUTO)
        return theme;
    if (!is_asked && !is_without_colors(value_of("TERM", "dumb")))
        answer = terminal_ask_theme();
    is_asked = true;
    return answer;
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
