/*
 * npz_archive.h - writes an uncompressed archive of arrays for numpy.load (.npz): of one run, of a
 * batch, or of arrays over items.
 *
 *     struct attn_npz_archive npz;
 *     attn_npz_begin(&npz, ATTN_NPZ_STREAMED, sink, attn_sink_position(sink));
 *     attn_npz_plan(&npz, array.name, &array, &member, &err);
 *     attn_npz_sum(&npz, &member, offset, bytes, n);         // for each part of its data
 *     attn_npz_write(&npz, &member, offset, bytes, n);
 *     attn_npz_complete(&npz, &member);
 *     attn_npz_list(&npz, &member);                          // for each member
 *     attn_npz_finish(&npz, 0, &err);
 *
 * The sizes of a member, and therefore its place, are known before its data. The caller checks the
 * sink for errors.
 */
#pragma once

#include "base/buffer.h"
#include "base/sink.h"
#include "formats/numpy_file.h"
#include "tensors/arrays.h"

/* The order in which members are written. Their headers precede the data, and contain its CRC. */
enum attn_npz_order {
    /* parts of the data are written to their places, in any order; the headers are written last */
    ATTN_NPZ_PLACED,
    ATTN_NPZ_SUMMED,  /* in order, after all parts were summed in a first pass */
    ATTN_NPZ_STREAMED /* in order; the CRC is written after the data */
};

struct attn_npz_archive {
    enum attn_npz_order order;
    struct attn_sink *sink; /* borrowed */
    struct attn_crc32 crc;
    uint64_t begin;             /* offset of the archive in the sink */
    uint64_t end;               /* offset of the next member in the archive */
    uint64_t n_listed;          /* number of listed members */
    struct attn_buffer central; /* owns; the central headers of listed members */
};

/* One array of the archive. */
struct attn_npz_member {
    const struct attn_array *array; /* borrowed */
    struct attn_zip_entry entry;
    uint64_t data_at; /* offset of its data in the archive */
    uint32_t crc;     /* CRC of the parts so far */
    bool has_headers; /* its headers were written */
};

/* Begins an archive at offset BEGIN of SINK; writing continues at the sink's position.
 * ATTN_NPZ_PLACED needs a seekable sink. */
void attn_npz_begin(struct attn_npz_archive *npz, enum attn_npz_order order, struct attn_sink *sink,
                    uint64_t begin);
void attn_npz_release(struct attn_npz_archive *npz);

/* Plans the next member, NAME.npy, with the type and shape of ARRAY. ATTN_NO_MEMORY if the sizes
 * overflow. */
enum attn_status attn_npz_plan(struct attn_npz_archive *npz, const char *name,
                               const struct attn_array *array, struct attn_npz_member *member,
                               struct attn_error *err);

/* Processes a part of a member's data: BYTES [size] at OFFSET. */
typedef void (*attn_npz_part_fn)(struct attn_npz_archive *npz, struct attn_npz_member *member,
                                 size_t offset, const void *bytes, size_t size);

/* The first adds a part to the CRC, exactly once; the second writes it. Both may run in parallel;
 * for ATTN_NPZ_SUMMED all sums come first. */
void attn_npz_sum(struct attn_npz_archive *npz, struct attn_npz_member *member, size_t offset,
                  const void *bytes, size_t size);
void attn_npz_write(struct attn_npz_archive *npz, struct attn_npz_member *member, size_t offset,
                    const void *bytes, size_t size);

/* Completes a member. All its parts must have been summed and written. */
void attn_npz_complete(struct attn_npz_archive *npz, struct attn_npz_member *member);

/* Appends the central header of a complete member to `central`. */
void attn_npz_list(struct attn_npz_archive *npz, const struct attn_npz_member *member);

/* Writes `central` and the end of the archive. N_WRITTEN: bytes of central headers that the caller
 * already wrote to the sink, after the last member. */
enum attn_status attn_npz_finish(struct attn_npz_archive *npz, uint64_t n_written,
                                 struct attn_error *err);
