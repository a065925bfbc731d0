/* matrix_name.c - see matrix_name.h. */
#include "output/matrix_name.h"

void attn_matrix_name_append(const struct attn_writer *writer, enum attn_site site, int layer,
                             int head, struct attn_buffer *out)
{
    const struct attn_array_axes *axes = writer->labels.axes;
    const struct attn_head_number number = attn_writer_head_number(writer, site, head);
    const size_t begin = out->size;

    if (axes && axes->rank == 4)
        attn_buffer_append_format(out, "batch %d", number.batch);
    else if (!axes && layer != ATTN_NO_LAYER)
        attn_buffer_append_format(out, "layer %d", layer);
    if (attn_site_has_heads(site) && (!axes || axes->rank > 2))
        attn_buffer_append_format(out, "%shead %d", out->size > begin ? ", " : "", number.head);
    attn_buffer_append_format(out, "%s%s", out->size > begin ? ": " : "", attn_site_name(site));
    if (attn_site_layout(site) == ATTN_LAYOUT_MATRIX)
        attn_picture_append_view(writer->options.picture, out);
}
