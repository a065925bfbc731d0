/* sound.c - see sound.h. */
#include "base/status_internal.h"
#include "input/sound_internal.h"

#include <errno.h>
#include <unistd.h>

enum attn_status attn_sound_read(const char *path, struct attn_ndarray *samples,
                                 struct attn_error *err)
{
    return access(path, R_OK) == 0 ? attn_sound_file_read(path, samples, err)
                                   : attn_error_errno(err, "open", path, errno);
}
