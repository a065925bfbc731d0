/* site.c - the table of sites, and lists of them read from text. */
#include "trace/trace_internal.h"

#include "base/status_internal.h"
#include "base/text/edit_distance.h"
#include "base/text/fixed_text.h"
#include "base/text/given.h"
#include "base/text/glob.h"
#include "base/text/list.h"
#include "trace/blocks_internal.h"

#include <stdio.h>
#include <string.h>

enum scope {
    SCOPE_MODEL,
    SCOPE_LAYER,
    SCOPE_DERIVED,
    SCOPE_DERIVED_OF_MODEL,
    SCOPE_GRADIENT_OF_MODEL,
    SCOPE_GRADIENT_OF_LAYER
};

static const struct {
    const char *name, *archive_name, *shape;
    enum scope scope;
    enum attn_site_layout layout;
} sites[ATTN_N_SITE] = {
#define SITE_ROW(id, number, name, archive, scope, layout, shape)                                  \
    [ATTN_SITE_##id] = {name, archive, shape, SCOPE_##scope, ATTN_LAYOUT_##layout},
    ATTN_SITE_MAP(SITE_ROW)
#undef SITE_ROW
};

_Static_assert(ATTN_N_SITE <= 128, "struct attn_site_set has a bit for each");

const enum attn_site attn_site_order[ATTN_N_SITE] = {
#define SITE_PLACE(id, ...) ATTN_SITE_##id,
    ATTN_SITE_MAP(SITE_PLACE)
#undef SITE_PLACE
};

enum place {
#define SITE_PLACE_NUMBER(id, ...) PLACE_##id,
    ATTN_SITE_MAP(SITE_PLACE_NUMBER)
#undef SITE_PLACE_NUMBER
};

static const unsigned char places[ATTN_N_SITE] = {
#define SITE_ITS_PLACE(id, ...) [ATTN_SITE_##id] = PLACE_##id,
    ATTN_SITE_MAP(SITE_ITS_PLACE)
#undef SITE_ITS_PLACE
};

static const struct {
    enum attn_site site, gradient;
} gradients[] = {
#define SITE_GRADIENT(nothing, id, ...) {ATTN_SITE_##id, ATTN_SITE_##id##_GRAD},
    ATTN_GRADIENT_SITE_MAP(SITE_GRADIENT, )
#undef SITE_GRADIENT
};

static const struct {
    const char *name;
    enum attn_site site;
} aliases[] = {
    {"attention", ATTN_SITE_PATTERN}, {"context", ATTN_SITE_Z}, {"mixing", ATTN_SITE_MIXING_BAND}};

int attn_site_index(enum attn_site site)
{
    return places[site];
}

bool attn_site_is_before(enum attn_site a, enum attn_site b)
{
    return places[a] < places[b];
}

const char *attn_site_name(enum attn_site site)
{
    return (unsigned)site < ATTN_N_SITE ? sites[site].name : NULL;
}

const char *attn_site_shape_text(enum attn_site site)
{
    return sites[site].shape;
}

enum attn_site_layout attn_site_layout(enum attn_site site)
{
    return (unsigned)site < ATTN_N_SITE ? sites[site].layout : ATTN_LAYOUT_VECTOR;
}

bool attn_site_is_in_layer(enum attn_site site)
{
    return (unsigned)site < ATTN_N_SITE && sites[site].scope != SCOPE_MODEL &&
           sites[site].scope != SCOPE_DERIVED_OF_MODEL &&
           sites[site].scope != SCOPE_GRADIENT_OF_MODEL;
}

bool attn_site_is_of_metric(enum attn_site site)
{
    if ((unsigned)site >= ATTN_N_SITE)
        return false;
    return sites[site].scope == SCOPE_GRADIENT_OF_MODEL ||
           sites[site].scope == SCOPE_GRADIENT_OF_LAYER || site == ATTN_SITE_PATTERN_X_GRAD ||
           site == ATTN_SITE_RELEVANCE || site == ATTN_SITE_RELEVANCE_NORM;
}

bool attn_site_has_heads(enum attn_site site)
{
    return sites[site].layout != ATTN_LAYOUT_VECTOR && sites[site].layout != ATTN_LAYOUT_PAIRS;
}

bool attn_site_has_keys(enum attn_site site)
{
    return sites[site].layout == ATTN_LAYOUT_MATRIX || sites[site].layout == ATTN_LAYOUT_PAIRS;
}

bool attn_site_has_key_rows(enum attn_site site)
{
    return sites[site].layout == ATTN_LAYOUT_KEY || site == ATTN_SITE_RECEIVED;
}

bool attn_site_has_first_key(enum attn_site site)
{
    return attn_site_has_keys(site) && site != ATTN_SITE_CONTACTS;
}

enum attn_value_range attn_site_range(enum attn_site site)
{
    switch (site) {
    case ATTN_SITE_PATTERN:
    case ATTN_SITE_PATTERN_DROPPED:
    case ATTN_SITE_PATTERN_LOWRANK:
    case ATTN_SITE_POOL_PATTERN:
    case ATTN_SITE_ROLLOUT:
    case ATTN_SITE_VALUE_ZEROING:
    case ATTN_SITE_CONTACTS:
    case ATTN_SITE_RELEVANCE_NORM:
    case ATTN_SITE_SINK:
    case ATTN_SITE_EXPERT_WEIGHTS:
        return ATTN_RANGE_SHARE;
    case ATTN_SITE_WEIGHTED_PATTERN:
    case ATTN_SITE_RELEVANCE:
    case ATTN_SITE_MIXING_NORM:
    case ATTN_SITE_RECEIVED:
        return ATTN_RANGE_POSITIVE;
    default:
        return ATTN_RANGE_SIGNED;
    }
}

struct attn_site_set attn_sites_derived(void)
{
    struct attn_site_set derived = {0};

    for (int i = 0; i < ATTN_N_SITE; i++)
        if (sites[i].scope != SCOPE_MODEL && sites[i].scope != SCOPE_LAYER)
            attn_sites_add(&derived, i);
    return derived;
}

struct attn_site_set attn_sites_gradients_of(struct attn_site_set of)
{
    struct attn_site_set set = {0};

    for (size_t i = 0; i < sizeof gradients / sizeof *gradients; i++)
        if (attn_sites_have(of, gradients[i].site))
            attn_sites_add(&set, gradients[i].gradient);
    return set;
}

struct attn_site_set attn_sites_of_metric(void)
{
    struct attn_site_set set = {0};

    for (int i = 0; i < ATTN_N_SITE; i++)
        if (attn_site_is_of_metric((enum attn_site)i))
            attn_sites_add(&set, i);
    return set;
}

struct attn_site_set attn_sites_of_metric_in(struct attn_site_set of)
{
    return attn_sites_join(
        attn_sites_without(attn_sites_of_metric(), attn_sites_gradients_of(attn_sites_all())),
        attn_sites_gradients_of(of));
}

bool attn_site_is_of_image(enum attn_site site)
{
    return attn_site_is_map(site) || site == ATTN_SITE_PIXEL_VALUES ||
           site == ATTN_SITE_PIXEL_VALUES_GRAD;
}

void attn_site_image_size(enum attn_site site, const struct attn_picture_dims *image,
                          size_t size[2])
{
    const size_t n_row = image->n_row, n_col = image->n_col;

    if (site == ATTN_SITE_PICTURE_MAP)
        size[0] = n_row, size[1] = n_col;
    else if (site == ATTN_SITE_PICTURE_MAP_TILES)
        size[0] = image->grid_rows, size[1] = image->grid_cols;
    else
        size[0] = (size_t)ATTN_PICTURE_N_CHANNEL * image->n * image->height, size[1] = image->width;
}

/* Sets the rows and columns of SITE, if it is about the pictures in a prompt. Numbers of several
 * images that have a tensor each are one column. */
static bool find_picture_size(enum attn_site site, const struct attn_dims *dims, size_t size[2])
{
    const bool is_of_cells =
        attn_sites_have(ATTN_SITES(ATTN_SITE_DEEPSTACK, ATTN_SITE_DEEPSTACK_GRAD,
                                   ATTN_SITE_IMAGE_FEATURES, ATTN_SITE_IMAGE_FEATURES_GRAD),
                        site);
    size_t of_image[2];

    if (!is_of_cells && !attn_site_is_of_image(site))
        return false;
    if (!is_of_cells && attn_dims_n_image(dims) < 2) {
        attn_site_image_size(site, &dims->picture, size);
        return true;
    }
    size[0] = 0, size[1] = is_of_cells ? dims->d_model : 1;
    for (size_t i = 0; i < attn_dims_n_image(dims); i++) {
        const struct attn_picture_dims *image = attn_dims_image(dims, i);

        attn_site_image_size(site, image, of_image);
        size[0] += is_of_cells ? (size_t)image->n * image->n_row * image->n_col
                               : of_image[0] * of_image[1];
    }
    if (is_of_cells && dims->images && dims->images->n_row > 0)
        size[0] = dims->images->n_row;
    return true;
}

size_t attn_site_n_own_row(enum attn_site site, const struct attn_dims *dims)
{
    size_t size[2] = {0, 0};

    find_picture_size(site, dims, size);
    return size[0];
}

bool attn_site_has_own_rows(enum attn_site site)
{
    size_t size[2];

    return find_picture_size(site, &(struct attn_dims){0}, size);
}

size_t attn_site_width(enum attn_site site, const struct attn_dims *dims)
{
    size_t size[2];

    if (find_picture_size(site, dims, size))
        return size[1];
    const char *space = strrchr(sites[site].shape, ' ');
    const char *last = space ? space + 1 : sites[site].shape;

    switch (last[0]) {
    case 'd':
        if (!dims->mixer)
            return 0;
        return last[1] == 'k' ? attn_mixer_n_query_head(dims->mixer) * dims->mixer->d_key
                              : dims->mixer->n_head * dims->mixer->d_value;
    case 't':
        return dims->mixer ? dims->mixer->n_tap : 0;
    case 'H':
        if (last[1] == 'v')
            return dims->n_head * (dims->gates_heads ? 1 : dims->d_value);
        return dims->mixer ? dims->mixer->n_head : 0;
    case 'M':
        return dims->d_projected;
    case 'L':
        return dims->d_pooled;
    case 'N':
        return dims->n_expert;
    case 'K':
        return dims->n_expert_used;
    case 'T':
        return 1;
    case 'S':
        return sites[site].layout == ATTN_LAYOUT_HEADS ? 1 : dims->n_position;
    case 'R':
        return dims->n_rank;
    case 'E':
        return last[1] == 'v' ? dims->d_value : dims->d_head;
    case 'D':
        if (last[1] == 'p')
            return dims->layers ? dims->layers[0].d_input : 0;
        if (last[1] == 'o' && dims->d_out > 0)
            return dims->d_out;
        return last[1] == 'e' && dims->d_embed > 0 ? dims->d_embed : dims->d_model;
    case 'F':
        return dims->d_mlp;
    case 'V':
        return dims->n_vocab;
    default:
        return dims->d_model;
    }
}

size_t attn_site_n_mixing_head(enum attn_site site, const struct attn_dims *dims)
{
    if (!dims->mixer || dims->mixer->kind == ATTN_MIXER_CONV ||
        sites[site].layout != ATTN_LAYOUT_VECTOR || !strstr(sites[site].shape, " Hm"))
        return 0;
    return strstr(sites[site].shape, " dk") ? attn_mixer_n_query_head(dims->mixer)
                                            : dims->mixer->n_head;
}

size_t attn_site_first_row(enum attn_site site, const struct attn_dims *dims)
{
    if (site == ATTN_SITE_CONTACTS)
        return 1;
    return site == ATTN_SITE_EMBED || site == ATTN_SITE_EMBED_GRAD ? dims->n_front : 0;
}

size_t attn_site_end_row(enum attn_site site, const struct attn_dims *dims)
{
    return dims->n_position - (site == ATTN_SITE_CONTACTS && dims->n_position > 0);
}

size_t attn_site_n_column(enum attn_site site, const struct attn_dims *dims, int layer)
{
    if (site == ATTN_SITE_CONTACTS)
        return dims->n_position > 2 ? dims->n_position - 2 : 0;
    return attn_site_has_keys(site) ? attn_site_n_key(dims, layer) : attn_site_width(site, dims);
}

bool attn_site_is_pooled(enum attn_site site, const struct attn_dims *dims)
{
    const bool is_pooled =
        site == ATTN_SITE_LOGITS || site == ATTN_SITE_LOGITS_GRAD ||
        (!dims->pools_heads && (site == ATTN_SITE_POOLED || site == ATTN_SITE_POOLED_GRAD));

    return site == ATTN_SITE_POOL_Q || site == ATTN_SITE_POOL_QK ||
           site == ATTN_SITE_POOL_ATTN_SCORES || site == ATTN_SITE_POOL_PATTERN ||
           site == ATTN_SITE_POOL_Z || site == ATTN_SITE_TEXT_EMBED ||
           site == ATTN_SITE_IMAGE_EMBED || site == ATTN_SITE_SENTENCE_EMBED ||
           site == ATTN_SITE_TEXT_EMBED_GRAD || site == ATTN_SITE_IMAGE_EMBED_GRAD ||
           site == ATTN_SITE_SENTENCE_EMBED_GRAD || (is_pooled && dims->is_pooled);
}

size_t attn_site_n_head(enum attn_site site, const struct attn_dims *dims)
{
    if (!attn_site_has_heads(site))
        return 1;
    if (site == ATTN_SITE_MIXING || site == ATTN_SITE_MIXING_NORM)
        return dims->mixer ? dims->mixer->n_head : 1;
    if (site == ATTN_SITE_MIXING_BAND)
        return dims->d_model;
    return sites[site].layout == ATTN_LAYOUT_KEY ? dims->n_kv_head : dims->n_head;
}

enum attn_site attn_site_of_scores(const struct attn_dims *dims, enum attn_site_layout layout)
{
    const bool is_turned = attn_sites_have(dims->sites, ATTN_SITE_ROT_Q);

    if (layout == ATTN_LAYOUT_QUERY)
        return is_turned ? ATTN_SITE_ROT_Q : ATTN_SITE_Q;
    return is_turned ? ATTN_SITE_ROT_K : ATTN_SITE_K;
}

enum attn_site attn_site_of_output(const struct attn_dims *dims)
{
    return attn_sites_have(dims->sites, ATTN_SITE_NORMALIZED_RESID_POST)
               ? ATTN_SITE_NORMALIZED_RESID_POST
               : ATTN_SITE_RESID_POST;
}

enum attn_site attn_site_of_layer_output(const struct attn_dims *dims, int layer)
{
    const enum attn_site site = attn_site_of_output(dims);

    if (!dims->has_pairs || layer % 2 == 1)
        return site;
    return site == ATTN_SITE_RESID_POST ? ATTN_SITE_RESID_MID : ATTN_SITE_NORMALIZED_RESID_MID;
}

bool attn_site_is_lacking(const struct attn_dims *dims, enum attn_site site, int layer)
{
    return dims->lacking && layer >= 0 && (size_t)layer < dims->n_layer &&
           attn_sites_have(dims->lacking[layer], site);
}

size_t attn_site_n_key(const struct attn_dims *dims, int layer)
{
    return dims->is_cross && layer >= 0 && dims->is_cross[layer] ? dims->n_source
                                                                 : dims->n_position;
}

/* Returns the site whose gradient SITE is; SITE itself if it is no gradient. */
static enum attn_site base_of(enum attn_site site)
{
    for (size_t i = 0; i < sizeof gradients / sizeof *gradients; i++)
        if (gradients[i].gradient == site)
            return gradients[i].site;
    return site;
}

/* Writes and returns the archive name of SITE in the attention of a layer to a source. */
static const char *cross_name(enum attn_site site, char name[ATTN_SITE_ARCHIVE_NAME_SIZE])
{
    const char *own = sites[site].archive_name;

    if (strncmp(own, "attn.", 5) == 0)
        snprintf(name, ATTN_SITE_ARCHIVE_NAME_SIZE, "cross_%s", own);
    else if (site == ATTN_SITE_ATTN_OUT)
        snprintf(name, ATTN_SITE_ARCHIVE_NAME_SIZE, "hook_cross_attn_out");
    else
        snprintf(name, ATTN_SITE_ARCHIVE_NAME_SIZE, "%s_cross", own);
    return name;
}

size_t attn_location_archive_name(const struct attn_location *at,
                                  char name[ATTN_SITE_ARCHIVE_NAME_SIZE])
{
    char own[ATTN_SITE_ARCHIVE_NAME_SIZE];

    if (!at || !name)
        return 0;
    const enum attn_site site = at->site, base = base_of(site);
    const char *named = sites[site].archive_name;
    const char *prefix = attn_stack_is_encoder(at->stack)
                             ? attn_model_stack_name(at->stack)
                             : attn_model_stack_name(ATTN_STACK_DECODER);
    struct attn_location of_base = *at;
    size_t n;

    if (at->stack == ATTN_STACK_ONLY)
        return attn_site_archive_name(site, at->layer, name);
    if (base != site) {
        of_base.site = base;
        n = attn_location_archive_name(&of_base, name);
        return n + (size_t)snprintf(name + n, ATTN_SITE_ARCHIVE_NAME_SIZE - n, "_grad");
    }
    if (at->stack == ATTN_STACK_CROSS)
        named = cross_name(site, own);
    if (attn_site_is_in_layer(site))
        return (size_t)snprintf(name, ATTN_SITE_ARCHIVE_NAME_SIZE, "%s.%d.%s", prefix, at->layer,
                                named);
    if (site == ATTN_SITE_EMBED && at->stack != ATTN_STACK_ENCODER)
        return (size_t)snprintf(name, ATTN_SITE_ARCHIVE_NAME_SIZE, "%s.%s", prefix, named);
    if (site == ATTN_SITE_LN_FINAL)
        return (size_t)snprintf(name, ATTN_SITE_ARCHIVE_NAME_SIZE, "%s_final_ln.hook_normalized",
                                prefix);
    return attn_site_archive_name(site, ATTN_NO_LAYER, name);
}

size_t attn_site_archive_name(enum attn_site site, int layer,
                              char name[ATTN_SITE_ARCHIVE_NAME_SIZE])
{
    int n = 0;

    if (name)
        name[0] = '\0';
    if (!name || (unsigned)site >= ATTN_N_SITE)
        return 0;
    if (attn_site_is_in_layer(site))
        n = snprintf(name, ATTN_SITE_ARCHIVE_NAME_SIZE, "blocks.%d.%s", layer,
                     sites[site].archive_name);
    else
        n = snprintf(name, ATTN_SITE_ARCHIVE_NAME_SIZE, "%s", sites[site].archive_name);
    return (size_t)n;
}

const char *attn_location_other_archive_name(const struct attn_location *at,
                                             char name[ATTN_SITE_ARCHIVE_NAME_SIZE])
{
    const char *named = at->site == ATTN_SITE_RESID_PRE    ? "hook_in"
                        : at->site == ATTN_SITE_RESID_POST ? "hook_out"
                        : at->site == ATTN_SITE_ATTN_OUT   ? "attn.hook_out"
                        : at->site == ATTN_SITE_MLP_OUT    ? "mlp.hook_out"
                                                           : NULL;

    if (!named || at->stack != ATTN_STACK_ONLY)
        return NULL;
    snprintf(name, ATTN_SITE_ARCHIVE_NAME_SIZE, "blocks.%d.%s", at->layer, named);
    return name;
}

struct attn_site_set attn_sites_match(const char *item, size_t size)
{
    struct attn_site_set found = {0};

    for (int i = 0; i < ATTN_N_SITE; i++)
        if (attn_glob_matches(item, size, sites[i].name))
            attn_sites_add(&found, i);
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (attn_glob_matches(item, size, aliases[i].name))
            attn_sites_add(&found, aliases[i].site);
    const struct attn_site_set computed = attn_sites_without(found, attn_sites_derived());
    return attn_sites_are_empty(computed) ? found : computed;
}

/* Names that other libraries use for a site. They are not accepted: the hint of the error gives our
 * name. */
static const struct {
    const char *name;
    enum attn_site site;
} other_names[] = {
    {"attn", ATTN_SITE_PATTERN},
    {"attentions", ATTN_SITE_PATTERN},
    {"attention_weights", ATTN_SITE_PATTERN},
    {"attn_weights", ATTN_SITE_PATTERN},
    {"hook_pattern", ATTN_SITE_PATTERN},
    {"scores", ATTN_SITE_ATTN_SCORES},
    {"attention_scores", ATTN_SITE_ATTN_SCORES},
    {"query", ATTN_SITE_Q},
    {"queries", ATTN_SITE_Q},
    {"key", ATTN_SITE_K},
    {"keys", ATTN_SITE_K},
    {"value", ATTN_SITE_V},
    {"values", ATTN_SITE_V},
    {"hook_z", ATTN_SITE_Z},
    {"attn_output", ATTN_SITE_ATTN_OUT},
    {"attention_output", ATTN_SITE_ATTN_OUT},
    {"mlp", ATTN_SITE_MLP_OUT},
    {"mlp_output", ATTN_SITE_MLP_OUT},
    {"neurons", ATTN_SITE_MLP_POST},
    {"hidden_states", ATTN_SITE_RESID_PRE},
    {"residual", ATTN_SITE_RESID_PRE},
    {"hook_in", ATTN_SITE_RESID_PRE},
    {"hook_out", ATTN_SITE_RESID_POST},
    {"embedding", ATTN_SITE_EMBED},
    {"embeddings", ATTN_SITE_EMBED},
};

static enum attn_status report_unknown(const char *item, size_t size, struct attn_error *err)
{
    struct attn_typo typo = {.typed = item, .size = size};
    char known[800] = "";
    size_t used = 0;

    for (int i = 0; i < ATTN_N_SITE; i++)
        if (sites[attn_site_order[i]].scope < SCOPE_GRADIENT_OF_MODEL)
            attn_fixed_text_append(known, sizeof known, &used, "%s%s", i == 0 ? "" : ",",
                                   sites[attn_site_order[i]].name);
    for (int i = 0; i < ATTN_N_SITE; i++)
        attn_typo_try(&typo, sites[i].name);
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        attn_typo_try(&typo, aliases[i].name);
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        attn_typo_try_as(&typo, other_names[i].name, sites[other_names[i].site].name);
    attn_error_set(err, ATTN_INVALID, "unknown site '%s', known are %s, NAME_grad",
                   attn_quote(item, size).text, known);
    if (size == 3 && memcmp(item, "all", size) == 0)
        attn_error_hint(err, "'*' stands for all sites");
    else if (attn_typo_meant(&typo))
        attn_error_hint(err, "did you mean '%s'?", attn_typo_meant(&typo));
    return ATTN_INVALID;
}

enum attn_status attn_sites_parse(const char *list, struct attn_site_set *result,
                                  struct attn_error *err)
{
    if (!attn_is_given(list, "list", err) || !attn_is_given(result, "sites", err))
        return ATTN_INVALID;
    struct attn_site_set found = {0};

    for (struct attn_list_item item = {.rest = list}; attn_list_next(&item);) {
        size_t n_stack;
        attn_model_stack_find(item.text, &n_stack);
        const char *name = item.text + n_stack;
        const struct attn_site_set matched = attn_sites_match(name, item.size - n_stack);
        if (attn_sites_are_empty(matched))
            return report_unknown(name, item.size - n_stack, err);
        attn_sites_extend(&found, matched);
    }
    *result = found;
    return ATTN_OK;
}
