/* trace_internal.h - declarations for the library alone: sites, selections, traces and edits. */
#pragma once

#include "base/memory.h"
#include "base/pool.h"
#include "trace/capture.h"
#include "trace/edit.h"
#include "trace/lists.h"
#include "trace/location_extra.h"
#include "trace/model_stack.h"
#include "trace/places_extra.h"
#include "trace/rows_extra.h"
#include "trace/selection.h"
#include "trace/selection_extra.h"
#include "trace/site.h"
#include "trace/site_extra.h"
#include "trace/site_set.h"
#include "trace/trace.h"
#include "trace/trace_extra.h"

#include <stdatomic.h>

/* --- Sites ------------------------------------------------------------------------------------ */

const char *attn_site_shape_text(enum attn_site site); /* such as "H T S" */
bool attn_site_has_heads(enum attn_site site);         /* false for the layouts VECTOR and PAIRS */
bool attn_site_has_keys(enum attn_site site);          /* layouts MATRIX and PAIRS */
bool attn_site_has_key_rows(
    enum attn_site site); /* a row for each key, whatever queries are chosen */
/* Writes the name that TransformerLens 4 gives to the tensor AT, "blocks.3.hook_out", where it is
 * another than that of attn_location_archive_name. Returns NULL if there is none. */
const char *attn_location_other_archive_name(const struct attn_location *at,
                                             char name[ATTN_SITE_ARCHIVE_NAME_SIZE]);

/* Whether column 0 is key 0: false for contacts, which begin at position 1. */
bool attn_site_has_first_key(enum attn_site site);

/* Returns the range of its numbers: weights lie between 0 and 1; most others have both signs. */
enum attn_value_range attn_site_range(enum attn_site site);

/* Returns the set of all derived sites; gradients are among them. */
struct attn_site_set attn_sites_derived(void);

/* Returns the gradients of those sites of OF that have one. */
struct attn_site_set attn_sites_gradients_of(struct attn_site_set of);

/* Returns all sites of a metric (attn_site_is_of_metric), which need a backward pass: gradients,
 * pattern_x_grad, relevance; and those of them that a run with the sites OF can have. */
struct attn_site_set attn_sites_of_metric(void);
struct attn_site_set attn_sites_of_metric_in(struct attn_site_set of);

/* Returns DIMS with the sizes of LAYER in place of the largest ones. LAYER may be ATTN_NO_LAYER. */
static inline struct attn_dims attn_dims_in(const struct attn_dims *dims, int layer)
{
    struct attn_dims own = *dims;

    if (!dims->layers || layer < 0 || (size_t)layer >= dims->n_layer)
        return own;
    own.n_kv_head = dims->layers[layer].n_kv_head;
    own.d_head = own.d_value = dims->layers[layer].d_head;
    own.d_mlp = dims->layers[layer].d_mlp;
    return own;
}

/* Returns the number of heads of SITE: key/value heads for the layout KEY, 1 without heads. */
size_t attn_site_n_head(enum attn_site site, const struct attn_dims *dims);

/* Returns how many heads mixer_q and mixer_k have. Those of Gated DeltaNet have a copy for each
 * head of values. */
static inline size_t attn_mixer_n_query_head(const struct attn_mixer_dims *mixer)
{
    return mixer->kind == ATTN_MIXER_MAMBA2 ? mixer->n_key_head : mixer->n_head;
}

/* Returns how many heads lie side by side in the rows of SITE in layers without attention: of
 * mixer_z, for example. 0: SITE is not of such heads, or the layers are convolutions. */
size_t attn_site_n_mixing_head(enum attn_site site, const struct attn_dims *dims);

/* Whether all layers mix tokens beside attention. */
static inline bool attn_dims_mixes_beside(const struct attn_dims *dims)
{
    return dims->mixer && !dims->mixer->is_in;
}

/* Returns how many heads a list can name in LAYER: those of attention, then those of mixing beside
 * them; or in a layer without attention the heads of mixing, which are channels if it is a
 * convolution. */
static inline size_t attn_dims_n_head_of(const struct attn_dims *dims, size_t layer)
{
    if (attn_dims_mixes_beside(dims))
        return dims->n_head + dims->mixer->n_head;
    if (!dims->mixer || !dims->mixer->is_in[layer])
        return dims->n_head;
    return dims->mixer->kind == ATTN_MIXER_CONV ? dims->d_model : dims->mixer->n_head;
}

/* Returns the largest of these numbers. */
static inline size_t attn_dims_most_heads(const struct attn_dims *dims)
{
    size_t most = dims->n_head;

    for (size_t layer = 0; dims->mixer && layer < dims->n_layer; layer++)
        if (attn_dims_n_head_of(dims, layer) > most)
            most = attn_dims_n_head_of(dims, layer);
    return most;
}

/* Return the first position that SITE has a row of, and the one after the last. The first is the
 * first patch of a picture for embed, 1 for contacts, else 0. The columns of contacts begin at 1,
 * too. */
size_t attn_site_first_row(enum attn_site site, const struct attn_dims *dims);
size_t attn_site_end_row(enum attn_site site, const struct attn_dims *dims);

/* Whether SITE has a single row, number 0, for all positions: logits of an image classifier,
 * text_embed, image_embed. No choice of queries leaves this row out. */
bool attn_site_is_pooled(enum attn_site site, const struct attn_dims *dims);

/* Returns the number of rows of SITE if they are not positions, but parts of a picture, whatever
 * queries are chosen; else 0. The second is whether it has such rows. */
size_t attn_site_n_own_row(enum attn_site site, const struct attn_dims *dims);
bool attn_site_has_own_rows(enum attn_site site);

/* Returns the number of images in the text, and the sizes of image number I. */
static inline size_t attn_dims_n_image(const struct attn_dims *dims)
{
    return dims->images ? dims->images->n : dims->picture.n > 0;
}

static inline const struct attn_picture_dims *attn_dims_image(const struct attn_dims *dims,
                                                              size_t i)
{
    return dims->images ? &dims->images->items[i] : &dims->picture;
}

/* Whether each of several images has a tensor SITE of its own. In events they are one tensor of one
 * column, image after image. */
bool attn_site_is_of_image(enum attn_site site);

/* Sets SIZE to the rows and columns of this tensor of IMAGE; rows of pixels are those of all
 * channels of all its pictures. */
void attn_site_image_size(enum attn_site site, const struct attn_picture_dims *image,
                          size_t size[2]);

/* Whether SITE is a map over a picture in the text. */
static inline bool attn_site_is_map(enum attn_site site)
{
    return site == ATTN_SITE_PICTURE_MAP || site == ATTN_SITE_PICTURE_MAP_TILES;
}

/* Whether SITE comes after the attention of its layer: sites of the MLP, and the output of the
 * layer. */
bool attn_site_is_after_attention(enum attn_site site);

enum { ATTN_PICTURE_N_CHANNEL = 3 }; /* of a picture in a prompt */

/* Returns the name of the stack of the layers of DIMS; attention to a source is ATTN_STACK_CROSS
 * besides. */
static inline enum attn_model_stack attn_dims_own_stack(const struct attn_dims *dims)
{
    if (dims->has_pairs)
        return ATTN_STACK_DECODER;
    if (!dims->is_of_decoder)
        return ATTN_STACK_ONLY;
    return dims->picture.n > 0 ? ATTN_STACK_TOWER : ATTN_STACK_ENCODER;
}

/* Returns the stack that ITEM of a list names at its beginning, such as "cross:", and the length of
 * this beginning in *size. ATTN_STACK_ONLY, and 0, if it names none. */
enum attn_model_stack attn_model_stack_find(const char *item, size_t *size);

/* Returns the sites that ITEM [size] of a list names; the empty set if it names none. */
struct attn_site_set attn_sites_match(const char *item, size_t size);

/* --- Selections ------------------------------------------------------------------------------- */

/* Return LIST as a text for messages. */
struct attn_quote attn_number_list_quote(const struct attn_number_list *list);
struct attn_quote attn_head_list_quote(const struct attn_head_list *list);

/* The first returns the index of the layer of AT in an array with an item for each layer of
 * SELECTION, of both stacks, and one for the tensors outside the encoder's layers. The second
 * returns the size of this array. */
int attn_selection_slot(const struct attn_selection *selection, const struct attn_location *at);
size_t attn_selection_n_slot(const struct attn_selection *selection);

/* Whether the head of AT is selected. For sites of keys it is a key/value head, which is selected
 * if a query head of its group is. */
bool attn_selection_has_tensor_head(const struct attn_selection *selection,
                                    const struct attn_location *at);

/* Removes the sites of which no chosen layer, head or query has a row. */
void attn_selection_drop_sites(struct attn_selection *selection);

/* Creates a selection for DIMS with the layers and heads of SELECTION, and with all queries. */
enum attn_status attn_selection_copy_heads(const struct attn_selection *selection,
                                           const struct attn_dims *dims,
                                           struct attn_selection **copy, struct attn_error *err);

/* Chooses the layers FIRST to LAST, of one stack, in place of those chosen before. */
void attn_selection_choose_layers(struct attn_selection *selection,
                                  const struct attn_location *first,
                                  const struct attn_location *last);

/* Adds, in each stack, the gradients of its chosen sites. */
void attn_selection_add_gradients(struct attn_selection *selection);

/* For sites whose rows are queries: the number of chosen queries before the first row of AT. */
size_t attn_selection_n_rowless(const struct attn_selection *selection,
                                const struct attn_location *at);

/* Whether all layers and heads are chosen, and whether all queries of STACK are. */
bool attn_selection_is_all_heads(const struct attn_selection *selection);
bool attn_selection_is_all_queries(const struct attn_selection *selection,
                                   enum attn_model_stack stack);

/* Creates the selection that a run needs so that the sites MADE of SELECTION can be computed from
 * it: the other sites of SELECTION, and the residual stream at all positions. If LAST is not NULL,
 * the layers up to it replace the chosen layers. The caller frees *seen. */
enum attn_status attn_selection_see_stream(const struct attn_selection *selection,
                                           struct attn_site_set made,
                                           const struct attn_location *last,
                                           struct attn_selection **seen, struct attn_error *err);

/* --- Traces, and the cells of their events ---------------------------------------------------- */

/* Whether TRACE has a selection and a callback; else ERR names the missing one. TRACE is not NULL.
 */
bool attn_trace_is_given(const struct attn_trace *trace, struct attn_error *err);

/* Makes PART the next rows of EVENT that SELECTION wants and that are consecutive. *row is 0 before
 * the first call, and then says where the search goes on. False: there are no more. */
bool attn_trace_next_part(const struct attn_selection *selection,
                          const struct attn_trace_event *event, size_t *row,
                          struct attn_trace_event *part);

/* Calls TRACE with the rows of EVENT that its selection wants, if there are any. */
enum attn_status attn_trace_hand_on(const struct attn_trace *trace,
                                    const struct attn_trace_event *event, struct attn_error *err);

/* Copies the rows of EVENT to ROWS [T, width], where all heads lie side by side. Uses POOL, because
 * the first write to each page of memory takes most of the time. */
void attn_trace_keep_rows(const struct attn_trace_event *event, struct attn_pool *pool,
                          size_t width, float *rows);

/* As attn_trace_keep_rows, but for the residual stream: copies EVENT to its place in STREAM
 * [n_layer + 1, T, D], the streams into each layer and after the last. In models whose norms follow
 * the sums, the entry after a layer is the sum before its norm; for pairs of blocks only after the
 * second block. */
void attn_trace_keep_stream(const struct attn_trace_event *event, struct attn_pool *pool,
                            const struct attn_dims *dims, float *stream);

/* Whether the model of SELECTION has the stack and the layer of AT. */
bool attn_selection_has_place(const struct attn_selection *selection,
                              const struct attn_location *at);

/* Whether the weight of row R must be 1: the first query of a causal pattern sees only itself. */
bool attn_event_is_certain(const struct attn_trace_event *event, size_t r);

/* Returns the value of masked cells of SITE in complete rows: 0 in patterns, minus infinity in
 * scores, and NaN in qk if the product was not computed. */
float attn_site_masked(enum attn_site site);

/* --- Edits ------------------------------------------------------------------------------------ */

/* Checks EDITS against DIMS: their sites, heads and layers, and whether the op is allowed at the
 * site. */
enum attn_status attn_edits_check(const struct attn_edit *edits, size_t n_edit,
                                  const struct attn_dims *dims, struct attn_error *err);

/* Whether one of the edits changes the tensor AT, in any head. */
bool attn_edits_touch(const struct attn_edit *edits, size_t n_edit, const struct attn_location *at);

bool attn_edit_op_has_data(enum attn_edit_op op); /* REPLACE, ADD, PROJECT */

/* Whether one of the edits is a function. */
bool attn_edits_have_function(const struct attn_edit *edits, size_t n_edit);

/* What calls of the functions among edits need. Functions of matrices are called before the edits
 * are applied, since threads compute parts of one matrix. */
struct attn_edit_calls {
    const struct attn_dims *dims;
    size_t sequence;          /* number of the sequence, for events */
    enum attn_status *status; /* the first failure; functions are not called after it */
    struct attn_error *err;
    /* [n_edit, H] what the functions of matrices of the layer returned for positions row0 ..
     * row0+n_row-1 of a head, [n_row, n_key]; NULL: not called */
    float *const *answers;
    size_t row0, n_key;
    /* Edits of `site` from number `end` on are left out, because a function is about to be called
     * with what those before it made of the matrix. ATTN_N_SITE: none are. */
    enum attn_site site;
    size_t end;
};

/* Calls the function EDIT with VALUES [n_row, n_col], whose rows begin at position ROW0 of the
 * tensor of TARGET, and checks what it made of them. Failures go to CALLS. */
void attn_edit_call(const struct attn_edit *edit, const struct attn_edit_calls *calls,
                    const struct attn_edit_target *target, float *values);

/* Applies the edits that concern TARGET in order. Returns the number of rows whose values changed.
 * Sets has_effect[i] if edit i changed a value; HAS_EFFECT may be NULL. CALLS may be NULL if no
 * edit is a function. Any thread may call it for a matrix, and the feeding one for all tensors. */
size_t attn_edits_apply(const struct attn_edit *edits, size_t n_edit, atomic_bool *has_effect,
                        const struct attn_edit_calls *calls, const struct attn_edit_target *target);

/* As attn_capture_create, but takes memory from SPARE and returns it there, and copies large events
 * on POOL, which it borrows while it gets events. Either may be NULL. */
enum attn_status attn_capture_create_in(struct attn_spare *spare, struct attn_pool *pool,
                                        const struct attn_selection *selection,
                                        struct attn_capture **capture, struct attn_error *err);

/* Whether the tensor AT is wanted: its site, its layer, and for sites with heads at least one head.
 * The head of AT is ignored. The layer of a site outside the layers is ATTN_NO_LAYER. */
bool attn_selection_wants(const struct attn_selection *selection, const struct attn_location *at);
