/*
 * gguf_projector.c - see gguf_projector.h.
 *
 * The config has the keys that the family's own reader of towers knows, so that there is one
 * reader. Pixels are made by the family's image processor, not as llama.cpp makes them.
 */
#include "towers/families/gguf_projector.h"

#include "base/os/os.h"
#include "base/text/fixed_text.h"
#include "base/text/path.h"
#include "formats/float_text.h"
#include "gguf/gguf_keys.h"
#include "gguf/gguf_naming.h"
#include "towers/families/vision_family.h"

#include <string.h>

/* The kinds of projectors that are read. */
static const struct kind {
    const char *name;         /* `clip.projector_type` */
    const char *type;         /* model_type of the model */
    const char *text_type;    /* model_type of the decoder; NULL: that of its family */
    const char *architecture; /* of the decoder's file; NULL: any */
    const char *placeholder;  /* the token that stands for a cell */
} kinds[] = {
    {"idefics3", "smolvlm", NULL, NULL, "<image>"},
    {"gemma3", "gemma3", NULL, "gemma3", "<image_soft_token>"},
    {"qwen2vl_merger", "qwen2_vl", "qwen2_vl_text", "qwen2vl", "<|image_pad|>"},
    {"qwen2.5vl_merger", "qwen2_5_vl", "qwen2_5_vl_text", "qwen2vl", "<|image_pad|>"},
    {"mlp", "llava", NULL, NULL, "<image>"},
    {"qwen3vl_merger", "qwen3_vl", "qwen3_vl_text", "qwen3vl", "<|image_pad|>"},
    {"internvl", "internvl", NULL, NULL, "<IMG_CONTEXT>"},
    {"pixtral", "mistral3", NULL, NULL, "[IMG]"}, /* or a LLaVA, which merges no patches */
};

enum {
    IDEFICS3 = 0,
    GEMMA3 = 1,
    QWEN2 = 2,
    QWEN2_5 = 3,
    MLP = 4,
    QWEN3 = 5,
    INTERNVL = 6,
    PIXTRAL = 7,
    N_KIND = sizeof kinds / sizeof *kinds
};

#define INSIDE "gemma3.vision" /* of keys in Ollama's files */

#define ARCHITECTURE "general.architecture"

static bool is_text(const char *text, size_t size, const char *expected)
{
    return text && strlen(expected) == size && memcmp(expected, text, size) == 0;
}

static bool has_architecture(const struct attn_bundle *gguf, const char *architecture)
{
    const char *name = NULL;
    size_t size = 0;

    return attn_gguf_get_text(gguf, ARCHITECTURE, &name, &size, NULL) == ATTN_OK &&
           is_text(name, size, architecture);
}

static bool is_projector(const struct attn_bundle *gguf)
{
    return has_architecture(gguf, "clip");
}

/* --- Finding it ------------------------------------------------------------------------------- */

static bool is_file(const char *path)
{
    struct attn_file file = {0};
    struct attn_bundle *gguf = NULL;
    const char *first;
    size_t size;
    bool is_one;

    if (attn_file_open_regular(path, ATTN_MAP, &file, NULL) != ATTN_OK)
        return false;
    first = attn_gguf_first_text(&file, ARCHITECTURE, &size);
    if (first && !is_text(first, size, "clip")) {
        attn_file_release(&file); /* a model, whose keys take milliseconds to read */
        return false;
    }
    is_one = attn_gguf_take(&file, ATTN_MAP, &gguf, NULL) == ATTN_OK && is_projector(gguf);
    attn_gguf_free(gguf);
    return is_one;
}

static enum attn_status open_file(const char *path, enum attn_load load,
                                  struct attn_projector *projector, struct attn_error *err)
{
    struct attn_file file = {0};

    ATTN_TRY(attn_file_open_regular(path, load, &file, err));
    ATTN_TRY(attn_gguf_take(&file, load, &projector->file, err));
    projector->bundle = projector->file;
    if (is_projector(projector->bundle))
        return ATTN_OK;
    return attn_error_set(err, ATTN_UNSUPPORTED,
                          "'%s' is not of the architecture 'clip', expected the file that reads "
                          "pictures for the model (mmproj)",
                          attn_quote_string(path).text);
}

/* Adds to FOUND the paths of such files in FOLDER, but for the file NAME. A damaged one counts if
 * it has the usual name. */
static enum attn_status list_folder(const char *folder, const char *name,
                                    struct attn_path_names *found, struct attn_error *err)
{
    static const char ending[] = ".gguf";
    struct attn_path_names names = {0};
    char path[ATTN_PATH_SIZE];
    enum attn_status status = attn_path_list(folder, &names, err);

    for (size_t i = 0; i < names.n && status == ATTN_OK; i++) {
        const size_t size = strlen(names.names[i]), n = strlen(ending);

        if (size > n && strcmp(names.names[i] + size - n, ending) == 0 &&
            strcmp(names.names[i], name) != 0 && attn_path_join(folder, names.names[i], path) &&
            (strcasestr(names.names[i], "mmproj") || is_file(path)))
            status = attn_path_names_add(found, path, err);
    }
    attn_path_names_release(&names);
    return status;
}

/* Opens the only one of the files FOUND beside the model PATH; else sets projector->why. */
static enum attn_status choose(const struct attn_path_names *found, const char *path,
                               enum attn_load load, struct attn_projector *projector,
                               struct attn_error *err)
{
    const struct attn_quote name = attn_quote_string(path);
    char list[ATTN_QUOTE_SIZE] = "";
    size_t used = 0;

    if (found->n == 1) {
        projector->is_found = true;
        return open_file(found->names[0], load, projector, err);
    }
    for (size_t i = 0; i < found->n; i++)
        attn_fixed_text_append(list, sizeof list, &used, "%s'%s'", i == 0 ? "" : ", ",
                               attn_quote_string(found->names[i]).text);
    if (found->n == 0)
        attn_error_set(&projector->why, ATTN_INVALID,
                       "'%s' has no file beside it that reads pictures, of the architecture 'clip'",
                       name.text);
    else
        attn_error_set(&projector->why, ATTN_INVALID,
                       "'%s' has %zu files beside it that read pictures, expected one: %s",
                       name.text, found->n, list);
    projector->why.stage = ATTN_STAGE_OPTIONS;
    attn_error_hint(&projector->why, "`mmproj %s` names one",
                    found->n == 0 ? "FILE" : attn_quote_string(found->names[0]).text);
    return ATTN_OK;
}

static enum attn_status find(const struct attn_source *source, const struct attn_bundle *gguf,
                             enum attn_load load, struct attn_projector *projector,
                             struct attn_error *err)
{
    const char *given = attn_source_override(source, ATTN_MMPROJ_PART);
    const char *beside = attn_source_override(source, ATTN_FOUND_MMPROJ_PART);
    const char *path = attn_gguf_path(gguf);
    const char *slash = attn_os_last_slash(path);
    struct attn_path_names found = {0};
    char folder[ATTN_PATH_SIZE] = ".";
    enum attn_status status = ATTN_OK;

    if (given)
        return open_file(given, load, projector, err);
    if (attn_gguf_find_pair(gguf, INSIDE ".block_count", NULL)) {
        projector->bundle = gguf;
        projector->is_found = true;
        return ATTN_OK;
    }
    if (slash && slash - path < ATTN_PATH_SIZE - 1) {
        const size_t n = slash > path ? (size_t)(slash - path) : 1;

        memcpy(folder, path, n);
        folder[n] = '\0';
    }
    if (beside)
        status = attn_path_names_add(&found, beside, err);
    else if (attn_source_override(source, ATTN_GGUF_PART) || source->directory)
        status = list_folder(folder, slash ? slash + 1 : path, &found, err);
    ATTN_THEN(status, choose(&found, path, load, projector, err));
    attn_path_names_release(&found);
    return status;
}

/* --- Its config ------------------------------------------------------------------------------- */

/* Returns the kind of PROJECTOR, whose name [*size] *NAME receives; NULL: it is not read. */
static const struct kind *find_kind(const struct attn_bundle *projector, const char **name,
                                    size_t *size)
{
    *name = "";
    *size = 0;
    if (!is_projector(projector))
        return &kinds[GEMMA3];
    attn_gguf_get_text(projector, "clip.vision.projector_type", name, size, NULL);
    attn_gguf_get_text(projector, "clip.projector_type", name, size, NULL);
    for (size_t i = 0; i < N_KIND; i++)
        if (is_text(*name, *size, kinds[i].name))
            return &kinds[i];
    return NULL;
}

static const struct attn_family *find_naming(const struct attn_bundle *projector)
{
    const char *name;
    size_t size;

    return attn_gguf_tower_naming(find_kind(projector, &name, &size)->name,
                                  attn_gguf_files(projector));
}

/* Checks the kind of PROJECTOR, and that it goes with the model GGUF. */
static enum attn_status check_kind(const struct attn_bundle *gguf,
                                   const struct attn_bundle *projector, const struct kind **kind,
                                   struct attn_error *err)
{
    const struct attn_quote path = attn_quote_string(attn_gguf_path(projector));
    char known[ATTN_QUOTE_SIZE] = "";
    size_t size, used = 0;
    const char *name;

    *kind = find_kind(projector, &name, &size);
    for (size_t i = 0; i < N_KIND; i++)
        attn_fixed_text_append(known, sizeof known, &used, "%s%s", i == 0 ? "" : ", ",
                               kinds[i].name);
    if (!*kind && size == 0)
        return attn_error_set(err, ATTN_FORMAT, "'clip.projector_type' is missing in '%s'",
                              path.text);
    if (!*kind) {
        attn_error_set(err, ATTN_UNSUPPORTED,
                       "'clip.projector_type' in '%s' is '%s', which is not read", path.text,
                       attn_quote(name, size).text);
        attn_error_hint(err, "types that are read: %s", known);
        return ATTN_UNSUPPORTED;
    }
    if (!(*kind)->architecture || has_architecture(gguf, (*kind)->architecture))
        return ATTN_OK;
    return attn_error_set(err, ATTN_UNSUPPORTED,
                          "'%s' is of the type '%s', which reads pictures for models of the "
                          "architecture '%s', and '%s' is of another",
                          path.text, (*kind)->name, (*kind)->architecture,
                          attn_quote_string(attn_gguf_path(gguf)).text);
}

/* Sets *id to the number of TOKEN in GGUF, and returns true; else to that of all tokens. */
static bool find_token(const struct attn_bundle *gguf, const char *token, size_t *id)
{
    struct attn_gguf_pair list;
    const char *text;
    size_t size;

    *id = 0;
    if (attn_gguf_get_array(gguf, "tokenizer.ggml.tokens", ATTN_GGUF_STRING, &list, NULL) ==
        ATTN_OK)
        for (; attn_gguf_next_text(&list, &text, &size); ++*id)
            if (is_text(text, size, token))
                return true;
    return false;
}

static struct attn_gguf_writing start(const struct attn_bundle *projector, const char *path,
                                      struct attn_buffer *json, struct attn_error *err)
{
    return (struct attn_gguf_writing){.gguf = projector,
                                      .prefix = is_projector(projector) ? "clip.vision" : INSIDE,
                                      .json = json,
                                      .err = err,
                                      .path = path};
}

/* Whether the tower of a LLaVA of KIND is SigLIP's. */
static bool is_siglip(const struct attn_bundle *projector, const struct kind *kind)
{
    return kind == &kinds[MLP] && !attn_gguf_tower_has_class(attn_gguf_files(projector));
}

/* Returns the name of the activation. Only SigLIP and Qwen have the form of GELU with tanh. For
 * SigLIP the script for LLaVA writes another one into the file, which is not read. */
static const char *find_activation(struct attn_gguf_writing *w, const struct kind *kind)
{
    const bool is_inside = !is_projector(w->gguf);
    bool is_gelu = is_inside, is_silu = false;

    if (w->status == ATTN_OK)
        w->status = attn_gguf_get_bool(w->gguf, "clip.use_gelu", &is_gelu, w->err);
    if (w->status == ATTN_OK)
        w->status = attn_gguf_get_bool(w->gguf, "clip.use_silu", &is_silu, w->err);
    if (is_siglip(w->gguf, kind) && !is_silu)
        return "gelu_pytorch_tanh";
    if (is_gelu && (kind == &kinds[MLP] || kind == &kinds[INTERNVL] || kind == &kinds[PIXTRAL]))
        return "gelu";
    return is_gelu ? "gelu_pytorch_tanh" : is_silu ? "silu" : "quick_gelu";
}

/* Returns the width of the MLP, which is that of its tensor: the key is wrong in Qwen2-VL. */
static size_t find_width(struct attn_gguf_writing *w)
{
    struct attn_tensor_entry up = {0};

    if (w->status == ATTN_OK &&
        !attn_tensor_files_find(attn_gguf_files(w->gguf), "v.blk.0.ffn_up.weight", &up) &&
        !attn_tensor_files_find(attn_gguf_files(w->gguf), "v.blk.0.mlp.fc1.weight", &up))
        w->status = attn_error_set(w->err, ATTN_FORMAT,
                                   "'v.blk.0.ffn_up.weight' is missing in '%s'", w->path);
    return w->status == ATTN_OK && up.tensor.rank == 2
               ? up.tensor.shape[attn_gguf_tower_exchanges(attn_gguf_files(w->gguf))]
               : 1;
}

/* Writes the numbers of the layers without windows: each WA-th. */
static void put_windows(struct attn_gguf_writing *w, size_t n_layer)
{
    const size_t every = attn_gguf_key_size(w, "n_wa_pattern", ATTN_MAX_LAYER, 0);

    attn_gguf_copy_size(w, "window_size", "window_size", ATTN_MAX_WIDTH, 112);
    attn_buffer_append_string(w->json, ",\n\"fullatt_block_indexes\": [");
    for (size_t layer = every - 1; layer < n_layer; layer += every)
        attn_buffer_append_format(w->json, "%s%zu", layer == every - 1 ? "" : ", ", layer);
    attn_buffer_append_char(w->json, ']');
}

/* Writes the number of learned positions, and the layers that DeepStack reads, of Qwen3-VL. */
static void put_deep(struct attn_gguf_writing *w, size_t n_layer)
{
    static const char key[] = "is_deepstack_layers";
    const size_t side = attn_gguf_key_size(w, "image_size", ATTN_MAX_WIDTH, 0) /
                        attn_gguf_key_size(w, "patch_size", ATTN_MAX_WIDTH, 0);
    struct attn_gguf_pair list = {0};
    int64_t is_deep;
    size_t layer = 0, n = 0;

    attn_gguf_put_size(w, "num_position_embeddings", side * side);
    attn_buffer_append_string(w->json, ",\n\"deepstack_visual_indexes\": [");
    if (w->status == ATTN_OK)
        w->status = attn_gguf_get_array(w->gguf, attn_gguf_full_key(w, key).text, ATTN_GGUF_BOOL,
                                        &list, w->err);
    for (; w->status == ATTN_OK && attn_gguf_next_int(&list, &is_deep); layer++)
        if (is_deep)
            attn_buffer_append_format(w->json, "%s%zu", n++ == 0 ? "" : ", ", layer);
    if (layer != n_layer)
        attn_gguf_refuse(w, ATTN_FORMAT, key, "has %zu layers, expected %zu", layer, n_layer);
    attn_buffer_append_char(w->json, ']');
}

/* Writes what only the tensors of InternVL's tower show. */
static void put_parts(struct attn_gguf_writing *w)
{
    attn_gguf_put_bool(w, "attention_bias", attn_gguf_has_tensor(w, "v.blk.0.attn_q.bias"));
    attn_gguf_put_bool(w, "use_mean_pooling", !attn_gguf_has_tensor(w, "v.post_ln.weight"));
    attn_gguf_put_bool(w, "use_qk_norm", attn_gguf_has_tensor(w, "v.blk.0.attn_q_norm.weight"));
    attn_buffer_append_format(w->json, ",\n\"norm_type\": \"%s\"",
                              attn_gguf_has_tensor(w, "v.blk.0.ln1.bias") ? "layer_norm"
                                                                          : "rms_norm");
}

/* Writes the keys of the tower, as TOWER reads them. */
static void put_tower(struct attn_gguf_writing *w, const struct kind *kind,
                      const struct attn_family *tower)
{
    const struct attn_config_names *names = tower->form.names;
    const size_t d = attn_gguf_key_size(w, "embedding_length", ATTN_MAX_WIDTH, 0);
    const size_t n_layer = attn_gguf_key_size(w, "block_count", ATTN_MAX_LAYER, 0);
    const size_t d_mlp = find_width(w);

    attn_buffer_append_string(w->json, ",\n\"vision_config\": {\"num_channels\": 3");
    attn_gguf_put_size(w, names->d_model, d);
    attn_gguf_put_size(w, names->n_layer, n_layer);
    attn_gguf_copy_size(w, names->n_head, "attention.head_count", ATTN_MAX_WIDTH, 0);
    attn_gguf_put_size(w, names->d_mlp, d_mlp);
    if (!names->d_mlp)
        attn_gguf_put_real(w, "mlp_ratio", attn_gguf_share_of(d_mlp, d));
    attn_gguf_copy_size(w, "image_size", "image_size", ATTN_MAX_WIDTH, 0);
    attn_gguf_copy_size(w, "patch_size", "patch_size", ATTN_MAX_WIDTH, 0);
    attn_gguf_copy_size(w, "spatial_merge_size", "spatial_merge_size", ATTN_MAX_LAYER, 2);
    attn_buffer_append_format(w->json, ",\n\"hidden_act\": \"%s\"", find_activation(w, kind));
    if (kind == &kinds[MLP] || kind == &kinds[PIXTRAL])
        attn_buffer_append_format(w->json, ",\n\"model_type\": \"%s\"",
                                  kind == &kinds[PIXTRAL]    ? "pixtral"
                                  : is_siglip(w->gguf, kind) ? "siglip_vision_model"
                                                             : "clip_vision_model");
    if (tower->form.eps_key)
        attn_gguf_put_real(
            w, tower->form.eps_key,
            attn_gguf_key_real(w, "attention.layer_norm_epsilon", 0, 1, 9.999999974752427e-07));
    if (kind == &kinds[QWEN2_5])
        put_windows(w, n_layer);
    if (kind == &kinds[QWEN3])
        put_deep(w, n_layer);
    if (kind == &kinds[INTERNVL])
        put_parts(w);
    attn_buffer_append_char(w->json, '}');
}

/* Whether PROJECTOR is of a LLaVA-NeXT, which has a row for the end of a line of tiles. */
static bool has_tiles(const struct attn_bundle *projector)
{
    return attn_tensor_files_find(attn_gguf_files(projector), "v.image_newline", NULL) &&
           attn_gguf_find_pair(projector, "clip.vision.image_grid_pinpoints", NULL);
}

/* Writes the sizes of pictures with tiles: pairs of height and width. */
static void put_grids(struct attn_gguf_writing *w)
{
    static const char key[] = "image_grid_pinpoints";
    struct attn_gguf_pair list = {0};
    int64_t size;
    size_t n = 0;

    if (w->status != ATTN_OK ||
        !attn_gguf_find_pair(w->gguf, attn_gguf_full_key(w, key).text, &list))
        return;
    if (!has_tiles(w->gguf))
        attn_gguf_refuse(w, ATTN_UNSUPPORTED, key,
                         "is there, and the row of line ends, 'v.image_newline', is not");
    attn_buffer_append_format(w->json, ",\n\"%s\": [", key);
    for (; attn_gguf_next_int(&list, &size); n++)
        attn_buffer_append_format(w->json, "%s%lld%s",
                                  n % 2 == 1 ? ", "
                                  : n == 0   ? "["
                                             : ", [",
                                  (long long)size, n % 2 == 0 ? "" : "]");
    attn_buffer_append_char(w->json, ']');
    if (n % 2 == 1)
        attn_gguf_refuse(w, ATTN_FORMAT, key, "has %zu numbers, expected pairs", n);
}

/* Writes which layer of a LLaVA's tower is read: the last of the file, unless a key has its number,
 * from 0 on, the input of the first. */
static void put_feature_layer(struct attn_gguf_writing *w)
{
    static const char key[] = "feature_layer";
    struct attn_gguf_pair list = {0};
    int64_t layer = (int64_t)attn_gguf_key_size(w, "block_count", ATTN_MAX_LAYER, 0);

    if (attn_gguf_find_pair(w->gguf, attn_gguf_full_key(w, key).text, &list) &&
        (!attn_gguf_next_int(&list, &layer) || list.n > 0 || layer < 0))
        attn_gguf_refuse(w, ATTN_UNSUPPORTED, key, "is not the number of one layer");
    put_grids(w);
    attn_buffer_append_format(w->json,
                              ",\n\"vision_feature_layer\": %lld,"
                              "\n\"vision_feature_select_strategy\": \"%s\"",
                              (long long)layer,
                              is_siglip(w->gguf, &kinds[MLP]) ? "full" : "default");
}

/* Writes what Pixtral's connector reads. */
static void put_pixtral(struct attn_gguf_writing *w)
{
    attn_buffer_append_string(
        w->json, ",\n\"vision_feature_layer\": -1,\n\"vision_feature_select_strategy\": \"full\"");
    attn_gguf_put_bool(w, "multimodal_projector_bias", attn_gguf_has_tensor(w, "mm.1.bias"));
    attn_gguf_copy_size(w, "spatial_merge_size", "spatial_merge_size", ATTN_MAX_LAYER, 1);
}

/* Writes how many patches make a cell, which is a key of the model. */
static void put_merge(struct attn_gguf_writing *w, const struct kind *kind)
{
    const size_t side = attn_gguf_key_size(w, "image_size", ATTN_MAX_WIDTH, 0);
    const size_t n = side / attn_gguf_key_size(w, "patch_size", ATTN_MAX_WIDTH, 0);
    size_t merge = 4, n_cell = 256;

    if (kind == &kinds[IDEFICS3])
        attn_gguf_copy_size(w, "scale_factor", "projector.scale_factor", ATTN_MAX_WIDTH, 0);
    if (kind == &kinds[INTERNVL])
        attn_gguf_put_real(w, "downsample_ratio",
                           attn_gguf_share_of(1, attn_gguf_key_size(w, "projector.scale_factor",
                                                                    ATTN_MAX_LAYER, 0)));
    if (kind != &kinds[GEMMA3])
        return;
    merge = attn_gguf_key_size(w, "projector.scale_factor", ATTN_MAX_WIDTH, merge);
    if (is_projector(w->gguf)) {
        n_cell = n / merge * (n / merge);
        if (n % merge != 0)
            attn_gguf_refuse(w, ATTN_FORMAT, "projector.scale_factor",
                             "is %zu, expected a divisor of %zu patches a side", merge, n);
    } else if (w->status == ATTN_OK) {
        w->status = attn_gguf_get_size(w->gguf, "gemma3.mm.tokens_per_image", &n_cell, w->err);
    }
    attn_gguf_put_size(w, "mm_tokens_per_image", n_cell);
}

/* Checks that the projector makes rows of the width of the model GGUF. */
static void check_rows(struct attn_gguf_writing *w, const struct attn_bundle *gguf)
{
    static const char key[] = "projection_dim";
    struct attn_tensor_entry embed = {0};
    const size_t d = attn_tensor_files_find(attn_gguf_files(gguf), "token_embd.weight", &embed) &&
                             embed.tensor.rank == 2
                         ? embed.tensor.shape[1]
                         : 0;
    const size_t n = is_projector(w->gguf) ? attn_gguf_key_size(w, key, ATTN_MAX_WIDTH, 0) : d;

    if (n != d)
        attn_gguf_refuse(w, ATTN_UNSUPPORTED, key, "is %zu, expected %zu, the width of '%s'", n, d,
                         attn_quote_string(attn_gguf_path(gguf)).text);
}

static enum attn_status write_config(const struct attn_bundle *gguf,
                                     const struct attn_bundle *projector, const char **type,
                                     struct attn_buffer *json, struct attn_error *err)
{
    const struct attn_quote path = attn_quote_string(attn_gguf_path(projector));
    struct attn_gguf_writing w = start(projector, path.text, json, err);
    const struct kind *kind;
    const char *name;
    size_t id;

    ATTN_TRY(check_kind(gguf, projector, &kind, err));
    check_rows(&w, gguf);
    name = kind == &kinds[MLP] && has_tiles(projector) ? "llava_next" : kind->type;
    if (kind == &kinds[IDEFICS3] && !find_token(gguf, "<|im_start|>", &id))
        name = "idefics3";
    if (kind == &kinds[PIXTRAL] &&
        !attn_tensor_files_find(attn_gguf_files(projector), "mm.patch_merger.weight", NULL))
        name = "llava";
    *type = kind->text_type;
    attn_buffer_append_format(json, "{\"model_type\": \"%s\"", name);
    /* The embedding of Gemma 3 has no row for the token, and its list may end before it. */
    if (find_token(gguf, kind->placeholder, &id) || id > 0)
        attn_gguf_put_size(&w, "image_token_id", id);
    put_merge(&w, kind);
    if (kind == &kinds[MLP])
        put_feature_layer(&w);
    if (kind == &kinds[PIXTRAL])
        put_pixtral(&w);
    put_tower(&w, kind, attn_family_find_part(name)->tower);
    return w.status;
}

/* --- Its pixels ------------------------------------------------------------------------------- */

/* Writes a number for each channel, if the file has them. */
static void put_channels(struct attn_gguf_writing *w, const char *key)
{
    struct attn_gguf_pair list = {0};
    double value;

    if (w->status != ATTN_OK || !attn_gguf_has_key(w, key))
        return;
    w->status =
        attn_gguf_get_array(w->gguf, attn_gguf_full_key(w, key).text, ATTN_GGUF_F32, &list, w->err);
    attn_buffer_append_format(w->json, ",\n\"%s\": [", key);
    for (size_t i = 0; w->status == ATTN_OK && attn_gguf_next_real(&list, &value) && i < 3; i++) {
        char text[ATTN_FLOAT_TEXT_SIZE];

        attn_buffer_append_format(w->json, "%s%.*s", i == 0 ? "" : ", ",
                                  (int)attn_format_float((float)value, text), text);
    }
    attn_buffer_append_char(w->json, ']');
}

enum attn_status attn_gguf_projector_write_steps(const struct attn_bundle *projector,
                                                 struct attn_buffer *json, struct attn_error *err)
{
    const struct attn_quote path = attn_quote_string(attn_gguf_path(projector));
    struct attn_gguf_writing w = start(projector, path.text, json, err);
    const char *name;
    size_t size;
    const struct kind *kind = find_kind(projector, &name, &size);
    const size_t side = attn_gguf_key_size(&w, "image_size", ATTN_MAX_WIDTH, 0);

    attn_buffer_append_string(json, "{\"do_resize\": true");
    put_channels(&w, "image_mean");
    put_channels(&w, "image_std");
    if (kind == &kinds[IDEFICS3]) {
        attn_buffer_append_format(
            json,
            ",\n\"size\": {\"longest_edge\": %zu},\n\"max_image_size\": {\"longest_edge\": %zu}",
            attn_gguf_key_size(&w, "preproc_image_size", ATTN_MAX_WIDTH, 4 * side), side);
    } else if (is_siglip(projector, kind) && !has_tiles(projector)) {
        attn_buffer_append_format(json,
                                  ",\n\"image_processor_type\": \"SiglipImageProcessor\","
                                  "\n\"size\": {\"height\": %zu, \"width\": %zu}",
                                  side, side);
    } else if (kind == &kinds[GEMMA3] || kind == &kinds[INTERNVL]) {
        attn_buffer_append_format(json, ",\n\"size\": {\"height\": %zu, \"width\": %zu}", side,
                                  side);
        if (kind == &kinds[INTERNVL]) {
            attn_gguf_copy_size(&w, "min_patches", "preproc_min_tiles", ATTN_MAX_LAYER, 1);
            attn_gguf_copy_size(&w, "max_patches", "preproc_max_tiles", ATTN_MAX_LAYER, 12);
        }
    } else if (kind == &kinds[PIXTRAL]) {
        attn_buffer_append_format(json, ",\n\"size\": {\"longest_edge\": %zu}", side);
    } else if (kind == &kinds[MLP]) {
        attn_buffer_append_format(
            json, ",\n\"size\": {\"shortest_edge\": %zu},\n\"crop_size\": %zu", side, side);
    } else {
        attn_gguf_copy_size(&w, "patch_size", "patch_size", side, 0);
        attn_gguf_copy_size(&w, "merge_size", "spatial_merge_size", ATTN_MAX_LAYER, 2);
        attn_gguf_put_size(
            &w, "min_pixels",
            attn_gguf_key_count(&w, "image_min_pixels", kind == &kinds[QWEN3] ? 65536 : 3136));
        attn_gguf_put_size(&w, "max_pixels",
                           attn_gguf_key_count(&w, "image_max_pixels",
                                               kind == &kinds[QWEN3] ? 16777216 : 12845056));
    }
    attn_buffer_append_string(json, "}\n");
    return w.status != ATTN_OK ? w.status : attn_buffer_check(json, err);
}

static const struct attn_decoder_part *part_at(size_t i)
{
    const struct attn_vision_family *family = attn_vision_family_at(i);

    return family ? &family->part : NULL;
}

const struct attn_tower_reader attn_picture_towers = {.part_at = part_at,
                                                      .read_config = attn_vision_family_read};
const struct attn_projector_reader attn_picture_projectors = {.is_file = is_file,
                                                              .is_projector = is_projector,
                                                              .find = find,
                                                              .write_config = write_config,
                                                              .naming = find_naming};
