/*
 * image_orientation.h - which way up a camera says that its picture is. For files of this layer.
 *
 * A JPEG of a camera holds the rows as the sensor has them, and in its Exif data (APP1, a small
 * TIFF) the orientation, 1 to 8: 6 is to be turned clockwise by a quarter.
 */
#ifndef ATTN_FORMATS_IMAGE_ORIENTATION_H
#define ATTN_FORMATS_IMAGE_ORIENTATION_H

#include "formats/image_file.h"

/* What the JPEG of DATA [size] says, 1 to 8; 1, as it is, where it says nothing that is
 * understood. */
int attn_image_orientation(const unsigned char *data, size_t size);

/* Turns IMAGE as ORIENTATION says. Untouched on failure. */
enum attn_status attn_image_turn(struct attn_image *image, int orientation, struct attn_error *err);

#endif
