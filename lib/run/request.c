/* request.c - see request.h. */
#include "run/request_internal.h"

#include <stdarg.h>
#include <stdio.h>

void attn_request_note(const struct attn_request *request, const char *format, ...)
{
    char line[512];
    va_list args;

    if (!request->on_note)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    request->on_note(request->user, line);
}
