/* patch_paths.c - patches edges (patch.h): one reader of the base reads what one writer writes in
 * the source, and everything after the reader is computed. */
#include "circuit/patch_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/list.h"

#include <string.h>

/* --- The list --------------------------------------------------------------------------------- */

static bool is_named(const struct attn_wire_node *node, const char *name, size_t size)
{
    char own[ATTN_WIRE_NODE_NAME_SIZE];

    attn_wire_node_name(node, own);
    return (size == 1 && *name == '*') || (strlen(own) == size && strncmp(own, name, size) == 0);
}

/* Checks that one of NODES [n] is NAME [size], an end of a path. */
static enum attn_status check_name(const struct attn_wire_node *nodes, size_t n, const char *name,
                                   size_t size, struct attn_error *err)
{
    const bool is_reader = nodes->kind != ATTN_WIRE_NODE_INPUT;

    for (size_t i = 0; i < n; i++)
        if (is_named(&nodes[i], name, size))
            return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' is no %s of a path, expected %s",
                       attn_quote(name, size).text, is_reader ? "end" : "beginning",
                       is_reader ? "'2.1.q' of a head, '2.1.k' or '2.1.v' of a key head, '2.mlp', "
                                   "'logits' or '*', of layers that the model has"
                                 : "'input', a head such as '2.1', '2.mlp' or '*', of layers that "
                                   "the model has");
}

/* Marks the paths that ITEM [size] names in CHOSEN [n_reader, n_writer]. */
static enum attn_status mark_paths(const struct attn_wiring *edges, const char *item, size_t size,
                                   unsigned char *chosen, struct attn_error *err)
{
    const char *colon = memchr(item, ':', size), *to = colon ? colon + 1 : item;
    const size_t n_from = colon ? (size_t)(colon - item) : 0, n_to = size - (size_t)(to - item);
    bool has_one = false;

    if (!colon)
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' is no path, expected FROM:TO",
                           attn_quote(item, size).text);
    ATTN_TRY(check_name(edges->writers, edges->n_writer, item, n_from, err));
    ATTN_TRY(check_name(edges->readers, edges->n_reader, to, n_to, err));
    for (size_t r = 0; r < edges->n_reader; r++)
        for (size_t w = 0; w < edges->readers[r].n_read; w++)
            if (is_named(&edges->readers[r], to, n_to) &&
                is_named(&edges->writers[w], item, n_from))
                chosen[r * edges->n_writer + w] = has_one = true;
    return has_one ? ATTN_OK
                   : attn_refuse(err, ATTN_STAGE_OPTIONS,
                                 "'%s' is no path: the beginning does not come before the end",
                                 attn_quote(item, size).text);
}

/* Lists the paths of the arguments as parts, in the order of their ends. */
static enum attn_status list_paths(struct attn_patching *patch, struct attn_error *err)
{
    const struct attn_wiring *edges = &patch->edges;
    const size_t n_writer = edges->n_writer, n = edges->n_reader * n_writer;
    unsigned char *chosen = attn_frame_alloc(&patch->frame, n, 1);
    size_t n_path = 0;

    ATTN_TRY(attn_frame_memory(&patch->frame, err));
    for (struct attn_list_item item = {.rest = patch->args->path}; attn_list_next(&item);)
        ATTN_TRY(mark_paths(edges, item.text, item.size, chosen, err));
    for (size_t i = 0; i < n; i++)
        n_path += chosen[i];
    patch->parts = attn_frame_alloc(&patch->frame, n_path, sizeof *patch->parts);
    ATTN_TRY(attn_frame_memory(&patch->frame, err));
    for (size_t i = 0; i < n; i++)
        if (chosen[i])
            patch->parts[patch->n_part++] = (struct attn_patch_part){
                .from = i % n_writer, .to = i / n_writer, .has_effect = true};
    return ATTN_OK;
}

enum attn_status attn_patch_list_paths(struct attn_patching *patch, struct attn_error *err)
{
    ATTN_TRY(attn_wiring_check(patch->frame.run, err));
    if (patch->args->is_frozen && patch->frame.config->n_expert > 0)
        return attn_refuse(
            err, ATTN_STAGE_OPTIONS,
            "'%s' has experts, whose norm is always exact: `norm frozen` is for "
            "models without",
            attn_quote_string(attn_model_name(attn_asked_model(patch->frame.run))).text);
    ATTN_TRY(attn_wiring_list(patch->frame.config, &patch->edges, err));
    return list_paths(patch, err);
}

/* --- The runs --------------------------------------------------------------------------------- */

/* A path, for the function that edits the tensors of its reader. */
struct path {
    const struct attn_patching *patch;
    size_t from, to;
};

/* Computes the tensor of a reader from the stream of the base and what the path brings
 * (attn_edit_fn). */
static enum attn_status read_path(void *user, const struct attn_trace_event *event, float *values,
                                  struct attn_error *err)
{
    const struct path *path = user;
    const struct attn_wiring *edges = &path->patch->edges;
    const struct attn_wire_node *reader = &edges->readers[path->to];
    const bool is_frozen = path->patch->args->is_frozen;
    const bool is_logits = reader->kind == ATTN_WIRE_NODE_LOGITS;
    const size_t d = edges->d, n = event->n_row * d;
    const size_t rows[] = {event->row0, event->row0 + event->n_row};
    const float *stream = attn_wiring_stream(edges, reader) + event->row0 * d;
    double *x = attn_alloc(2, attn_size_mul(n, sizeof *x), err), *base = x + n;
    const struct attn_wire_input input = {.reader = reader,
                                          .site = event->at.site,
                                          .n_row = event->n_row,
                                          .x = x,
                                          .scaling = is_frozen ? base : x};
    enum attn_status status = x ? ATTN_OK : ATTN_NO_MEMORY;

    ATTN_THEN(status,
              attn_wiring_delta(edges, path->from, is_frozen ? ATTN_WIRE_FROZEN : ATTN_WIRE_EXACT,
                                rows, x, err));
    if (status == ATTN_OK && event->at.site == ATTN_SITE_RESID_POST && !is_logits) {
        for (size_t i = 0; i < n; i++) { /* what resid_mid got, which only the experts read */
            const double mid = (double)stream[i], changed = (double)(float)(mid + x[i]);

            values[i] = (float)((double)values[i] - (changed - mid));
        }
        attn_free(x);
        return ATTN_OK;
    }
    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        base[i] = (double)stream[i];
        x[i] += base[i];
    }
    ATTN_THEN(status, attn_wiring_read(edges, &input, values, err));
    attn_free(x);
    return status;
}

/* Appends the edits of path I (attn_part_edit_fn). */
static enum attn_status add_edits(void *user, size_t i, struct attn_part_edits *edits,
                                  struct attn_error *err)
{
    struct path *path = (struct path *)user + i;

    return attn_wiring_edit(&path->patch->edges, &path->patch->edges.readers[path->to], read_path,
                            path, edits, err);
}

enum attn_status attn_patch_try_paths(struct attn_patching *patch, struct attn_error *err)
{
    struct attn_frame *frame = &patch->frame;
    struct attn_patch_sum *sum = frame->sum;
    struct attn_trial_outcome *outcomes;
    struct path *paths;

    ATTN_TRY(attn_trials_start(patch->base, &patch->answer, patch->site, &frame->trials, err));
    ATTN_TRY(attn_wiring_open(patch->base, patch->source, &frame->session, &patch->edges, err));
    ATTN_TRY(attn_patch_read_source(patch, err));
    outcomes = attn_frame_alloc(frame, patch->n_part, sizeof *outcomes);
    paths = attn_frame_alloc(frame, patch->n_part, sizeof *paths);
    ATTN_TRY(attn_frame_memory(frame, err));
    for (size_t i = 0; i < patch->n_part; i++)
        paths[i] = (struct path){patch, patch->parts[i].from, patch->parts[i].to};
    ATTN_TRY(attn_parts_try(&frame->trials, patch->n_part, add_edits, paths, outcomes, err));
    for (size_t i = 0; i < patch->n_part; i++) {
        struct attn_patch_part *part = &patch->parts[i];

        part->right = outcomes[i].reply.right;
        part->value = outcomes[i].reply.value;
        part->effect = attn_patch_share(patch, part->value);
    }
    sum->n_row = patch->n_part > 0 ? outcomes[0].n_row : 0;
    return ATTN_OK;
}
