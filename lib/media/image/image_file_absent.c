/* image_file_absent.c - see image_file_internal.h: the same functions for programs that cannot open
 * libraries (static programs, which contain their C library, and WebAssembly modules). They all
 * fail. */
#include "image/image_file_internal.h"

#include "base/status_internal.h"
#include "base/text/escape.h"

static enum attn_status refuse(const struct attn_file *file, const char *what,
                               struct attn_error *err)
{
    attn_error_set(err, ATTN_IO,
                   "'%s' is a %s, which needs a library that this program, linked statically, "
                   "cannot open",
                   attn_quote_string(file->path).text, what);
    attn_error_hint(err, "an array needs none: np.save('FILE.npy', "
                         "np.array(image.convert('RGB')))");
    return ATTN_IO;
}

enum attn_status attn_image_read_png(const struct attn_file *file, struct attn_image *image,
                                     struct attn_error *err)
{
    (void)image;
    return refuse(file, "PNG", err);
}

enum attn_status attn_image_read_jpeg(const struct attn_file *file, struct attn_image *image,
                                      struct attn_error *err)
{
    (void)image;
    return refuse(file, "JPEG", err);
}

enum attn_status attn_image_read_webp(const struct attn_file *file, struct attn_image *image,
                                      struct attn_error *err)
{
    (void)image;
    return refuse(file, "WebP", err);
}
