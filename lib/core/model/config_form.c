/* config_form.c - reads a Hugging Face config.json by the form of its family: refuses unsupported
 * parts, then reads sizes, heads, the parts of a block, and the windows of layers. */
#include "model/config_internal.h"

#include "base/memory.h"
#include "trace/site_set.h"

#include <math.h>
#include <string.h>

/* --- Unsupported parts ------------------------------------------------------------------------ */

static const struct attn_config_extra extras[] = {
    {"pruned_heads", ATTN_WISH_FILLED},
    {"add_cross_attention", ATTN_WISH_TRUE},
    {"attention_chunk_size", ATTN_WISH_ABOVE_ZERO},
    {.key = NULL},
};
/* Refused where transformers does not read them. */
static const struct attn_config_extra both_ways[][2] = {
    {{"is_causal", ATTN_WISH_FALSE}, {.key = NULL}},
    {{"use_bidirectional_attention", ATTN_WISH_TRUE}, {.key = NULL}}};
static const struct attn_config_extra stacks[] = {{"is_encoder_decoder", ATTN_WISH_TRUE},
                                                  {.key = NULL}};
static const struct attn_config_extra encoders[] = {
    {"is_decoder", ATTN_WISH_TRUE}, {"is_folding_model", ATTN_WISH_TRUE}, {.key = NULL}};
/* Refused in families without mixtures. */
static const struct attn_config_extra experts[] = {
    {"num_experts", ATTN_WISH_ABOVE_ZERO},
    {"num_local_experts", ATTN_WISH_ABOVE_ZERO},
    {.key = NULL},
};

/* Whether the list NODE contains the number 0. */
static bool has_zero(const struct attn_node *node)
{
    int64_t value = 1;

    for (node = attn_node_is_array(node) ? attn_node_first(node) : NULL; node && value != 0;
         node = attn_node_next(node))
        value = attn_node_int(node, &value) ? value : 1;
    return value == 0;
}

enum attn_status attn_config_refuse(const struct attn_json *json, const struct attn_node *object,
                                    const struct attn_config_extra *list, struct attn_error *err)
{
    for (const struct attn_config_extra *extra = list; extra && extra->key; extra++) {
        const enum attn_config_wish wish = extra->wish;
        const struct attn_node *node = attn_node_find(object, extra->key);
        bool is_wished = true, is_true = wish == ATTN_WISH_FALSE;
        double factor = 1;
        size_t n = 0;

        if (!node || attn_node_is_null(node))
            continue;
        if (wish == ATTN_WISH_FILLED) {
            is_wished =
                !(attn_node_is_array(node) || attn_node_is_object(node)) || attn_node_first(node);
        } else if (wish == ATTN_WISH_TRUE || wish == ATTN_WISH_FALSE) {
            ATTN_TRY(attn_json_get_bool(json, object, extra->key, &is_true, err));
            is_wished = is_true == (wish == ATTN_WISH_TRUE);
        } else if (wish == ATTN_WISH_ABOVE_ZERO) {
            ATTN_TRY(attn_json_get_size(json, object, extra->key, 0, SIZE_MAX >> 11, &n, err));
            is_wished = n > 0;
        } else if (wish == ATTN_WISH_FACTOR) {
            ATTN_TRY(attn_json_get_double(json, object, extra->key, -1e30, 1e30, &factor, err));
            is_wished = fabs(factor - 1) > 1e-6;
        } else if (wish == ATTN_WISH_HAS_ZERO) {
            is_wished = has_zero(node);
        }
        if (is_wished)
            return ATTN_JSON_REFUSE(
                json, err, ATTN_UNSUPPORTED, extra->key, "%s",
                wish >= ATTN_WISH_FOREIGN
                    ? "would change the result, and models of this type do not have it"
                : wish == ATTN_WISH_FALSE ? "is false, which this version does not support"
                                          : "is set, which this version does not support");
    }
    return ATTN_OK;
}

/* Whether decoders of FORM look both ways if `is_causal` is false: those with rotary positions. */
static bool may_be_causal_or_not(const struct attn_config_form *form)
{
    return form->rope.theta && !form->defaults.is_encoder && !form->is_of_two_stacks;
}

/* Reads whether a decoder looks both ways, and changes *width, of windows that are not 0 wide, to
 * what they are to each side, including the query itself. */
static enum attn_status read_direction(const struct attn_json *json,
                                       const struct attn_config_form *form, bool *is_both,
                                       size_t *width, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    bool is_causal = true, is_halved = false;

    if (may_be_causal_or_not(form))
        ATTN_TRY(attn_json_get_bool(json, root, "is_causal", &is_causal, err));
    if (form->may_look_both_ways)
        ATTN_TRY(attn_json_get_bool(json, root, "use_bidirectional_attention", &is_halved, err));
    *is_both = form->defaults.is_encoder || !is_causal || is_halved;
    if (*width > 0 && (is_halved || form->windows.is_centered))
        *width = *width / 2 + 1;
    if (*width > 0 && !is_causal)
        ++*width;
    return ATTN_OK;
}

enum attn_status attn_config_refuse_extras(const struct attn_json *json,
                                           const struct attn_config_form *form,
                                           struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);

    ATTN_TRY(attn_config_refuse(json, root, form->refused, err));
    if (!form->is_of_two_stacks)
        ATTN_TRY(attn_config_refuse(json, root, stacks, err));
    if (form->defaults.is_encoder)
        ATTN_TRY(attn_config_refuse(json, root, encoders, err));
    if (form->defaults.n_expert == 0 && !form->may_have_experts)
        ATTN_TRY(attn_config_refuse(json, root, experts, err));
    if (!may_be_causal_or_not(form))
        ATTN_TRY(attn_config_refuse(json, root, both_ways[0], err));
    if (!form->may_look_both_ways && !form->sees_prompt)
        ATTN_TRY(attn_config_refuse(json, root, both_ways[1], err));
    return attn_config_refuse(json, root, extras, err);
}

/* --- sizes ------------------------------------------------------------------------------------ */

const struct attn_config_names attn_config_usual_names = {
    "vocab_size",        "hidden_size",         "intermediate_size",
    "num_hidden_layers", "num_attention_heads", "max_position_embeddings"};

/* Pairs of keys that transformers stores as one value (`attribute_map` of its configs). */
static const char *const one_size[][2] = {
    {"n_embd", "hidden_size"},
    {"n_layer", "num_hidden_layers"},
    {"n_head", "num_attention_heads"},
    {"n_positions", "max_position_embeddings"},
    {"d_model", "hidden_size"},
    {"n_layers", "num_hidden_layers"},
    {"n_heads", "num_attention_heads"},
    {"dim", "hidden_size"},
    {"num_layers", "num_hidden_layers"},
    {"num_heads", "num_attention_heads"},
    {"d_kv", "head_dim"},
    {"attention_heads", "num_attention_heads"},
    {"encoder_layers", "num_hidden_layers"},
    {"encoder_attention_heads", "num_attention_heads"},
    {"encoder_attention_heads", "num_key_value_heads"},
    {"depth", "num_hidden_layers"},
    {"image_token_index", "image_token_id"},
};

enum attn_status attn_config_check_alias(const struct attn_json *json, const char *key,
                                         const char *alias, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    size_t own = 0, other = 0, i = 0;

    while (i < sizeof one_size / sizeof *one_size &&
           (strcmp(one_size[i][0], key) != 0 || strcmp(one_size[i][1], alias) != 0))
        i++;
    if (i == sizeof one_size / sizeof *one_size || !attn_config_find_given(root, key) ||
        !attn_config_find_given(root, alias))
        return ATTN_OK;
    ATTN_TRY(attn_json_get_size(json, root, key, 1, SIZE_MAX >> 11, &own, err));
    ATTN_TRY(attn_json_get_size(json, root, alias, 1, SIZE_MAX >> 11, &other, err));
    if (own == other)
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT,
                          "'%s' is %zu and '%s' is %zu in '%s', expected one number: they are two "
                          "names of one size",
                          key, own, alias, other, attn_config_quote(json).text);
}

/* Checks the width of rotated heads: transformers rotates by head_dim, even if projections are
 * split by width / heads. */
static enum attn_status check_rotary_width(const struct attn_json *json,
                                           const struct attn_config_form *form,
                                           const struct attn_config *config, struct attn_error *err)
{
    size_t width = config->d_head;

    if (form->width_key || (!form->has_no_heads_keys && !form->has_no_width_key))
        return ATTN_OK;
    ATTN_TRY(attn_config_get_width(json, "head_dim", &width, err));
    if (width == config->d_head)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "head_dim",
                            "is %zu, expected %zu, the width of the model divided by its heads",
                            width, config->d_head);
}

/* Reads the number of key/value heads and the width of a head. */
static enum attn_status read_heads(const struct attn_json *json,
                                   const struct attn_config_form *form,
                                   const struct attn_config_names *names,
                                   struct attn_config *config, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);

    if (config->n_kv_head == 0 ||
        (!form->has_no_heads_keys && attn_node_find(root, "num_key_value_heads")))
        config->n_kv_head = config->n_head;
    if (!form->has_no_heads_keys) {
        ATTN_TRY(attn_config_get_width(json, "num_key_value_heads", &config->n_kv_head, err));
        if (form->null_width_is_usual && attn_node_find(root, "head_dim"))
            config->d_head = 0;
        if (!form->has_no_width_key)
            ATTN_TRY(attn_config_get_width(json, "head_dim", &config->d_head, err));
    }
    if (form->width_key) {
        ATTN_TRY(attn_config_check_alias(json, form->width_key, "head_dim", err));
        ATTN_TRY(attn_config_get_width(
            json, attn_config_find_given(root, form->width_key) ? form->width_key : "head_dim",
            &config->d_head, err));
    }
    if (config->d_head == 0 || form->is_divided)
        ATTN_TRY(attn_config_check_divides(json, names->n_head, config->n_head, names->d_model,
                                           config->d_model, err));
    ATTN_TRY(attn_config_check_divides(json, "num_key_value_heads", config->n_kv_head,
                                       names->n_head, config->n_head, err));
    if (config->d_head == 0)
        config->d_head = config->d_model / config->n_head;
    config->d_value = config->d_head;
    return form->rope.theta ? check_rotary_width(json, form, config, err) : ATTN_OK;
}

static enum attn_status read_sizes(const struct attn_json *json,
                                   const struct attn_config_form *form, struct attn_config *config,
                                   struct attn_error *err)
{
    const struct attn_config_names *usual = &attn_config_usual_names;
    const struct attn_config_names *names = form->names ? form->names : usual;
    /* Transformers accepts the alias for these families only. */
    const bool has_alias = config->positions != ATTN_POSITIONS_ALIBI;
    const struct {
        const char *key, *alias;
        size_t max, *place;
    } sizes[] = {
        {names->n_vocab, usual->n_vocab, ATTN_MAX_VOCAB, &config->n_vocab},
        {names->d_model, usual->d_model, ATTN_MAX_WIDTH, &config->d_model},
        {names->d_mlp, NULL, ATTN_MAX_WIDTH, &config->d_mlp},
        {names->n_layer, usual->n_layer, ATTN_MAX_LAYER, &config->n_layer},
        {names->n_head, usual->n_head, ATTN_MAX_WIDTH, &config->n_head},
        {names->n_ctx, has_alias ? usual->n_ctx : NULL, ATTN_MAX_CTX, &config->n_ctx},
    };
    const struct attn_node *root = attn_json_root(json);

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *key = sizes[i].key;

        if (key && sizes[i].alias)
            ATTN_TRY(attn_config_check_alias(json, key, sizes[i].alias, err));
        if (key && sizes[i].alias && !attn_config_find_given(root, key))
            key = sizes[i].alias;
        if (key)
            ATTN_TRY(attn_json_get_size(json, root, key, 1, sizes[i].max, sizes[i].place, err));
    }
    if (config->d_mlp == 0)
        config->d_mlp = 4 * config->d_model;
    config->d_source = config->d_model;
    if (config->stack.has_encoder)
        config->n_layer *= 2; /* each layer of the decoder is two here (config_fields.h) */
    return read_heads(json, form, names, config, err);
}

/* --- windows ---------------------------------------------------------------------------------- */

void attn_config_set_window(struct attn_attention *attention, size_t width)
{
    attention->kind = ATTN_ATTENTION_WINDOW;
    attention->window = width;
}

enum attn_status attn_config_read_words(const struct attn_json *json, const char *key,
                                        const char *const *words, size_t n_layer, bool *are_second,
                                        struct attn_error *err)
{
    const struct attn_node *list = attn_config_find_given(attn_json_root(json), key);
    size_t n = 0;

    if (!list)
        return ATTN_OK;
    if (!attn_node_is_array(list))
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, key, "is not a list of types");
    for (const struct attn_node *node = attn_node_first(list); node;
         node = attn_node_next(node), n++) {
        const char *word = attn_node_string(node);
        const bool is_second = word && attn_text_has_word(words[1], word, strlen(word));

        if (!word)
            return attn_error_set(err, ATTN_FORMAT, "item %zu of '%s' in '%s' is not a string", n,
                                  key, attn_config_quote(json).text);
        if (!is_second && !attn_text_has_word(words[0], word, strlen(word)))
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "item %zu of '%s' in '%s' is '%s', this version reads '%.*s' and "
                                  "'%.*s'",
                                  n, key, attn_config_quote(json).text,
                                  attn_quote_string(word).text, (int)strcspn(words[0], " "),
                                  words[0], (int)strcspn(words[1], " "), words[1]);
        if (n < n_layer)
            are_second[n] = is_second;
    }
    if (n == n_layer)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, key,
                            "has %zu items, expected one for each of %zu layers", n, n_layer);
}

enum attn_status attn_config_read_numbers(const struct attn_json *json, const char *key,
                                          size_t n_layer, bool *are_named, struct attn_error *err)
{
    const struct attn_node *list = attn_config_find_given(attn_json_root(json), key);
    int64_t layer;

    for (const struct attn_node *node = list && attn_node_is_array(list) ? attn_node_first(list)
                                                                         : list;
         node; node = attn_node_next(node)) {
        if (!attn_node_is_array(list) || !attn_node_int(node, &layer) || layer < 0)
            return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, key, "is not a list of layers");
        if ((size_t)layer < n_layer)
            are_named[layer] = true;
    }
    return ATTN_OK;
}

/* Gives layers the window WIDTH according to `layer_types`. Refuses a window without a width. */
static enum attn_status read_layer_types(const struct attn_json *json, size_t width,
                                         const struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err)
{
    static const char *const words[] = {"full_attention", "sliding_attention"};
    bool are_sliding[ATTN_MAX_LAYER] = {false};

    ATTN_TRY(attn_config_read_words(json, "layer_types", words, config->n_layer, are_sliding, err));
    for (size_t i = 0; i < config->n_layer; i++) {
        if (are_sliding[i] && width == 0)
            return attn_error_set(err, ATTN_FORMAT,
                                  "item %zu of 'layer_types' in '%s' is 'sliding_attention', but "
                                  "'sliding_window' is null or not in use",
                                  i, attn_config_quote(json).text);
        if (are_sliding[i])
            attn_config_set_window(&layers->attention[i], width);
    }
    return ATTN_OK;
}

/* Reads the window of ModernBERT: `sliding_window` is half of `local_attention`, from which
 * transformers derives it. */
static enum attn_status read_half_window(const struct attn_json *json, size_t *width,
                                         struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    size_t half = 0;

    ATTN_TRY(attn_json_get_size(json, root, "local_attention", 1, ATTN_MAX_CTX, width, err));
    if (!attn_config_find_given(root, "sliding_window"))
        return ATTN_OK;
    ATTN_TRY(attn_json_get_size(json, root, "sliding_window", 1, ATTN_MAX_CTX, &half, err));
    if (attn_config_find_given(root, "local_attention") && *width / 2 != half)
        return attn_error_set(err, ATTN_FORMAT,
                              "'sliding_window' is %zu and 'local_attention' is %zu in '%s', "
                              "expected half of it",
                              half, *width, attn_config_quote(json).text);
    *width = 2 * half;
    return ATTN_OK;
}

static enum attn_status read_windows(const struct attn_json *json, struct attn_windows windows,
                                     const struct attn_config_form *form,
                                     const struct attn_config *config,
                                     struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *given = attn_node_find(root, "sliding_window");
    const struct attn_node *list = attn_config_find_given(root, "layer_types");
    const bool is_of_unturned = form->unturned == ATTN_UNTURNED_LIST;
    bool is_on = windows.rule != ATTN_WINDOWS_SWITCHED, is_both;

    if (windows.rule == ATTN_WINDOWS_NONE)
        return ATTN_OK;
    if ((windows.rule != ATTN_WINDOWS_BY_LIST || windows.may_be_null) && given)
        windows.width = 0;
    if (!is_on)
        ATTN_TRY(attn_json_get_bool(json, root, "use_sliding_window", &is_on, err));
    if (!is_on && !(is_of_unturned && list)) /* SmolLM3's list applies in any case */
        windows.width = 0;
    else if (windows.is_centered)
        ATTN_TRY(read_half_window(json, &windows.width, err));
    else
        ATTN_TRY(
            attn_json_get_size(json, root, "sliding_window", 1, ATTN_MAX_CTX, &windows.width, err));
    ATTN_TRY(read_direction(json, form, &is_both, &windows.width, err));
    if (windows.rule == ATTN_WINDOWS_SWITCHED)
        ATTN_TRY(attn_json_get_size(json, root, "max_window_layers", 0, ATTN_MAX_WIDTH,
                                    &windows.first, err));
    if (windows.rule != ATTN_WINDOWS_IN_ALL && list)
        return read_layer_types(json, windows.width, config, layers, err);
    for (size_t i = windows.first; i < config->n_layer && windows.width > 0; i++)
        if (is_of_unturned
                ? !attn_sites_are_empty(layers->lacking[i])
                : windows.full_every == 0 || (i + !windows.is_centered) % windows.full_every != 0)
            attn_config_set_window(&layers->attention[i], windows.width);
    return ATTN_OK;
}

/* --- The whole config ------------------------------------------------------------------------- */

/* Reads a factor or a cap. If the key is absent, the value is unchanged; null sets 0, which means
 * no factor. */
static enum attn_status read_factor(const struct attn_json *json, const struct attn_node *object,
                                    const char *key, double *factor, struct attn_error *err)
{
    const struct attn_node *node = attn_node_find(object, key);

    if (node && attn_node_is_null(node))
        *factor = 0;
    return attn_json_get_double(json, object, key, 1e-6, 1e30, factor, err);
}

/* Reads the activation, the epsilon and tying, and allocates the lists of layers. */
static enum attn_status read_common(ATTN_CONFIG_ARGS)
{
    struct attn_attention attention = {
        .kind = ATTN_ATTENTION_FULL, .mask = ATTN_MASK_CAUSAL, .is_scaled = true, .factor = 1};
    const struct attn_node *root = attn_json_root(json);
    const char *activation = config->act_fn;
    double eps = (double)config->norm_eps;
    bool is_tied = config->output == ATTN_OUTPUT_TIED, is_both;
    size_t none = 0;

    ATTN_TRY(read_direction(json, form, &is_both, &none, err));
    if (is_both)
        attention.mask = ATTN_MASK_NONE;
    if (form->activation_key)
        ATTN_TRY(attn_json_get_string(json, root, form->activation_key, &activation, err));
    if (form->has_xielu && strcmp(activation, "xielu") == 0)
        config->act_fn = "xielu";
    else
        ATTN_TRY(attn_config_set_activation(json, &config->act_fn, form->activation_key, activation,
                                            err));
    if (form->eps_key)
        ATTN_TRY(attn_json_get_double(json, root, form->eps_key, 0, 1, &eps, err));
    ATTN_TRY(attn_json_get_bool(json, root, "tie_word_embeddings", &is_tied, err));
    if (form->gelu_is_tanh && strcmp(activation, "gelu") == 0) /* not "gelu_python" */
        config->act_fn = "gelu_new";
    config->norm_eps = (float)eps;
    config->output = is_tied ? ATTN_OUTPUT_TIED : ATTN_OUTPUT_OWN;
    ATTN_TRY(attn_config_allocate_layers(config, layers, &attention, err));
    if (strcmp(config->act_fn, "xielu") == 0)
        ATTN_TRY(ATTN_ALLOC(layers->xielu, config->n_layer, err));
    config->xielu = layers->xielu;
    return ATTN_OK;
}

bool attn_config_has_switch(const struct attn_config_form *form, const char *key)
{
    for (const struct attn_config_switch *s = form->switches; s && s->key; s++)
        if (strcmp(s->key, key) == 0)
            return true;
    return false;
}

enum attn_status attn_config_read_switches(const struct attn_json *json,
                                           const struct attn_node *object,
                                           const struct attn_config_switch *switches,
                                           struct attn_config *config, struct attn_error *err)
{
    for (const struct attn_config_switch *s = switches; s && s->key; s++) {
        const struct attn_node *node = attn_node_find(object, s->key);
        void *field = (char *)config + s->offset;
        bool is_on = false;
        double factor = 0;

        if (!node || (attn_node_is_null(node) && s->type != ATTN_CONFIG_FACTOR))
            continue;
        if (s->type == ATTN_CONFIG_FACTOR) {
            ATTN_TRY(read_factor(json, object, s->key, &factor, err));
            *(double *)field = s->divides ? 1 / factor : factor;
            continue;
        }
        if (s->type == ATTN_CONFIG_SIZE) {
            ATTN_TRY(attn_json_get_size(json, object, s->key, 1, ATTN_MAX_WIDTH, field, err));
            continue;
        }
        ATTN_TRY(attn_json_get_bool(json, object, s->key, &is_on, err));
        if (s->type == ATTN_CONFIG_FLAG)
            *(bool *)field = is_on;
        else
            *(int *)field = s->words[is_on];
    }
    return ATTN_OK;
}

void attn_config_set_factor(const struct attn_config *config, struct attn_config_layers *layers,
                            double factor)
{
    for (size_t layer = 0; layer < config->n_layer && factor > 0; layer++) {
        layers->attention[layer].is_scaled = false;
        layers->attention[layer].factor = factor;
    }
}

/* Reads the parts of a block for which some families have a key. */
static enum attn_status read_parts(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    double query_scalar = form->query_scalar, score_cap = form->score_cap, factor = 0;

    ATTN_TRY(attn_config_read_switches(json, root, form->switches, config, err));
    if (form->is_embedding_scaled)
        config->embed_scale = sqrt((double)config->d_model);
    if (form->query_scalar > 0) {
        ATTN_TRY(attn_json_get_double(json, root, "query_pre_attn_scalar", 1e-6, 1e30,
                                      &query_scalar, err));
        factor = 1 / sqrt(query_scalar);
    }
    if (form->score_cap > 0)
        ATTN_TRY(read_factor(json, root, "attn_logit_softcapping", &score_cap, err));
    if (form->score_factor_key) {
        factor = 1;
        ATTN_TRY(
            attn_json_get_double(json, root, form->score_factor_key, 1e-6, 1e30, &factor, err));
    }
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->attention[layer].score_cap = score_cap;
    attn_config_set_factor(config, layers, factor);
    return ATTN_OK;
}

enum attn_status attn_config_read_form(ATTN_CONFIG_ARGS)
{
    struct attn_windows windows = form->windows;
    const bool is_listed =
        windows.may_be_null && attn_config_find_given(attn_json_root(json), "layer_types");

    ATTN_TRY(attn_config_refuse_extras(json, form, err));
    ATTN_TRY(read_sizes(json, form, config, err));
    ATTN_TRY(read_common(json, form, config, layers, err));
    ATTN_TRY(read_parts(json, form, config, layers, err));
    if ((windows.has_pattern && !is_listed) || windows.is_centered)
        ATTN_TRY(attn_json_get_size(json, attn_json_root(json),
                                    windows.is_centered ? "global_attn_every_n_layers"
                                                        : "sliding_window_pattern",
                                    1, ATTN_MAX_LAYER, &windows.full_every, err));
    ATTN_TRY(attn_config_read_unturned(json, form, config, layers, err));
    ATTN_TRY(read_windows(json, windows, form, config, layers, err));
    return (form->rope.theta || form->rope.count) && config->positions != ATTN_POSITIONS_ALIBI
               ? attn_config_read_rope(json, form, config, layers, err)
               : ATTN_OK;
}
