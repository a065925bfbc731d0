/* sound_file_absent.c - see sound_internal.h: the same functions for programs that cannot open
 * libraries. */
#include "sound/sound_internal.h"

#include "base/text/escape.h"

#include <string.h>

bool attn_sound_is_file(const char *path)
{
    const size_t size = strlen(path);

    return size > 4 && strcmp(path + size - 4, ".wav") == 0;
}

enum attn_status attn_sound_file_read(const char *path, struct attn_ndarray *samples,
                                      struct attn_error *err)
{
    (void)samples;
    return attn_error_set(err, ATTN_IO,
                          "'%s' is a sound, which needs a library that this program, linked "
                          "statically, cannot open",
                          attn_quote_string(path).text);
}
