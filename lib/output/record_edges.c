/* record_edges.c - a line an edge: id, layer, head, query, key, weight of the largest keys of each
 * query, the largest first, of equal ones the smaller key. */
#include "output/float_text.h"
#include "output/record_format.h"
#include "output/record_id.h"

static enum attn_status begin_edges(struct attn_record_writer *writer, struct attn_error *err)
{
    (void)err;
    if (attn_record_writer_is_empty(writer))
        attn_buffer_append_string(&writer->text, "id,layer,head,query,key,weight\n");
    return ATTN_OK;
}

/* The lines of the head, which begin with START. */
static void append_head(struct attn_record_writer *writer, const struct attn_outcome *outcome,
                        int layer, int head, const struct attn_buffer *start)
{
    struct attn_buffer *text = &writer->text;

    for (size_t query = 0; query < outcome->n_token; query++) {
        size_t n;
        const struct attn_edge *edges = attn_edges_find(outcome->edges, layer, head, query, &n);

        for (size_t i = 0; i < n; i++) {
            char *to;

            attn_buffer_append(text, start->data, start->size);
            attn_buffer_append_format(text, "%zu,%d,", query, edges[i].key);
            to = attn_buffer_reserve(text, ATTN_NUMBER_TEXT_SIZE);
            if (to)
                text->size += attn_number_text(edges[i].weight, writer->form->precision, to);
            attn_buffer_append_char(text, '\n');
        }
    }
}

static enum attn_status write_edges(struct attn_record_writer *writer,
                                    const struct attn_outcome *outcome, struct attn_error *err)
{
    struct attn_buffer id = {0}, start = {0};
    enum attn_status status;

    if (outcome->failure || !outcome->edges)
        return ATTN_OK;
    attn_record_id_append(writer, &id, outcome);
    for (int layer = 0; layer < (int)writer->form->n_layer; layer++)
        for (int head = 0; head < (int)writer->form->n_head; head++) {
            attn_buffer_reset(&start);
            attn_buffer_append(&start, id.data, id.size);
            attn_buffer_append_format(&start, ",%d,%d,", layer, head);
            append_head(writer, outcome, layer, head, &start);
        }
    status = attn_buffer_check(&id, err);
    if (status == ATTN_OK)
        status = attn_buffer_check(&start, err);
    attn_buffer_release(&id);
    attn_buffer_release(&start);
    return status;
}

const struct attn_record_format attn_record_format_edges = {
    .name = "edges",
    .size = sizeof(struct attn_record_writer),
    .is_text = true,
    .begin = begin_edges,
    .write = write_edges,
};
