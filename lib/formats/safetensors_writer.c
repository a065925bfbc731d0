/* safetensors_writer.c - see safetensors_writer.h. */
#include "formats/safetensors_writer.h"

#include "base/buffer.h"
#include "base/dtype_internal.h"
#include "base/escape.h"

#include <stdint.h>
#include <string.h>

/* `"NAME":{"dtype":"F32","shape":[...],"data_offsets":[begin,end]}`; returns the end. */
static size_t append_entry(struct attn_buffer *header, const struct attn_written_tensor *written,
                           size_t begin)
{
    const struct attn_tensor *tensor = &written->tensor;
    size_t end = begin + attn_tensor_n_byte(tensor);

    attn_json_append_string(header, written->name, strlen(written->name));
    attn_buffer_append_format(header, ":{\"dtype\":\"%s\",\"shape\":[",
                              attn_dtype_name(tensor->dtype));
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

enum attn_status attn_safetensors_write_header(struct attn_sink *sink,
                                               const struct attn_written_fact *facts, size_t n_fact,
                                               const struct attn_written_tensor *tensors, size_t n,
                                               struct attn_error *err)
{
    struct attn_buffer header = {0};
    enum attn_status status;
    size_t offset = 0;

    /* PyTorch's readers want to see that shapes are in its order. */
    attn_buffer_append_string(&header, "{\"__metadata__\":{\"format\":\"pt\"");
    for (size_t i = 0; i < n_fact; i++) {
        attn_buffer_append_char(&header, ',');
        attn_json_append_string(&header, facts[i].key, strlen(facts[i].key));
        attn_buffer_append_char(&header, ':');
        attn_json_append_string(&header, facts[i].value, strlen(facts[i].value));
    }
    attn_buffer_append_char(&header, '}');
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
    }
    attn_buffer_release(&header);
    return status;
}

enum attn_status attn_safetensors_write(struct attn_sink *sink,
                                        const struct attn_written_tensor *tensors, size_t n,
                                        struct attn_error *err)
{
    ATTN_TRY(attn_safetensors_write_header(sink, NULL, 0, tensors, n, err));
    for (size_t i = 0; i < n; i++)
        attn_sink_write(sink, tensors[i].tensor.data, attn_tensor_n_byte(&tensors[i].tensor));
    return ATTN_OK;
}
