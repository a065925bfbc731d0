/* intervention.c - see intervention.h. */
#include "run/intervention_internal.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "formats/ndarray_internal.h"
#include "formats/npz.h"
#include "trace/site_internal.h"

#include <math.h>
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

/* --- Places ---------------------------------------------------------------------------------- */

/* Reads "2" or "2.5" up to END. */
static bool read_layer(const char *text, const char *end, struct attn_edit_place *place)
{
    const char *dot = memchr(text, '.', (size_t)(end - text));
    const char *layer_end = dot ? dot : end;
    int64_t layer, head = ATTN_ALL_HEADS;

    if (!attn_parse_int(text, (size_t)(layer_end - text), 0, INT32_MAX, &layer) ||
        (dot && !attn_parse_int(dot + 1, (size_t)(end - dot - 1), 0, INT32_MAX, &head)))
        return false;
    place->layer = (int)layer;
    place->head = (int)head;
    return true;
}

/* The site that NAME is, one of a layer. */
static bool read_site(const char *name, struct attn_edit_place *place)
{
    for (int site = 0; site < ATTN_N_SITE; site++)
        if (strcmp(attn_site_name((enum attn_site)site), name) == 0 &&
            attn_site_is_in_layer((enum attn_site)site) &&
            (attn_sites_derived() & ATTN_SITE_BIT(site)) == 0) {
            place->site = (enum attn_site)site;
            return true;
        }
    return false;
}

/* Cuts TEXT, "SITE:LAYER[.HEAD][@POSITIONS]=...", into its parts: *value is what follows "=".
 * Returns whether it is such a text. */
static bool read_place(char *text, struct attn_edit_place *place, char **value)
{
    char *colon = strchr(text, ':'), *equals = colon ? strchr(colon, '=') : NULL, *at;

    if (!equals || equals[1] == '\0')
        return false;
    *colon = *equals = '\0';
    at = strchr(colon + 1, '@');
    place->positions = at ? at + 1 : NULL;
    *value = equals + 1;
    return read_site(text, place) && read_layer(colon + 1, at ? at : equals, place);
}

size_t attn_edit_place_n_head(const struct attn_edit_place *place, const struct attn_config *config)
{
    switch (attn_site_layout(place->site)) {
    case ATTN_LAYOUT_VECTOR:
        return 1;
    case ATTN_LAYOUT_KEY:
        return config->n_kv_head;
    default:
        return config->n_head;
    }
}

enum attn_status attn_edit_place_check(const struct attn_edit_place *place,
                                       const struct attn_config *config, struct attn_error *err)
{
    const struct attn_quote name = attn_quote_string(place->name);
    const size_t n_head = attn_edit_place_n_head(place, config);

    if (!attn_site_is_in_layer(place->site) || (attn_sites_derived() & ATTN_SITE_BIT(place->site)))
        return attn_error_set(err, ATTN_INVALID,
                              "%s: '%s' is of no tensor of a layer that can be edited",
                              place->field, name.text);
    if ((size_t)place->layer >= config->n_layer)
        return attn_error_set(err, ATTN_INVALID, "%s: '%s' names layer %d, expected 0 to %zu",
                              place->field, name.text, place->layer, config->n_layer - 1);
    if (place->head == ATTN_ALL_HEADS)
        return ATTN_OK;
    if (attn_site_layout(place->site) == ATTN_LAYOUT_VECTOR)
        return attn_error_set(err, ATTN_INVALID,
                              "%s: '%s' names head %d of '%s', which has no heads", place->field,
                              name.text, place->head, attn_site_name(place->site));
    if ((size_t)place->head >= n_head)
        return attn_error_set(err, ATTN_INVALID, "%s: '%s' names head %d, expected 0 to %zu",
                              place->field, name.text, place->head, n_head - 1);
    return ATTN_OK;
}

/* Whether MODEL, or NULL, has PLACE. */
static enum attn_status check_place(struct attn_edit_place place, const struct attn_model *model,
                                    struct attn_error *err)
{
    return model ? attn_error_at(attn_edit_place_check(&place, attn_model_config(model), err),
                                 ATTN_STAGE_OPTIONS, err)
                 : ATTN_OK;
}

/* --- Patches --------------------------------------------------------------------------------- */

struct attn_edit_place attn_patch_place(const struct attn_patch *patch)
{
    return (struct attn_edit_place){patch->site,      patch->layer,           patch->head,
                                    patch->positions, attn_patch_name(patch), "patches"};
}

/* Cuts the copy of PATCH's text into its parts. */
static enum attn_status read_patch(struct attn_patch *patch, struct attn_error *err)
{
    struct attn_edit_place place = {.head = ATTN_ALL_HEADS};
    char *path;

    patch->name = patch->text;
    if (!read_place(patch->text + strlen(patch->text) + 1, &place, &path)) {
        attn_error_set(err, ATTN_INVALID,
                       "'%s' is no patch, expected SITE:LAYER[.HEAD][@POSITIONS]=FILE.npz",
                       attn_quote_string(patch->name).text);
        attn_error_hint(err, "'z:2.5@-1=clean.npz' takes head 5 of layer 2 at the last position");
        return ATTN_INVALID;
    }
    patch->site = place.site;
    patch->layer = place.layer;
    patch->head = place.head;
    patch->positions = place.positions;
    patch->values.name = path;
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
    ATTN_TRY(check_place(attn_patch_place(patch), model, err));
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

/* --- Steering -------------------------------------------------------------------------------- */

struct attn_edit_place attn_steering_place(const struct attn_steering *steering)
{
    return (struct attn_edit_place){steering->site,
                                    steering->layer,
                                    steering->head,
                                    steering->positions,
                                    attn_steering_name(steering),
                                    steering->values.rank != 0 ? "steer" : "rescale"};
}

const char *attn_steering_name(const struct attn_steering *steering)
{
    return steering->name ? steering->name : attn_site_name(steering->site);
}

/* Reads a number that is one in float32, too. */
static bool read_factor(const char *text, float *factor)
{
    double value;

    if (!attn_parse_double(text, strlen(text), &value) || !isfinite((float)value))
        return false;
    *factor = (float)value;
    return true;
}

/* Cuts the copy of STEERING's text into its parts; *value is what follows "=". Returns whether it
 * is such a text. */
static bool read_steering_place(struct attn_steering *steering, char **value)
{
    struct attn_edit_place place = {.head = ATTN_ALL_HEADS};

    steering->name = steering->text;
    if (!read_place(steering->text + strlen(steering->text) + 1, &place, value))
        return false;
    steering->site = place.site;
    steering->layer = place.layer;
    steering->head = place.head;
    steering->positions = place.positions;
    return true;
}

/* Cuts "FILE.npy*FACTOR" into its parts. Returns whether the factor, if there is one, is a
 * number. */
static bool read_file_name(char *value, float *factor)
{
    const size_t size = strlen(value);
    char *star = strrchr(value, '*');

    *factor = 1;
    if (!star || (size > 4 && strcmp(value + size - 4, ".npy") == 0))
        return true;
    *star = '\0';
    return star > value && read_factor(star + 1, factor);
}

/* Replaces the values of STEERING, which are of a file, by their products with FACTOR. */
static enum attn_status multiply(struct attn_steering *steering, float factor,
                                 struct attn_error *err)
{
    struct attn_ndarray *values = &steering->values;
    const size_t n = attn_ndarray_n_element(values);
    const struct attn_not_finite bad = attn_ndarray_not_finite(values);
    float *products;

    if (bad.n_nan + bad.n_above + bad.n_below > 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' holds NaN or infinity, expected numbers",
                              attn_quote_string(values->name).text);
    products = attn_alloc_uninitialized(n, sizeof *products, err);
    if (!products)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        products[i] = values->data[i] * factor;
    attn_npy_free(values->file);
    attn_free(values->converted);
    values->file = NULL;
    values->data = values->converted = products;
    return ATTN_OK;
}

/* Fills STEERING, which holds its text. */
static enum attn_status fill_steering(struct attn_steering *steering,
                                      const struct attn_model *model, struct attn_error *err)
{
    float factor;
    char *path;

    if (!read_steering_place(steering, &path) || !read_file_name(path, &factor)) {
        attn_error_set(err, ATTN_INVALID,
                       "'%s' is no steering, expected "
                       "SITE:LAYER[.HEAD][@POSITIONS]=FILE.npy[*FACTOR]",
                       attn_quote_string(steering->name).text);
        attn_error_hint(err, "'resid_pre:2@-1=v.npy*1.5' adds 1.5 times a vector at the last "
                             "position");
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    steering->values.rank = 1; /* so that messages call it --steer */
    ATTN_TRY(check_place(attn_steering_place(steering), model, err));
    ATTN_TRY(attn_error_at(attn_ndarray_read(path, 1, 2, "[n] or [P, n]", &steering->values, err),
                           ATTN_STAGE_INPUT, err));
    return attn_error_at(multiply(steering, factor, err), ATTN_STAGE_INPUT, err);
}

/* Fills STEERING, which holds its text, a factor. */
static enum attn_status fill_rescale(struct attn_steering *steering, const struct attn_model *model,
                                     struct attn_error *err)
{
    char *factor;

    if (!read_steering_place(steering, &factor) || !read_factor(factor, &steering->factor)) {
        attn_error_set(err, ATTN_INVALID,
                       "'%s' does not rescale, expected SITE:LAYER[.HEAD][@POSITIONS]=FACTOR",
                       attn_quote_string(steering->name).text);
        attn_error_hint(err, "'z:2.5=0.5' halves the context vectors of head 5 of layer 2");
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    return check_place(attn_steering_place(steering), model, err);
}

/* Lets FILL make *STEERING of TEXT. */
static enum attn_status make_steering(const char *text, const struct attn_model *model,
                                      enum attn_status (*fill)(struct attn_steering *,
                                                               const struct attn_model *,
                                                               struct attn_error *),
                                      struct attn_steering *steering, struct attn_error *err)
{
    struct attn_steering made = ATTN_STEERING_DEFAULT;
    enum attn_status status;

    if (!attn_is_given(text, "text", err) || !attn_is_given(steering, "steering", err))
        return ATTN_INVALID;
    made.text = copy_twice(text, err);
    if (!made.text)
        return ATTN_NO_MEMORY;
    status = fill(&made, model, err);
    if (status == ATTN_OK)
        *steering = made;
    else
        attn_steering_release(&made);
    return status;
}

enum attn_status attn_steering_read(const char *text, const struct attn_model *model,
                                    struct attn_steering *steering, struct attn_error *err)
{
    return make_steering(text, model, fill_steering, steering, err);
}

enum attn_status attn_rescale_parse(const char *text, const struct attn_model *model,
                                    struct attn_steering *steering, struct attn_error *err)
{
    return make_steering(text, model, fill_rescale, steering, err);
}

void attn_steering_release(struct attn_steering *steering)
{
    if (!steering)
        return;
    attn_ndarray_release(&steering->values);
    attn_free(steering->text);
    *steering = ATTN_STEERING_DEFAULT;
}
