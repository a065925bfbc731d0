/* terminal.c - see terminal.h. */
#include "cmd/line/terminal.h"

#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

/* The value of VARIABLE, or OTHERWISE when it is not set or empty. */
static const char *value_of(const char *variable, const char *otherwise)
{
    const char *value = getenv(variable);
    return value && *value ? value : otherwise;
}

static bool ends_in(const char *text, const char *ending)
{
    size_t size = strlen(text), n = strlen(ending);
    return size >= n && strcmp(text + size - n, ending) == 0;
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
        ends_in(terminal, "-direct"))
        return ATTN_DEPTH_24_BIT;
    return ATTN_DEPTH_256;
}

bool terminal_is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *value = value_of(variables[i], "");
        if (*value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}
