/* family.c - see family.h: the list of families, and reading a config of any of them. */
#include "model/family.h"

#include "base/fixed_text.h"

#include <string.h>

enum { TYPES_SIZE = 700 };

#define FAMILY_ROW(name) &attn_family_##name,
static const struct attn_family *const families[] = {ATTN_FAMILY_MAP(FAMILY_ROW)};
#undef FAMILY_ROW

static const size_t n_family = sizeof families / sizeof *families;

/* "'gpt2', ... WORD 'attn'": the supported values of model_type. */
static void list_types(const char *word, char types[TYPES_SIZE])
{
    size_t used = 0;

    for (size_t i = 0; i < n_family; i++) {
        const char *between = i == 0 ? "" : i + 1 < n_family ? ", " : word;

        attn_fixed_text_append(types, TYPES_SIZE, &used, "%s'%s'", between,
                               families[i]->model_type);
    }
}

const struct attn_family *attn_family_find(const char *model_type)
{
    for (size_t i = 0; i < n_family; i++)
        if (strcmp(families[i]->model_type, model_type) == 0)
            return families[i];
    return NULL;
}

const struct attn_family *attn_family_at(size_t i)
{
    return i < n_family ? families[i] : NULL;
}

/* The model_type of a config; old directories lack it, but `architectures` implies it. */
static enum attn_status find_type(const struct attn_json *json, const char **type,
                                  struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *list = attn_node_find(root, "architectures");
    const struct attn_node *item = list && attn_node_is_array(list) ? attn_node_first(list) : NULL;
    const char *first = item ? attn_node_string(item) : NULL;
    char types[TYPES_SIZE];

    ATTN_TRY(attn_json_get_string(json, root, "model_type", type, err));
    if (*type)
        return ATTN_OK;
    for (size_t i = 0; first && i < n_family; i++)
        if (families[i]->architecture &&
            strncmp(first, families[i]->architecture, strlen(families[i]->architecture)) == 0) {
            *type = families[i]->model_type;
            return ATTN_OK;
        }
    list_types(" or ", types);
    return attn_error_set(err, ATTN_FORMAT, "'model_type' is missing in '%s', expected %s",
                          attn_quote_string(attn_json_name(json)).text, types);
}

/* eos_token_id is an id or a list of ids. Ids that are not tokens of the model are ignored. */
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
            (uint64_t)id < config->n_vocab)
            config->end_ids[config->n_end_id++] = (int32_t)id;
}

const char *const attn_family_config_keys[] = {
    "architectures", "attention_layers",    "attention_types",
    "blocks",        "eos_token_id",        "id2label",
    "image_size",    "layer_types",         "patch_size",
    "pruned_heads",  "quantization_config", "rope_parameters",
    "rope_scaling",  "text_config",         "text_config_dict",
    "vision_config", "vision_config_dict",  NULL};

/* The unsupported feature of models of TYPE, or NULL. */
static const char *missing_part(const char *type)
{
    static const struct {
        const char *type, *what;
    } types[] = {
        {"t5", "two stacks are not read yet"},
        {"mt5", "two stacks are not read yet"},
        {"bart", "two stacks are not read yet"},
        {"mbart", "two stacks are not read yet"},
        {"marian", "two stacks are not read yet"},
        {"m2m_100", "two stacks are not read yet"},
        {"pegasus", "two stacks are not read yet"},
        {"whisper", "two stacks are not read yet"},
        {"longt5", "it has two stacks, with a table of biases in each layer"},
        {"umt5", "it has two stacks, with a table of biases in each layer"},
        {"switch_transformers", "it has two stacks and experts"},
        {"led", "it has two stacks, and attention of its own"},
        {"encoder-decoder", "it is made of two models"},
        {"vision-encoder-decoder", "it is made of two models"},
        {"deberta", "its scores have terms of positions"},
        {"deberta-v2", "its scores have terms of positions"},
        {"mpnet", "its scores have a bias of positions"},
        {"xlnet", "its scores have terms of positions"},
        {"xlm", "its blocks are not read"},
        {"longformer", "it has attention of its own"},
        {"big_bird", "it has attention of its own"},
        {"reformer", "it has attention of its own"},
        {"funnel", "it has attention of its own"},
        {"convbert", "it has attention of its own"},
        {"roberta-prelayernorm", "its norms stand before attention and MLP"},
        {"xlm-roberta-xl", "its norms stand before attention and MLP"},
        {"nomic_bert", "its blocks are not read"},
        {"esm", "its blocks are not read"},
        {"squeezebert", "its blocks are not read"},
        {"layoutlm", "it has positions on a page"},
        {"deit", "it has a token of distillation beside [CLS]"},
        {"vit_mae", "it reads a part of the patches"},
        {"siglip", "its picture has no [CLS]"},
        {"siglip_vision_model", "its picture has no [CLS]"},
        {"dinov3_vit", "it turns positions of patches"},
        {"swin", "its scores have a bias of positions"},
        {"beit", "its scores have a bias of positions"},
        {"hubert", "encoders of sound are not read"},
        {"wav2vec2", "encoders of sound are not read"},
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].type, type) == 0)
            return types[i].what;
    return NULL;
}

static enum attn_status refuse_type(const struct attn_json *json, const char *type,
                                    struct attn_error *err)
{
    const char *missing = missing_part(type);
    char types[TYPES_SIZE];

    list_types(" and ", types);
    return attn_error_set(err, ATTN_UNSUPPORTED, "'model_type' in '%s' is '%s'%s%s%s %s",
                          attn_quote_string(attn_json_name(json)).text,
                          attn_quote_string(type).text, missing ? ": " : ", this version reads",
                          missing ? missing : "", missing ? "; this version reads" : "", types);
}

/* Reads a config of FAMILY, which is one tower. */
static enum attn_status read_tower(const struct attn_json *json, const struct attn_family *family,
                                   struct attn_config *config, struct attn_config_layers *layers,
                                   struct attn_error *err)
{
    *config = family->form.defaults;
    config->size = sizeof *config;
    config->model_type = family->model_type;
    ATTN_TRY((family->read_config ? family->read_config : attn_config_read_form)(
        json, &family->form, config, layers, err));
    attn_family_read_end_ids(json, config);
    if (config->d_out == 0)
        config->d_out = config->d_model;
    if (config->d_embed == 0)
        config->d_embed = config->d_model;
    return attn_config_check(json, config, err);
}

/* The object of a config of two towers from which TOWER is read. Old files may have a second one
 * for it, which counts then (configuration_clip.py). */
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
                              attn_quote_string(attn_json_name(json)).text);
    if (!attn_node_is_object(node))
        return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' is not an object", key,
                              attn_quote_string(attn_json_name(json)).text);
    *section = node;
    return ATTN_OK;
}

/* Reads the config of TOWER, whose keys are in a separate object. Only the width that both towers
 * are projected to is a key of the model. */
static enum attn_status read_of_two(struct attn_json *json, const struct attn_family *family,
                                    enum attn_tower tower, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json), *section = NULL;
    const struct attn_family *its = attn_family_find(family->towers[tower]);
    size_t d_projected = 512;
    enum attn_status status;

    if (!its)
        return refuse_type(json, family->towers[tower], err);
    ATTN_TRY(attn_config_refuse_extras(json, err));
    ATTN_TRY(
        attn_json_get_size(json, root, "projection_dim", 1, ATTN_MAX_WIDTH, &d_projected, err));
    ATTN_TRY(find_section(json, tower, &section, err));
    attn_json_enter(json, section);
    status = read_tower(json, its, config, layers, err);
    attn_json_enter(json, NULL);
    config->d_projected = d_projected;
    config->has_two_towers = true;
    return status;
}

enum attn_status attn_family_read_config(struct attn_json *json, enum attn_tower tower,
                                         struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_family *family;
    const char *type = NULL;

    ATTN_TRY(find_type(json, &type, err));
    family = attn_family_find(type);
    if (!family)
        return refuse_type(json, type, err);
    return family->towers[0] ? read_of_two(json, family, tower, config, layers, err)
                             : read_tower(json, family, config, layers, err);
}
