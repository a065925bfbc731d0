#include "formats/opener.h"

void attn_opened_add(struct attn_opened *opened, const char *name, const void *data, size_t size)
{
    opened->blobs[opened->parts.n_blob++] = (struct attn_blob){name, data, size};
    opened->parts.blobs = opened->blobs;
}

void attn_opened_release(struct attn_opened *opened)
{
    attn_tensor_files_free(opened->files);
    attn_sink_free(opened->weights);
    attn_buffer_release(&opened->config);
    attn_buffer_release(&opened->vocab);
    attn_file_release(&opened->file);
}

const struct attn_opener *attn_opener_of(const struct attn_source *source)
{
    const struct attn_opener *const *opener = attn_openers;

    while (*opener && !((*opener)->is_model && (*opener)->is_model(source)))
        opener++;
    return *opener;
}

const struct attn_opener *attn_opener_of_tensors(void)
{
    const struct attn_opener *const *opener = attn_openers;

    while (*opener && !(*opener)->take)
        opener++;
    return *opener;
}
