/*
 * report.c - errors, hints and notes on standard error.
 *
 * Messages of the library are already one escaped line. Ours may quote what the user typed, so the
 * whole line is escaped after it is formatted; our own words have nothing that escaping changes.
 */
#include "cmd/line/report.h"

#include "cmd/line/command.h"
#include "cmd/line/field_names.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/progress.h"

#include "tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 1024 };

static void print_error(const char *message, const char *hint)
{
    if (interrupt_is_pending())
        return; /* the signal caused it, and says so itself when the process ends by it */
    progress_clear();
    fprintf(stderr, "attn-cli: error: %s\n", message);
    if (hint && hint[0])
        fprintf(stderr, "hint: %s\n", hint);
}

/* Whether ERR came of weights whose file lost its end while it was mapped. */
static bool is_truncation(const struct attn_error *err)
{
    return err->status == ATTN_CANCELED && interrupt_is_model_truncated();
}

int exit_code_of(const struct attn_error *err)
{
    static const int codes[] = {
        [ATTN_STAGE_NONE] = EXIT_INTERNAL, [ATTN_STAGE_OPTIONS] = EXIT_USAGE,
        [ATTN_STAGE_MODEL] = EXIT_MODEL,   [ATTN_STAGE_INPUT] = EXIT_INPUT,
        [ATTN_STAGE_OUTPUT] = EXIT_OUTPUT, [ATTN_STAGE_CHECK] = EXIT_CHECK,
    };
    if (is_truncation(err))
        return EXIT_MODEL;
    return err->status == ATTN_NO_MEMORY ? EXIT_INTERNAL : codes[err->stage];
}

int report_error(const struct attn_error *err)
{
    return report(err, exit_code_of(err));
}

int report(const struct attn_error *err, int code)
{
    if (is_truncation(err)) {
        print_error(INTERRUPT_TRUNCATED, NULL);
        return EXIT_MODEL;
    }
    char line[LINE_SIZE], hint[LINE_SIZE];
    field_names_show(err->message, line, sizeof(line));
    field_names_show(err->hint, hint, sizeof(hint));
    print_error(line, hint);
    return err->status == ATTN_NO_MEMORY ? EXIT_INTERNAL : code;
}

/* Takes the middle out of a TEXT that is too long for a line: what was typed lies there, between
 * what it is and what was expected. */
static void shorten(char *text)
{
    enum { MOST = 400, KEPT = 190 }; /* bytes in all; at each end */
    static const char gap[] = "...";
    size_t size = strlen(text), head = KEPT, tail = size - KEPT;
    if (size <= MOST)
        return;
    while (head > 0 && (text[head] & 0xc0) == 0x80) /* within a character of UTF-8 */
        head--;
    while (tail < size && (text[tail] & 0xc0) == 0x80)
        tail++;
    memcpy(text + head, gap, sizeof(gap) - 1);
    memmove(text + head + sizeof(gap) - 1, text + tail, size - tail + 1);
}

int report_problem(int code, const char *hint, const char *format, ...)
{
    struct attn_error err = {0};
    char *line, *escaped;
    va_list arguments;
    va_start(arguments, format);
    int size = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (size < 0)
        return report_no_memory();
    if (attn_escape(line, (size_t)size, &escaped, &err) != ATTN_OK) {
        free(line);
        return report(&err, code);
    }
    shorten(escaped);
    print_error(escaped, hint);
    attn_text_free(escaped);
    free(line);
    return code;
}

int report_no_memory(void)
{
    print_error(attn_status_text(ATTN_NO_MEMORY), NULL);
    return EXIT_INTERNAL;
}

void note(const char *format, ...)
{
    char line[LINE_SIZE], shown[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    field_names_show(line, shown, sizeof(shown));
    progress_clear();
    fprintf(stderr, "attn-cli: note: %s\n", shown);
}
