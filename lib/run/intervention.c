/* intervention.c - see intervention.h. */
#include "run/intervention_internal.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "formats/npz.h"
#include "trace/site_internal.h"

#include <string.h>

/* A copy of TEXT that is kept as it is, and after it one that is cut into parts. */
static char *copy_twice(const char *text, struct attn_error *err)
{
    const size_t size = strlen(text) + 1;
    char *copy = attn_alloc_uninitialized(2, size, err);

    if (copy) {
        memcpy(copy, text, size);
        memcpy(copy + size, text, size);
    }
    return copy;
}

/* --- Knockouts ------------------------------------------------------------------------------- */

/* The first C of TEXT outside of double quotes, or NULL. */
static char *find_outside(char *text, char c)
{
    bool is_quoted = false;

    for (; *text != '\0'; text++) {
        is_quoted = is_quoted != (*text == '"');
        if (*text == c && !is_quoted)
            return text;
    }
    return NULL;
}

/* Cuts the copy of KNOCKOUT's text into its parts. */
static enum attn_status read_knockout(struct attn_knockout *knockout, struct attn_error *err)
{
    char *queries = knockout->text + strlen(knockout->text) + 1;
    char *arrow = find_outside(queries, '>'), *at;

    knockout->name = knockout->text;
    if (!arrow || arrow == queries || arrow[1] == '\0') {
        attn_error_set(err, ATTN_INVALID,
                       "'%s' is no knockout, expected QUERIES>KEYS or QUERIES>KEYS@HEADS",
                       attn_quote_string(knockout->name).text);
        attn_error_hint(err,
                        "'it>cat@2.*' keeps the heads of layer 2 at 'it' from looking at 'cat'");
        return ATTN_INVALID;
    }
    *arrow = '\0';
    at = find_outside(arrow + 1, '@');
    if (at)
        *at = '\0';
    knockout->queries = queries;
    knockout->keys = arrow + 1;
    knockout->heads = at ? at + 1 : NULL;
    return ATTN_OK;
}

enum attn_status attn_knockout_parse(const char *text, struct attn_knockout *knockout,
                                     struct attn_error *err)
{
    struct attn_knockout made = {0};
    enum attn_status status;

    if (!attn_is_given(text, "text", err) || !attn_is_given(knockout, "knockout", err))
        return ATTN_INVALID;
    made.text = copy_twice(text, err);
    if (!made.text)
        return ATTN_NO_MEMORY;
    status = read_knockout(&made, err);
    if (status == ATTN_OK)
        *knockout = made;
    else
        attn_knockout_release(&made);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

void attn_knockout_release(struct attn_knockout *knockout)
{
    if (!knockout)
        return;
    attn_free(knockout->text);
    *knockout = (struct attn_knockout){0};
}

const char *attn_knockout_name(const struct attn_knockout *knockout)
{
    return knockout->name ? knockout->name : knockout->queries;
}

/* --- Patches --------------------------------------------------------------------------------- */

/* Reads "2" or "2.5" up to END. */
static bool read_place(const char *text, const char *end, struct attn_patch *patch)
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
static bool read_site(const char *name, struct attn_patch *patch)
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

/* Cuts the copy of PATCH's text into its parts. */
static enum attn_status read_patch(struct attn_patch *patch, struct attn_error *err)
{
    char *site = patch->text + strlen(patch->text) + 1;
    char *colon = strchr(site, ':'), *equals = colon ? strchr(colon, '=') : NULL, *at = NULL;
    bool is_patch = equals && equals[1] != '\0';

    patch->name = patch->text;
    if (is_patch) {
        *colon = *equals = '\0';
        at = strchr(colon + 1, '@');
        is_patch = read_site(site, patch) && read_place(colon + 1, at ? at : equals, patch);
    }
    if (!is_patch) {
        attn_error_set(err, ATTN_INVALID,
                       "'%s' is no patch, expected SITE:LAYER[.HEAD][@POSITIONS]=FILE.npz",
                       attn_quote_string(patch->name).text);
        attn_error_hint(err, "'z:2.5@-1=clean.npz' takes head 5 of layer 2 at the last position");
        return ATTN_INVALID;
    }
    patch->positions = at ? at + 1 : NULL;
    patch->values.name = equals + 1;
    return ATTN_OK;
}

size_t attn_patch_n_head(const struct attn_patch *patch, const struct attn_config *config)
{
    switch (attn_site_layout(patch->site)) {
    case ATTN_LAYOUT_VECTOR:
        return 1;
    case ATTN_LAYOUT_KEY:
        return config->n_kv_head;
    default:
        return config->n_head;
    }
}

enum attn_status attn_patch_check(const struct attn_patch *patch, const struct attn_config *config,
                                  struct attn_error *err)
{
    const struct attn_quote name = attn_quote_string(attn_patch_name(patch));
    const size_t n_head = attn_patch_n_head(patch, config);

    if (!attn_site_is_in_layer(patch->site) || (attn_sites_derived() & ATTN_SITE_BIT(patch->site)))
        return attn_error_set(err, ATTN_INVALID,
                              "patches: '%s' is of no tensor of a layer that can be edited",
                              name.text);
    if ((size_t)patch->layer >= config->n_layer)
        return attn_error_set(err, ATTN_INVALID, "patches: '%s' names layer %d, expected 0 to %zu",
                              name.text, patch->layer, config->n_layer - 1);
    if (patch->head == ATTN_ALL_HEADS)
        return ATTN_OK;
    if (attn_site_layout(patch->site) == ATTN_LAYOUT_VECTOR)
        return attn_error_set(err, ATTN_INVALID,
                              "patches: '%s' names head %d of '%s', which has no heads", name.text,
                              patch->head, attn_site_name(patch->site));
    if ((size_t)patch->head >= n_head)
        return attn_error_set(err, ATTN_INVALID, "patches: '%s' names head %d, expected 0 to %zu",
                              name.text, patch->head, n_head - 1);
    return ATTN_OK;
}

/* Takes the shape and the numbers of NPY. */
static enum attn_status take_values(const struct attn_npy_file *npy, struct attn_ndarray *values,
                                    struct attn_error *err)
{
    values->converted = attn_alloc_uninitialized(attn_npy_n_element(npy), sizeof(float), err);
    if (!values->converted)
        return ATTN_NO_MEMORY;
    attn_npy_read_floats(npy, values->converted);
    values->data = values->converted;
    values->rank = attn_npy_rank(npy);
    memcpy(values->shape, attn_npy_shape(npy), (size_t)values->rank * sizeof *values->shape);
    return ATTN_OK;
}

/* Reads the array of PATCH. */
static enum attn_status read_member(const struct attn_npz *npz, struct attn_patch *patch,
                                    struct attn_error *err)
{
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE];
    struct attn_npy_file *npy;
    enum attn_status status;
    size_t i = 0;

    name[attn_site_archive_name(patch->site, patch->layer, name)] = '\0';
    while (i < attn_npz_n_member(npz) && strcmp(attn_npz_name(npz, i), name) != 0)
        i++;
    if (i == attn_npz_n_member(npz))
        return attn_error_set(err, ATTN_INVALID, "'%s' has no array '%s'",
                              attn_quote_string(patch->values.name).text, name);
    ATTN_TRY(attn_npz_read(npz, i, &npy, err));
    status = take_values(npy, &patch->values, err);
    attn_npy_free(npy);
    return status;
}

/* Fills PATCH, which holds its text. */
static enum attn_status fill_patch(struct attn_patch *patch, const struct attn_model *model,
                                   struct attn_error *err)
{
    struct attn_npz *npz;
    enum attn_status status;

    ATTN_TRY(attn_error_at(read_patch(patch, err), ATTN_STAGE_OPTIONS, err));
    if (model)
        ATTN_TRY(attn_error_at(attn_patch_check(patch, attn_model_config(model), err),
                               ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_error_at(attn_npz_open(patch->values.name, &npz, err), ATTN_STAGE_INPUT, err));
    status = read_member(npz, patch, err);
    attn_npz_free(npz);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

enum attn_status attn_patch_read(const char *text, const struct attn_model *model,
                                 struct attn_patch *patch, struct attn_error *err)
{
    struct attn_patch made = ATTN_PATCH_DEFAULT;
    enum attn_status status;

    if (!attn_is_given(text, "text", err) || !attn_is_given(patch, "patch", err))
        return ATTN_INVALID;
    made.text = copy_twice(text, err);
    if (!made.text)
        return ATTN_NO_MEMORY;
    status = fill_patch(&made, model, err);
    if (status == ATTN_OK)
        *patch = made;
    else
        attn_patch_release(&made);
    return status;
}

void attn_patch_release(struct attn_patch *patch)
{
    if (!patch)
        return;
    attn_ndarray_release(&patch->values);
    attn_free(patch->text);
    *patch = ATTN_PATCH_DEFAULT;
}

const char *attn_patch_name(const struct attn_patch *patch)
{
    return patch->name ? patch->name : attn_site_name(patch->site);
}
