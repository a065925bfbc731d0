/* config_rope.c - the rotary positions of a config.json, with the rules and defaults of
 * transformers 5 (modeling_rope_utils.py). */
#include "model/config_internal.h"

#include "base/elementary.h"
#include "base/escape.h"

#include <math.h>
#include <string.h>

static const double max_number = 1e30; /* so that no frequency is 0 in float32 */

/* Where the rope of some layers is looked for. */
struct rope_source {
    const struct attn_json *json;
    const struct attn_rope_keys *keys;
    const struct attn_node *objects[2]; /* the first that has a key counts; or NULL */
    bool has_old_type;                  /* `type` may stand for `rope_type` */
    bool is_nested;                     /* in an object by type of layer */
};

/* The object that has KEY; the first one when none has. */
static const struct attn_node *object_with(const struct rope_source *source, const char *key)
{
    for (int i = 0; i < 2; i++) {
        const struct attn_node *node =
            source->objects[i] ? attn_node_find(source->objects[i], key) : NULL;

        if (node && !attn_node_is_null(node))
            return source->objects[i];
    }
    return source->objects[0];
}

/* Where a number is read: in the objects, or at the top level under TOP when they have it not. */
struct spot {
    const struct attn_node *object; /* NULL: nowhere */
    const char *key;
};

static struct spot find_spot(const struct rope_source *source, const char *key, const char *top)
{
    const struct attn_node *object = object_with(source, key);
    const struct attn_node *node = object ? attn_node_find(object, key) : NULL;

    if (top && (!node || attn_node_is_null(node)))
        return (struct spot){attn_json_root(source->json), top};
    return (struct spot){object, key};
}

/* A number from 0 on of an object. */
static enum attn_status get_number(const struct rope_source *source, const char *key, double *value,
                                   struct attn_error *err)
{
    const struct attn_node *object = object_with(source, key);

    return object ? attn_json_get_double(source->json, object, key, 0, max_number, value, err)
                  : ATTN_OK;
}

/* A number that must be above MIN; one that is -1 before must be there. */
static enum attn_status get_above(const struct rope_source *source, struct spot spot, double min,
                                  double *value, struct attn_error *err)
{
    if (spot.object)
        ATTN_TRY(
            attn_json_get_double(source->json, spot.object, spot.key, 0, max_number, value, err));
    if (*value > min)
        return ATTN_OK;
    if (*value < 0)
        return attn_error_set(err, ATTN_FORMAT, "'%s' of rotary positions is missing in '%s'",
                              spot.key, attn_quote_string(attn_json_name(source->json)).text);
    return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' is %.15g, expected a number above %g",
                          spot.key, attn_quote_string(attn_json_name(source->json)).text, *value,
                          min);
}

/* A number of an object that must be above 0. */
static enum attn_status get_positive(const struct rope_source *source, const char *key,
                                     double *value, struct attn_error *err)
{
    return get_above(source, find_spot(source, key, NULL), 0, value, err);
}

static enum attn_status read_type(const struct rope_source *source, enum attn_rope_type *type,
                                  struct attn_error *err)
{
    static const char *const words[] = {
#define ROPE_WORD(id, number, word) [ATTN_ROPE_##id] = (word),
        ATTN_ROPE_MAP(ROPE_WORD)
#undef ROPE_WORD
    };
    const char *key = "rope_type", *name = NULL;
    const struct attn_node *object = object_with(source, key);

    if (object)
        ATTN_TRY(attn_json_get_string(source->json, object, key, &name, err));
    if (object && !name && source->has_old_type) {
        key = "type", object = object_with(source, key);
        ATTN_TRY(attn_json_get_string(source->json, object, key, &name, err));
    }
    if (!name)
        return ATTN_OK;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0) {
            *type = (enum attn_rope_type)i;
            return ATTN_OK;
        }
    return attn_error_set(err, ATTN_UNSUPPORTED,
                          "'%s' of rotary positions in '%s' is '%s', this version reads 'default', "
                          "'linear', 'llama3', 'yarn' and 'dynamic'",
                          key, attn_quote_string(attn_json_name(source->json)).text,
                          attn_quote_string(name).text);
}

/* How many components of a head are turned. */
static enum attn_status read_width(const struct rope_source *source,
                                   const struct attn_config *config, struct attn_rope *rope,
                                   struct attn_error *err)
{
    const char *name = attn_json_name(source->json);
    const struct spot spot = find_spot(source, "partial_rotary_factor", source->keys->partial);
    double share = source->keys->default_partial;

    if (spot.object)
        ATTN_TRY(attn_json_get_double(source->json, spot.object, spot.key, 0, 1, &share, err));
    if (source->keys->default_partial == 1 && share != 1)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' in '%s' is %.15g, model_type '%s' turns whole heads", spot.key,
                              attn_quote_string(name).text, share, config->model_type);
    rope->d_rotary = (size_t)((double)config->d_head * share);
    if (rope->d_rotary > 0 && rope->d_rotary % 2 == 0)
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_FORMAT,
        "rotary positions in '%s' turn %zu of %zu components of a head, expected an even number",
        attn_quote_string(name).text, rope->d_rotary, config->d_head);
}

static enum attn_status read_llama3(const struct rope_source *source,
                                    const struct attn_config *config, struct attn_rope *rope,
                                    struct attn_error *err)
{
    rope->factor = rope->low_freq_factor = rope->high_freq_factor = -1;
    rope->n_original = (double)config->n_ctx;
    ATTN_TRY(get_positive(source, "factor", &rope->factor, err));
    ATTN_TRY(get_positive(source, "low_freq_factor", &rope->low_freq_factor, err));
    ATTN_TRY(get_positive(source, "high_freq_factor", &rope->high_freq_factor, err));
    ATTN_TRY(get_positive(source, "original_max_position_embeddings", &rope->n_original, err));
    if (rope->high_freq_factor > rope->low_freq_factor)
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_FORMAT,
        "'high_freq_factor' in '%s' is %.15g, expected more than 'low_freq_factor' %.15g",
        attn_quote_string(attn_json_name(source->json)).text, rope->high_freq_factor,
        rope->low_freq_factor);
}

/* Peng et al. 2309.00071, eq. 22: sharpens the softmax for a context SCALE times as long. */
static double sharpening(double scale, double mscale)
{
    return scale <= 1 ? 1 : 0.1 * mscale * attn_log(scale) + 1;
}

static enum attn_status read_yarn(const struct rope_source *source,
                                  const struct attn_config *config, struct attn_rope *rope,
                                  struct attn_error *err)
{
    const struct attn_node *object = object_with(source, "truncate");
    double mscale = 0, mscale_all = 0, factor = -1;

    rope->n_original = (double)config->n_ctx;
    rope->is_truncated = true;
    ATTN_TRY(get_positive(source, "original_max_position_embeddings", &rope->n_original, err));
    rope->factor = (double)config->n_ctx / rope->n_original;
    ATTN_TRY(get_positive(source, "factor", &rope->factor, err));
    ATTN_TRY(get_number(source, "beta_fast", &rope->beta_fast, err));
    ATTN_TRY(get_number(source, "beta_slow", &rope->beta_slow, err));
    if (!source->is_nested) /* transformers looks for it outside then */
        ATTN_TRY(attn_json_get_bool(source->json, object, "truncate", &rope->is_truncated, err));
    if (rope->beta_fast == 0)
        rope->beta_fast = 32;
    if (rope->beta_slow == 0)
        rope->beta_slow = 1;
    /* The factor of cosines and sines is written down, or follows from the others. */
    ATTN_TRY(get_number(source, "attention_factor", &factor, err));
    ATTN_TRY(get_number(source, "mscale", &mscale, err));
    ATTN_TRY(get_number(source, "mscale_all_dim", &mscale_all, err));
    if (factor >= 0)
        rope->attention_factor = factor;
    else if (mscale != 0 && mscale_all != 0)
        rope->attention_factor =
            sharpening(rope->factor, mscale) / sharpening(rope->factor, mscale_all);
    else
        rope->attention_factor = sharpening(rope->factor, 1);
    return ATTN_OK;
}

static enum attn_status read_rope(const struct rope_source *source,
                                  const struct attn_config *config, struct attn_rope *rope,
                                  struct attn_error *err)
{
    const struct attn_node *object = object_with(source, "mrope_section");

    ATTN_TRY(read_type(source, &rope->type, err));
    rope->theta = source->keys->default_theta;
    if (object && attn_node_find(object, "mrope_section"))
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'mrope_section' in '%s' is set, which this version does not support",
                              attn_quote_string(attn_json_name(source->json)).text);
    ATTN_TRY(get_above(source, find_spot(source, "rope_theta", source->keys->theta), 1,
                       &rope->theta, err));
    ATTN_TRY(read_width(source, config, rope, err));
    rope->factor = rope->type == ATTN_ROPE_DEFAULT ? 0 : -1;
    switch (rope->type) {
    case ATTN_ROPE_DEFAULT:
        return ATTN_OK;
    case ATTN_ROPE_LINEAR:
    case ATTN_ROPE_DYNAMIC:
        return get_positive(source, "factor", &rope->factor, err);
    case ATTN_ROPE_LLAMA3:
        return read_llama3(source, config, rope, err);
    case ATTN_ROPE_YARN:
        return read_yarn(source, config, rope, err);
    }
    return ATTN_OK;
}

/* The member KEY of OBJECT, which must be an object; NULL when it is absent, null or empty. */
static enum attn_status find_object(const struct attn_json *json, const struct attn_node *object,
                                    const char *key, const struct attn_node **found,
                                    struct attn_error *err)
{
    const struct attn_node *node = attn_node_find(object, key);

    *found = NULL;
    if (!node || attn_node_is_null(node))
        return ATTN_OK;
    if (!attn_node_is_object(node))
        return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' is not an object", key,
                              attn_quote_string(attn_json_name(json)).text);
    if (attn_node_first(node))
        *found = node;
    return ATTN_OK;
}

enum attn_status attn_config_read_rope(const struct attn_json *json,
                                       const struct attn_config_form *form,
                                       struct attn_config *config,
                                       struct attn_config_layers *layers, struct attn_error *err)
{
    static const char *const types[] = {"full_attention", "sliding_attention"};
    const struct attn_node *root = attn_json_root(json), *parameters;
    const bool is_nested = form->rope_of_windows.theta;
    struct rope_source full = {.json = json, .keys = &form->rope, .is_nested = is_nested};
    struct rope_source sliding = {.json = json, .keys = &form->rope_of_windows, .is_nested = true};
    struct attn_rope ropes[2] = {{0}};

    ATTN_TRY(find_object(json, root, "rope_scaling", &full.objects[0], err));
    ATTN_TRY(find_object(json, root, "rope_parameters", &parameters, err));
    if (!is_nested && !full.objects[0])
        full.objects[0] = parameters;
    for (size_t i = 0; !is_nested && full.objects[0] && i < 2; i++)
        if (attn_node_find(full.objects[0], types[i]))
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "rotary positions in '%s' have '%s', model_type '%s' has the "
                                  "same in all layers",
                                  attn_quote_string(attn_json_name(json)).text, types[i],
                                  config->model_type);
    if (is_nested && parameters) {
        ATTN_TRY(find_object(json, parameters, types[0], &full.objects[1], err));
        ATTN_TRY(find_object(json, parameters, types[1], &sliding.objects[0], err));
    }
    /* Without a separate object a layer begins with rope_type "default", which is before type */
    full.has_old_type = !is_nested || full.objects[1];
    sliding.has_old_type = true;
    ATTN_TRY(read_rope(&full, config, &ropes[0], err));
    if (is_nested)
        ATTN_TRY(read_rope(&sliding, config, &ropes[1], err));
    config->positions = ATTN_POSITIONS_ROTARY;
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const bool is_window = layers->attention[layer].kind == ATTN_ATTENTION_WINDOW;

        layers->rope[layer] = ropes[is_nested && is_window];
    }
    return ATTN_OK;
}
