#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/given.h"
#include "sound/sound_internal.h"

#include "base/os/os.h"

#include <errno.h>
#include <string.h>

enum attn_status attn_sound_read(const char *path, struct attn_ndarray *samples,
                                 struct attn_error *err)
{
    ATTN_NEED(err, path, samples);
    return attn_os_may_read(path) ? attn_sound_file_read(path, samples, err)
                                  : attn_error_errno(err, "open", path, errno);
}

enum attn_status attn_source_file_read(const char *path, struct attn_ndarray *rows,
                                       struct attn_error *err)
{
    const char *ending = strrchr(path, '.');
    enum attn_status status;

    if (attn_sound_is_file(path))
        return attn_sound_read(path, rows, err);
    status = attn_ndarray_read(path, 2, 2, "[S, d_source]", rows, err);
    if (status != ATTN_FORMAT || (ending && strncmp(ending, ".np", 3) == 0))
        return status;
    *err = (struct attn_error){0};
    return attn_error_set(err, ATTN_FORMAT,
                          "'%s' is neither a sound, WAV, FLAC or OGG, nor an array, .npy",
                          attn_quote_string(path).text);
}
