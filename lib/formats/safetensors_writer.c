/* safetensors_writer.c - see safetensors_writer.h. */
#include "formats/safetensors_writer.h"

#include "base/buffer.h"
#include "base/escape.h"

#include <stdint.h>
#include <string.h>

static size_t count_bytes(const struct attn_written_tensor *tensor)
{
    size_t n = sizeof *tensor->data;

    for (int i = 0; i < tensor->rank; i++)
        n *= tensor->shape[i];
    return n;
}

/* `"NAME":{"dtype":"F32","shape":[...],"data_offsets":[begin,end]}`; returns the end. */
static size_t append_entry(struct attn_buffer *header, const struct attn_written_tensor *tensor,
                           size_t begin)
{
    size_t end = begin + count_bytes(tensor);

    attn_json_append_string(header, tensor->name, strlen(tensor->name));
    attn_buffer_append_string(header, ":{\"dtype\":\"F32\",\"shape\":[");
    for (int i = 0; i < tensor->rank; i++)
        attn_buffer_append_format(header, "%s%zu", i > 0 ? "," : "", tensor->shape[i]);
    attn_buffer_append_format(header, "],\"data_offsets\":[%zu,%zu]}", begin, end);
    return end;
}

static void write_u64(struct attn_sink *sink, uint64_t value)
{
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    attn_sink_write(sink, bytes, sizeof bytes);
}

enum attn_status attn_safetensors_write(struct attn_sink *sink,
                                        const struct attn_written_tensor *tensors, size_t n,
                                        struct attn_error *err)
{
    struct attn_buffer header = {0};
    enum attn_status status;
    size_t offset = 0;

    /* Readers of PyTorch's want to be told that shapes are in its order. */
    attn_buffer_append_string(&header, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (size_t i = 0; i < n; i++) {
        attn_buffer_append_char(&header, ',');
        offset = append_entry(&header, &tensors[i], offset);
    }
    attn_buffer_append_char(&header, '}');
    while (header.size % 8 != 0 && !header.has_failed)
        attn_buffer_append_char(&header, ' ');
    status = attn_buffer_check(&header, err);
    if (status == ATTN_OK) {
        write_u64(sink, header.size);
        attn_sink_write(sink, header.data, header.size);
        for (size_t i = 0; i < n; i++)
            attn_sink_write(sink, tensors[i].data, count_bytes(&tensors[i]));
    }
    attn_buffer_release(&header);
    return status;
}
