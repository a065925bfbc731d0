/* intervention.c - see intervention.h. */
#include "edits/intervention_internal.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "formats/ndarray_internal.h"
#include "formats/npz.h"
#include "model/config_internal.h"
#include "model/model_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

/* Returns one block with two copies of TEXT, one after the other: the first stays whole, the second
 * is cut into parts. */
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

/* Returns the first C of TEXT outside of double quotes, or NULL. */
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

bool attn_knockout_cut(char *text, const char **queries, const char **keys, const char **heads)
{
    char *arrow = find_outside(text, '>'), *at;

    if (!arrow || arrow == text || arrow[1] == '\0')
        return false;
    *arrow = '\0';
    at = find_outside(arrow + 1, '@');
    if (at)
        *at = '\0';
    *queries = text;
    *keys = arrow + 1;
    *heads = at ? at + 1 : NULL;
    return true;
}

/* Cuts the second copy of KNOCKOUT's text into queries, keys and heads. */
static enum attn_status read_knockout(struct attn_knockout *knockout, struct attn_error *err)
{
    char *text = knockout->text + strlen(knockout->text) + 1;

    knockout->name = knockout->text;
    if (!attn_knockout_cut(text, &knockout->queries, &knockout->keys, &knockout->heads)) {
        attn_error_set(err, ATTN_INVALID,
                       "'%s' is no knockout, expected QUERIES>KEYS or QUERIES>KEYS@HEADS",
                       attn_quote_string(knockout->name).text);
        attn_error_hint(err,
                        "'it>cat@2.*' keeps the heads of layer 2 at 'it' from looking at 'cat'");
        return attn_error_of(ATTN_INVALID, "knockouts", err);
    }
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

/* Reads "LAYER" or "LAYER.HEAD", which ends at END, into PLACE. Whether it is one of these. */
static bool read_layer(const char *text, const char *end, struct attn_edit_place *place)
{
    const char *dot = memchr(text, '.', (size_t)(end - text));
    const char *layer_end = dot ? dot : end;
    int64_t layer, head = ATTN_ALL_HEADS;

    if (!attn_parse_int(text, (size_t)(layer_end - text), 0, INT32_MAX, &layer) ||
        (dot && !attn_parse_int(dot + 1, (size_t)(end - dot - 1), 0, INT32_MAX, &head)))
        return false;
    place->at.layer = (int)layer;
    place->at.head = (int)head;
    return true;
}

/* Finds the site called NAME [size] that can be edited and that is inside or outside the layers, as
 * IS_IN_LAYER says. Returns whether there is one. */
static bool read_site(const char *name, size_t size, bool is_in_layer,
                      struct attn_edit_place *place)
{
    for (int i = 0; i < ATTN_N_SITE; i++) {
        const char *known = attn_site_name((enum attn_site)i);

        place->at.site = (enum attn_site)i;
        if (strlen(known) == size && memcmp(known, name, size) == 0)
            return attn_site_is_in_layer(place->at.site) == is_in_layer &&
                   !attn_sites_have(attn_sites_derived(), i);
    }
    return false;
}

/* Cuts TEXT, "SITE:LAYER[.HEAD][@POSITIONS]=VALUE", into its parts. Whether it is such a text. */
static bool read_place(char *text, struct attn_edit_place *place, char **value)
{
    size_t n_stack;
    char *colon, *equals, *at;

    place->at.stack = attn_model_stack_find(text, &n_stack);
    text += n_stack;
    colon = strchr(text, ':');
    equals = colon ? find_outside(colon, '=') : NULL;
    if (!equals || equals[1] == '\0')
        return false;
    *colon = *equals = '\0';
    at = find_outside(colon + 1, '@');
    place->positions = at ? at + 1 : NULL;
    *value = equals + 1;
    return read_site(text, (size_t)(colon - text), true, place) &&
           read_layer(colon + 1, at ? at : equals, place);
}

enum attn_status attn_edit_place_read(const char *text, struct attn_edit_place *place,
                                      bool *is_place, struct attn_error *err)
{
    const char *item = text, *colon;
    size_t size;

    place->at.stack = attn_model_stack_find(text, &size);
    text += size;
    colon = strchr(text, ':');
    size = colon ? (size_t)(colon - text) : strlen(text);
    *is_place = read_site(text, size, colon, place);
    place->at.layer = ATTN_NO_LAYER;
    place->at.head = ATTN_ALL_HEADS;
    if (!colon || (*is_place && read_layer(colon + 1, text + strlen(text), place)))
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "%s: bad item '%s', expected heads or SITE:LAYER[.HEAD]", place->field,
                          attn_quote_string(item).text);
}

enum attn_status attn_edit_stack_check(enum attn_model_stack stack,
                                       const struct attn_config *config, const char *name,
                                       struct attn_error *err)
{
    const struct attn_quote quote = attn_quote_string(name);
    const char *type = config->model_type;

    if (config->stack.has_encoder && stack == ATTN_STACK_ONLY)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' names no stack of a model of type '%s', expected encoder:, "
                              "decoder: or cross: in front",
                              quote.text, type);
    if (!config->stack.has_encoder && stack != ATTN_STACK_ONLY)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' names a stack, and a model of type '%s' has only one",
                              quote.text, type);
    return ATTN_OK;
}

/* Returns the config of the stack of PLACE in MODEL, which has this stack. */
static const struct attn_config *config_of(const struct attn_edit_place *place,
                                           const struct attn_model *model)
{
    return place->at.stack == ATTN_STACK_ENCODER && model->encoder
               ? attn_model_config(model->encoder)
               : attn_model_config(model);
}

enum attn_status attn_edit_place_resolve(struct attn_edit_place *place,
                                         const struct attn_model *model, struct attn_error *err)
{
    const bool is_after_attention = attn_site_is_after_attention(place->at.site);
    const size_t n_layer = attn_config_n_whole_layer(config_of(place, model));

    ATTN_TRY(attn_error_in(
        attn_edit_stack_check(place->at.stack, attn_model_config(model), place->name, err),
        place->field, err));
    if (place->at.stack == ATTN_STACK_ONLY || place->at.layer < 0)
        return ATTN_OK;
    if ((size_t)place->at.layer >= n_layer)
        return attn_error_set(err, ATTN_INVALID, "%s: '%s' names layer %d, expected 0 to %zu",
                              place->field, attn_quote_string(place->name).text, place->at.layer,
                              n_layer - 1);
    if (place->at.stack == ATTN_STACK_CROSS && is_after_attention)
        return attn_error_set(err, ATTN_INVALID,
                              "%s: '%s' of cross-attention has no '%s', expected decoder: in front",
                              place->field, attn_quote_string(place->name).text,
                              attn_site_name(place->at.site));
    return ATTN_OK;
}

enum attn_status attn_edit_place_check(const struct attn_edit_place *place,
                                       const struct attn_model *model, struct attn_error *err)
{
    const struct attn_config *config = config_of(place, model);
    const struct attn_quote name = attn_quote_string(place->name);
    const size_t n_head =
        attn_site_layout(place->at.site) == ATTN_LAYOUT_KEY ? config->n_kv_head : config->n_head;

    if (!attn_site_is_in_layer(place->at.site) ||
        attn_sites_have(attn_sites_derived(), place->at.site))
        return attn_error_set(err, ATTN_INVALID,
                              "%s: '%s' is of no tensor of a layer that can be edited",
                              place->field, name.text);
    if ((size_t)place->at.layer >= attn_config_n_whole_layer(config))
        return attn_error_set(err, ATTN_INVALID, "%s: '%s' names layer %d, expected 0 to %zu",
                              place->field, name.text, place->at.layer,
                              attn_config_n_whole_layer(config) - 1);
    if (place->at.head == ATTN_ALL_HEADS)
        return ATTN_OK;
    if (attn_site_layout(place->at.site) == ATTN_LAYOUT_VECTOR)
        return attn_error_set(err, ATTN_INVALID,
                              "%s: '%s' names head %d of '%s', which has no heads", place->field,
                              name.text, place->at.head, attn_site_name(place->at.site));
    if ((size_t)place->at.head >= n_head)
        return attn_error_set(err, ATTN_INVALID, "%s: '%s' names head %d, expected 0 to %zu",
                              place->field, name.text, place->at.head, n_head - 1);
    return ATTN_OK;
}

/* Copies the items of the list SPEC that are of the encoder (IS_OF_ENCODER), or all others. NULL:
 * no memory. */
static char *copy_items(const char *spec, bool is_of_encoder, struct attn_error *err)
{
    char *copy = attn_alloc(strlen(spec) + 2, 1, err);
    size_t n = 0, n_stack, size;

    for (const char *item = spec; copy && *item != '\0'; item += size + (item[size] == ',')) {
        size = strcspn(item, ",");
        if ((attn_model_stack_find(item, &n_stack) == ATTN_STACK_ENCODER) != is_of_encoder)
            continue;
        memcpy(copy + n, item, size);
        n += size;
        copy[n++] = ',';
    }
    if (copy && n > 0)
        copy[n - 1] = '\0';
    return copy;
}

enum attn_status attn_edit_select_heads(const char *spec, bool is_of_encoder,
                                        const struct attn_dims *dims, struct attn_selection **heads,
                                        struct attn_error *err)
{
    char *own = NULL;
    enum attn_status status;

    *heads = NULL;
    if (spec && attn_dims_has_stacks(dims) && *spec != '\0') {
        own = copy_items(spec, is_of_encoder, err);
        if (!own)
            return ATTN_NO_MEMORY;
    }
    status = own && *own == '\0' ? ATTN_OK : attn_select_heads(own ? own : spec, dims, heads, err);
    attn_free(own);
    return status;
}

void attn_edit_make_uniform(const struct attn_config *config, struct attn_edit *edit)
{
    const bool has_bias = config->positions == ATTN_POSITIONS_ALIBI || config->stack.n_bucket > 0;

    edit->at.site = has_bias ? ATTN_SITE_ATTN_SCORES : ATTN_SITE_QK;
    edit->op = has_bias ? ATTN_EDIT_SCALE : ATTN_EDIT_ZERO;
    edit->factor = 0;
}

/* --- Texts SITE:WHERE=VALUE ------------------------------------------------------------------ */

/* What differs between patches, steering and rescaling: how the value is read, and the words of
 * messages. */
struct form {
    const char *field, *is_not, *value, *hint;
    /* Reads the value, and its factor if it has one; returns whether it is valid; NULL: each value
     * is. */
    bool (*read)(char *value, float *factor);
};

/* A text that was cut into its parts. */
struct parts {
    struct attn_edit_place place;
    char *text;  /* owns; the other texts point into it */
    char *value; /* a file, or a factor */
    float factor;
};

/* Reads TEXT, which is written as FORM says, into PARTS, and checks it against MODEL, which may be
 * NULL. The caller frees parts->text, also after a failure. */
static enum attn_status read_parts(const char *text, const struct form *form,
                                   const struct attn_model *model, struct parts *parts,
                                   struct attn_error *err)
{
    *parts =
        (struct parts){.place = {.at.head = ATTN_ALL_HEADS, .field = form->field}, .factor = 1};
    parts->text = copy_twice(text, err);
    if (!parts->text)
        return ATTN_NO_MEMORY;
    parts->place.name = parts->text;
    if (!read_place(parts->text + strlen(text) + 1, &parts->place, &parts->value) ||
        (form->read && !form->read(parts->value, &parts->factor))) {
        attn_error_set(err, ATTN_INVALID, "'%s' %s, expected SITE:LAYER[.HEAD][@POSITIONS]=%s",
                       attn_quote_string(text).text, form->is_not, form->value);
        attn_error_of(attn_error_hint(err, "%s", form->hint), form->field, err);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    if (!model)
        return ATTN_OK;
    ATTN_TRY(
        attn_error_at(attn_edit_place_resolve(&parts->place, model, err), ATTN_STAGE_OPTIONS, err));
    return attn_error_at(attn_edit_place_check(&parts->place, model, err), ATTN_STAGE_OPTIONS, err);
}

/* --- Patches --------------------------------------------------------------------------------- */

static const struct form patch_form = {
    .field = "patches",
    .is_not = "is no patch",
    .value = "FILE.npz",
    .hint = "'z:2.5@-1=clean.npz' takes head 5 of layer 2 at the last position",
};

struct attn_edit_place attn_patch_place(const struct attn_patch *patch)
{
    return (struct attn_edit_place){patch->at, patch->positions, attn_patch_name(patch),
                                    patch_form.field};
}

/* Copies the shape and the numbers of NPY to VALUES. */
static enum attn_status copy_values(const struct attn_npy_file *npy, struct attn_ndarray *values,
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

/* Reads the array of PATCH from the archive NPZ. */
static enum attn_status read_member(const struct attn_npz *npz, struct attn_patch *patch,
                                    struct attn_error *err)
{
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE];
    struct attn_npy_file *npy;
    enum attn_status status;
    size_t i = 0;

    attn_location_archive_name(&patch->at, name);
    while (i < attn_npz_n_member(npz) && strcmp(attn_npz_name(npz, i), name) != 0)
        i++;
    if (i == attn_npz_n_member(npz))
        return attn_error_set(err, ATTN_INVALID, "'%s' has no array '%s'",
                              attn_quote_string(patch->values.name).text, name);
    ATTN_TRY(attn_npz_read(npz, i, &npy, err));
    status = copy_values(npy, &patch->values, err);
    attn_npy_free(npy);
    return status;
}

/* Opens the file of PATCH and reads its array. */
static enum attn_status read_array(struct attn_patch *patch, struct attn_error *err)
{
    struct attn_npz *npz;
    enum attn_status status;

    ATTN_TRY(attn_npz_open(patch->values.name, &npz, err));
    status = read_member(npz, patch, err);
    attn_npz_free(npz);
    return status;
}

enum attn_status attn_patch_read(const char *text, const struct attn_model *model,
                                 struct attn_patch *patch, struct attn_error *err)
{
    struct attn_patch made = ATTN_PATCH_DEFAULT;
    struct parts parts;
    enum attn_status status;

    if (!attn_is_given(text, "text", err) || !attn_is_given(patch, "patch", err))
        return ATTN_INVALID;
    status = read_parts(text, &patch_form, model, &parts, err);
    made.at = parts.place.at;
    made.positions = parts.place.positions;
    made.values.name = parts.value;
    made.name = made.text = parts.text;
    if (status == ATTN_OK)
        status = attn_error_at(read_array(&made, err), ATTN_STAGE_INPUT, err);
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
    return patch->name ? patch->name : attn_site_name(patch->at.site);
}

/* --- Steering -------------------------------------------------------------------------------- */

const char *attn_steering_name(const struct attn_steering *steering)
{
    return steering->name ? steering->name : attn_site_name(steering->at.site);
}

bool attn_steering_is_vector(const struct attn_steering *steering)
{
    const struct attn_ndarray *values = &steering->values;

    return values->rank <= 1 || (values->rank == 2 && values->shape[0] == 1);
}

/* Reads a number into *factor. Returns whether TEXT is a number that float32 can hold. */
static bool read_factor(char *text, float *factor)
{
    double value;

    if (!attn_parse_double(text, strlen(text), &value) || !isfinite((float)value))
        return false;
    *factor = (float)value;
    return true;
}

/* Cuts "FILE.npy*FACTOR" into a path and *factor, which is 1 if there is none. Returns whether the
 * factor is a number. */
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

static const struct form steer_form = {
    .field = "steer",
    .is_not = "is no steering",
    .value = "FILE.npy[*FACTOR]",
    .hint = "'resid_pre:2@-1=v.npy*1.5' adds 1.5 times a vector at the last position",
    .read = read_file_name,
};

static const struct form rescale_form = {
    .field = "rescale",
    .is_not = "does not rescale",
    .value = "FACTOR",
    .hint = "'z:2.5=0.5' halves the context vectors of head 5 of layer 2",
    .read = read_factor,
};

struct attn_edit_place attn_steering_place(const struct attn_steering *steering)
{
    return (struct attn_edit_place){steering->at, steering->positions, attn_steering_name(steering),
                                    steering->values.rank != 0 ? steer_form.field
                                                               : rescale_form.field};
}

/* Reads the array of the file PATH into VALUES, and multiplies it by FACTOR. */
static enum attn_status read_vectors(const char *path, float factor, struct attn_ndarray *values,
                                     struct attn_error *err)
{
    struct attn_not_finite bad;
    float *products;
    size_t n;

    ATTN_TRY(attn_ndarray_read(path, 1, 2, "[n] or [P, n]", values, err));
    n = attn_ndarray_n_element(values);
    bad = attn_ndarray_not_finite(values);
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

/* Reads TEXT, which is written as FORM says, into *steering. */
static enum attn_status make_steering(const char *text, const struct form *form,
                                      const struct attn_model *model,
                                      struct attn_steering *steering, struct attn_error *err)
{
    struct attn_steering made = ATTN_STEERING_DEFAULT;
    struct parts parts;
    enum attn_status status;

    if (!attn_is_given(text, "text", err) || !attn_is_given(steering, "steering", err))
        return ATTN_INVALID;
    status = read_parts(text, form, model, &parts, err);
    made.at = parts.place.at;
    made.positions = parts.place.positions;
    made.name = made.text = parts.text;
    if (form == &rescale_form)
        made.factor = parts.factor;
    else if (status == ATTN_OK)
        status = attn_error_at(read_vectors(parts.value, parts.factor, &made.values, err),
                               ATTN_STAGE_INPUT, err);
    if (status == ATTN_OK)
        *steering = made;
    else
        attn_steering_release(&made);
    return status;
}

enum attn_status attn_steering_read(const char *text, const struct attn_model *model,
                                    struct attn_steering *steering, struct attn_error *err)
{
    return make_steering(text, &steer_form, model, steering, err);
}

enum attn_status attn_rescale_parse(const char *text, const struct attn_model *model,
                                    struct attn_steering *steering, struct attn_error *err)
{
    return make_steering(text, &rescale_form, model, steering, err);
}

void attn_steering_release(struct attn_steering *steering)
{
    if (!steering)
        return;
    attn_ndarray_release(&steering->values);
    attn_free(steering->text);
    *steering = ATTN_STEERING_DEFAULT;
}
