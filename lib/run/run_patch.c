/*
 * run_patch.c - edits that put what another run wrote instead of a tensor: a patch by hand.
 *
 * A patch is written SITE:LAYER[.HEAD][@POSITIONS]=FILE.npz: 'z:2.5@-1=clean.npz'. FILE holds the
 * site of the layer under its archive name, whole: as many positions as the text has, and all heads
 * (run --npz, or numpy.savez).
 */
#include "run/run_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "formats/npz.h"
#include "run/position.h"
#include "trace/site_internal.h"

#include <stdio.h>
#include <string.h>

/* A patch as it was read. */
struct patch {
    const char *spec; /* as it was written */
    size_t part;      /* its number among those of the run's edits */
    char *text;       /* owns; a copy that is cut into its parts */
    enum attn_site site;
    int layer, head;       /* head: ATTN_ALL_HEADS when there is none */
    const char *positions; /* or NULL: all */
    const char *path;
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE]; /* of the array */
    unsigned char *rows;                    /* [n_row] owns; those that are meant; NULL: all */
};

/* The sizes of a patch's tensor. */
struct patch_sizes {
    size_t n_row, n_head, width; /* n_head: 1 for sites without heads */
    bool is_matrix;              /* [H, T, S]; else [T, n] or [T, H, n] */
};

/* --- Reading --------------------------------------------------------------------------------- */

static enum attn_status report_form(const struct patch *patch, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID,
                   "'%s' is no patch, expected "
                   "SITE:LAYER[.HEAD][@POSITIONS]=FILE.npz",
                   attn_quote_string(patch->spec).text);
    attn_error_hint(err, "'z:2.5@-1=clean.npz' takes head 5 of layer 2 at the last position");
    return ATTN_INVALID;
}

/* Reads "2" or "2.5" up to END. */
static bool read_place(const char *text, const char *end, struct patch *patch)
{
    const char *dot = memchr(text, '.', (size_t)(end - text));
    const char *layer_end = dot ? dot : end;
    int64_t layer, head = ATTN_ALL_HEADS;

    if (!attn_parse_int(text, (size_t)(layer_end - text), 0, INT32_MAX, &layer) ||
        (dot && !attn_parse_int(dot + 1, (size_t)(end - dot - 1), 0, INT32_MAX, &head)))
        return false;
    patch->layer = (int)layer;
    patch->head = (int)head;
    return true;
}

/* The site that NAME is, one of a layer. */
static bool read_site(const char *name, struct patch *patch)
{
    for (int site = 0; site < ATTN_N_SITE; site++)
        if (strcmp(attn_site_name((enum attn_site)site), name) == 0 &&
            attn_site_is_in_layer((enum attn_site)site) &&
            (attn_sites_derived() & ATTN_SITE_BIT(site)) == 0) {
            patch->site = (enum attn_site)site;
            return true;
        }
    return false;
}

static enum attn_status read_patch(const char *spec, struct patch *patch, struct attn_error *err)
{
    char *colon, *equals, *at;
    size_t size;

    *patch = (struct patch){.spec = spec, .text = attn_strndup(spec, strlen(spec), err)};
    if (!patch->text)
        return ATTN_NO_MEMORY;
    colon = strchr(patch->text, ':');
    equals = colon ? strchr(colon, '=') : NULL;
    if (!equals || equals[1] == '\0')
        return report_form(patch, err);
    *colon = *equals = '\0';
    patch->path = equals + 1;
    at = strchr(colon + 1, '@');
    patch->positions = at ? at + 1 : NULL;
    if (!read_site(patch->text, patch) || !read_place(colon + 1, at ? at : equals, patch))
        return report_form(patch, err);
    size = attn_site_archive_name(patch->site, patch->layer, patch->name);
    patch->name[size] = '\0';
    return ATTN_OK;
}

/* --- The array ------------------------------------------------------------------------------- */

static struct patch_sizes find_sizes(const struct attn_run *run, const struct patch *patch)
{
    const struct attn_dims *dims = attn_selection_dims(run->selection);
    const bool is_cross = dims->is_cross && dims->is_cross[patch->layer];
    const size_t n_key = is_cross ? dims->n_source : dims->n_position;
    struct patch_sizes sizes = {dims->n_position, 1, attn_site_width(patch->site, dims), false};

    switch (attn_site_layout(patch->site)) {
    case ATTN_LAYOUT_VECTOR:
        break;
    case ATTN_LAYOUT_QUERY:
        sizes.n_head = dims->n_head;
        break;
    case ATTN_LAYOUT_KEY:
        sizes.n_head = dims->n_kv_head;
        sizes.n_row = n_key;
        break;
    default:
        sizes.n_head = dims->n_head;
        sizes.width = n_key;
        sizes.is_matrix = true;
        break;
    }
    return sizes;
}

static enum attn_status check_place(const struct attn_run *run, const struct patch *patch,
                                    const struct patch_sizes *sizes, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(run->selection);

    if ((size_t)patch->layer >= dims->n_layer)
        return attn_error_set(err, ATTN_INVALID, "patches: '%s' names layer %d, expected 0 to %zu",
                              attn_quote_string(patch->spec).text, patch->layer, dims->n_layer - 1);
    if (patch->head != ATTN_ALL_HEADS && attn_site_layout(patch->site) == ATTN_LAYOUT_VECTOR)
        return attn_error_set(
            err, ATTN_INVALID, "patches: '%s' names head %d of '%s', which has no heads",
            attn_quote_string(patch->spec).text, patch->head, attn_site_name(patch->site));
    if (patch->head != ATTN_ALL_HEADS && (size_t)patch->head >= sizes->n_head)
        return attn_error_set(err, ATTN_INVALID, "patches: '%s' names head %d, expected 0 to %zu",
                              attn_quote_string(patch->spec).text, patch->head, sizes->n_head - 1);
    return ATTN_OK;
}

/* Whether the array, without leading sizes of 1, is the whole tensor. */
static enum attn_status check_shape(const struct attn_npy_file *npy, const struct patch *patch,
                                    const struct patch_sizes *sizes, struct attn_error *err)
{
    const bool has_heads = attn_site_layout(patch->site) != ATTN_LAYOUT_VECTOR;
    const size_t expected[] = {sizes->is_matrix ? sizes->n_head : sizes->n_row,
                               sizes->is_matrix ? sizes->n_row
                               : has_heads      ? sizes->n_head
                                                : sizes->width,
                               sizes->width};
    const int rank = has_heads ? 3 : 2;
    const size_t *shape = attn_npy_shape(npy);
    int n = attn_npy_rank(npy);
    char found[ATTN_NPY_SHAPE_TEXT_SIZE];

    for (; n > rank && shape[0] == 1; n--)
        shape++;
    if (n == rank && memcmp(shape, expected, (size_t)rank * sizeof *shape) == 0)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID, "'%s' in '%s' is %s, expected [%zu, %zu%s",
                          patch->name, attn_quote_string(patch->path).text,
                          attn_npy_shape_text(npy, found), expected[0], expected[1],
                          has_heads ? ", ...], all of it" : "]");
}

static enum attn_status read_values(const struct attn_npy_file *npy, const struct patch *patch,
                                    const struct patch_sizes *sizes, float **values,
                                    struct attn_error *err)
{
    ATTN_TRY(check_shape(npy, patch, sizes, err));
    *values = attn_alloc_uninitialized(attn_npy_n_element(npy), sizeof **values, err);
    if (!*values)
        return ATTN_NO_MEMORY;
    attn_npy_read_floats(npy, *values);
    return ATTN_OK;
}

/* Reads the array of PATCH: VALUES, owned by the caller. */
static enum attn_status read_member(const struct attn_npz *npz, const struct patch *patch,
                                    const struct patch_sizes *sizes, float **values,
                                    struct attn_error *err)
{
    struct attn_npy_file *npy;
    size_t i = 0;
    enum attn_status status;

    while (i < attn_npz_n_member(npz) && strcmp(attn_npz_name(npz, i), patch->name) != 0)
        i++;
    if (i == attn_npz_n_member(npz))
        return attn_error_set(err, ATTN_INVALID, "'%s' has no array '%s'",
                              attn_quote_string(patch->path).text, patch->name);
    ATTN_TRY(attn_npz_read(npz, i, &npy, err));
    status = read_values(npy, patch, sizes, values, err);
    attn_npy_free(npy);
    return status;
}

static enum attn_status read_array(const struct patch *patch, const struct patch_sizes *sizes,
                                   float **values, struct attn_error *err)
{
    struct attn_npz *npz;
    enum attn_status status;

    ATTN_TRY(attn_error_at(attn_npz_open(patch->path, &npz, err), ATTN_STAGE_INPUT, err));
    status = read_member(npz, patch, sizes, values, err);
    attn_npz_free(npz);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

/* --- Edits ----------------------------------------------------------------------------------- */

/* The edit of rows FIRST .. END-1 of one head. */
static struct attn_edit edit_of(const struct patch *patch, const struct patch_sizes *sizes,
                                size_t head, size_t first, size_t end, const float *values)
{
    const bool has_heads = attn_site_layout(patch->site) != ATTN_LAYOUT_VECTOR;
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    edit.site = patch->site;
    edit.layer = patch->layer;
    edit.head = has_heads ? (int)head : ATTN_ALL_HEADS;
    edit.row0 = first;
    edit.row1 = end;
    edit.col1 = sizes->width;
    edit.op = ATTN_EDIT_REPLACE;
    edit.ld = sizes->is_matrix ? sizes->width : sizes->n_head * sizes->width;
    edit.data = sizes->is_matrix ? values + (head * sizes->n_row + first) * sizes->width
                                 : values + (first * sizes->n_head + head) * sizes->width;
    return edit;
}

/* Appends an edit per head and run of neighbours among the rows that are meant. */
static enum attn_status append_edits(struct attn_run *run, const struct patch *patch,
                                     const struct patch_sizes *sizes, const float *values,
                                     struct attn_error *err)
{
    const unsigned char *rows = patch->rows;
    size_t capacity = run->n_edit;

    for (size_t head = 0; head < sizes->n_head; head++) {
        if (patch->head != ATTN_ALL_HEADS && head != (size_t)patch->head)
            continue;
        for (size_t first = 0, end; first < sizes->n_row; first = end) {
            void *block = run->edits;

            end = first + 1;
            if (rows && !rows[first])
                continue;
            while (end < sizes->n_row && (!rows || rows[end]))
                end++;
            ATTN_TRY(attn_grow(&block, &capacity, run->n_edit + 1, sizeof *run->edits, err));
            run->edits = block;
            run->edits[run->n_edit++] = edit_of(patch, sizes, head, first, end, values);
            ATTN_TRY(attn_run_link_edit(run, run->n_edit - 1, patch->part, err));
        }
    }
    return ATTN_OK;
}

static enum attn_status find_rows(const struct attn_run *run, struct patch *patch,
                                  const struct patch_sizes *sizes, struct attn_error *err)
{
    const bool is_of_source = attn_site_layout(patch->site) == ATTN_LAYOUT_KEY &&
                              attn_model_config(run->model)->is_cross[patch->layer];

    if (!patch->positions)
        return ATTN_OK;
    patch->rows = attn_alloc(sizes->n_row, 1, err);
    if (!patch->rows)
        return ATTN_NO_MEMORY;
    return attn_error_in(
        is_of_source ? attn_run_find_source_positions(run, patch->positions, patch->rows, err)
                     : attn_run_find_positions(run, patch->positions, patch->rows, err),
        "patches", err);
}

/* Reads what the text of a patch says, and looks whether the model has it. */
static enum attn_status find_patch(const struct attn_run *run, const char *spec,
                                   struct patch *patch, struct patch_sizes *sizes,
                                   struct attn_error *err)
{
    ATTN_TRY(read_patch(spec, patch, err));
    if ((size_t)patch->layer < attn_model_config(run->model)->n_layer)
        *sizes = find_sizes(run, patch);
    ATTN_TRY(check_place(run, patch, sizes, err));
    return find_rows(run, patch, sizes, err);
}

static enum attn_status add(struct attn_run *run, size_t i, struct patch *patch,
                            struct attn_error *err)
{
    struct patch_sizes sizes = {0};

    ATTN_TRY(attn_error_at(find_patch(run, run->request.patches[i], patch, &sizes, err),
                           ATTN_STAGE_OPTIONS, err));
    patch->part = attn_run_first_part(run, ATTN_EDIT_PART_PATCH) + i;
    ATTN_TRY(read_array(patch, &sizes, &run->patches[i], err));
    return append_edits(run, patch, &sizes, run->patches[i], err);
}

static enum attn_status add_patch(struct attn_run *run, size_t i, struct attn_error *err)
{
    struct patch patch = {.text = NULL};
    const enum attn_status status = add(run, i, &patch, err);

    attn_free(patch.rows);
    attn_free(patch.text);
    return status;
}

enum attn_status attn_run_add_patches(struct attn_run *run, struct attn_error *err)
{
    if (run->request.n_patch == 0)
        return ATTN_OK;
    run->patches = attn_alloc(run->request.n_patch, sizeof *run->patches, err);
    if (!run->patches)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < run->request.n_patch; i++)
        ATTN_TRY(add_patch(run, i, err));
    return ATTN_OK;
}

void attn_run_free_patches(struct attn_run *run)
{
    for (size_t i = 0; run->patches && i < run->request.n_patch; i++)
        attn_free(run->patches[i]);
    attn_free(run->patches);
}
