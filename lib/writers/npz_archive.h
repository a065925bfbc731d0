/*
 * npz_archive.h - an archive of arrays for numpy.load (.npz), stored not compressed: of one run, of
 * a batch, or of arrays over items.
 *
 *     struct attn_npz_archive npz;
 *     attn_npz_begin(&npz, ATTN_NPZ_STREAMED, sink, attn_sink_position(sink));
 *     attn_npz_plan(&npz, array.name, &array, &member, &err);
 *     attn_npz_sum(&npz, &member, offset, bytes, n);         // of each part of its data, and
 *     attn_npz_write(&npz, &member, offset, bytes, n);
 *     attn_npz_complete(&npz, &member);
 *     attn_npz_list(&npz, &member);                          // of each member
 *     attn_npz_finish(&npz, 0, &err);
 *
 * The sizes of a member are known before its data, so its place is, too. The caller checks the sink
 * for errors.
 */
#ifndef ATTN_WRITERS_NPZ_ARCHIVE_H
#define ATTN_WRITERS_NPZ_ARCHIVE_H

#include "base/buffer.h"
#include "base/sink.h"
#include "encode/numpy_file.h"
#include "writers/arrays.h"

/* How the members of an archive are written. Their headers come before the data, and contain the
 * CRC. */
enum attn_npz_order {
    ATTN_NPZ_PLACED,  /* parts of the data go to their places, in any order; the headers follow */
    ATTN_NPZ_SUMMED,  /* in order, after all parts were summed once */
    ATTN_NPZ_STREAMED /* in order; the CRC is written after the data */
};

struct attn_npz_archive {
    enum attn_npz_order order;
    struct attn_sink *sink; /* borrowed */
    struct attn_crc32 crc;
    uint64_t begin;             /* offset of the archive in the sink */
    uint64_t end;               /* offset of the next member in the archive */
    uint64_t n_listed;          /* number of listed members */
    struct attn_buffer central; /* owns; their central headers */
};

/* One array of the archive. */
struct attn_npz_member {
    const struct attn_array *array; /* borrowed */
    struct attn_zip_entry entry;
    uint64_t data_at; /* offset of its data in the archive */
    uint32_t crc;     /* of the parts so far */
    bool has_headers; /* they are written */
};

/* Prepares an archive that begins at BEGIN of SINK and continues at the sink's position. A sink
 * that is not seekable cannot be ATTN_NPZ_PLACED. */
void attn_npz_begin(struct attn_npz_archive *npz, enum attn_npz_order order, struct attn_sink *sink,
                    uint64_t begin);
void attn_npz_release(struct attn_npz_archive *npz);

/* Plans the next member, NAME.npy, with type and shape of ARRAY. ATTN_NO_MEMORY if the sizes
 * overflow. */
enum attn_status attn_npz_plan(struct attn_npz_archive *npz, const char *name,
                               const struct attn_array *array, struct attn_npz_member *member,
                               struct attn_error *err);

/* A part of a member's data: BYTES [size] at OFFSET. */
typedef void (*attn_npz_part_fn)(struct attn_npz_archive *npz, struct attn_npz_member *member,
                                 size_t offset, const void *bytes, size_t size);

/* Adds a part to the CRC, once; writes it. Both may run at the same time, for ATTN_NPZ_SUMMED all
 * sums come first. */
void attn_npz_sum(struct attn_npz_archive *npz, struct attn_npz_member *member, size_t offset,
                  const void *bytes, size_t size);
void attn_npz_write(struct attn_npz_archive *npz, struct attn_npz_member *member, size_t offset,
                    const void *bytes, size_t size);

/* Completes a member all of whose parts were summed and written. */
void attn_npz_complete(struct attn_npz_archive *npz, struct attn_npz_member *member);

/* Appends the central header of a complete member to `central`. */
void attn_npz_list(struct attn_npz_archive *npz, const struct attn_npz_member *member);

/* Writes `central`, and the end of the archive. The caller already wrote N_WRITTEN bytes of central
 * headers to the sink, after the last member. */
enum attn_status attn_npz_finish(struct attn_npz_archive *npz, uint64_t n_written,
                                 struct attn_error *err);

#endif
