#include "base/note.h"

#include "base/status_internal.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

const char *attn_note_name(enum attn_note code)
{
    static const char *const names[] = {
#define NOTE_NAME(identifier, number, name) [ATTN_NOTE_##identifier] = (name),
        ATTN_NOTE_MAP(NOTE_NAME)
#undef NOTE_NAME
    };
    const size_t n = sizeof names / sizeof *names;

    return (size_t)code < n && names[code] ? names[code] : "";
}

void attn_note(attn_note_fn on_note, void *user, enum attn_note code, const char *format, ...)
{
    char message[ATTN_ERROR_MESSAGE_SIZE + ATTN_ERROR_HINT_SIZE];
    va_list arguments;

    if (!on_note)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    on_note(user, code, message);
}

void attn_note_counted(struct attn_notes notes, const struct attn_counted_note *note)
{
    char count[64] = "";

    if (notes.on_note && notes.on_counted) {
        notes.on_counted(notes.user, note);
        return;
    }
    if (note->n_run > 0)
        snprintf(count, sizeof count, " in %zu of %zu records", note->n, note->n_run);
    attn_note(notes.on_note, notes.user, note->code, "%s%s: %s", note->subject, count,
              note->reason);
}
