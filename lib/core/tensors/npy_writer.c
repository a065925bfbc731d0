/*
 * npy_writer.c - one file per array: DIR/blocks.0.attn.hook_pattern.npy, DIR/ids.npy.
 *
 * A file is open from the first row of its array to the last; rows are written directly to their
 * place. Arrays whose rows are scattered ([T,H,E], emitted head by head) are collected in memory.
 */
#include "formats/numpy_file.h"
#include "tensors/arrays.h"
#include "tensors/writer.h"

#include "base/memory.h"
#include "base/sink_internal.h"

#include <stdio.h>

struct npy_writer {
    struct attn_array_writer array;
    struct attn_sink **files; /* [array.arrays.n] owns; the open files; others are NULL */
};

static struct attn_sink **file_of(const struct npy_writer *w, const struct attn_array *array)
{
    return &w->files[array - w->array.arrays.items];
}

struct file_name {
    char text[ATTN_SITE_ARCHIVE_NAME_SIZE + 8];
};

static struct file_name file_name(const struct npy_writer *w, const struct attn_array *array)
{
    struct file_name name;

    snprintf(name.text, sizeof name.text, "%s%s", array->name, w->array.base.format->suffix);
    return name;
}

/* Creates the file of ARRAY, unless it is open (attn_array_fn). */
static enum attn_status open_file(struct attn_writer *writer, struct attn_array *array,
                                  struct attn_error *err)
{
    const struct npy_writer *w = (struct npy_writer *)writer;
    char header[ATTN_NPY_HEADER_SIZE];
    struct attn_sink **file = file_of(w, array);

    if (*file)
        return attn_sink_check(*file, err);
    ATTN_TRY(attn_directory_create_file(writer->directory, file_name(w, array).text, file, err));
    attn_sink_write(*file, header, attn_array_header(array, header));
    return ATTN_OK;
}

static enum attn_status close_file(struct attn_writer *writer, struct attn_array *array,
                                   struct attn_error *err)
{
    struct attn_sink **file = file_of((struct npy_writer *)writer, array), *sink = *file;

    *file = NULL;
    return attn_directory_commit_file(writer->directory, sink, err);
}

/* Writes a piece to its place (attn_array_put_fn). */
static void put_piece(struct attn_writer *writer, struct attn_array *array, size_t offset,
                      const void *bytes, size_t size)
{
    struct attn_sink *file = *file_of((struct npy_writer *)writer, array);

    attn_sink_write_at(file, attn_sink_position(file) + offset, bytes, size);
}

static enum attn_status open_npy(struct attn_writer *writer, struct attn_error *err)
{
    struct npy_writer *w = (struct npy_writer *)writer;

    ATTN_TRY(attn_arrays_init(&w->array.arrays, writer, err));
    ATTN_TRY(ATTN_ALLOC(w->files, w->array.arrays.n, err));
    for (size_t i = 0; i < w->array.arrays.n; i++)
        attn_file_names_append(&writer->run->files, file_name(w, &w->array.arrays.items[i]).text);
    ATTN_TRY(attn_buffer_check(&writer->run->files.text, err));
    w->array.begin = open_file, w->array.put = put_piece, w->array.end = close_file;
    return attn_array_writer_begin(&w->array, err);
}

static void release_npy(struct attn_writer *writer)
{
    struct npy_writer *w = (struct npy_writer *)writer;

    for (size_t i = 0; w->files && i < w->array.arrays.n; i++)
        attn_sink_free(w->files[i]);
    attn_free(w->files);
    attn_arrays_release(&w->array.arrays);
}

const struct attn_format attn_npy_format = {
    .name = "npy",
    .holds_stacks = true,
    .argument = "DIR",
    .help = "write one file per array into DIR, for numpy.load",
    .medium = ATTN_MEDIUM_BINARY,
    .title = "NPY",
    .is_directory = true,
    .suffix = ".npy",
    .needs_directory = true,
    .holds_arrays = true,
    .tensors =
        &(const struct attn_writer_ops){
            .size = sizeof(struct npy_writer),
            .open = open_npy,
            .event = attn_array_writer_event,
            .release = release_npy,
        },
};
