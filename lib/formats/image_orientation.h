/*
 * image_orientation.h - the orientation that a camera recorded in its picture. For files of this
 * layer.
 *
 * A camera writes the rows of a JPEG in the order of the sensor, and the orientation, 1 to 8, in
 * the Exif data (APP1, a small TIFF): a picture with 6 has to be rotated clockwise by 90 degrees.
 */
#ifndef ATTN_FORMATS_IMAGE_ORIENTATION_H
#define ATTN_FORMATS_IMAGE_ORIENTATION_H

#include "formats/image_file.h"

/* The orientation of the JPEG in DATA [size], 1 to 8; 1, not rotated, if it is missing or
 * invalid. */
int attn_image_orientation(const unsigned char *data, size_t size);

/* Rotates and mirrors IMAGE according to ORIENTATION. Untouched on failure. */
enum attn_status attn_image_turn(struct attn_image *image, int orientation, struct attn_error *err);

#endif
