/* attention_args.c - see attention_args.h. */
#include "attention_args.h"

#include "command.h"
#include "help.h"
#include "print.h"
#include "quantity.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option attention_rows[] = {
    {.name = "attention",
     .argument = "KIND",
     .heading = "Attention",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct attention_args, kind),
     .help = "which keys a query looks at, as in window:64; 'help' lists the kinds and what they "
             "show"},
    {.name = "mask",
     .argument = "causal|none|FILE.npy",
     .heading = "Attention",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct attention_args, mask),
     .help = "no key after the query, any key, or those with a 1 in an array [T, S] or "
             "[H, T, S]"},
    {.name = "masking",
     .argument = "inf|renormalize|zero",
     .heading = "Attention",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct attention_args, masking),
     .help = "masked scores are -inf before the softmax (default), or masked weights 0 after "
             "it, with the others divided by their sum or left"},
    {.name = "scale",
     .argument = "on|off",
     .heading = "Attention",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct attention_args, scale),
     .help = "whether scores are divided by the square root of d_head"},
    {.name = "eps",
     .argument = "E",
     .heading = "Attention",
     .kind = OPTION_REAL,
     .offset = offsetof(struct attention_args, eps),
     .help = "added to that square root"},
    {.name = "similarity",
     .argument = "dot|cosine",
     .heading = "Attention",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct attention_args, similarity),
     .help = "what scores are of a query and a key"},
    {.name = "dropout",
     .argument = "P",
     .heading = "Attention",
     .kind = OPTION_REAL,
     .max = 1,
     .offset = offsetof(struct attention_args, dropout),
     .help = "drop this share of the weights and divide the others by 1-P, as in training"},
    {.name = "seed",
     .argument = "S",
     .heading = "Attention",
     .kind = OPTION_NUMBER,
     .max = INT64_MAX,
     .offset = offsetof(struct attention_args, seed),
     .help = "which weights are dropped; default: 0"},
    {.name = "algorithm",
     .argument = "auto|dense|blockwise",
     .heading = "Attention",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct attention_args, algorithm),
     .help = "how full attention is computed: blockwise never holds a row of the matrix"},
};

const struct option_group attention_options = OPTION_GROUP(attention_rows);

const char *attention_mask_file(const struct attention_args *args)
{
    const char *mask = args->mask;
    return mask && strcmp(mask, "causal") != 0 && strcmp(mask, "none") != 0 ? mask : NULL;
}

static int check_mask(const struct attention_args *args)
{
    const char *file = attention_mask_file(args);
    size_t size = file ? strlen(file) : 0;
    if (!file || (size > 4 && strcmp(file + size - 4, ".npy") == 0))
        return EXIT_DONE;
    return report_problem(EXIT_USAGE, NULL,
                          "'--mask' is '%s', expected causal, none or a file whose name ends in "
                          ".npy",
                          file);
}

/* Options that change nothing in the attention they are given with. */
static int check_use(const struct attention_args *args, const struct attn_attention *attention)
{
    const char *kind = attn_attention_kind_name(attention->kind);
    if (args->seed >= 0 && args->dropout < 0)
        return report_problem(EXIT_USAGE, "a kind has its own seed: random:K:SEED, lowrank:R:SEED",
                              "--seed says which weights --dropout drops, which is not given");
    if (args->eps >= 0 && args->scale == 1)
        return report_problem(EXIT_USAGE, NULL,
                              "--eps is added to the number that --scale off does not divide by");
    if (args->scale >= 0 && attention->kind == ATTN_ATTENTION_LINEAR)
        return report_problem(EXIT_USAGE, NULL,
                              "'%s' cannot have --scale: it divides no scores by sqrt(d_head)",
                              kind);
    return EXIT_DONE;
}

int attention_check(const struct attention_args *args)
{
    struct attn_attention attention = ATTN_ATTENTION_DEFAULT;
    struct attn_error err = {0};
    if (args->kind && attn_attention_parse(args->kind, &attention, &err) != ATTN_OK) {
        attn_error_hint(&err, "'--attention help' explains the kinds");
        return report(&err, EXIT_USAGE);
    }
    int code = check_mask(args);
    return code == EXIT_DONE ? check_use(args, &attention) : code;
}

void attention_apply(const struct attention_args *args, struct attn_attention *attention)
{
    if (args->kind)
        attn_attention_parse(args->kind, attention, NULL);
    if (args->mask)
        attention->mask = attention_mask_file(args)         ? ATTN_MASK_MATRIX
                          : strcmp(args->mask, "none") == 0 ? ATTN_MASK_NONE
                                                            : ATTN_MASK_CAUSAL;
    if (args->masking >= 0)
        attention->masking = (enum attn_masking)args->masking;
    if (args->scale >= 0)
        attention->is_scaled = args->scale == 0;
    if (args->eps >= 0)
        attention->eps = args->eps;
    if (args->similarity >= 0)
        attention->similarity = (enum attn_similarity)args->similarity;
    if (args->algorithm >= 0)
        attention->algorithm = (enum attn_algorithm)args->algorithm;
    if (args->dropout >= 0)
        attention->dropout = args->dropout;
    if (args->seed >= 0)
        attention->dropout_seed = (uint64_t)args->seed;
}

int attention_confirm(const struct attn_attention *attention, bool is_cross)
{
    struct attn_error err = {0};
    if (attn_attention_check(attention, is_cross, &err) == ATTN_OK)
        return EXIT_DONE;
    if (attention->kind == ATTN_ATTENTION_LOWRANK && attention->mask == ATTN_MASK_CAUSAL)
        attn_error_hint(&err, "--mask none lets every query look at every key");
    return report(&err, EXIT_USAGE);
}

/* --- Sites ------------------------------------------------------------------------------------ */

/* Sites that depend on the attention, and not on the model. */
static const enum attn_site matrix_sites[] = {ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES,
                                              ATTN_SITE_PATTERN, ATTN_SITE_PATTERN_DROPPED,
                                              ATTN_SITE_PATTERN_LOWRANK};
enum { N_MATRIX_SITE = sizeof(matrix_sites) / sizeof(matrix_sites[0]) };

/* The first of SITES that depends on the attention and that it has not; ATTN_N_SITE for none. */
static enum attn_site find_lacking(const struct attn_attention *attention, uint64_t sites)
{
    for (size_t i = 0; i < N_MATRIX_SITE; i++)
        if ((sites & ATTN_SITE_BIT(matrix_sites[i])) &&
            attn_attention_gives(attention, matrix_sites[i]) == ATTN_GIVES_NOT)
            return matrix_sites[i];
    return ATTN_N_SITE;
}

static void note_left_out(const struct attn_attention *attention)
{
    const char *kind = attn_attention_kind_name(attention->kind);
    if (find_lacking(attention, ATTN_SITE_BIT(ATTN_SITE_PATTERN)) == ATTN_N_SITE)
        return;
    if (attn_attention_gives(attention, ATTN_SITE_PATTERN_LOWRANK) != ATTN_GIVES_NOT)
        note("'%s' has no pattern, so only z is shown; --sites pattern_lowrank,z shows what is in "
             "its place",
             kind);
    else
        note("'%s' has no pattern, so only z is shown", kind);
}

static int report_lacking(const struct attn_attention *attention, enum attn_site site)
{
    const char *kind = attn_attention_kind_name(attention->kind);
    if (site == ATTN_SITE_PATTERN_DROPPED)
        return report_problem(EXIT_USAGE, NULL, "'%s' without --dropout has no site '%s'", kind,
                              attn_site_name(site));
    return report_problem(EXIT_USAGE, "'--attention help' says what each kind has",
                          "'%s' has no site '%s'", kind, attn_site_name(site));
}

int attention_check_sites(const struct attn_attention *attention, const char *list, bool is_quiet)
{
    if (!list && !is_quiet)
        note_left_out(attention);
    char *copy = list ? strdup(list) : NULL;
    if (!copy)
        return list ? report_no_memory() : EXIT_DONE;
    int code = EXIT_DONE;
    for (char *rest = copy, *item; code == EXIT_DONE && (item = strsep(&rest, ","));) {
        uint64_t sites = 0;
        if (strpbrk(item, "*?[") || attn_sites_parse(item, &sites, NULL) != ATTN_OK)
            continue; /* what there is of a glob; who reads the list reports what is no site */
        enum attn_site lacking = find_lacking(attention, sites);
        if (lacking != ATTN_N_SITE)
            code = report_lacking(attention, lacking);
    }
    free(copy);
    return code;
}

/* --- Pairs ------------------------------------------------------------------------------------ */

/* In all heads of one layer. */
static uint64_t count_pairs(const struct attn_attention *attention, const struct attn_dims *dims,
                            int layer)
{
    size_t n_query = dims->n_position, n_key = attn_site_n_key(dims, layer), n_head = dims->n_head;
    uint64_t n_pair = 0;
    if (attention->mask != ATTN_MASK_MATRIX || attention->matrix.n_head == 1)
        return n_head * attn_attention_n_pair(attention, n_query, n_key, layer, 0);
    for (size_t head = 0; head < n_head; head++)
        n_pair += attn_attention_n_pair(attention, n_query, n_key, layer, (int)head);
    return n_pair;
}

void attention_note_pairs(const struct attn_attention *layers, const struct attn_dims *dims,
                          bool is_source_ordered)
{
    char kind[ATTN_ATTENTION_TEXT_SIZE], kept[QUANTITY_SIZE], all[QUANTITY_SIZE];
    uint64_t n_kept = 0, n_all = 0, share = 0; /* share: heads that have as many each */
    bool is_even = true;                       /* the same number in each head */
    if (layers[0].kind == ATTN_ATTENTION_FULL)
        return;
    for (size_t layer = 0; layer < dims->n_layer; layer++) {
        struct attn_attention one = layers[layer];
        bool is_cross = dims->is_cross[layer];
        if (is_cross && !is_source_ordered && one.mask == ATTN_MASK_CAUSAL)
            one.mask = ATTN_MASK_NONE;
        is_even = is_even && is_cross == dims->is_cross[0] && one.matrix.n_head <= 1;
        share += dims->n_head;
        n_kept += count_pairs(&one, dims, (int)layer);
        one.kind = ATTN_ATTENTION_FULL;
        n_all += count_pairs(&one, dims, (int)layer);
    }
    if (!is_even || share == 0)
        share = 1;
    attn_attention_text(&layers[0], kind);
    note("'%s' computes %s of %s pairs of a query and a key in %s", kind,
         quantity_count(n_kept / share, kept), quantity_count(n_all / share, all),
         is_even ? "each head" : "all heads together");
}

/* --- Help ------------------------------------------------------------------------------------- */

/* "R random mixtures of all keys; shows pattern_lowrank": sites only where they are not the usual
 * ones. */
static void describe(const struct attn_attention *attention, char *text, size_t size)
{
    const struct attn_attention full = ATTN_ATTENTION_DEFAULT;
    const char *before = "; shows ";
    size_t n = (size_t)snprintf(text, size, "%s", attn_attention_kind_summary(attention->kind));
    if (attn_attention_sites(attention) == attn_attention_sites(&full))
        return;
    for (size_t i = 0; i < N_MATRIX_SITE; i++) {
        enum attn_gives gives = attn_attention_gives(attention, matrix_sites[i]);
        if (gives == ATTN_GIVES_NOT || n >= size)
            continue;
        n += (size_t)snprintf(text + n, size - n, "%s%s%s", before, attn_site_name(matrix_sites[i]),
                              gives == ATTN_GIVES_ON_DEMAND ? ", computed for that alone" : "");
        before = ", ";
    }
}

void attention_kinds_print(struct attn_sink *out)
{
    enum { TEXT_COLUMN = 32 };
    print_text(out, "What a query looks at; then the mask applies. Numbers are 1 or more, and one "
                    "that\nreaches the number of keys means all of them.\n\n");
    for (int kind = 0; kind < ATTN_N_ATTENTION_KIND; kind++) {
        struct attn_attention attention = ATTN_ATTENTION_DEFAULT;
        char text[256];
        attention.kind = (enum attn_attention_kind)kind;
        describe(&attention, text, sizeof(text));
        help_row(out, attn_attention_kind_written(attention.kind), text, TEXT_COLUMN);
    }
    print_text(out, "\nWhere nothing else is said --sites has qk, attn_scores and pattern. z is "
                    "there\nalways. 'lowrank' needs --mask none.\n");
}
