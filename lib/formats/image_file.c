/* image_file.c - see image_file.h. */
#include "formats/image_file.h"

#include "base/memory.h"

void attn_image_release(struct attn_image *image)
{
    if (!image)
        return;
    attn_free(image->rgb);
    *image = (struct attn_image){0};
}
