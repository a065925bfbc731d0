/*
 * model_init.c - see model_init.h: reads draws as text, checks the options, makes the weights, and
 * writes the files. All tensors are allocated, and drawn group by group.
 *
 * A matrix in memory is [n_block][in][width], with a block for each head or one block, or it is
 * transposed, [out][in]. Numbers are drawn in the order of PyTorch's layers: nn.Linear holds [out,
 * in], and all heads in one layer. Other numbers are drawn in the order of memory, one matrix for
 * each head.
 */
#include "drawn/model_init.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/random.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/given.h"
#include "base/text/number.h"
#include "drawn/model_init_internal.h"
#include "formats/safetensors.h"
#include "model/config_fields.h"
#include "model/family.h"
#include "model/weights.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* --- Draws as text ---------------------------------------------------------------------------- */

static const char *const groups[] = {
#define GROUP_NAME(name, text) text,
    ATTN_DRAW_GROUP_MAP(GROUP_NAME)
#undef GROUP_NAME
};

static const char *const distributions[] = {
#define DISTRIBUTION_NAME(name, text) text,
    ATTN_DISTRIBUTION_MAP(DISTRIBUTION_NAME)
#undef DISTRIBUTION_NAME
};

/* Returns the index of the name TEXT [size] among NAMES [n]; n if it is not there. */
static int find(const char *const *names, int n, const char *text, size_t size)
{
    int i = 0;

    while (i < n && (strlen(names[i]) != size || memcmp(names[i], text, size) != 0))
        i++;
    return i;
}

static enum attn_status refuse(const char *text, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' draws nothing, expected GROUP=DIST[@SEED]",
                   attn_quote_string(text).text);
    attn_error_hint(err, "GROUP: embed, pos, heads, qkv, W_O, mlp, unembed; DIST: randn[:STD], "
                         "normal:MEAN:STD, rand, randperm, linear, gpt2");
    return ATTN_INVALID;
}

/* Parses the numbers after the name of a distribution, TEXT [size]: ":STD" of randn, which may be
 * missing, or ":MEAN:STD" of normal. */
static bool read_numbers(const char *text, size_t size, struct attn_draw *draw)
{
    const bool is_normal = draw->distribution == ATTN_DISTRIBUTION_NORMAL;
    const char *colon;

    if (size == 0)
        return !is_normal;
    text++, size--;
    if (is_normal) {
        colon = memchr(text, ':', size);
        if (!colon || !attn_parse_double(text, (size_t)(colon - text), &draw->mean))
            return false;
        size -= (size_t)(colon + 1 - text);
        text = colon + 1;
    }
    return (is_normal || draw->distribution == ATTN_DISTRIBUTION_RANDN) &&
           attn_parse_double(text, size, &draw->deviation) && draw->deviation > 0;
}

enum attn_status attn_draw_parse(const char *text, struct attn_draw *draw, struct attn_error *err)
{
    struct attn_draw parsed = {.deviation = 1};
    const char *name = text + strcspn(text, "="), *at;
    size_t size;
    int group = find(groups, ATTN_N_DRAW_GROUP, text, (size_t)(name - text)), distribution;

    if (group == ATTN_N_DRAW_GROUP || *name != '=')
        return refuse(text, err);
    size = strcspn(++name, ":@");
    distribution = find(distributions, ATTN_N_DISTRIBUTION, name, size);
    if (distribution == ATTN_N_DISTRIBUTION)
        return refuse(text, err);
    parsed.group = (enum attn_draw_group)group;
    parsed.distribution = (enum attn_distribution)distribution;
    at = name + size;
    size = strcspn(at, "@");
    if (!read_numbers(at, size, &parsed))
        return refuse(text, err);
    at += size;
    if (*at == '@') {
        parsed.has_seed = true;
        if (!attn_parse_uint(at + 1, strlen(at + 1), &parsed.seed))
            return refuse(text, err);
    }
    *draw = parsed;
    return ATTN_OK;
}

/* --- Weights ---------------------------------------------------------------------------------- */

/* A tensor that is drawn. */
struct made_weight {
    const struct attn_weight_spec *spec;
    float *data; /* owns; [n] */
    size_t n;
};

/* All tensors; initialize with = {0}, end with release_weights. */
struct made_weights {
    struct attn_weight_spec *specs; /* owns; [n], as attn_weights_describe returns them */
    struct made_weight *items;      /* owns; [n] */
    size_t n;
};

static const double gpt2_deviation = 0.02; /* initializer_range of GPT-2 */

enum {
    PIECE = 1 << 16,       /* numbers of a table that are drawn at a time; a multiple of 16 */
    MAX_DROPPED = 1 << 28, /* most numbers that are drawn and dropped; takes some seconds */
    MAX_PERMUTED = 1 << 24 /* largest n for which float32 holds each integer exactly */
};

struct drawer {
    const struct made_weights *weights;
    const struct attn_config *config;
    struct attn_random random;
    size_t n_embedding_row; /* number of rows to draw, at least n_vocab */
};

/* A matrix, or one head's part of it, and its bias. */
struct drawn_map {
    float *data;
    float *bias; /* [n_block * width]; NULL: it has none */
    size_t n_block, in, width;
    bool is_out_in;
    bool ends_branch; /* its output is added to the residual stream */
};

#define ATTN_DRAW_NONE ATTN_N_DRAW_GROUP /* norms are not drawn, buffers are not made */

/* The group that each part of the weights belongs to. */
static const enum attn_draw_group part_groups[] = {
#define PART_GROUP(id, group, need, is_so) [ATTN_PART_##id] = ATTN_DRAW_##group,
    ATTN_WEIGHT_PART_MAP(PART_GROUP)
#undef PART_GROUP
};

static bool is_vector(const struct made_weight *weight)
{
    return weight->spec->rule->kind == ATTN_WEIGHT_VECTOR || weight->spec->rank == 1;
}

static enum attn_status allocate_tensors(struct made_weights *weights, struct attn_error *err)
{
    ATTN_TRY(ATTN_ALLOC(weights->items, weights->n, err));
    for (size_t i = 0; i < weights->n; i++) {
        struct made_weight *weight = &weights->items[i];

        weight->spec = &weights->specs[i];
        weight->n = 1;
        for (int k = 0; k < weight->spec->rank; k++)
            if (!attn_checked_mul(weight->n, weight->spec->shape[k], &weight->n))
                return attn_error_no_memory(err);
        ATTN_TRY(ATTN_ALLOC(weight->data, weight->n, err));
    }
    return ATTN_OK;
}

static void release_weights(struct made_weights *weights)
{
    for (size_t i = 0; i < weights->n && weights->items; i++)
        attn_free(weights->items[i].data);
    attn_free(weights->items);
    attn_free(weights->specs);
    *weights = (struct made_weights){0};
}

static struct drawn_map map_of(const struct made_weight *weight, float *bias)
{
    const struct attn_weight_rule *rule = weight->spec->rule;
    const size_t *shape = weight->spec->shape;
    const size_t last = shape[weight->spec->rank - 1];
    struct drawn_map map = {.data = weight->data, .bias = bias, .n_block = 1};

    map.is_out_in = rule->kind == ATTN_WEIGHT_OUT_IN || rule->kind == ATTN_WEIGHT_QKV_HEADS;
    if (rule->kind == ATTN_WEIGHT_HEADS) {
        map.n_block = shape[0];
        map.in = shape[1];
        map.width = last;
    } else {
        map.in = map.is_out_in ? last : weight->n / last;
        map.width = weight->n / map.in;
    }
    map.ends_branch = rule->part == ATTN_PART_OUT_PROJ ||
                      (rule->part == ATTN_PART_MLP &&
                       rule->offset == offsetof(struct attn_block_weights, mlp_out.weight));
    return map;
}

/* Draws a matrix as nn.Linear does, [out, in] and then the bias, and stores the weights in the
 * order of memory. */
static enum attn_status draw_linear(struct drawer *drawer, const struct drawn_map *map,
                                    struct attn_error *err)
{
    const size_t in = map->in, width = map->width, out = map->n_block * width;
    float *drawn;

    if (map->is_out_in) {
        attn_random_fill_linear(&drawer->random, map->data, map->bias, out, in);
        return ATTN_OK;
    }
    ATTN_TRY(ATTN_NEW(drawn, attn_alloc_uninitialized(out * in, sizeof *drawn, err)));
    attn_random_fill_linear(&drawer->random, drawn, map->bias, out, in);
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++)
            map->data[(o / width * in + i) * width + o % width] = drawn[o * in + i];
    attn_free(drawn);
    return ATTN_OK;
}

static enum attn_status draw_permutation(struct drawer *drawer, float *data, size_t n,
                                         struct attn_error *err)
{
    size_t *order;

    if (n > MAX_PERMUTED)
        return attn_error_set(err, ATTN_INVALID,
                              "randperm draws %zu numbers, expected at most %d, which float32 "
                              "tells apart",
                              n, MAX_PERMUTED);
    ATTN_TRY(ATTN_NEW(order, attn_alloc_uninitialized(n, sizeof *order, err)));
    attn_random_permutation(&drawer->random, order, n);
    for (size_t i = 0; i < n; i++)
        data[i] = (float)order[i];
    attn_free(order);
    return ATTN_OK;
}

static enum attn_status draw_block(struct drawer *drawer, const struct attn_draw *draw, float *data,
                                   size_t n, bool ends_branch, struct attn_error *err)
{
    double deviation = draw->deviation;

    if (draw->distribution == ATTN_DISTRIBUTION_RANDPERM)
        return draw_permutation(drawer, data, n, err);
    if (draw->distribution == ATTN_DISTRIBUTION_RAND) {
        attn_random_fill_uniform(&drawer->random, data, n, 0, 1);
        return ATTN_OK;
    }
    if (draw->distribution == ATTN_DISTRIBUTION_GPT2)
        deviation = ends_branch ? gpt2_deviation / sqrt(2 * (double)drawer->config->n_layer)
                                : gpt2_deviation;
    attn_random_fill_normal(&drawer->random, data, n, (float)draw->mean, (float)deviation);
    return ATTN_OK;
}

static enum attn_status draw_map(struct drawer *drawer, const struct attn_draw *draw,
                                 const struct drawn_map *map, struct attn_error *err)
{
    const size_t n = map->in * map->width;

    if (draw->distribution == ATTN_DISTRIBUTION_LINEAR)
        return draw_linear(drawer, map, err);
    for (size_t i = 0; i < map->n_block; i++)
        ATTN_TRY(draw_block(drawer, draw, map->data + i * n, n, map->ends_branch, err));
    return ATTN_OK;
}

/* Draws the table of embeddings. More rows may be drawn than are kept, because the numbers of a
 * table depend on its length. Whole blocks of 16 numbers are drawn piece by piece into the same
 * memory. Only the last piece may have another size, because its end is drawn again
 * (base/random.h). A permutation is drawn as one piece. */
static enum attn_status draw_embedding(struct drawer *drawer, const struct attn_draw *draw,
                                       const struct made_weight *weight, struct attn_error *err)
{
    const size_t n = drawer->n_embedding_row * drawer->config->d_model;
    const bool is_whole = draw->distribution == ATTN_DISTRIBUTION_RANDPERM;
    const size_t room = is_whole || n < 2 * (size_t)PIECE ? n : 2 * (size_t)PIECE;
    float *drawn;
    enum attn_status status = ATTN_OK;

    ATTN_TRY(ATTN_NEW(drawn, attn_alloc_uninitialized(room, sizeof *drawn, err)));
    for (size_t at = 0, size; at < n && status == ATTN_OK; at += size) {
        size = n - at > room ? PIECE : n - at;
        status = draw_block(drawer, draw, drawn, size, false, err);
        if (status == ATTN_OK && at < weight->n)
            memcpy(weight->data + at, drawn,
                   (size < weight->n - at ? size : weight->n - at) * sizeof *drawn);
    }
    attn_free(drawn);
    return status;
}

/* Returns the bias of weight I, which is the next item of the list; NULL: it has none. */
static float *bias_of(const struct made_weights *weights, size_t i)
{
    const struct made_weight *next = &weights->items[i] + 1;

    return i + 1 < weights->n && is_vector(next) &&
                   part_groups[next->spec->rule->part] ==
                       part_groups[weights->items[i].spec->rule->part]
               ? next->data
               : NULL;
}

/* Draws W_Q, W_K and W_V, which begin at weight FIRST, head by head. */
static enum attn_status draw_heads(struct drawer *drawer, const struct attn_draw *draw,
                                   size_t first, struct attn_error *err)
{
    struct drawn_map maps[3];
    size_t n = 0;

    for (size_t i = first; n < 3; i++)
        if (!is_vector(&drawer->weights->items[i]))
            maps[n++] = map_of(&drawer->weights->items[i], bias_of(drawer->weights, i));
    for (size_t head = 0; head < drawer->config->n_head; head++)
        for (size_t i = 0; i < 3; i++) {
            struct drawn_map part = maps[i];

            if (head >= part.n_block)
                continue; /* there may be fewer heads of keys and values */
            part.n_block = 1;
            part.data += head * part.in * part.width;
            part.bias = part.bias ? part.bias + head * part.width : NULL;
            ATTN_TRY(draw_map(drawer, draw, &part, err));
        }
    return ATTN_OK;
}

static enum attn_status draw_group(struct drawer *drawer, const struct attn_draw *draw,
                                   struct attn_error *err)
{
    const bool is_by_head = draw->group == ATTN_DRAW_HEADS;
    const enum attn_draw_group group = is_by_head ? ATTN_DRAW_QKV : draw->group;

    if (draw->has_seed)
        attn_random_seed(&drawer->random, draw->seed);
    for (size_t i = 0; i < drawer->weights->n; i++) {
        const struct made_weight *weight = &drawer->weights->items[i];

        if (part_groups[weight->spec->rule->part] != group || is_vector(weight))
            continue;
        if (group == ATTN_DRAW_EMBED) {
            ATTN_TRY(draw_embedding(drawer, draw, weight, err));
        } else if (!is_by_head) {
            const struct drawn_map map = map_of(weight, bias_of(drawer->weights, i));

            ATTN_TRY(draw_map(drawer, draw, &map, err));
        } else if (weight->spec->rule->offset == offsetof(struct attn_block_weights, q.weight)) {
            ATTN_TRY(draw_heads(drawer, draw, i, err));
        }
    }
    return ATTN_OK;
}

static enum attn_status check_draw(const struct drawer *drawer, const struct attn_draw *draw,
                                   bool is_drawn[ATTN_N_DRAW_GROUP], struct attn_error *err)
{
    const enum attn_draw_group group = draw->group == ATTN_DRAW_HEADS ? ATTN_DRAW_QKV : draw->group;
    const char *name = groups[draw->group];
    const bool is_table = group == ATTN_DRAW_EMBED || group == ATTN_DRAW_POS;
    bool has_group = false, has_heads = false; /* W_Q, W_K and W_V have a matrix for each head */

    for (size_t i = 0; i < drawer->weights->n; i++) {
        const struct attn_weight_rule *rule = drawer->weights->items[i].spec->rule;

        has_group |= part_groups[rule->part] == group;
        has_heads |= rule->kind == ATTN_WEIGHT_HEADS;
    }
    if (!has_group)
        return attn_error_set(err, ATTN_INVALID, "'%s' is drawn, but the model has no such weights",
                              name);
    if (is_drawn[group])
        return attn_error_set(err, ATTN_INVALID, "the weights of '%s' are drawn twice", name);
    if (is_table && draw->distribution == ATTN_DISTRIBUTION_LINEAR)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' is a table without inputs, and linear needs their number, "
                              "expected another distribution",
                              name);
    if (draw->group == ATTN_DRAW_HEADS && !has_heads)
        return attn_error_set(err, ATTN_INVALID,
                              "model_type '%s' has q, k and v of all heads in one matrix, expected "
                              "'qkv' instead of 'heads'",
                              drawer->config->model_type);
    is_drawn[group] = true;
    return ATTN_OK;
}

/* Draws the groups that OPTIONS name, then the others. */
static enum attn_status draw_all(struct drawer *drawer, const struct attn_init_options *options,
                                 struct attn_error *err)
{
    /* True, because qkv draws the same weights. */
    bool is_drawn[ATTN_N_DRAW_GROUP] = {[ATTN_DRAW_HEADS] = true};

    for (size_t i = 0; i < options->n_draw; i++)
        ATTN_TRY(check_draw(drawer, &options->draws[i], is_drawn, err));
    for (size_t i = 0; i < options->n_draw; i++)
        ATTN_TRY(draw_group(drawer, &options->draws[i], err));
    for (int group = 0; group < ATTN_N_DRAW_GROUP; group++) {
        const struct attn_draw draw = {.group = (enum attn_draw_group)group,
                                       .distribution = ATTN_DISTRIBUTION_GPT2};

        if (!is_drawn[group])
            ATTN_TRY(draw_group(drawer, &draw, err));
    }
    return ATTN_OK;
}

/* Allocates the tensors of a model with CONFIG, and draws them as OPTIONS say. The caller releases
 * them, also after a failure. */
static enum attn_status draw_weights(struct made_weights *weights, const struct attn_config *config,
                                     bool with_biases, const struct attn_init_options *options,
                                     struct attn_error *err)
{
    const size_t n_kept = config->n_token, largest = n_kept + MAX_DROPPED / config->d_model;
    const size_t n_row = options->n_embedding_row > 0 ? options->n_embedding_row : n_kept;
    struct drawer drawer = {.weights = weights, .config = config, .n_embedding_row = n_row};

    ATTN_TRY(attn_weights_describe(config, with_biases, &weights->specs, &weights->n, err));
    ATTN_TRY(allocate_tensors(weights, err));
    for (size_t i = 0; i < weights->n && !attn_norm_adds_one(config->norm); i++) {
        const struct made_weight *weight = &weights->items[i];

        /* Weights of norms, as ln1.w and ln_1.weight, become 1; biases such as ln1.b stay 0. */
        if (part_groups[weight->spec->rule->part] == ATTN_DRAW_NONE &&
            strrchr(weight->spec->name, '.')[1] == 'w')
            for (size_t j = 0; j < weight->n; j++)
                weight->data[j] = 1;
    }
    if (n_row < n_kept)
        return attn_error_set(
            err, ATTN_INVALID,
            "embedding rows to draw are %zu, expected %zu or more, one for each token", n_row,
            n_kept);
    if (n_row > largest)
        return attn_error_set(err, ATTN_INVALID,
                              "embedding rows to draw are %zu, expected at most %zu, of which %zu "
                              "are kept",
                              n_row, largest, n_kept);
    attn_random_seed(&drawer.random, options->seed);
    return draw_all(&drawer, options, err);
}

/* --- Making a model --------------------------------------------------------------------------- */

struct attn_init {
    struct attn_buffer config;     /* the text of config.json */
    struct attn_buffer vocabulary; /* the text of vocab.json; empty: no vocabulary */
    struct made_weights weights;
};

/* The config that was made, parsed again. */
struct written_config {
    struct attn_buffer name; /* owns; the name of the config in messages */
    struct attn_json *json;  /* owns */
    struct attn_config config;
    struct attn_config_layers layers; /* owns */
    bool has_biases;
};

/* Parses the config as it will be when the directory is opened. In messages its name is the file
 * that it begins with, followed by the settings as a user types them. */
static enum attn_status read_config(const struct attn_init *init,
                                    const struct attn_init_options *options,
                                    struct written_config *written, struct attn_error *err)
{
    struct attn_file file = {.data = (const unsigned char *)init->config.data,
                             .size = init->config.size};
    struct attn_buffer *name = &written->name;

    if (options->config)
        attn_buffer_append_string(name, options->config);
    else if (options->n_setting == 0)
        attn_buffer_append_string(name, "the config");
    for (size_t i = 0; i < options->n_setting; i++)
        attn_buffer_append_format(name, "%s`set` %s", name->size > 0 ? " " : "",
                                  options->settings[i]);
    attn_buffer_append_char(name, '\0');
    ATTN_TRY(attn_buffer_check(name, err));
    file.path = name->data;
    ATTN_TRY(attn_json_parse_named(&file, attn_family_config_keys, &written->json, err));
    ATTN_TRY(attn_family_read_config(written->json, NULL, ATTN_TOWER_TEXT, &written->config,
                                     &written->layers, err));
    if (written->config.has_two_towers)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' is the config of two towers, and one model is made: expected "
                              "model_type 'clip_text_model' or 'clip_vision_model'",
                              attn_quote_string(file.path).text);
    return attn_json_get_bool(written->json, attn_json_root(written->json), "bias",
                              &written->has_biases, err);
}

static enum attn_status write_vocabulary(struct attn_init *init, const struct attn_word_list *words,
                                         const struct attn_config *config, struct attn_error *err)
{
    struct attn_buffer *out = &init->vocabulary;

    if (!words)
        return ATTN_OK;
    if (words->n > config->n_token)
        return attn_error_set(err, ATTN_INVALID,
                              "the config has room for %zu tokens, expected %zu or more: the "
                              "vocabulary has that many words",
                              config->n_token, words->n);
    attn_buffer_append_string(out, "{\n");
    for (size_t id = 0; id < words->n; id++) {
        attn_buffer_append_string(out, "  ");
        attn_json_append_string(out, words->words[id].text, words->words[id].size);
        attn_buffer_append_format(out, ": %zu%s\n", id, id + 1 < words->n ? "," : "");
    }
    attn_buffer_append_string(out, "}\n");
    return attn_buffer_check(out, err);
}

/* Makes the model in MADE, and its parsed config in WRITTEN. The caller releases both, also after a
 * failure. */
static enum attn_status make(const struct attn_init_options *options, struct attn_init *made,
                             struct written_config *written, struct attn_error *err)
{
    enum attn_status status;

    ATTN_TRY(attn_init_config_write(&made->config, options, err));
    status = read_config(made, options, written, err);
    if (status == ATTN_FORMAT && options->n_setting == 0)
        attn_error_hint(err, "`set KEY=VALUE` says what the config lacks");
    ATTN_TRY(status);
    ATTN_TRY(write_vocabulary(made, options->words, &written->config, err));
    return draw_weights(&made->weights, &written->config, written->has_biases, options, err);
}

enum attn_status attn_init_create(const struct attn_init_options *given, struct attn_init **init,
                                  struct attn_error *err)
{
    struct attn_init_options options = ATTN_INIT_OPTIONS_DEFAULT;
    struct written_config written = {.json = NULL};
    enum attn_status status;
    struct attn_init *made;

    ATTN_TRY(attn_options_read(given, &options, err));
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    status = make(&options, made, &written, err);
    attn_json_free(written.json);
    attn_buffer_release(&written.name);
    attn_config_release(&written.config, &written.layers);
    ATTN_RETURN_MADE(status, init, made, attn_init_free);
}

void attn_init_free(struct attn_init *init)
{
    if (!init)
        return;
    attn_buffer_release(&init->config);
    attn_buffer_release(&init->vocabulary);
    release_weights(&init->weights);
    attn_free(init);
}

/* --- Writing the directory -------------------------------------------------------------------- */

/* The files in the order in which they are written. The config is the last: without it a directory
 * is no model. */
enum { VOCABULARY, WEIGHTS, CONFIG, N_FILE };

/* A file that is being written. */
struct init_file {
    char *path;             /* owns */
    struct attn_sink *sink; /* owns; NULL: the file is left out */
    bool is_in_place;
};

/* An attn_os_list function. Ends at the first name. */
static bool see_name(void *user, const char *name)
{
    (void)name;
    *(bool *)user = false;
    return false;
}

/* Creates the directory PATH, or checks that it is empty. *is_new: it was created. */
static enum attn_status open_directory(const char *path, bool *is_new, struct attn_error *err)
{
    struct attn_os_info info;
    bool is_empty = true;

    *is_new = attn_os_make_folder(path) == 0;
    if (*is_new)
        return ATTN_OK;
    if (errno != EEXIST || attn_os_stat(path, &info) != 0)
        return attn_error_errno(err, "make directory", path, errno);
    if (info.kind != ATTN_OS_FOLDER)
        return attn_error_set(err, ATTN_IO, "'%s' is a file, expected an empty directory or none",
                              attn_quote_string(path).text);
    if (attn_os_list(path, see_name, &is_empty) != 0)
        return attn_error_errno(err, "open directory", path, errno);
    if (is_empty)
        return ATTN_OK;
    return attn_error_set(err, ATTN_IO, "'%s' is not empty, expected an empty directory or none",
                          attn_quote_string(path).text);
}

static enum attn_status write_weights(struct attn_sink *sink, const struct made_weights *weights,
                                      struct attn_error *err)
{
    struct attn_written_tensor *tensors;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(tensors, weights->n, err));
    for (size_t i = 0; i < weights->n; i++) {
        const struct attn_weight_spec *spec = weights->items[i].spec;

        tensors[i] = (struct attn_written_tensor){.name = spec->name,
                                                  .tensor = {.data = weights->items[i].data,
                                                             .dtype = ATTN_DTYPE_F32,
                                                             .rank = spec->rank}};
        memcpy(tensors[i].tensor.shape, spec->shape, sizeof spec->shape);
    }
    status = attn_safetensors_write(sink, tensors, weights->n, err);
    attn_free(tensors);
    return status;
}

/* Writes file number I to a temporary file beside its final place. */
static enum attn_status write_file(const struct attn_init *init, const char *directory, int i,
                                   struct init_file *file, struct attn_error *err)
{
    static const char *const names[N_FILE] = {"vocab.json", "model.safetensors", "config.json"};
    const struct attn_buffer *text = i == CONFIG ? &init->config : &init->vocabulary;
    struct attn_buffer path = {0};

    if (i == VOCABULARY && init->vocabulary.size == 0)
        return ATTN_OK;
    attn_buffer_append_format(&path, "%s/%s", directory, names[i]);
    (void)attn_buffer_string(&path);
    file->path = path.data;
    ATTN_TRY(attn_buffer_check(&path, err));
    ATTN_TRY(attn_sink_create_file_in(directory, names[i], &file->sink, err));
    if (i == WEIGHTS)
        ATTN_TRY(write_weights(file->sink, &init->weights, err));
    else
        attn_sink_write(file->sink, text->data, text->size);
    return attn_sink_check(file->sink, err);
}

/* Writes FILES and moves them to their final places. The caller releases them, even on failure. */
static enum attn_status write_files(const struct attn_init *init, const char *directory,
                                    struct init_file files[N_FILE], struct attn_error *err)
{
    for (int i = 0; i < N_FILE; i++)
        ATTN_TRY(write_file(init, directory, i, &files[i], err));
    for (int i = 0; i < N_FILE; i++)
        if (files[i].sink) {
            ATTN_TRY(attn_sink_commit(files[i].sink, err));
            files[i].is_in_place = true;
        }
    return ATTN_OK;
}

enum attn_status attn_init_write(const struct attn_init *init, const char *directory,
                                 struct attn_error *err)
{
    struct init_file files[N_FILE] = {{NULL, NULL, false}};
    bool is_new = false;
    enum attn_status status;

    ATTN_TRY(open_directory(directory, &is_new, err));
    status = write_files(init, directory, files, err);
    for (int i = 0; i < N_FILE; i++) {
        attn_sink_free(files[i].sink);
        if (status != ATTN_OK && files[i].is_in_place)
            attn_os_remove(files[i].path);
        attn_free(files[i].path);
    }
    if (status != ATTN_OK && is_new)
        attn_os_remove_folder(directory);
    return status;
}
