/*
 * picture.h - PNG files read back: what is written is judged by another reader than its writer.
 *
 *     struct attn_picture picture;
 *     attn_picture_read(bytes, size, &picture);      // fails the test when it is no good file
 *     uint32_t color = picture.pixels[y * picture.width + x];      // 0xRRGGBB
 *     attn_picture_release(&picture);
 */
#ifndef ATTN_TESTS_PICTURE_H
#define ATTN_TESTS_PICTURE_H

#include <stddef.h>
#include <stdint.h>

struct attn_picture {
    size_t width, height;
    uint32_t *pixels; /* [height * width] 0xRRGGBB */
    char *texts;      /* NAME=VALUE of each text, one a line */
    char *chunks;     /* the names of all chunks in order, separated by blanks */
};

/* 8-bit RGB or palette, without filters. Checks the order of chunks and each CRC. */
void attn_picture_read(const void *bytes, size_t size, struct attn_picture *picture);

void attn_picture_release(struct attn_picture *picture);

#endif
