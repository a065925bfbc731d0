/*
 * image.h - .safetensors files made in memory for tests.
 *
 * The library reads them from blocks of exactly their size, so that ASan sees a read past the end.
 */
#pragma once

#include "formats/safetensors.h"

#include <stddef.h>

/* Literals may hold NUL. */
#define TEXT(literal) literal, sizeof literal - 1

/* A tensor of F32 in a header. */
#define TENSOR(name, shape, offsets)                                                               \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

/* A header with one tensor called w, whose members are written out. */
#define W(members) TEXT("{\"w\":{" members "}}")
#define F32 "\"dtype\":\"F32\","
#define PAIR "\"dtype\":\"F32\",\"shape\":[2],"
#define AT(offsets) ",\"data_offsets\":" offsets

struct attn_image {
    unsigned char *bytes; /* owns: free() */
    size_t size;
};

/* The size of HEADER, HEADER, then N_DATA bytes 0, 1, 2, ... */
struct attn_image attn_image_make(const char *header, size_t n_header, size_t n_data);

/* Opens BYTES as m.safetensors; checks that failure and success leave *st and err as they must. */
enum attn_status attn_image_open_bytes(const unsigned char *bytes, size_t size,
                                       struct attn_tensor_files **st, struct attn_error *err);

/* Opens and closes a copy of the first SIZE bytes of IMAGE. */
enum attn_status attn_image_try(struct attn_image image, size_t size, struct attn_error *err);

/* Opens and closes a file. */
enum attn_status attn_image_try_header(const char *header, size_t n_header, size_t n_data,
                                       struct attn_error *err);
