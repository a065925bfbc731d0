#include "edits/edits_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "base/text/list.h"
#include "base/text/number.h"
#include "formats/npy.h"
#include "formats/tensor_files_internal.h"
#include "model/config_internal.h"
#include "model/model_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

ATTN_DEFAULTS(attn_intervention, .at = {.site = ATTN_SITE_Z, .head = ATTN_ALL_HEADS}, .factor = 1)

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

/* --- Cutting texts --------------------------------------------------------------------------- */

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

/* --- Places ---------------------------------------------------------------------------------- */

/* Reads "LAYER" or "LAYER.HEAD", which ends at END, into PLACE; where *layers is not NULL, LAYER
 * may be a list, whose beginning it becomes, and else NULL. Whether it is one of these. */
static bool read_layer(const char *text, const char *end, struct attn_intervention *place,
                       const char **layers)
{
    const char *dot = memchr(text, '.', (size_t)(end - text));
    const char *layer_end = dot ? dot : end;
    int64_t layer = 0, head = ATTN_ALL_HEADS;
    const bool is_one = attn_parse_int(text, (size_t)(layer_end - text), 0, INT32_MAX, &layer);
    const bool is_list = !is_one && layers && layer_end > text &&
                         strspn(text, "0123456789,-+al") >= (size_t)(layer_end - text);

    if ((!is_one && !is_list) ||
        (dot && !attn_parse_int(dot + 1, (size_t)(end - dot - 1), 0, INT32_MAX, &head)))
        return false;
    if (layers)
        *layers = is_list ? text : NULL;
    place->at.layer = (int)layer;
    place->at.head = (int)head;
    return true;
}

/* Finds the site called NAME [size] that can be edited and that is inside or outside the layers, as
 * IS_IN_LAYER says. Returns whether there is one. */
static bool read_site(const char *name, size_t size, bool is_in_layer,
                      struct attn_intervention *place)
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

/* Reads SITE:LAYER[.HEAD], or SITE of a tensor outside the layers, which ends at END, into PLACE;
 * LAYERS as of read_layer. *is_site: whether the site is one that can be edited there. Returns
 * false for another text with a colon. */
static bool read_tensor(const char *text, const char *end, struct attn_intervention *place,
                        const char **layers, bool *is_site)
{
    const char *colon;
    size_t n_stack;

    place->at.stack = attn_model_stack_find(text, &n_stack);
    text += n_stack;
    colon = memchr(text, ':', (size_t)(end - text));
    place->at.layer = ATTN_NO_LAYER;
    place->at.head = ATTN_ALL_HEADS;
    *is_site = read_site(text, (size_t)((colon ? colon : end) - text), colon, place);
    return !colon || (*is_site && read_layer(colon + 1, end, place, layers));
}

/* Cuts TEXT, "SITE:LAYERS[.HEAD][@POSITIONS]=VALUE", into its parts. Whether it is such a text; a
 * patch has one layer. */
static bool read_place(char *text, struct attn_intervention *place, char **value)
{
    char *equals = find_outside(text, '='), *at;
    const char **layers = place->op == ATTN_EDIT_REPLACE ? NULL : &place->layers.text;
    bool is_site;

    if (!equals || equals[1] == '\0')
        return false;
    *equals = '\0';
    *value = equals + 1;
    at = find_outside(text, '@');
    place->positions.text = at ? at + 1 : NULL;
    if (!read_tensor(text, at ? at : equals, place, layers, &is_site) || !is_site ||
        place->at.layer < 0)
        return false;
    if (place->layers.text) /* it ends where the head, the positions or the value begin */
        text[strcspn(text, ":") + 1 + strcspn(place->layers.text, ".@")] = '\0';
    return true;
}

/* Reads TEXT, an item of a list of ablations, into MADE. Whether it is written as one. */
static bool read_ablation(char *text, struct attn_intervention *made)
{
    static const struct {
        const char *word;
        enum attn_edit_op op;
    } words[] = {
        {"zero:", ATTN_EDIT_ZERO}, {"mean:", ATTN_EDIT_MEAN}, {"uniform:", ATTN_EDIT_UNIFORM}};
    struct attn_intervention place = *made;
    bool is_site = false;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(text, words[i].word, strlen(words[i].word)) == 0) {
            made->op = words[i].op;
            text += strlen(words[i].word);
            break;
        }
    if (made->op != ATTN_EDIT_UNIFORM &&
        !read_tensor(text, text + strlen(text), &place, NULL, &is_site))
        return false;
    if (is_site)
        made->at = place.at;
    else
        made->heads.text = text;
    return true;
}

enum attn_status attn_edit_stack_check(enum attn_model_stack stack, const struct attn_model *model,
                                       const char *name, struct attn_error *err)
{
    const struct attn_quote quote = attn_quote_string(name);
    const char *type = attn_model_config(model)->model_type;

    if (stack == ATTN_STACK_ONLY ? !model->encoder
        : model->encoder         ? stack != ATTN_STACK_TOWER
                                 : stack == ATTN_STACK_TOWER && model->tower)
        return ATTN_OK;
    if (model->encoder)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' names no stack of a model of type '%s', expected encoder:, "
                              "decoder: or cross: in front",
                              quote.text, type);
    return attn_error_set(err, ATTN_INVALID,
                          "'%s' names a stack, and a model of type '%s' has only one%s", quote.text,
                          type, model->tower ? ", beside tower:" : "");
}

/* Returns the config of the stack of PLACE in MODEL, which has this stack. */
static const struct attn_config *config_of(const struct attn_intervention *place,
                                           const struct attn_model *model)
{
    return attn_model_config(attn_stack_is_encoder(place->at.stack) && attn_model_before(model)
                                 ? attn_model_before(model)
                                 : model);
}

enum attn_status attn_edit_place_check(const struct attn_intervention *place,
                                       const struct attn_model *model, struct attn_error *err)
{
    const struct attn_config *config = config_of(place, model);
    const struct attn_location *at = &place->at;
    const struct attn_quote name = attn_quote_string(attn_intervention_name(place));
    const char *field = attn_intervention_field(place), *site = attn_site_name(at->site);
    const size_t n_kv_head = at->layer >= 0 && (size_t)at->layer < config->n_layer
                                 ? attn_config_layer_dims(config, (size_t)at->layer).n_kv_head
                                 : config->n_kv_head;
    const size_t n_head =
        attn_site_layout(at->site) == ATTN_LAYOUT_KEY ? n_kv_head : config->n_head;

    ATTN_TRY(attn_error_in(
        attn_edit_stack_check(at->stack, model, attn_intervention_name(place), err), field, err));
    if (attn_edit_op_ablates(place->op) && !attn_site_is_in_layer(at->site) &&
        !attn_sites_have(attn_sites_derived(), at->site))
        return ATTN_OK;
    if (!attn_site_is_in_layer(at->site) || attn_sites_have(attn_sites_derived(), at->site))
        return attn_error_set(err, ATTN_INVALID,
                              "%s: '%s' is of no tensor of a layer that can be edited", field,
                              name.text);
    if ((size_t)at->layer >= attn_config_n_whole_layer(config))
        return attn_error_set(err, ATTN_INVALID, "%s: '%s' names layer %d, expected 0 to %zu",
                              field, name.text, at->layer, attn_config_n_whole_layer(config) - 1);
    if (at->stack == ATTN_STACK_CROSS && attn_site_is_after_attention(at->site))
        return attn_error_set(err, ATTN_INVALID,
                              "%s: '%s' of cross-attention has no '%s', expected decoder: in front",
                              field, name.text, site);
    if (at->head == ATTN_ALL_HEADS || (at->head == ATTN_HEADS_TOGETHER && at->site == ATTN_SITE_Z))
        return ATTN_OK;
    if (attn_site_layout(at->site) == ATTN_LAYOUT_VECTOR)
        return attn_error_set(err, ATTN_INVALID,
                              "%s: '%s' names head %d of '%s', which has no heads", field,
                              name.text, at->head, site);
    if ((size_t)at->head >= n_head)
        return attn_error_set(err, ATTN_INVALID, "%s: '%s' names head %d, expected 0 to %zu", field,
                              name.text, at->head, n_head - 1);
    return ATTN_OK;
}

/* Copies the items of the list SPEC whose stack goes together with STACK. NULL: no memory. */
static char *copy_items(const char *spec, enum attn_model_stack stack, struct attn_error *err)
{
    char *copy = attn_alloc(strlen(spec) + 2, 1, err);
    size_t n = 0, n_stack;

    for (struct attn_list_item item = {.rest = spec}; copy && attn_list_next(&item);) {
        if (!attn_stacks_go_together(attn_model_stack_find(item.text, &n_stack), stack))
            continue;
        memcpy(copy + n, item.text, item.size);
        n += item.size;
        copy[n++] = ',';
    }
    if (copy && n > 0)
        copy[n - 1] = '\0';
    return copy;
}

enum attn_status attn_edit_select_heads(const struct attn_head_list *list,
                                        enum attn_model_stack stack, const struct attn_dims *dims,
                                        struct attn_selection **heads, struct attn_error *err)
{
    struct attn_head_list of_stack = *list;
    bool has_any = !dims->encoder || !attn_head_list_is_given(list);
    enum attn_status status = ATTN_OK;
    char *own = NULL;

    *heads = NULL;
    for (size_t i = 0; i < list->n; i++)
        has_any |= attn_stacks_go_together(list->items[i].stack, stack);
    if (list->n == 0 && !has_any) {
        ATTN_TRY(ATTN_NEW(own, copy_items(list->text, stack, err)));
        of_stack.text = own;
        has_any = *own != '\0' || *list->text == '\0';
    }
    if (has_any)
        status = attn_select_heads(&of_stack, dims, heads, err);
    attn_free(own);
    return status;
}

enum attn_status attn_edit_check_attention(const struct attn_selection *heads,
                                           const struct attn_dims *dims, struct attn_error *err)
{
    for (size_t layer = 0; heads && dims->mixer && layer < dims->n_layer; layer++) {
        const struct attn_location at = attn_layer_at(dims, ATTN_SITE_PATTERN, layer);

        if (!attn_location_is_lacking(dims, &at) || attn_selection_count_heads(heads, &at) == 0)
            continue;
        attn_error_set(err, ATTN_INVALID,
                       "layer %d mixes tokens without attention, and uniform weights cannot be "
                       "used there",
                       at.layer);
        return attn_error_hint(err, "'L.h' names a head of a layer with attention");
    }
    return ATTN_OK;
}

void attn_edit_make_uniform(const struct attn_config *config, struct attn_edit *edit)
{
    const bool has_bias = config->positions == ATTN_POSITIONS_ALIBI || config->stack.n_bucket > 0;

    edit->at.site = has_bias ? ATTN_SITE_ATTN_SCORES : ATTN_SITE_QK;
    edit->op = has_bias ? ATTN_EDIT_SCALE : ATTN_EDIT_ZERO;
    edit->factor = 0;
}

/* --- Values ---------------------------------------------------------------------------------- */

bool attn_intervention_is_vector(const struct attn_intervention *steering)
{
    const struct attn_ndarray *values = &steering->values;

    return values->rank <= 1 || (values->rank == 2 && values->shape[0] == 1);
}

/* Reads the array of PATCH from the archive PATH. */
static enum attn_status read_array(const char *path, struct attn_intervention *patch,
                                   struct attn_error *err)
{
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE], other[ATTN_SITE_ARCHIVE_NAME_SIZE];

    patch->values.name = path;
    attn_location_archive_name(&patch->at, name);
    return attn_npz_read(path, name,
                         attn_location_other_archive_name(&patch->at, other) ? other : NULL,
                         &patch->values, err);
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

/* Reads "FACTOR" into *factor; where OFFSET is not NULL, also "FACTOR+OFFSET" and "FACTOR-OFFSET".
 */
static bool read_factors(char *text, float *factor, float *offset)
{
    char *sign = text;

    do
        sign = *sign ? strpbrk(sign + 1, "+-") : NULL;
    while (sign && (sign[-1] == 'e' || sign[-1] == 'E'));
    if (!sign || !offset)
        return read_factor(text, factor);
    if (sign[1] == '+' || sign[1] == '-' || !read_factor(*sign == '+' ? sign + 1 : sign, offset))
        return false;
    *sign = '\0';
    return read_factor(text, factor);
}

/* Cuts "FILE.npy*FACTOR" into a path and the factor of MADE, which is 1 if there is none, with the
 * offset of a projection. Returns whether they are numbers. */
static bool read_file_name(char *value, struct attn_intervention *made)
{
    const size_t size = strlen(value);
    char *star = strrchr(value, '*');

    made->factor = 1;
    if (!star || (size > 4 && strcmp(value + size - 4, ".npy") == 0) ||
        (size > 5 && strcmp(value + size - 5, ".gguf") == 0))
        return true;
    *star = '\0';
    return star > value && read_factors(star + 1, &made->factor,
                                        made->op == ATTN_EDIT_PROJECT ? &made->offset : NULL);
}

/* Reads the array of the file PATH into the values of MADE, and multiplies it by FACTOR. */
static enum attn_status read_vectors(const char *path, float factor, struct attn_intervention *made,
                                     struct attn_error *err)
{
    struct attn_ndarray *values = &made->values;
    struct attn_not_finite bad;
    bool is_finite = true, is_read = false;
    size_t n;

    if (attn_directions)
        ATTN_TRY(attn_directions(path, &is_read, made, err));
    if (made->n_vector > 0 && made->at.site != ATTN_SITE_RESID_POST)
        return attn_error_set(
            err, ATTN_INVALID,
            "'%s' is a control vector, which belongs to 'resid_post', not to '%s'",
            attn_quote_string(path).text, attn_site_name(made->at.site));
    if (!is_read)
        ATTN_TRY(attn_ndarray_read(path, 1, 2, "[n] or [P, n]", values, err));
    n = attn_ndarray_n_element(values);
    bad = attn_ndarray_not_finite(values);
    if (bad.n_nan + bad.n_above + bad.n_below > 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' holds NaN or infinity, expected numbers",
                              attn_quote_string(values->name).text);
    if (!values->converted)
        ATTN_TRY(ATTN_NEW(values->converted, attn_alloc_uninitialized(n, sizeof(float), err)));
    for (size_t i = 0; i < n; i++) {
        values->converted[i] = values->data[i] * factor;
        is_finite = is_finite && isfinite(values->converted[i]);
    }
    if (!is_finite)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' times %g is infinite, expected numbers that float32 can hold",
                              attn_quote_string(values->name).text, (double)factor);
    attn_npy_free(values->file);
    values->file = NULL;
    values->data = values->converted;
    return ATTN_OK;
}

/* --- Texts ----------------------------------------------------------------------------------- */

/* How the text of an operation is written, and the words of messages. */
static const struct form {
    const char *field, *is_not, *expected, *hint;
} forms[] = {
    [ATTN_EDIT_ZERO] = {"ablate", "is no ablation", "heads or SITE:LAYER[.HEAD]",
                        "'mean:2.5' sets head 5 of layer 2 to its mean, 'mlp_out:2' an MLP to 0"},
    [ATTN_EDIT_MEAN] = {.field = "ablate"},
    [ATTN_EDIT_UNIFORM] = {.field = "ablate"},
    [ATTN_EDIT_MASK] = {"knockouts", "is no knockout", "QUERIES>KEYS or QUERIES>KEYS@HEADS",
                        "'it>cat@2.*' keeps the heads of layer 2 at 'it' from looking at 'cat'"},
    [ATTN_EDIT_REPLACE] = {"patches", "is no patch", "SITE:LAYER[.HEAD][@POSITIONS]=FILE.npz",
                           "'z:2.5@-1=clean.npz' takes head 5 of layer 2 at the last position"},
    [ATTN_EDIT_ADD] = {"steer", "is no steering", "SITE:LAYERS[.HEAD][@POSITIONS]=FILE[*FACTOR]",
                       "'resid_pre:2@-1=v.npy*1.5' adds 1.5 times a vector at the last position"},
    [ATTN_EDIT_PROJECT] =
        {"project", "is no projection", "SITE:LAYERS[.HEAD][@POSITIONS]=FILE[*FACTOR[+OFFSET]]",
         "'resid_post:all=v.npy' takes the part along a vector out of each layer"},
    [ATTN_EDIT_SCALE] = {"rescale", "does not rescale", "SITE:LAYERS[.HEAD][@POSITIONS]=FACTOR",
                         "'z:2.5=0.5' halves the context vectors of head 5 of layer 2"},
};

bool attn_edit_op_ablates(enum attn_edit_op op)
{
    return op == ATTN_EDIT_ZERO || op == ATTN_EDIT_MEAN || op == ATTN_EDIT_UNIFORM;
}

bool attn_intervention_has_op(enum attn_edit_op op, struct attn_error *err)
{
    if ((unsigned)op < sizeof forms / sizeof *forms && forms[op].field)
        return true;
    attn_refuse(err, ATTN_STAGE_OPTIONS, "'op' of an intervention is %d, expected 0 to 4 or 6 to 8",
                (int)op);
    return false;
}

const char *attn_intervention_field(const struct attn_intervention *intervention)
{
    return forms[intervention->op].field;
}

const char *attn_intervention_name(const struct attn_intervention *intervention)
{
    if (intervention->name)
        return intervention->name;
    if (intervention->op != ATTN_EDIT_MASK)
        return attn_site_name(intervention->at.site);
    return intervention->positions.n == 0 ? intervention->positions.text
                                          : attn_site_name(ATTN_SITE_ATTN_SCORES);
}

/* Cuts TEXT, the second copy of the text of MADE, into its parts, and reads a factor in it. Whether
 * it is written as its operation needs. */
static bool cut(char *text, struct attn_intervention *made, char **value)
{
    if (made->op == ATTN_EDIT_MASK)
        return attn_knockout_cut(text, &made->positions.text, &made->keys.text, &made->heads.text);
    if (made->op == ATTN_EDIT_ZERO)
        return read_ablation(text, made);
    if (!read_place(text, made, value))
        return false;
    return made->op == ATTN_EDIT_REPLACE ||
           (attn_edit_op_has_vector(made->op) ? read_file_name(*value, made)
                                              : read_factor(*value, &made->factor));
}

/* Reads the array of the file VALUE into MADE, if its operation has one. */
static enum attn_status read_values(const char *value, struct attn_intervention *made,
                                    struct attn_error *err)
{
    const bool is_added = made->op == ATTN_EDIT_ADD;
    const float factor = is_added ? made->factor : 1;

    if (made->op == ATTN_EDIT_REPLACE)
        return read_array(value, made, err);
    if (!attn_edit_op_has_vector(made->op))
        return ATTN_OK;
    made->factor = is_added ? 1 : made->factor;
    return read_vectors(value, factor, made, err);
}

/* Reads made->text into MADE, and checks it against MODEL, which may be NULL. */
static enum attn_status read_text(struct attn_intervention *made, const struct attn_model *model,
                                  struct attn_error *err)
{
    const struct form *form = &forms[made->op];
    enum attn_status status = ATTN_OK;
    char *value = NULL;

    made->name = made->text;
    if (!cut(made->text + strlen(made->text) + 1, made, &value)) {
        attn_error_set(err, ATTN_INVALID, "'%s' %s, expected %s",
                       attn_quote_string(made->text).text, form->is_not, form->expected);
        attn_error_of(attn_error_hint(err, "%s", form->hint), form->field, err);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    if (model && made->op != ATTN_EDIT_MASK && !made->heads.text)
        status = attn_edit_place_check(made, model, err);
    ATTN_TRY(attn_error_at(status, ATTN_STAGE_OPTIONS, err));
    return attn_error_at(read_values(value, made, err), ATTN_STAGE_INPUT, err);
}

enum attn_status attn_intervention_read(enum attn_edit_op op, const char *text,
                                        const struct attn_model *model,
                                        struct attn_intervention *intervention,
                                        struct attn_error *err)
{
    struct attn_intervention made = ATTN_INTERVENTION_DEFAULT;

    if (!attn_is_given(text, "text", err) || !attn_is_given(intervention, "intervention", err) ||
        !attn_intervention_has_op(op, err))
        return ATTN_INVALID;
    made.op = op;
    made.text = copy_twice(text, err);
    ATTN_RETURN_FILLED(made.text ? read_text(&made, model, err) : ATTN_NO_MEMORY, intervention,
                       made, attn_intervention_release);
}

void attn_intervention_release(struct attn_intervention *intervention)
{
    if (!intervention)
        return;
    attn_ndarray_release(&intervention->values);
    attn_free(intervention->text);
    attn_free(intervention->made_layers);
    *intervention = ATTN_INTERVENTION_DEFAULT;
}
