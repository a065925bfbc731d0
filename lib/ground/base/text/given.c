#include "base/text/given.h"

#include "base/status_internal.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

bool attn_is_given(bool is_there, const char *name, struct attn_error *err)
{
    if (!is_there)
        attn_error_at(attn_error_set(err, ATTN_INVALID, "'%s' is NULL, expected a pointer", name),
                      ATTN_STAGE_OPTIONS, err);
    return is_there;
}

bool attn_are_given(const char *names, const void *const *pointers, struct attn_error *err)
{
    char name[32];

    for (size_t n; *names; names += n + strspn(names + n, ", ")) {
        n = strcspn(names, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, names);
        if (!attn_is_given(*pointers++, name, err))
            return false;
    }
    return true;
}

bool attn_is_choice(long value, long n, const char *name, struct attn_error *err)
{
    if (value >= 0 && value < n)
        return true;
    attn_error_set(err, ATTN_INVALID, "'%s' is %ld, expected 0 to %ld", name, value, n - 1);
    attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    return false;
}

bool attn_is_known(const void *const *later, size_t n, const char *name, struct attn_error *err)
{
    while (n > 0 && !later[n - 1])
        n--;
    if (n == 0)
        return true;
    attn_error_set(err, ATTN_INVALID,
                   "'%s' has fields that this version of the library does not know", name);
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

/* Larger than any options struct will be. A larger size means that the caller did not set it. */
enum { MAX_BYTES = 4096 };

/* Checks SIZE, with which a struct of a caller begins. */
static enum attn_status check_size(size_t size, const char *what, struct attn_error *err)
{
    if (size >= sizeof size && size <= MAX_BYTES)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "%s has the size '%zu', expected the size of its type, which its "
                          "initializer sets",
                          what, size);
}

void *attn_defaults_copy(void *given, size_t size, const void *defaults, size_t n)
{
    size_t own;

    memcpy(&own, defaults, sizeof own);
    if (!given)
        return NULL;
    memset(given, 0, size);
    memcpy(given, defaults, size < n ? size : n);
    if (own == n && size >= sizeof size)
        memcpy(given, &size, sizeof size);
    return given;
}

enum attn_status attn_options_read(const void *given, void *options, struct attn_error *err)
{
    const unsigned char *bytes = given;
    size_t size, known;

    if (!given)
        return ATTN_OK;
    memcpy(&size, given, sizeof size);
    memcpy(&known, options, sizeof known);
    ATTN_TRY(check_size(size, "an options struct", err));
    for (size_t i = known; i < size; i++)
        if (bytes[i] != 0)
            return attn_error_set(err, ATTN_INVALID,
                                  "an options struct of '%zu' bytes sets fields that this version "
                                  "does not have: it knows the first %zu bytes",
                                  size, known);
    memcpy((unsigned char *)options + sizeof size, bytes + sizeof size,
           (size < known ? size : known) - sizeof size);
    return ATTN_OK;
}

enum attn_status attn_results_check(const void *given, const char *name, struct attn_error *err)
{
    char what[64];
    size_t size;

    if (!attn_is_given(given, name, err))
        return ATTN_INVALID;
    memcpy(&size, given, sizeof size);
    snprintf(what, sizeof what, "'%s'", name);
    return attn_error_at(check_size(size, what, err), ATTN_STAGE_OPTIONS, err);
}

void attn_results_write(const void *results, size_t n_byte, void *given)
{
    unsigned char *to = given;
    size_t size, n;

    memcpy(&size, given, sizeof size);
    n = size < n_byte ? size : n_byte;
    memcpy(to + sizeof size, (const unsigned char *)results + sizeof size, n - sizeof size);
    memset(to + n, 0, size - n);
}
