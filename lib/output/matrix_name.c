/* matrix_name.c - see matrix_name.h. */
#include "output/matrix_name.h"
#include "output/picture_internal.h"
#include "trace/site_internal.h"

void attn_matrix_name_append(const struct attn_writer *writer, enum attn_site site, int layer,
                             int head, struct attn_buffer *out)
{
    const struct attn_array_axes *axes = writer->labels.axes;
    const struct attn_head_number number = attn_writer_head_number(writer, site, head);
    const struct attn_dims *dims = attn_selection_dims(writer->labels.selection);
    const size_t begin = out->size, n_shared = dims->n_head / dims->n_kv_head;
    const bool is_shared = attn_site_layout(site) == ATTN_LAYOUT_KEY && n_shared > 1;

    if (axes && axes->rank == 4)
        attn_buffer_append_format(out, "batch %d", number.batch);
    else if (!axes && layer != ATTN_NO_LAYER)
        attn_buffer_append_format(out, "layer %d", layer);
    if (attn_site_has_heads(site) && (!axes || axes->rank > 2))
        attn_buffer_append_format(out, "%s%shead %d", out->size > begin ? ", " : "",
                                  is_shared ? "key/value " : "", number.head);
    if (is_shared)
        attn_buffer_append_format(out, " of heads %zu-%zu", n_shared * (size_t)number.head,
                                  n_shared * (size_t)(number.head + 1) - 1);
    attn_buffer_append_format(out, "%s%s", out->size > begin ? ": " : "", attn_site_name(site));
    if (attn_site_has_keys(site))
        attn_picture_append_view(writer->options.picture, out);
}
