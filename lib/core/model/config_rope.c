/* config_rope.c - reads the rotary positions of a config.json, with the rules and defaults of
 * transformers 5 (modeling_rope_utils.py). */
#include "model/config_internal.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "trace/site_set.h"

#include <math.h>
#include <string.h>

static struct attn_site_set turned(void)
{
    return ATTN_SITES(ATTN_SITE_ROT_Q, ATTN_SITE_ROT_K);
}
static const double max_number = 1e30; /* limit that keeps all frequencies above 0 in float32 */

/* Where the rotary positions of some layers are read from. */
struct rope_source {
    const struct attn_json *json;
    const struct attn_rope_keys *keys;
    /* A key is read from the first object that has it; or NULL. */
    const struct attn_node *objects[2];
    bool has_old_type; /* `type` is accepted in place of `rope_type` */
    /* The objects are members of an object with one member for each type of layer. */
    bool is_nested;
    const struct attn_config *config;
    size_t d_head;                     /* of the layers */
    struct attn_config_layers *layers; /* owns the lists of factors */
};

/* Returns the object that has KEY; the first object if neither has. */
static const struct attn_node *object_with(const struct rope_source *source, const char *key)
{
    for (int i = 0; i < 2; i++)
        if (attn_config_find_given(source->objects[i], key))
            return source->objects[i];
    return source->objects[0];
}

/* Reads a number above MIN and at most MOST. If *value is -1 on entry, the number is required. It
 * is read from the objects under the key KEYS[0], or at the top level under KEYS[1], unless that is
 * NULL. */
static enum attn_status get_within(const struct rope_source *source, const char *const *keys,
                                   double min, double most, double *value, struct attn_error *err)
{
    const struct attn_node *object = object_with(source, keys[0]);
    const bool is_outside = keys[1] && !attn_config_find_given(object, keys[0]);
    const char *key = keys[is_outside];

    if (is_outside)
        object = attn_json_root(source->json);
    if (object)
        ATTN_TRY(attn_json_get_double(source->json, object, key, 0, most, value, err));
    if (*value > min)
        return ATTN_OK;
    if (*value < 0)
        return attn_error_set(err, ATTN_FORMAT, "'%s' of rotary positions is missing in '%s'", key,
                              attn_config_quote(source->json).text);
    return ATTN_JSON_REFUSE(source->json, err, ATTN_FORMAT, key,
                            "is %.15g, expected a number above %g", *value, min);
}

/* Reads a number above 0 from the objects. */
static enum attn_status get_positive(const struct rope_source *source, const char *key,
                                     double *value, struct attn_error *err)
{
    return get_within(source, (const char *const[]){key, NULL}, 0, max_number, value, err);
}

/* Reads a number of at least 0 from the objects. */
static enum attn_status get_number(const struct rope_source *source, const char *key, double *value,
                                   struct attn_error *err)
{
    return get_within(source, (const char *const[]){key, NULL}, -2, max_number, value, err);
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
    if (!name || (source->keys->has_sections && strcmp(name, "mrope") == 0))
        return ATTN_OK;
    if (source->keys->has_longrope && !source->keys->has_mscales &&
        (strcmp(name, "su") == 0 || strcmp(name, "yarn") == 0))
        name = "longrope"; /* older names of the same type */
    if (source->keys->has_longrope ? strcmp(name, "longrope") != 0 && strcmp(name, "default") != 0
                                   : strcmp(name, "longrope") == 0)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' of rotary positions in '%s' is '%s', which models of type "
                              "'%s' do not have here",
                              key, attn_config_quote(source->json).text,
                              attn_quote_string(name).text, source->config->model_type);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0 &&
            (i != ATTN_ROPE_PROPORTIONAL || source->keys->share_without_object > 0)) {
            *type = (enum attn_rope_type)i;
            return ATTN_OK;
        }
    return attn_error_set(err, ATTN_UNSUPPORTED,
                          "'%s' of rotary positions in '%s' is '%s', this version reads 'default', "
                          "'linear', 'llama3', 'yarn' and 'dynamic'",
                          key, attn_config_quote(source->json).text, attn_quote_string(name).text);
}

static bool is_null(const struct attn_node *object, const char *key)
{
    const struct attn_node *node = attn_node_find(object, key);

    return node && attn_node_is_null(node);
}

/* Reads how many components of a head are rotated. */
static enum attn_status read_width(const struct rope_source *source, struct attn_rope *rope,
                                   struct attn_error *err)
{
    const char *const keys[] = {"partial_rotary_factor", source->keys->partial};
    double share = source->keys->default_partial;

    if (!attn_config_find_given(attn_json_root(source->json), "rope_parameters") &&
        source->keys->share_without_object > 0)
        share = source->keys->share_without_object;
    ATTN_TRY(get_within(source, keys, -1, 1, &share, err));
    if (rope->type == ATTN_ROPE_PROPORTIONAL) {
        rope->d_rotary = source->d_head;
        rope->n_pair = (size_t)(share * (double)source->d_head / 2);
        return ATTN_OK;
    }
    if (source->keys->default_partial == 1 && !source->keys->takes_share && share != 1)
        return ATTN_JSON_REFUSE(source->json, err, ATTN_UNSUPPORTED, keys[0],
                                "is %.15g, model_type '%s' turns whole heads", share,
                                source->config->model_type);
    rope->d_rotary = (size_t)((double)source->d_head * share);
    if (source->keys->count) {
        rope->d_rotary = is_null(attn_json_root(source->json), source->keys->count)
                             ? 0
                             : source->keys->default_count;
        ATTN_TRY(attn_config_get_width(source->json, source->keys->count, &rope->d_rotary, err));
    }
    if (rope->d_rotary > 0 && rope->d_rotary % 2 == 0 && rope->d_rotary <= source->d_head)
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_FORMAT,
        "rotary positions in '%s' turn %zu of %zu components of a head, expected an even number",
        attn_config_quote(source->json).text, rope->d_rotary, source->d_head);
}

/* Reads the context length of the training, by default USUAL. Trap: if all layers are alike, the
 * key at the top level takes precedence over the object's, except with has_mscales; for longrope
 * without these only the top level is read. */
static enum attn_status read_original(const struct rope_source *source, double usual,
                                      struct attn_rope *rope, struct attn_error *err)
{
    const char *key = "original_max_position_embeddings";

    rope->n_original = usual;
    if (rope->type != ATTN_ROPE_LONGROPE || source->keys->has_mscales)
        ATTN_TRY(get_positive(source, key, &rope->n_original, err));
    return source->is_nested || source->keys->has_mscales
               ? ATTN_OK
               : attn_json_get_double(source->json, attn_json_root(source->json), key, 1,
                                      ATTN_MAX_CTX, &rope->n_original, err);
}

static enum attn_status read_llama3(const struct rope_source *source, struct attn_rope *rope,
                                    struct attn_error *err)
{
    rope->factor = rope->low_freq_factor = rope->high_freq_factor = -1;
    ATTN_TRY(get_positive(source, "factor", &rope->factor, err));
    ATTN_TRY(get_positive(source, "low_freq_factor", &rope->low_freq_factor, err));
    ATTN_TRY(get_positive(source, "high_freq_factor", &rope->high_freq_factor, err));
    ATTN_TRY(read_original(source, (double)source->config->n_ctx, rope, err));
    if (rope->high_freq_factor > rope->low_freq_factor)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(source->json, err, ATTN_FORMAT, "high_freq_factor",
                            "is %.15g, expected more than 'low_freq_factor' %.15g",
                            rope->high_freq_factor, rope->low_freq_factor);
}

/* Returns the factor that sharpens the softmax for a context SCALE times as long (Peng et al.
 * 2309.00071, eq. 22). */
static double sharpening(double scale, double mscale)
{
    return scale <= 1 ? 1 : 0.1 * mscale * attn_log(scale) + 1;
}

static enum attn_status read_yarn(const struct rope_source *source, struct attn_rope *rope,
                                  struct attn_error *err)
{
    const struct attn_node *object = object_with(source, "truncate");
    double mscale = 0, mscale_all = 0, factor = -1;

    rope->is_truncated = true;
    ATTN_TRY(read_original(source, (double)source->config->n_ctx, rope, err));
    rope->factor = (double)source->config->n_ctx / rope->n_original;
    ATTN_TRY(get_positive(source, "factor", &rope->factor, err));
    ATTN_TRY(get_number(source, "beta_fast", &rope->beta_fast, err));
    ATTN_TRY(get_number(source, "beta_slow", &rope->beta_slow, err));
    if (!source->is_nested) /* otherwise transformers reads it from outside the object */
        ATTN_TRY(attn_config_get_truth(source->json, object, "truncate", &rope->is_truncated, err));
    if (rope->beta_fast == 0)
        rope->beta_fast = 32;
    if (rope->beta_slow == 0)
        rope->beta_slow = 1;
    /* The factor of cosines and sines is given, or follows from other keys. */
    ATTN_TRY(get_number(source, "attention_factor", &factor, err));
    ATTN_TRY(get_number(source, "mscale", &mscale, err));
    ATTN_TRY(get_number(source, "mscale_all_dim", &mscale_all, err));
    if (mscale == 0 || mscale_all == 0)
        mscale = 1, mscale_all = 0;
    rope->attention_factor =
        factor >= 0 ? factor
                    : sharpening(rope->factor, mscale) / sharpening(rope->factor, mscale_all);
    return ATTN_OK;
}

/* Reads the N numbers of the list KEY of OBJECT into NUMBERS. Numbers about layers may be 0;
 * frequencies must be above 0. */
static enum attn_status read_numbers(const struct attn_json *json, const struct attn_node *object,
                                     const char *key, size_t n, float *numbers,
                                     struct attn_error *err)
{
    const struct attn_node *list = attn_config_find_given(object, key);
    const struct attn_node *node = list && attn_node_is_array(list) ? attn_node_first(list) : NULL;
    const double least = object == attn_json_root(json) ? 0 : 1e-30;
    size_t i = 0;

    for (; node; node = attn_node_next(node), i++) {
        double value = -1;

        if (!attn_node_double(node, &value) || !(value >= least && value <= max_number))
            return attn_error_set(err, ATTN_FORMAT,
                                  "item %zu of '%s' in '%s' is not a number from %g on", i, key,
                                  attn_config_quote(json).text, least);
        if (i < n)
            numbers[i] = (float)value;
    }
    if (i == n)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, key, "has %zu items, expected %zu", i, n);
}

/* Reads the list of factors, and the factors of cosines and sines for texts up to the original
 * length, and for longer ones. */
static enum attn_status read_mscales(const struct rope_source *source, struct attn_rope *rope,
                                     struct attn_error *err)
{
    const size_t n = rope->d_rotary / 2;
    float *factors = source->layers->divisors = attn_alloc(n, sizeof *factors, err);

    if (!factors)
        return ATTN_NO_MEMORY;
    rope->divisors = rope->long_divisors = factors;
    rope->attention_factor = rope->long_attention_factor = -1;
    ATTN_TRY(read_original(source, (double)source->config->n_ctx, rope, err));
    ATTN_TRY(get_positive(source, "short_mscale", &rope->attention_factor, err));
    ATTN_TRY(get_positive(source, "long_mscale", &rope->long_attention_factor, err));
    return read_numbers(source->json, object_with(source, "short_factor"), "short_factor", n,
                        factors, err);
}

/* Reads the two lists of factors: for texts up to the original length, and for longer ones. */
static enum attn_status read_longrope(const struct rope_source *source, struct attn_rope *rope,
                                      struct attn_error *err)
{
    const size_t n = rope->d_rotary / 2;
    double factor = -1;
    float *factors = source->layers->divisors = attn_alloc(2 * n, sizeof *factors, err);

    if (!factors)
        return ATTN_NO_MEMORY;
    ATTN_TRY(read_original(source, 4096, rope, err));
    ATTN_TRY(read_numbers(source->json, object_with(source, "short_factor"), "short_factor", n,
                          factors, err));
    ATTN_TRY(read_numbers(source->json, object_with(source, "long_factor"), "long_factor", n,
                          factors + n, err));
    rope->divisors = factors, rope->long_divisors = factors + n;
    rope->factor = (double)source->config->n_ctx / rope->n_original;
    ATTN_TRY(get_positive(source, "factor", &rope->factor, err));
    ATTN_TRY(get_number(source, "attention_factor", &factor, err));
    rope->attention_factor = factor >= 0 ? factor
                             : rope->factor <= 1
                                 ? 1
                                 : sqrt(1 + attn_log(rope->factor) / attn_log(rope->n_original));
    return ATTN_OK;
}

/* Reads the factor of the type "dynamic". With `alpha`, it is the type "default" with another
 * theta.
 */
static enum attn_status read_dynamic(const struct rope_source *source, struct attn_rope *rope,
                                     struct attn_error *err)
{
    const double width = (double)rope->d_rotary;
    double alpha = 0;

    if (source->keys->has_alpha)
        ATTN_TRY(get_number(source, "alpha", &alpha, err));
    rope->n_original = (double)source->config->n_ctx;
    if (alpha == 0 || width <= 2)
        return get_positive(source, "factor", &rope->factor, err);
    *rope = (struct attn_rope){.d_rotary = rope->d_rotary,
                               .theta = rope->theta * attn_pow(alpha, width / (width - 2))};
    return ATTN_OK;
}

/* Reads how queries grow with their position. */
static enum attn_status read_growth(const struct rope_source *source, struct attn_rope *rope,
                                    struct attn_error *err)
{
    rope->query_growth = -1;
    if (rope->n_original == 0)
        rope->n_original = -1;
    ATTN_TRY(get_within(source, (const char *const[]){"llama_4_scaling_beta", NULL}, -0.5,
                        max_number, &rope->query_growth, err));
    return rope->n_original > 0
               ? ATTN_OK
               : get_positive(source, "original_max_position_embeddings", &rope->n_original, err);
}

static enum attn_status read_scaling(const struct rope_source *source, struct attn_rope *rope,
                                     struct attn_error *err)
{
    switch (rope->type) {
    case ATTN_ROPE_DEFAULT:
        return ATTN_OK;
    case ATTN_ROPE_LONGROPE:
        return (source->keys->has_mscales ? read_mscales : read_longrope)(source, rope, err);
    case ATTN_ROPE_LINEAR:
        return get_positive(source, "factor", &rope->factor, err);
    case ATTN_ROPE_PROPORTIONAL:
        rope->factor = 1;
        return get_positive(source, "factor", &rope->factor, err);
    case ATTN_ROPE_DYNAMIC:
        return read_dynamic(source, rope, err);
    case ATTN_ROPE_LLAMA3:
        return read_llama3(source, rope, err);
    case ATTN_ROPE_YARN:
        return read_yarn(source, rope, err);
    }
    return ATTN_OK;
}

static enum attn_status read_rope(const struct rope_source *source, struct attn_rope *rope,
                                  struct attn_error *err)
{
    const struct attn_node *object = object_with(source, "mrope_section");
    const struct attn_node *root = attn_json_root(source->json);
    bool is_fixed;

    if (source->keys->without_object && !source->objects[0] &&
        !attn_config_find_given(root, "rope_parameters"))
        *rope = *source->keys->without_object;
    is_fixed = rope->theta > 0;
    ATTN_TRY(read_type(source, &rope->type, err));
    if (rope->theta == 0)
        rope->theta = source->keys->default_theta;
    if (object && attn_node_find(object, "mrope_section") && !source->keys->has_sections)
        return ATTN_JSON_REFUSE(source->json, err, ATTN_UNSUPPORTED, "mrope_section",
                                "is set, which this version does not support");
    if (!is_fixed)
        ATTN_TRY(get_within(source, (const char *const[]){"rope_theta", source->keys->theta}, 1,
                            max_number, &rope->theta, err));
    ATTN_TRY(read_width(source, rope, err));
    if (rope->factor > 0)
        return read_original(source, rope->n_original, rope, err);
    rope->factor = rope->type == ATTN_ROPE_DEFAULT ? 0 : -1;
    ATTN_TRY(read_scaling(source, rope, err));
    return source->keys->has_growth ? read_growth(source, rope, err) : ATTN_OK;
}

enum attn_status attn_config_read_unturned(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    float turns[ATTN_MAX_LAYER]; /* trap: 1 means that the layer does rotate */
    size_t every = 4;

    if (form->unturned != ATTN_UNTURNED_LIST)
        return ATTN_OK;
    ATTN_TRY(
        attn_json_get_size(json, root, "no_rope_layer_interval", 1, ATTN_MAX_LAYER, &every, err));
    for (size_t layer = 0; layer < config->n_layer; layer++)
        turns[layer] = (layer + 1) % every != 0;
    if (attn_config_find_given(root, "no_rope_layers"))
        ATTN_TRY(read_numbers(json, root, "no_rope_layers", config->n_layer, turns, err));
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (turns[layer] == 0)
            attn_config_lack(layers, layer, turned());
    return ATTN_OK;
}

enum attn_status attn_config_find_rope(const struct attn_json *json, const struct attn_node *object,
                                       const struct attn_node **rope, struct attn_error *err)
{
    ATTN_TRY(attn_config_find_object(json, object, "rope_scaling", rope, err));
    return *rope ? ATTN_OK : attn_config_find_object(json, object, "rope_parameters", rope, err);
}

enum attn_status attn_config_turn_patches(const struct attn_json *json, struct attn_rope rope,
                                          const struct attn_config *config,
                                          struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json), *given;
    const char *type = "axial";

    rope.d_rotary = config->d_head;
    rope.theta = 10000;
    ATTN_TRY(attn_config_find_rope(json, root, &given, err));
    ATTN_TRY(attn_json_get_string(
        json, given, attn_node_find(given, "rope_type") ? "rope_type" : "type", &type, err));
    if (strcmp(type, "axial") != 0 && strcmp(type, "default") != 0)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "rope_type",
                                "is '%s', expected 'axial'", attn_quote_string(type).text);
    ATTN_TRY(attn_json_get_double(json, given && attn_node_find(given, "rope_theta") ? given : root,
                                  "rope_theta", 1, 1e30, &rope.theta, err));
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->rope[layer] = rope;
    return ATTN_OK;
}

enum attn_status attn_config_read_rope(ATTN_CONFIG_ARGS)
{
    static const char *const types[] = {"full_attention", "sliding_attention"};
    const struct attn_node *root = attn_json_root(json), *parameters;
    const bool is_nested = form->rope_of_windows.default_theta > 0;
    struct rope_source full = {.json = json,
                               .keys = &form->rope,
                               .is_nested = is_nested,
                               .config = config,
                               .d_head = config->d_head,
                               .layers = layers};
    struct rope_source sliding = full;
    struct attn_rope ropes[2] = {{0}};

    sliding.keys = &form->rope_of_windows;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        (layers->attention[layer].kind == ATTN_ATTENTION_WINDOW ? &sliding : &full)->d_head =
            attn_config_layer_dims(config, layer).d_head;
    config->positions = ATTN_POSITIONS_ROTARY;
    ATTN_TRY(attn_config_find_object(json, root, "rope_parameters", &parameters, err));
    ATTN_TRY(is_nested ? attn_config_find_object(json, root, "rope_scaling", &full.objects[0], err)
                       : attn_config_find_rope(json, root, &full.objects[0], err));
    if (form->unturned == ATTN_UNTURNED_FULL && !form->windows.may_be_null &&
        is_null(root, "sliding_window"))
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "sliding_window",
                                "is null: no layer would turn positions");
    for (size_t i = 0; !is_nested && full.objects[0] && i < 2; i++)
        if (attn_node_find(full.objects[0], types[i]))
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "rotary positions in '%s' have '%s', model_type '%s' has the "
                                  "same in all layers",
                                  attn_config_quote(json).text, types[i], config->model_type);
    if (form->rope.count) /* then no other key is read */
        full.objects[0] = full.objects[1] = NULL;
    if (is_nested && parameters) {
        ATTN_TRY(attn_config_find_object(json, parameters, types[0], &full.objects[1], err));
        ATTN_TRY(attn_config_find_object(json, parameters, types[1], &sliding.objects[0], err));
    }
    /* Without a separate object, a layer starts with rope_type "default", which takes precedence
     * over type. */
    full.has_old_type = !is_nested || full.objects[1];
    sliding.has_old_type = true;
    ATTN_TRY(read_rope(&full, &ropes[0], err));
    if (is_nested)
        ATTN_TRY(read_rope(&sliding, &ropes[1], err));
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const bool is_window = layers->attention[layer].kind == ATTN_ATTENTION_WINDOW;

        if (form->unturned == ATTN_UNTURNED_FULL && !is_window && !is_null(root, "sliding_window"))
            attn_config_lack(layers, layer, turned());
        if (!attn_sites_meet(layers->lacking[layer], turned()))
            layers->rope[layer] = ropes[is_nested && is_window];
        layers->rope[layer].turns_neighbours = form->turns_neighbours;
        if (layers->rope[layer].type == ATTN_ROPE_DYNAMIC && layers->rope[layer].d_rotary > 2)
            config->n_ctx = SIZE_MAX; /* it is for longer texts */
    }
    return ATTN_OK;
}

enum attn_status attn_config_refuse_stretched(const struct attn_json *json,
                                              const struct attn_config *config,
                                              const struct attn_config_layers *layers,
                                              struct attn_error *err)
{
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (layers->rope[layer].type != ATTN_ROPE_DEFAULT)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "rotary positions of layer %zu in '%s' are stretched, expected "
                                  "rope_type 'default'",
                                  layer, attn_config_quote(json).text);
    return ATTN_OK;
}
