/* selection.c - options that select, and the sites there are. */
#include "cmd/args/selection.h"

#include "cmd/args/prompt.h"
#include "cmd/line/command.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <stdlib.h>
#include <string.h>

const struct option_group selection_options = {.params = &attn_selection_params};

static const struct option ablation_rows[] = {
    OPTION_TEXT("ablate", "HEADS", struct ablation_args, z,
                "set the context vectors of these heads to zero: 0.3,1.*; or other tensors: "
                "mlp_out:2,v:0.3"),
    OPTION_TEXT("ablate-pattern", "HEADS", struct ablation_args, pattern,
                "set the attention patterns of these heads to zero"),
    OPTION_TEXT("ablate-mean", "HEADS", struct ablation_args, mean,
                "set the context vectors of these heads, or other tensors (mlp_out:2), to their "
                "mean over the positions of the text"),
    OPTION_LIST("knockout", "QUERIES>KEYS[@HEADS]", struct ablation_args, knockouts,
                "keep these queries from looking at these keys, in all heads or in HEADS: "
                "'it>cat@2.*'. Queries and keys are positions or words of the text; in "
                "cross-attention layers keys are in the source. May be given several times"),
    OPTION_LIST(
        "patch", "SITE:LAYER[.HEAD][@POS]=FILE.npz", struct ablation_args, patches,
        "replace a tensor by the one of another run, from its archive: the whole tensor, one "
        "head of it, or some positions, as in 'z:2.5@-1=clean.npz'. May be given several "
        "times"),
    OPTION_LIST("steer", "SITE:LAYER[.HEAD][@POS]=FILE.npy[*FACTOR]", struct ablation_args, steers,
                "add the vector of FILE, times FACTOR, to a tensor: at all positions, those made "
                "after the text too, or at POS, as in 'resid_pre:2@-1=v.npy*1.5'. FILE may also "
                "hold a row for each of the positions. May be given several times"),
    OPTION_LIST("rescale", "SITE:LAYER[.HEAD][@POS]=FACTOR", struct ablation_args, rescales,
                "multiply a tensor, or one head of it, by FACTOR: 'z:2.5=0.5'. May be given "
                "several times"),
};

const struct option_group ablation_options =
    OPTION_GROUP_WITH(OPTION_SHAPES_TENSORS | OPTION_NOT_COMPARED, "Interventions", ablation_rows);

static const struct option place_rows[] = {
    OPTION_LIST(
        "positions", "NAME=SPEC", struct ablation_args, places,
        "call positions by a name that other options may use: subject=keys, end=-1. An "
        "item may have its own, in the key pos.NAME. In `patch`, each name is a row. May be "
        "given several times"),
};

const struct option_group place_options =
    OPTION_GROUP_WITH(OPTION_SHAPES_TENSORS, "Interventions", place_rows);

const struct option_group prediction_options = {.params = &attn_prediction_params};
const struct option_group span_options = {.params = &attn_span_params};

/* Reads --steer and --rescale. */
static enum attn_status read_steering(struct ablation_args *args, const struct attn_model *model,
                                      struct attn_error *err)
{
    ATTN_TRY(ALLOCATE(args->steering, args->steers.n + args->rescales.n + 1, err));
    for (size_t i = 0; i < args->steers.n; i++)
        ATTN_TRY(attn_steering_read(args->steers.items[i], model,
                                    &args->steering[args->n_steering++], err));
    for (size_t i = 0; i < args->rescales.n; i++)
        ATTN_TRY(attn_rescale_parse(args->rescales.items[i], model,
                                    &args->steering[args->n_steering++], err));
    return ATTN_OK;
}

enum attn_status places_check(const struct call *call, const struct ablation_args *args,
                              bool has_rows, struct attn_error *err)
{
    if (args->places.n == 0 || has_rows || ablation_is_given(args) ||
        option_find_given(call, "at|queries|from|to"))
        return ATTN_OK;
    return refuse(err, "--knockout 'end>subject' uses two such names",
                  "--positions gives names to places, and no option uses them");
}

/* Reads --positions. */
static enum attn_status read_places(struct ablation_args *args, struct attn_error *err)
{
    ATTN_TRY(named_values_read(&args->places, "positions", "NAME=SPEC", &args->named, err));
    ATTN_TRY(ALLOCATE(args->named_places, args->named.n + 1, err));
    for (size_t i = 0; i < args->named.n; i++)
        args->named_places[i] =
            (struct attn_item_place){args->named.items[i].name, args->named.items[i].value};
    args->place = (struct attn_places){.items = args->named_places, .n = args->named.n};
    return ATTN_OK;
}

enum attn_status ablation_fill(struct ablation_args *args, const struct attn_host *host,
                               struct attn_request *request, struct attn_error *err)
{
    ATTN_TRY(read_places(args, err));
    ATTN_TRY(ALLOCATE(args->knockout, args->knockouts.n + 1, err));
    ATTN_TRY(ALLOCATE(args->patch, args->patches.n + 1, err));
    for (size_t i = 0; i < args->knockouts.n; i++)
        ATTN_TRY(attn_knockout_parse(args->knockouts.items[i], &args->knockout[args->n_knockout++],
                                     err));
    for (size_t i = 0; i < args->patches.n; i++)
        ATTN_TRY(attn_patch_read(args->patches.items[i], attn_host_model(host),
                                 &args->patch[args->n_patch++], err));
    ATTN_TRY(read_steering(args, attn_host_model(host), err));
    request->edits.ablate = args->z;
    request->edits.ablate_pattern = args->pattern;
    request->edits.ablate_mean = args->mean;
    request->edits.knockouts = args->knockout;
    request->edits.n_knockout = args->n_knockout;
    request->edits.patches = args->patch;
    request->edits.n_patch = args->n_patch;
    request->edits.steerings = args->steering;
    request->edits.n_steering = args->n_steering;
    request->reading.places = args->place.n > 0 ? &args->place : NULL;
    return ATTN_OK;
}

bool ablation_is_given(const struct ablation_args *args)
{
    return args->z || args->pattern || args->mean || args->knockouts.n > 0 || args->patches.n > 0 ||
           args->steers.n > 0 || args->rescales.n > 0;
}

/* The file that TEXT, a value of --steer or --patch, names, to be freed; NULL if it names none, or
 * without memory. */
static char *file_of(const char *text)
{
    const char *equals = strchr(text, '='), *path = equals ? equals + 1 : "";
    const char *star =
        path_has_ending(path, ".npy") || path_has_ending(path, ".npz") ? NULL : strrchr(path, '*');

    return *path ? strndup(path, star ? (size_t)(star - path) : strlen(path)) : NULL;
}

enum attn_status ablation_list_files(struct ablation_args *args, const char *const given[2],
                                     struct attn_error *err)
{
    const size_t n_patch = args->patches.n, n = n_patch + args->steers.n;

    ATTN_TRY(ALLOCATE(args->files, n + 3, err));
    for (size_t i = 0; i < n + 2; i++) {
        const char *text = i < 2             ? given[i]
                           : i - 2 < n_patch ? args->patches.items[i - 2]
                                             : args->steers.items[i - 2 - n_patch];
        char *path = i < 2 && text ? strdup(text) : text ? file_of(text) : NULL;

        if (path) /* else refused when it is read */
            args->files[args->n_file++] = path;
    }
    return ATTN_OK;
}

void ablation_release(struct ablation_args *args)
{
    for (size_t i = 0; i < args->n_knockout; i++)
        attn_knockout_release(&args->knockout[i]);
    for (size_t i = 0; i < args->n_patch; i++)
        attn_patch_release(&args->patch[i]);
    for (size_t i = 0; i < args->n_steering; i++)
        attn_steering_release(&args->steering[i]);
    for (size_t i = 0; i < args->n_file; i++)
        free(args->files[i]);
    named_values_release(&args->named);
    free(args->named_places);
    free(args->steering);
    free(args->knockout);
    free(args->patch);
    free(args->files);
}

void sites_print(struct attn_sink *out)
{
    print_text(out, "site                   shape   name in archives\n");
    for (int i = 0; i < ATTN_N_SITE; i++) {
        const enum attn_site site = attn_site_order[i];
        char name[ATTN_SITE_ARCHIVE_NAME_SIZE];
        size_t size = attn_site_archive_name(site, 0, name);

        if (size > 5 && strcmp(name + size - 5, "_grad") == 0 && site != ATTN_SITE_PATTERN_X_GRAD)
            continue; /* each has the name of another */
        print(out, "%-21s  %-6s  %.*s\n", attn_site_name(site), attn_site_shape_text(site),
              (int)size, name);
    }
    print_text(
        out,
        "\n"
        "T positions, S keys, H heads, G key/value heads, D d_model, E d_head,\n"
        "Ev d_value, Do d_out, De d_embed, F d_mlp, V vocabulary, R rank, M projection,\n"
        "L what a classifier reads;\n"
        "'blocks.0' is layer 0. 'attention' means pattern, 'context' means z. A model that\n"
        "lacks a part lacks its sites. rollout, weighted_pattern, value_zeroing and contacts are\n"
        "computed from others; globs do not match them, nor sites that need a metric\n"
        "(--target): pattern_x_grad, relevance, relevance_norm, and gradients such as\n"
        "pattern_grad. Every site has a gradient except rollout, weighted_pattern,\n"
        "value_zeroing, sites of shape R and the first three. --grad adds the gradient of each\n"
        "selected site.\n");
}
