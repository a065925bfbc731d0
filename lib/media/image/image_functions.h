/*
 * image_functions.h - the functions of libpng 1.6, of TurboJPEG and of libwebp 1 that
 * image_file_png.c, image_file_jpeg.c and image_file_webp.c call. They are declared here, so that
 * building needs no headers of these libraries. They are looked up when a picture is read.
 *
 *     #define DECLARE(result, name, arguments) result name arguments;
 *     ATTN_PNG_MAP(DECLARE)
 *
 * tests/tools/check_cairo.sh compares all of this with the real headers, if they are installed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct png_struct_def png_struct;
typedef struct png_info_def png_info;
typedef void *tjhandle;
struct WebPIDecoder;

enum {
    ATTN_PNG_COLOR_MASK_PALETTE = 1, /* bits of the color type of a picture */
    ATTN_PNG_COLOR_MASK_COLOR = 2,
    ATTN_PNG_COLOR_MASK_ALPHA = 4,
    ATTN_TJPF_RGB = 0, /* order of the bytes of a pixel in memory */
    ATTN_TJPF_CMYK = 11,
    ATTN_TJCS_CMYK = 3, /* colors of a file */
    ATTN_TJCS_YCCK = 4,
    ATTN_TJERR_WARNING = 0,
    /* Refuses a file of thousands of scans, which would take hours. */
    ATTN_TJFLAG_LIMITSCANS = 32768,
    ATTN_WEBP_RGB = 0,
    ATTN_WEBP_RGBA = 1,
    ATTN_VP8_OK = 0, /* results of decoding a WebP */
    ATTN_VP8_OUT_OF_MEMORY = 1,
    ATTN_VP8_UNSUPPORTED = 4,
    ATTN_VP8_SUSPENDED = 5,
};

/* X(result, name, arguments): a function */
#define ATTN_PNG_MAP(X)                                                                            \
    X(const char *, png_get_libpng_ver, (const png_struct *png))                                   \
    X(png_struct *, png_create_read_struct,                                                        \
      (const char *version, void *user, void (*on_error)(png_struct * png, const char *text),      \
       void (*on_warning)(png_struct * png, const char *text)))                                    \
    X(png_info *, png_create_info_struct, (const png_struct *png))                                 \
    X(void, png_destroy_read_struct, (png_struct * *png, png_info * *info, png_info * *end))       \
    X(void *, png_get_error_ptr, (const png_struct *png))                                          \
    X(void, png_init_io, (png_struct * png, FILE * stream))                                        \
    X(void, png_set_user_limits, (png_struct * png, uint32_t width, uint32_t height))              \
    X(void, png_read_info, (png_struct * png, png_info * info))                                    \
    X(uint32_t, png_get_IHDR,                                                                      \
      (const png_struct *png, const png_info *info, uint32_t *width, uint32_t *height, int *depth, \
       int *color, int *interlace, int *compression, int *filter))                                 \
    X(void, png_set_palette_to_rgb, (png_struct * png))                                            \
    X(void, png_set_expand_gray_1_2_4_to_8, (png_struct * png))                                    \
    X(void, png_set_strip_16, (png_struct * png))                                                  \
    X(void, png_set_gray_to_rgb, (png_struct * png))                                               \
    X(int, png_set_interlace_handling, (png_struct * png))                                         \
    X(void, png_read_update_info, (png_struct * png, png_info * info))                             \
    X(size_t, png_get_rowbytes, (const png_struct *png, const png_info *info))                     \
    X(void, png_read_row, (png_struct * png, unsigned char *row, unsigned char *display))          \
    X(void, png_read_end, (png_struct * png, png_info * info))

#define ATTN_JPEG_MAP(X)                                                                           \
    X(tjhandle, tjInitDecompress, (void))                                                          \
    X(int, tjDecompressHeader3,                                                                    \
      (tjhandle handle, const unsigned char *data, unsigned long size, int *width, int *height,    \
       int *sampling, int *colors))                                                                \
    X(int, tjDecompress2,                                                                          \
      (tjhandle handle, const unsigned char *data, unsigned long size, unsigned char *out,         \
       int width, int pitch, int height, int format, int flags))                                   \
    X(char *, tjGetErrorStr2, (tjhandle handle))                                                   \
    X(int, tjGetErrorCode, (tjhandle handle))                                                      \
    X(int, tjDestroy, (tjhandle handle))

/* Enumerations of libwebp are unsigned here. */
#define ATTN_WEBP_MAP(X)                                                                           \
    X(int, WebPGetInfo, (const uint8_t *data, size_t size, int *width, int *height))               \
    X(struct WebPIDecoder *, WebPINewRGB, (unsigned order, uint8_t *out, size_t size, int stride)) \
    X(unsigned, WebPIUpdate, (struct WebPIDecoder * decoder, const uint8_t *data, size_t size))    \
    X(void, WebPIDelete, (struct WebPIDecoder * decoder))
