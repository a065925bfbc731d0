/*
 * config_rope.c - see config_rope.h. Rules and defaults are those of transformers 5
 * (modeling_rope_utils.py).
 */
#include "model/config_rope.h"

#include "base/escape.h"

#include <math.h>
#include <string.h>

static const double max_number = 1e30; /* so that no frequency is 0 in float32 */

/* Where the rope of some layers is looked for. */
struct place {
    const struct attn_json *json;
    const struct attn_rope_keys *keys;
    const struct attn_node *objects[2]; /* the first that has a key counts; NULL: there is none */
    bool has_old_type;                  /* `type` may stand for `rope_type` */
    bool is_nested;                     /* in an object by type of layer */
};

static const struct {
    const char *name;
    enum attn_rope_type type;
} types[] = {
    {"default", ATTN_ROPE_DEFAULT}, {"linear", ATTN_ROPE_LINEAR},   {"llama3", ATTN_ROPE_LLAMA3},
    {"yarn", ATTN_ROPE_YARN},       {"dynamic", ATTN_ROPE_DYNAMIC},
};

/* The object that has KEY; the first one when none has. */
static const struct attn_node *object_with(const struct place *place, const char *key)
{
    for (int i = 0; i < 2; i++) {
        const struct attn_node *node =
            place->objects[i] ? attn_node_find(place->objects[i], key) : NULL;

        if (node && !attn_node_is_null(node))
            return place->objects[i];
    }
    return place->objects[0];
}

/* Where a number is read: in the objects, or at the top level under TOP when they have it not. */
struct spot {
    const struct attn_node *object; /* NULL: nowhere */
    const char *key;
};

static struct spot find_spot(const struct place *place, const char *key, const char *top)
{
    const struct attn_node *object = object_with(place, key);
    const struct attn_node *node = object ? attn_node_find(object, key) : NULL;

    if (top && (!node || attn_node_is_null(node)))
        return (struct spot){attn_json_root(place->json), top};
    return (struct spot){object, key};
}

/* A number from 0 to MAX. */
static enum attn_status get_number(const struct place *place, struct spot spot, double max,
                                   double *value, struct attn_error *err)
{
    if (!spot.object)
        return ATTN_OK;
    return attn_json_get_double(place->json, spot.object, spot.key, 0, max, value, err);
}

/* A number that must be above MIN; one that is -1 before must be there. */
static enum attn_status get_above(const struct place *place, struct spot spot, double min,
                                  double *value, struct attn_error *err)
{
    const enum attn_status status = get_number(place, spot, max_number, value, err);

    if (status != ATTN_OK || *value > min)
        return status;
    if (*value < 0)
        return attn_error_set(err, ATTN_FORMAT, "'%s' of rotary positions is missing in '%s'",
                              spot.key, attn_quote_string(attn_json_name(place->json)).text);
    return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' is %.15g, expected a number above %g",
                          spot.key, attn_quote_string(attn_json_name(place->json)).text, *value,
                          min);
}

static enum attn_status read_type(const struct place *place, enum attn_rope_type *type,
                                  struct attn_error *err)
{
    const char *key = "rope_type", *name = NULL;
    const struct attn_node *object = object_with(place, key);
    enum attn_status status = ATTN_OK;

    if (object)
        status = attn_json_get_string(place->json, object, key, &name, err);
    if (status == ATTN_OK && object && !name && place->has_old_type) {
        key = "type", object = object_with(place, key);
        status = attn_json_get_string(place->json, object, key, &name, err);
    }
    if (status != ATTN_OK || !name)
        return status;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0) {
            *type = types[i].type;
            return ATTN_OK;
        }
    return attn_error_set(err, ATTN_UNSUPPORTED,
                          "'%s' of rotary positions in '%s' is '%s', this version reads 'default', "
                          "'linear', 'llama3', 'yarn' and 'dynamic'",
                          key, attn_quote_string(attn_json_name(place->json)).text,
                          attn_quote_string(name).text);
}

/* How many components of a head are turned. */
static enum attn_status read_width(const struct place *place, const struct attn_config *config,
                                   struct attn_rope *rope, struct attn_error *err)
{
    const struct attn_quote name = attn_quote_string(attn_json_name(place->json));
    const struct spot spot = find_spot(place, "partial_rotary_factor", place->keys->partial);
    double share = place->keys->default_partial;
    enum attn_status status = get_number(place, spot, 1, &share, err);

    if (status != ATTN_OK)
        return status;
    if (place->keys->default_partial == 1 && share != 1)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' in '%s' is %.15g, model_type '%s' turns whole heads", spot.key,
                              name.text, share, config->model_type);
    rope->d_rotary = (size_t)((double)config->d_head * share);
    if (rope->d_rotary > 0 && rope->d_rotary % 2 == 0)
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_FORMAT,
        "rotary positions in '%s' turn %zu of %zu components of a head, expected an even number",
        name.text, rope->d_rotary, config->d_head);
}

static enum attn_status read_llama3(const struct place *place, const struct attn_config *config,
                                    struct attn_rope *rope, struct attn_error *err)
{
    enum attn_status status;

    rope->factor = rope->low_freq_factor = rope->high_freq_factor = -1;
    rope->n_original = (double)config->n_ctx;
    status = get_above(place, find_spot(place, "factor", NULL), 0, &rope->factor, err);
    if (status == ATTN_OK)
        status = get_above(place, find_spot(place, "low_freq_factor", NULL), 0,
                           &rope->low_freq_factor, err);
    if (status == ATTN_OK)
        status = get_above(place, find_spot(place, "high_freq_factor", NULL), 0,
                           &rope->high_freq_factor, err);
    if (status == ATTN_OK)
        status = get_above(place, find_spot(place, "original_max_position_embeddings", NULL), 0,
                           &rope->n_original, err);
    if (status != ATTN_OK || rope->high_freq_factor > rope->low_freq_factor)
        return status;
    return attn_error_set(
        err, ATTN_FORMAT,
        "'high_freq_factor' in '%s' is %.15g, expected more than 'low_freq_factor' %.15g",
        attn_quote_string(attn_json_name(place->json)).text, rope->high_freq_factor,
        rope->low_freq_factor);
}

/* Peng et al. 2309.00071, eq. 22: how much the softmax is sharpened for a context that is SCALE
 * times as long. */
static double sharpening(double scale, double mscale)
{
    return scale <= 1 ? 1 : 0.1 * mscale * log(scale) + 1;
}

/* The factor of cosines and sines that is written down, or follows from the others. */
static enum attn_status read_attention_factor(const struct place *place, struct attn_rope *rope,
                                              struct attn_error *err)
{
    double mscale = 0, mscale_all = 0, factor = -1;
    enum attn_status status =
        get_number(place, find_spot(place, "attention_factor", NULL), max_number, &factor, err);

    if (status == ATTN_OK)
        status = get_number(place, find_spot(place, "mscale", NULL), max_number, &mscale, err);
    if (status == ATTN_OK)
        status = get_number(place, find_spot(place, "mscale_all_dim", NULL), max_number,
                            &mscale_all, err);
    if (factor >= 0)
        rope->attention_factor = factor;
    else if (mscale != 0 && mscale_all != 0)
        rope->attention_factor =
            sharpening(rope->factor, mscale) / sharpening(rope->factor, mscale_all);
    else
        rope->attention_factor = sharpening(rope->factor, 1);
    return status;
}

static enum attn_status read_yarn(const struct place *place, const struct attn_config *config,
                                  struct attn_rope *rope, struct attn_error *err)
{
    const struct attn_node *object = object_with(place, "truncate");
    enum attn_status status;

    rope->n_original = (double)config->n_ctx;
    rope->is_truncated = true;
    status = get_above(place, find_spot(place, "original_max_position_embeddings", NULL), 0,
                       &rope->n_original, err);
    rope->factor = (double)config->n_ctx / rope->n_original;
    if (status == ATTN_OK)
        status = get_above(place, find_spot(place, "factor", NULL), 0, &rope->factor, err);
    if (status == ATTN_OK)
        status = get_number(place, find_spot(place, "beta_fast", NULL), max_number,
                            &rope->beta_fast, err);
    if (status == ATTN_OK)
        status = get_number(place, find_spot(place, "beta_slow", NULL), max_number,
                            &rope->beta_slow, err);
    if (status == ATTN_OK && !place->is_nested) /* transformers looks for it outside then */
        status = attn_json_get_bool(place->json, object, "truncate", &rope->is_truncated, err);
    if (rope->beta_fast == 0)
        rope->beta_fast = 32;
    if (rope->beta_slow == 0)
        rope->beta_slow = 1;
    return status == ATTN_OK ? read_attention_factor(place, rope, err) : status;
}

static enum attn_status read_place(const struct place *place, const struct attn_config *config,
                                   struct attn_rope *rope, struct attn_error *err)
{
    const struct attn_quote name = attn_quote_string(attn_json_name(place->json));
    const struct attn_node *object = object_with(place, "mrope_section");
    enum attn_status status = read_type(place, &rope->type, err);

    rope->theta = place->keys->default_theta;
    if (status == ATTN_OK && object && attn_node_find(object, "mrope_section"))
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'mrope_section' in '%s' is set, which this version does not support",
                              name.text);
    if (status == ATTN_OK)
        status = get_above(place, find_spot(place, "rope_theta", place->keys->theta), 1,
                           &rope->theta, err);
    if (status == ATTN_OK)
        status = read_width(place, config, rope, err);
    if (status != ATTN_OK)
        return status;
    rope->factor = rope->type == ATTN_ROPE_DEFAULT ? 0 : -1;
    switch (rope->type) {
    case ATTN_ROPE_DEFAULT:
        return ATTN_OK;
    case ATTN_ROPE_LINEAR:
    case ATTN_ROPE_DYNAMIC:
        return get_above(place, find_spot(place, "factor", NULL), 0, &rope->factor, err);
    case ATTN_ROPE_LLAMA3:
        return read_llama3(place, config, rope, err);
    case ATTN_ROPE_YARN:
        return read_yarn(place, config, rope, err);
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

/* An object by type of layer is of families that have one. */
static enum attn_status refuse_nested(const struct attn_json *json,
                                      const struct attn_config *config,
                                      const struct attn_node *object, struct attn_error *err)
{
    static const char *const keys[] = {"full_attention", "sliding_attention"};

    for (size_t i = 0; object && i < sizeof keys / sizeof *keys; i++)
        if (attn_node_find(object, keys[i]))
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "rotary positions in '%s' have '%s', model_type '%s' has the "
                                  "same in all layers",
                                  attn_quote_string(attn_json_name(json)).text, keys[i],
                                  config->model_type);
    return ATTN_OK;
}

enum attn_status attn_config_read_rope(const struct attn_json *json,
                                       const struct attn_rope_keys *keys,
                                       struct attn_config *config,
                                       struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json), *parameters;
    struct place place = {.json = json, .keys = keys, .has_old_type = true};
    struct attn_rope rope = {0};
    enum attn_status status = find_object(json, root, "rope_scaling", &place.objects[0], err);

    if (status == ATTN_OK)
        status = find_object(json, root, "rope_parameters", &parameters, err);
    if (status != ATTN_OK)
        return status;
    if (!place.objects[0])
        place.objects[0] = parameters;
    status = refuse_nested(json, config, place.objects[0], err);
    if (status == ATTN_OK)
        status = read_place(&place, config, &rope, err);
    config->positions = ATTN_POSITIONS_ROTARY;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->rope[layer] = rope;
    return status;
}

enum attn_status
attn_config_read_rope_of_windows(const struct attn_json *json, const struct attn_rope_keys *global,
                                 const struct attn_rope_keys *local, struct attn_config *config,
                                 struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json), *parameters;
    struct place full = {.json = json, .keys = global, .is_nested = true};
    struct place sliding = {.json = json, .keys = local, .is_nested = true};
    struct attn_rope ropes[2] = {{0}};
    enum attn_status status = find_object(json, root, "rope_scaling", &full.objects[0], err);

    if (status == ATTN_OK)
        status = find_object(json, root, "rope_parameters", &parameters, err);
    if (status == ATTN_OK && parameters)
        status = find_object(json, parameters, "full_attention", &full.objects[1], err);
    if (status == ATTN_OK && parameters)
        status = find_object(json, parameters, "sliding_attention", &sliding.objects[0], err);
    /* Without an object of its own a layer begins with rope_type "default", which is before type */
    full.has_old_type = full.objects[1];
    sliding.has_old_type = true;
    if (status == ATTN_OK)
        status = read_place(&full, config, &ropes[0], err);
    if (status == ATTN_OK)
        status = read_place(&sliding, config, &ropes[1], err);
    config->positions = ATTN_POSITIONS_ROTARY;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->rope[layer] = ropes[layers->attention[layer].kind == ATTN_ATTENTION_WINDOW];
    return status;
}
