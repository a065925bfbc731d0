#include "base/status_internal.h"

#include "base/os/os.h"
#include "base/text/fixed_text.h"
#include "base/text/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_OF(name, number, text) [number] = (text),
static const char *const statuses[] = {ATTN_STATUS_MAP(TEXT_OF)};
static const char *const stages[] = {ATTN_STAGE_MAP(TEXT_OF)};
static const char *const reasons[] = {ATTN_REASON_MAP(TEXT_OF)};
#undef TEXT_OF

const char *attn_status_text(enum attn_status status)
{
    return (size_t)status < sizeof statuses / sizeof *statuses ? statuses[status]
                                                               : "unknown status";
}

const char *attn_request_stage_text(enum attn_request_stage stage)
{
    return (size_t)stage < sizeof stages / sizeof *stages ? stages[stage] : "";
}

const char *attn_reason_text(enum attn_reason reason)
{
    return (size_t)reason < sizeof reasons / sizeof *reasons ? reasons[reason] : "";
}

/* Returns the end of the last complete character in TEXT [size], which was cut at an arbitrary
 * byte. */
static size_t whole_characters(const char *text, size_t size)
{
    size_t start = size;
    uint32_t code_point;

    while (start > 0 && size - start < 4) {
        start--;
        if (((unsigned char)text[start] & 0xc0) != 0x80)
            return attn_utf8_decode(text + start, size - start, &code_point) > 0 ? size : start;
    }
    return size;
}

ATTN_PRINTF(3, 0)
static void format_text(char *out, size_t size, const char *format, va_list args)
{
    int length = vsnprintf(out, size, format, args);

    if (length < 0)
        out[0] = '\0';
    else if ((size_t)length >= size)
        out[whole_characters(out, size - 1)] = '\0';
}

static void add_field(struct attn_error *err, const char *field, size_t size)
{
    size_t used = strlen(err->fields);

    attn_fixed_text_append(err->fields, sizeof err->fields, &used, "%s%.*s", used > 0 ? "|" : "",
                           (int)size, field);
}

/* Sets `fields` of ERR to the names that its message has in backquotes, or before a colon at its
 * start: "heads: bad item '9.9'". */
static void list_fields(struct attn_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_-.";
    const size_t n_subject = strspn(err->message, letters);

    if (err->message[n_subject] == ':')
        add_field(err, err->message, n_subject);
    for (const char *at = err->message; (at = strchr(at, '`')); at++) {
        const size_t size = strspn(at + 1, letters);

        if (size > 0 && (at[1 + size] == '`' || at[1 + size] == ' '))
            add_field(err, at + 1, size);
    }
}

ATTN_PRINTF(3, 0)
static void store(struct attn_error *err, enum attn_status status, const char *format, va_list args)
{
    if (!err || err->status != ATTN_OK)
        return;
    format_text(err->message, sizeof err->message, format, args);
    list_fields(err);
    err->status = status;
    err->reason = (enum attn_reason)status;
}

enum attn_status attn_error_set(struct attn_error *err, enum attn_status status, const char *format,
                                ...)
{
    va_list args;

    va_start(args, format);
    store(err, status, format, args);
    va_end(args);
    return status;
}

enum attn_status attn_refuse_in(struct attn_error *err, enum attn_status status, const char *path,
                                const char *name, const char *format, ...)
{
    char why[ATTN_ERROR_MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    format_text(why, sizeof why, format, args);
    va_end(args);
    return attn_error_set(err, status, "'%s' in '%s' %s", attn_quote_string(name).text,
                          attn_quote_string(path).text, why);
}

enum attn_status attn_refuse(struct attn_error *err, enum attn_request_stage stage,
                             const char *format, ...)
{
    va_list args;

    va_start(args, format);
    store(err, ATTN_INVALID, format, args);
    va_end(args);
    return attn_error_at(ATTN_INVALID, stage, err);
}

enum attn_status attn_error_hint(struct attn_error *err, const char *format, ...)
{
    va_list args;

    if (err && err->status != ATTN_OK && err->hint[0] == '\0') {
        va_start(args, format);
        format_text(err->hint, sizeof err->hint, format, args);
        va_end(args);
    }
    return err && err->status != ATTN_OK ? err->status : ATTN_INVALID;
}

enum attn_status attn_error_copy(struct attn_error *err, const struct attn_error *from)
{
    if (err && err->status == ATTN_OK)
        *err = *from;
    return from->status;
}

enum attn_status attn_error_at(enum attn_status status, enum attn_request_stage stage,
                               struct attn_error *err)
{
    if (err && status != ATTN_OK && err->stage == ATTN_STAGE_NONE)
        err->stage = stage;
    return status;
}

enum attn_status attn_error_because(enum attn_status status, enum attn_reason reason,
                                    struct attn_error *err)
{
    if (err && status != ATTN_OK && status != ATTN_NO_MEMORY && status != ATTN_CANCELED)
        err->reason = reason;
    return status;
}

enum attn_status attn_error_of(enum attn_status status, const char *field, struct attn_error *err)
{
    if (err && status == ATTN_INVALID)
        add_field(err, field, strlen(field));
    return status;
}

enum attn_status attn_error_under(enum attn_status status, const char *what, struct attn_error *err)
{
    char message[ATTN_ERROR_MESSAGE_SIZE];

    if (!err || status != ATTN_INVALID)
        return status;
    memcpy(message, err->message, sizeof message);
    snprintf(err->message, sizeof err->message, "%s: %.*s", what,
             (int)(sizeof message - strlen(what) - 3), message);
    return status;
}

enum attn_status attn_error_in(enum attn_status status, const char *field, struct attn_error *err)
{
    return attn_error_of(attn_error_under(status, field, err), field, err);
}

enum attn_status attn_error_no_memory(struct attn_error *err)
{
    return attn_error_set(err, ATTN_NO_MEMORY, "%s", attn_status_text(ATTN_NO_MEMORY));
}

enum attn_status attn_error_errno(struct attn_error *err, const char *verb, const char *path,
                                  int errno_value)
{
    static const int reasons_of[][2] = {
        {ENOENT, ATTN_REASON_NOT_FOUND}, {ENOTDIR, ATTN_REASON_NOT_FOUND},
        {EACCES, ATTN_REASON_NO_ACCESS}, {EPERM, ATTN_REASON_NO_ACCESS},
        {EROFS, ATTN_REASON_NO_ACCESS},  {ENOSPC, ATTN_REASON_NO_SPACE},
        {EFBIG, ATTN_REASON_NO_SPACE},   {EEXIST, ATTN_REASON_EXISTS}};
    const bool is_first = err && err->status == ATTN_OK;
    enum attn_status status = errno_value == ENOMEM ? ATTN_NO_MEMORY : ATTN_IO;

    attn_error_set(err, status, "cannot %s '%s': %s", verb, attn_quote_string(path).text,
                   attn_os_error_text(errno_value));
    for (size_t i = 0; is_first && i < sizeof reasons_of / sizeof *reasons_of; i++)
        if (reasons_of[i][0] == errno_value)
            err->reason = (enum attn_reason)reasons_of[i][1];
    return status;
}
