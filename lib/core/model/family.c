/* family.c - see family.h: the list of families, and reading a config of any family. */
#include "model/family.h"

#include "base/status_internal.h"
#include "base/text/edit_distance.h"
#include "base/text/fixed_text.h"
#include "model/tower_reader.h"

#include <string.h>

const struct attn_family *attn_family_find(const char *model_type)
{
    const struct attn_family *family;

    for (size_t i = 0; (family = attn_families[i]); i++)
        if (strcmp(family->model_type, model_type) == 0)
            break;
    return family;
}

/* Returns the first of `architectures`, or NULL. */
static const char *first_architecture(const struct attn_json *json)
{
    const struct attn_node *list = attn_node_find(attn_json_root(json), "architectures");
    const struct attn_node *item = list && attn_node_is_array(list) ? attn_node_first(list) : NULL;

    return item ? attn_node_string(item) : NULL;
}

enum attn_status attn_family_find_type(const struct attn_json *json, const char **type,
                                       struct attn_error *err)
{
    const char *first = first_architecture(json);
    const struct attn_family *family;

    ATTN_TRY(attn_json_get_string(json, attn_json_root(json), "model_type", type, err));
    for (size_t i = 0; !*type && (family = attn_families[i]); i++)
        if (family->is_config && family->is_config(json))
            *type = family->model_type;
    for (size_t i = 0; !*type && first && (family = attn_families[i]); i++)
        if (family->architecture &&
            strncmp(first, family->architecture, strlen(family->architecture)) == 0)
            *type = family->model_type;
    return ATTN_OK;
}

/* Reads eos_token_id, an id or a list of ids. Ids that are not tokens of the model are ignored. */
void attn_family_read_end_ids(const struct attn_json *json, struct attn_config *config)
{
    const struct attn_node *node = attn_node_find(attn_json_root(json), "eos_token_id");
    const bool is_list = node && attn_node_is_array(node);
    int64_t id;

    if (!node || attn_node_is_null(node))
        return;
    config->n_end_id = 0;
    for (node = is_list ? attn_node_first(node) : node; node;
         node = is_list ? attn_node_next(node) : NULL)
        if (config->n_end_id < ATTN_CONFIG_N_END && attn_node_int(node, &id) && id >= 0 &&
            (uint64_t)id < config->n_token)
            config->end_ids[config->n_end_id++] = id;
}

/* Returns the number at KEY if it is in 0 to MOST, else OTHERWISE. */
static int64_t find_number(const struct attn_json *json, const char *key, int64_t most,
                           int64_t otherwise)
{
    const struct attn_node *node = attn_node_find(attn_json_root(json), key);
    int64_t value;

    return node && attn_node_int(node, &value) && value >= 0 && value <= most ? value : otherwise;
}

/* Reads a list of forbidden tokens, or of forbidden sequences, of which only those with one token
 * are kept. IS_FIRST: they are forbidden only at the begin. */
static void read_bad_ids(const struct attn_json *json, const char *key, bool is_first,
                         struct attn_stack_config *stack, size_t n_token)
{
    const struct attn_node *list = attn_node_find(attn_json_root(json), key);
    size_t *n = is_first ? &stack->n_bad_first_id : &stack->n_bad_id;
    int64_t id;

    list = list && attn_node_is_array(list) ? attn_node_first(list) : NULL;
    for (; list; list = attn_node_next(list)) {
        const struct attn_node *node = attn_node_is_array(list) ? attn_node_first(list) : list;

        if (!node || (node != list && attn_node_next(node)) || !attn_node_int(node, &id) ||
            id < 0 || (uint64_t)id >= n_token)
            continue;
        if (stack->n_bad_id + stack->n_bad_first_id < ATTN_CONFIG_N_BAD)
            stack->bad_ids[is_first ? ATTN_CONFIG_N_BAD - 1 - *n : *n] = (int32_t)id;
        ++*n;
    }
}

void attn_family_read_generation(const struct attn_json *json, struct attn_config *config)
{
    struct attn_stack_config *stack = &config->stack;
    const int64_t last = (int64_t)config->n_token - 1, most = ATTN_MAX_WIDTH;

    stack->n_bad_id = stack->n_bad_first_id = 0;
    stack->n_beam = (size_t)find_number(json, "num_beams", most, 0);
    stack->n_no_repeat = (size_t)find_number(json, "no_repeat_ngram_size", most, 0);
    stack->n_least = (size_t)find_number(json, "min_length", most, 0);
    stack->start_id = (int32_t)find_number(json, "decoder_start_token_id", last, stack->start_id);
    stack->forced_begin_id = (int32_t)find_number(json, "forced_bos_token_id", last, -1);
    read_bad_ids(json, "bad_words_ids", false, stack, config->n_token);
    read_bad_ids(json, "suppress_tokens", false, stack, config->n_token);
    read_bad_ids(json, "begin_suppress_tokens", true, stack, config->n_token);
}

const char *const attn_family_config_keys[] = {"alignment_heads",
                                               "architectures",
                                               "attn_config",
                                               "attention_layers",
                                               "attention_types",
                                               "auto_map",
                                               "begin_suppress_tokens",
                                               "suppress_tokens",
                                               "attn_layer_indices",
                                               "bad_words_ids",
                                               "blocks",
                                               "eos_token_id",
                                               "full_attn_idxs",
                                               "language_config",
                                               "llm_config",
                                               "id2label",
                                               "image_grid_pinpoints",
                                               "image_size",
                                               "labels",
                                               "layer_types",
                                               "layers_block_type",
                                               "mlp_only_layers",
                                               "mlp_multipliers",
                                               "ssm_multipliers",
                                               "no_rope_layers",
                                               "patch_size",
                                               "per_layer_config",
                                               "pos_att_type",
                                               "pruned_heads",
                                               "rope_parameters",
                                               "rope_scaling",
                                               "time_step_limit",
                                               "text_config",
                                               "text_config_dict",
                                               "vision_config",
                                               "vision_config_dict",
                                               NULL};

/* Returns part number I of all decoders beside encoders; NULL after the last. */
static const struct attn_decoder_part *part_at(size_t i)
{
    size_t n = 0;

    for (; attn_tower_reader && attn_tower_reader->part_at(n); n++)
        if (n == i)
            return attn_tower_reader->part_at(n);
    return attn_strangers && i - n < attn_strangers->n_part ? &attn_strangers->parts[i - n] : NULL;
}

/* Refuses TYPE, which the config of JSON has at the top or, IN_SECTION, in the object of a decoder.
 */
static enum attn_status refuse_type(const struct attn_json *json, const char *type,
                                    bool is_in_section, struct attn_error *err)
{
    const char *nearest = NULL;
    const char *reason = attn_strangers ? attn_strangers->reason(json, type, &nearest) : NULL;
    struct attn_typo typo = {.typed = type, .size = strlen(type)};

    for (size_t i = 0; !reason && attn_families[i]; i++)
        if (strncmp(type, attn_families[i]->model_type, 3) == 0)
            attn_typo_try(&typo, attn_families[i]->model_type);
    for (size_t i = 0; !reason && part_at(i); i++)
        if (strncmp(type, part_at(i)->type, 3) == 0)
            attn_typo_try(&typo, part_at(i)->type);
    if (!reason) {
        reason = attn_family_find(type) ? "it is no decoder"
                 : attn_strangers       ? attn_strangers->guess(json, type)
                                        : "no row of a family has this name";
        nearest = is_in_section ? NULL : attn_typo_meant(&typo);
    }
    attn_error_set(err, ATTN_UNSUPPORTED, "'model_type'%s in '%s' is '%s', which is not read: %s",
                   is_in_section ? " of 'text_config'" : "", attn_config_quote(json).text,
                   attn_quote_string(type).text, reason);
    if (nearest)
        attn_error_hint(err, "the nearest type that is read is '%s'", nearest);
    return ATTN_UNSUPPORTED;
}

/* Reads a config of FAMILY, which has one tower. */
static enum attn_status read_tower(const struct attn_json *json, const struct attn_family *family,
                                   struct attn_config *config, struct attn_config_layers *layers,
                                   struct attn_error *err)
{
    *config = family->form.defaults;
    config->model_type = family->model_type;
    ATTN_TRY((family->read_config ? family->read_config : attn_config_read_form)(
        json, &family->form, config, layers, err));
    if (config->image.patch_height == 0) {
        if (config->n_token == 0)
            config->n_token = config->n_vocab;
        attn_family_read_end_ids(json, config);
        attn_family_read_generation(json, config);
        ATTN_TRY(attn_config_read_classes(json, &family->heads, config, layers, err));
    }
    if (config->d_out == 0)
        config->d_out = config->d_model;
    if (config->d_embed == 0)
        config->d_embed = config->d_model;
    return attn_config_check(json, config, err);
}

const struct attn_decoder_part *attn_family_find_part(const char *model_type)
{
    const struct attn_decoder_part *part;

    for (size_t i = 0; (part = part_at(i)); i++)
        if (strcmp(part->type, model_type) == 0)
            break;
    return part;
}

/* Reads the ids that stand for pictures and sound. */
static void read_part_ids(const struct attn_json *json, struct attn_config *config)
{
    static const char *const keys[] = {"image_token_id", "audio_token_id", "video_token_id"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        config->part_ids[i] = (int32_t)find_number(json, keys[i], (int64_t)config->n_token - 1, 0);
}

/* Reads the config of the decoder of a text PART. Its keys are in an object, or, in files of
 * Qwen2-VL of transformers 4, at the top. Of the top, only the tokens that end a text count, and
 * whether the output is tied. */
static enum attn_status read_part(struct attn_json *json, const struct attn_decoder_part *part,
                                  struct attn_config *config, struct attn_config_layers *layers,
                                  struct attn_error *err)
{
    static const char *const sections[] = {"text_config", "llm_config", "language_config"};
    /* Transformers applies it to SmolVLM, and passes it over in the others. */
    static const struct attn_config_extra of_top[] = {{"is_causal", ATTN_WISH_FALSE},
                                                      {.key = NULL}};
    const struct attn_node *root = attn_json_root(json), *section = NULL;
    const char *type = part->text_type;
    bool is_tied = part->ties == ATTN_TIES;
    const struct attn_family *its;
    struct attn_family read;
    enum attn_status status;

    for (size_t i = 0; i < sizeof sections / sizeof *sections && !section; i++)
        ATTN_TRY(attn_config_find_object(json, root, sections[i], &section, err));
    if (!section && !part->may_lack_section)
        return attn_error_set(err, ATTN_FORMAT, "'text_config' is missing in '%s'",
                              attn_config_quote(json).text);
    if (section)
        ATTN_TRY(attn_json_get_string(json, section, "model_type", &type, err));
    its = attn_family_find(type);
    if (!its || its->form.defaults.is_encoder || its->encoder || its->towers[0])
        return refuse_type(json, type, section != NULL, err);
    ATTN_TRY(attn_config_refuse_extras(json, &its->form, err));
    ATTN_TRY(attn_config_refuse(json, root, of_top, err));
    read = *its;
    read.form.sees_prompt = part->sees_prompt;
    attn_json_enter(json, section);
    status = read_tower(json, &read, config, layers, err);
    attn_json_enter(json, NULL);
    ATTN_TRY(status);
    attn_family_read_end_ids(json, config);
    if (read.form.replaces_parts)
        read_part_ids(json, config);
    ATTN_TRY(attn_json_get_bool(json, root, "tie_word_embeddings", &is_tied, err));
    if (config->output == ATTN_OUTPUT_TIED && part->ties == ATTN_TIES_AS_TEXT)
        is_tied = true;
    if (config->output != ATTN_OUTPUT_NONE)
        config->output = is_tied ? ATTN_OUTPUT_TIED : ATTN_OUTPUT_OWN;
    return attn_tower_reader
               ? attn_tower_reader->read_config(json, part->type, section, config, layers, err)
               : ATTN_OK;
}

/* Finds the object of a two-tower config that describes TOWER. Old files may have a second object,
 * which then takes precedence (configuration_clip.py). */
static enum attn_status find_section(const struct attn_json *json, enum attn_tower tower,
                                     const struct attn_node **section, struct attn_error *err)
{
    const bool is_text = tower == ATTN_TOWER_TEXT;
    const char *key = is_text ? "text_config" : "vision_config";
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *node = attn_node_find(root, key);
    const struct attn_node *old =
        attn_node_find(root, is_text ? "text_config_dict" : "vision_config_dict");

    if (old && !attn_node_is_null(old))
        node = old;
    if (!node || attn_node_is_null(node))
        return attn_error_set(err, ATTN_FORMAT, "'%s' is missing in '%s'", key,
                              attn_config_quote(json).text);
    if (!attn_node_is_object(node))
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, key, "is not an object");
    *section = node;
    return ATTN_OK;
}

/* Reads the config of TOWER, whose keys are in a separate object; only the width of the projection
 * is a key of the model. */
static enum attn_status read_of_two(struct attn_json *json, const struct attn_family *family,
                                    enum attn_tower asked, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    const char *first = first_architecture(json);
    const bool is_classifier =
        first && family->classifier && strcmp(first, family->classifier) == 0;
    const enum attn_tower tower =
        asked == ATTN_TOWER_TEXT && !is_classifier ? asked : ATTN_TOWER_IMAGE;
    const struct attn_node *section = NULL;
    const struct attn_family *its = attn_family_find(family->towers[tower]);
    size_t d_projected = family->form.defaults.d_projected;
    enum attn_status status;

    if (!its)
        return refuse_type(json, family->towers[tower], false, err);
    ATTN_TRY(attn_config_refuse_extras(json, &family->form, err));
    if (d_projected > 0)
        ATTN_TRY(attn_config_get_width(json, "projection_dim", &d_projected, err));
    ATTN_TRY(find_section(json, tower, &section, err));
    attn_json_enter(json, section);
    status = read_tower(json, its, config, layers, err);
    attn_json_enter(json, NULL);
    if (status == ATTN_OK && is_classifier)
        return family->read_classifier(json, config, layers, err);
    if (d_projected > 0)
        config->d_projected = d_projected;
    config->has_two_towers = true;
    return status;
}

enum attn_status attn_family_read_tower(struct attn_json *json, const struct attn_config *decoder,
                                        struct attn_config *config,
                                        struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *section = NULL;
    enum attn_status status;

    ATTN_TRY(attn_config_find_object(json, attn_json_root(json), "vision_config", &section, err));
    attn_json_enter(json, section);
    status = read_tower(json, decoder->vision.tower, config, layers, err);
    attn_json_enter(json, NULL);
    config->vision = decoder->vision;
    config->vision.d_feature = decoder->d_model;
    if (config->vision.n_above > 0)
        config->has_final_norm = false;
    config->stack.is_of_decoder = true;
    return status;
}

enum attn_status attn_family_read_encoder(const struct attn_json *json,
                                          const struct attn_family *family,
                                          struct attn_config *config,
                                          struct attn_config_layers *layers, struct attn_error *err)
{
    ATTN_TRY(read_tower(json, family->encoder, config, layers, err));
    config->stack.is_of_decoder = true;
    return ATTN_OK;
}

enum attn_status attn_family_read_config(struct attn_json *json, const struct attn_family *family,
                                         enum attn_tower tower, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err)
{
    const char *type = NULL;

    if (!family) {
        ATTN_TRY(attn_family_find_type(json, &type, err));
        if (!type)
            return attn_error_set(err, ATTN_FORMAT, "'model_type' is missing in '%s'",
                                  attn_config_quote(json).text);
        if (attn_family_find_part(type))
            return read_part(json, attn_family_find_part(type), config, layers, err);
        family = attn_family_find(type);
    }
    if (!family)
        return refuse_type(json, type, false, err);
    return family->towers[0] ? read_of_two(json, family, tower, config, layers, err)
                             : read_tower(json, family, config, layers, err);
}
