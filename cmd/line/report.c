/* report.c - prints errors, hints and notes on standard error. Messages of the library are already
 * escaped and have one line. Messages of the program may quote typed text, so the whole formatted
 * line is escaped; that does not change the words of the program. */
#include "cmd/line/report.h"

#include "cmd/line/command.h"
#include "cmd/line/field_names.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/progress.h"

#include "tool.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 1024 };

static void print_error(const char *message, const char *hint)
{
    if (interrupt_is_pending())
        return; /* the signal will end the process */
    progress_clear();
    fprintf(stderr, "attn-cli: error: %s\n", message);
    if (hint && hint[0])
        fprintf(stderr, "hint: %s\n", hint);
}

int report(const struct command *command, const struct attn_error *err)
{
    static const int codes[] = {
        [ATTN_STAGE_NONE] = EXIT_INTERNAL, [ATTN_STAGE_OPTIONS] = EXIT_USAGE,
        [ATTN_STAGE_MODEL] = EXIT_MODEL,   [ATTN_STAGE_INPUT] = EXIT_INPUT,
        [ATTN_STAGE_OUTPUT] = EXIT_OUTPUT, [ATTN_STAGE_CHECK] = EXIT_CHECK,
    };
    char line[LINE_SIZE], hint[LINE_SIZE];

    /* the file of weights became shorter while it was mapped */
    if (err->status == ATTN_CANCELED && interrupt_is_model_truncated()) {
        print_error(INTERRUPT_TRUNCATED, NULL);
        return EXIT_MODEL;
    }
    field_names_show(err->message, line, sizeof line);
    field_names_show(err->hint, hint, sizeof hint);
    print_error(line, field_names_fit(err->hint, command) ? hint : NULL);
    return err->status == ATTN_NO_MEMORY ? EXIT_MEMORY : codes[err->stage];
}

void report_json(const struct command *command, const struct attn_error *err, int code)
{
    struct attn_buffer text = {0};
    struct attn_json_writer json = {.out = &text};
    char line[LINE_SIZE], hint[LINE_SIZE];

    field_names_show(err->message, line, sizeof line);
    field_names_show(err->hint, hint, sizeof hint);
    attn_json_begin(&json, '{');
    attn_json_head(&json, ATTN_DOCUMENT_ERROR);
    attn_json_begin(attn_json_key(&json, "error"), '{');
    attn_json_text(attn_json_key(&json, "code"), attn_reason_text(err->reason));
    attn_json_text(attn_json_key(&json, "message"), line);
    attn_json_text(attn_json_key(&json, "hint"),
                   hint[0] && field_names_fit(err->hint, command) ? hint : NULL);
    attn_json_end(&json);
    attn_json_integer(attn_json_key(&json, "exit"), code);
    attn_json_end(&json);
    if (attn_buffer_check(&text, NULL) == ATTN_OK && !interrupt_is_pending())
        printf("%.*s\n", (int)text.size, text.data), fflush(stdout);
    attn_buffer_release(&text);
}

/* Cuts the middle out of TEXT if it is too long for a line. The middle is text that the user typed;
 * the subject stands before it and the expected form after it. */
static void shorten(char *text)
{
    enum { MOST = 400, KEPT = 190 }; /* bytes in all, and at each end */
    static const char gap[] = "...";
    size_t size = strlen(text), head = KEPT, tail = size - KEPT;
    if (size <= MOST)
        return;
    while (head > 0 && (text[head] & 0xc0) == 0x80) /* inside a UTF-8 character */
        head--;
    while (tail < size && (text[tail] & 0xc0) == 0x80)
        tail++;
    memcpy(text + head, gap, sizeof gap - 1);
    memmove(text + head + sizeof gap - 1, text + tail, size - tail + 1);
}

enum attn_status problem(struct attn_error *err, enum attn_request_stage stage, const char *hint,
                         const char *format, ...)
{
    char *line, *escaped;
    enum attn_status status;
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (size < 0)
        return attn_error_no_memory(err);
    status = attn_escape(line, (size_t)size, &escaped, err);
    free(line);
    ATTN_TRY(status);
    shorten(escaped);
    attn_error_set(err, ATTN_INVALID, "%s", escaped);
    attn_free(escaped);
    if (hint)
        attn_error_hint(err, "%s", hint);
    return at_stage(stage, ATTN_INVALID, err);
}

enum attn_status at_stage(enum attn_request_stage stage, enum attn_status status,
                          struct attn_error *err)
{
    if (status != ATTN_OK && err->stage == ATTN_STAGE_NONE)
        err->stage = stage;
    return status;
}

static bool is_silent; /* notes are left out */

void note_silence(void)
{
    is_silent = true;
}

void note(const char *format, ...)
{
    char line[LINE_SIZE], shown[LINE_SIZE];
    va_list arguments;

    if (is_silent)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    field_names_show(line, shown, sizeof(shown));
    progress_clear();
    fprintf(stderr, "attn-cli: note: %s\n", shown);
}

void note_message(void *user, enum attn_note code, const char *message)
{
    static bool has_time;

    (void)user;
    if (code == ATTN_NOTE_TIME && has_time) /* was noted for another window of the same text */
        return;
    has_time = has_time || code == ATTN_NOTE_TIME;
    note("%s", message);
}
