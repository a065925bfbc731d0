/* escaped.c - text made printable for those outside the library. */
#include "base/escape.h"
#include "base/memory.h"
#include "text/tokenizer.h"

enum attn_status attn_escape(const char *text, size_t size, char **escaped, struct attn_error *err)
{
    struct attn_buffer buffer = {0};
    enum attn_status status;
    char *copy = NULL;

    attn_escape_append(&buffer, text, size);
    status = attn_buffer_check(&buffer, err);
    if (status == ATTN_OK) {
        copy = attn_strndup(buffer.data, buffer.size, err);
        status = copy != NULL ? ATTN_OK : ATTN_NO_MEMORY;
    }
    attn_buffer_release(&buffer);
    if (status == ATTN_OK)
        *escaped = copy;
    return status;
}
