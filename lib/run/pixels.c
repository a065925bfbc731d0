/* pixels.c - see pixels.h. */
#include "run/pixels.h"

#include "base/memory.h"

void attn_pixels_release(struct attn_pixels *pixels)
{
    if (!pixels)
        return;
    attn_free(pixels->values);
    attn_free(pixels->shown);
    *pixels = (struct attn_pixels){0};
}
