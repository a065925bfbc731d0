/* image_library.c - see image_file_internal.h: opens the libraries that read pictures. */
#include "image/image_file_internal.h"

#include "base/os/dynamic.h"
#include "base/status_internal.h"
#include "base/text/escape.h"

enum attn_status attn_image_library_open(const struct attn_image_library *library, const char *path,
                                         void *into, struct attn_error *err)
{
    const char *failure =
        attn_dynamic_open(library->name, RTLD_NOW | RTLD_LOCAL, library->functions, into);

    if (!failure)
        return ATTN_OK;
    attn_error_set(err, ATTN_IO, "'%s' is a %s, which needs %s, %s", attn_quote_string(path).text,
                   library->format, library->name, failure);
    attn_error_hint(err,
                    "apt-get install %s, or an array: np.save('FILE.npy', "
                    "np.array(image.convert('RGB')))",
                    library->package);
    return ATTN_IO;
}
