/* options.c - copies what both sides know of an options struct; see options.h. */
#include "base/options.h"

#include <stddef.h>
#include <string.h>

/* More than any struct of options will have. A larger size means that the caller did not set it. */
enum { MOST_BYTES = 4096 };

enum attn_status attn_options_read(const void *given, void *options, struct attn_error *err)
{
    const unsigned char *bytes = given;
    size_t size, known;

    if (!given)
        return ATTN_OK;
    memcpy(&size, given, sizeof size);
    memcpy(&known, options, sizeof known);
    if (size < sizeof size || size > MOST_BYTES)
        return attn_error_set(err, ATTN_INVALID,
                              "an options struct has the size '%zu', expected that of its type, "
                              "which its initializer sets",
                              size);
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
