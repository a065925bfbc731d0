/* record_format.c - see record_format.h: the parts of a writer. */
#include "records/record_format.h"

#include "base/memory.h"

enum attn_status attn_record_writer_add_part(struct attn_record_writer *writer, const char *path,
                                             bool is_resumed, struct attn_error *err)
{
    void *parts = writer->parts;
    enum attn_status status =
        attn_grow(&parts, &writer->capacity, writer->n_part + 1, sizeof *writer->parts, err);

    writer->parts = parts;
    if (status == ATTN_OK)
        status = attn_part_open(path, is_resumed, &writer->parts[writer->n_part], err);
    writer->n_part += status == ATTN_OK;
    return status;
}

bool attn_record_writer_is_empty(const struct attn_record_writer *writer)
{
    return writer->n_part == 0 || attn_part_size(writer->parts[0]) == 0;
}
