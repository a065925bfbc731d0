/* given.c - see given.h. */
#include "base/given.h"
#include "base/status_internal.h"

bool attn_is_given(bool is_there, const char *name, struct attn_error *err)
{
    if (is_there)
        return true;
    attn_error_set(err, ATTN_INVALID, "'%s' is NULL, expected a pointer", name);
    attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    return false;
}

bool attn_is_choice(long value, long n, const char *name, struct attn_error *err)
{
    if (value >= 0 && value < n)
        return true;
    attn_error_set(err, ATTN_INVALID, "'%s' is %ld, expected 0 to %ld", name, value, n - 1);
    attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    return false;
}

enum attn_status attn_call_status(enum attn_status status, const char *name, struct attn_error *err)
{
    if (status != ATTN_OK)
        attn_error_set(err, status, "'%s' returned the status '%s' and no message", name,
                       attn_status_text(status));
    return status;
}
