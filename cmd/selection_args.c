/* selection_args.c - from options to a selection and to edits. */
#include "selection_args.h"

#include "command.h"
#include "print.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

static const struct option selection_rows[] = {
    {.name = "layers",
     .argument = "SPEC",
     .heading = "Selection",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct selection_args, layers),
     .help = "layers to keep, counted from 0: 0,2-4 or 0-11+2; -1 is the last"},
    {.name = "heads",
     .argument = "SPEC",
     .heading = "Selection",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct selection_args, heads),
     .help = "heads to keep: 0,3 in every layer, 5.1 or L5H1 head 1 of layer 5, 9.* all of "
             "layer 9"},
    {.name = "queries",
     .argument = "SPEC",
     .heading = "Selection",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct selection_args, queries),
     .help = "positions whose rows to keep"},
    {.name = "sites",
     .argument = "LIST",
     .heading = "Selection",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct selection_args, sites),
     .help = "tensors to show, names or globs (resid_*), default pattern,z; 'help' lists them"},
};

const struct option_group selection_options = OPTION_GROUP(selection_rows);

static const struct option ablation_rows[] = {
    {.name = "ablate",
     .argument = "HEADS",
     .heading = "Interventions",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct ablation_args, z),
     .help = "set the context vectors of these heads to zero, as in 0.3,1.*"},
    {.name = "ablate-pattern",
     .argument = "HEADS",
     .heading = "Interventions",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct ablation_args, pattern),
     .help = "set the attention patterns of these heads to zero"},
};

const struct option_group ablation_options = OPTION_GROUP(ablation_rows);

/*
 * A glob means "those that there are"; a name means that one, so a model without it is an error
 * even when other sites of the list exist.
 */
static enum attn_status check_names(struct attn_selection *selection, char *list,
                                    struct attn_error *err)
{
    enum attn_status status = ATTN_OK;
    char *rest = list;
    for (char *item; status == ATTN_OK && (item = strsep(&rest, ","));) {
        uint64_t site;
        if (strpbrk(item, "*?"))
            continue;
        status = attn_sites_parse(item, &site, err);
        if (status == ATTN_OK)
            status = attn_selection_set_sites(selection, site, err);
    }
    return status;
}

static enum attn_status set_sites(struct attn_selection *selection, const char *list,
                                  struct attn_error *err)
{
    uint64_t sites;
    enum attn_status status = attn_sites_parse(list, &sites, err);
    if (status != ATTN_OK)
        return status;
    char *copy = strdup(list);
    if (!copy)
        return attn_error_set(err, ATTN_NO_MEMORY, "%s", attn_status_text(ATTN_NO_MEMORY));
    status = check_names(selection, copy, err);
    free(copy);
    return status == ATTN_OK ? attn_selection_set_sites(selection, sites, err) : status;
}

static bool is_empty(const struct attn_selection *selection, const struct attn_dims *dims)
{
    for (int site = 0; site < ATTN_N_SITE; site++) {
        if (!attn_site_is_in_layer(site)) {
            if (attn_selection_wants(selection, site, ATTN_NO_LAYER))
                return false;
            continue;
        }
        for (size_t layer = 0; layer < dims->n_layer; layer++)
            if (attn_selection_wants(selection, site, (int)layer))
                return false;
    }
    return true;
}

int selection_find(const struct selection_args *args, const struct attn_dims *dims,
                   struct attn_selection **selection)
{
    struct attn_error err = {0};
    struct attn_selection *made = NULL;
    enum attn_status status = attn_selection_create(dims, &made, &err);
    if (status == ATTN_OK && args->sites)
        status = set_sites(made, args->sites, &err);
    if (status == ATTN_OK && args->layers)
        status = attn_selection_set_layers(made, args->layers, &err);
    if (status == ATTN_OK && args->heads)
        status = attn_selection_set_heads(made, args->heads, &err);
    if (status == ATTN_OK && args->queries)
        status = attn_selection_set_queries(made, args->queries, &err);
    int code = status == ATTN_OK ? EXIT_DONE : report(&err, EXIT_USAGE);
    if (code == EXIT_DONE && is_empty(made, dims))
        code = report_problem(
            EXIT_USAGE, NULL, "nothing is left of layers '%s', heads '%s' and the sites wanted",
            args->layers ? args->layers : "all", args->heads ? args->heads : "all");
    if (code != EXIT_DONE) {
        attn_selection_free(made);
        return code;
    }
    *selection = made;
    return EXIT_DONE;
}

/* Appends one edit for each head in SPEC; EDITS has room for all heads of the model. */
static int add_edits(const char *spec, enum attn_site site, const struct attn_dims *dims,
                     struct attn_edit *edits, size_t *n)
{
    struct selection_args heads = {.heads = spec};
    struct attn_selection *selection;
    int code = selection_find(&heads, dims, &selection);
    if (code != EXIT_DONE)
        return code;
    for (size_t layer = 0; layer < dims->n_layer; layer++) {
        for (size_t head = 0; head < dims->n_head; head++) {
            if (!attn_selection_has_head(selection, (int)layer, (int)head))
                continue;
            struct attn_edit edit = ATTN_EDIT_DEFAULT;
            edit.site = site;
            edit.layer = (int)layer;
            edit.head = (int)head;
            edit.op = ATTN_EDIT_ZERO;
            edits[(*n)++] = edit;
        }
    }
    attn_selection_free(selection);
    return EXIT_DONE;
}

int ablation_find(const struct ablation_args *args, const struct attn_dims *dims,
                  struct attn_edit **edits, size_t *n)
{
    if (!args->z && !args->pattern)
        return EXIT_DONE;
    struct attn_edit *made = calloc(2 * dims->n_layer * dims->n_head, sizeof(*made));
    if (!made)
        return report_no_memory();
    int code = EXIT_DONE;
    size_t n_made = 0;
    if (args->z)
        code = add_edits(args->z, ATTN_SITE_Z, dims, made, &n_made);
    if (code == EXIT_DONE && args->pattern)
        code = add_edits(args->pattern, ATTN_SITE_PATTERN, dims, made, &n_made);
    if (code != EXIT_DONE) {
        free(made);
        return code;
    }
    *edits = made;
    *n = n_made;
    return EXIT_DONE;
}

void sites_print(struct attn_sink *out)
{
    print_text(out, "site             shape   name in archives\n");
    for (int site = 0; site < ATTN_N_SITE; site++) {
        char name[ATTN_SITE_ARCHIVE_NAME_SIZE];
        size_t size = attn_site_archive_name(site, 0, name);
        print(out, "%-15s  %-6s  %.*s\n", attn_site_name(site), attn_site_shape_text(site),
              (int)size, name);
    }
    print_text(out, "\nT positions, S keys, H heads, G key/value heads, D d_model, E d_head,\n"
                    "Ev d_value, F d_mlp, V vocabulary, R rank; 'blocks.0' is layer 0.\n"
                    "'attention' means pattern, 'context' means z. A model has the sites of the\n"
                    "parts that it has.\n");
}
