/* attention.c - see attention.h. */
#include "cmd/args/attention.h"

#include "cmd/line/command.h"
#include "cmd/line/help.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

static const struct option attention_rows[] = {
    {.name = "attention",
     .argument = "KIND",
     .heading = "Attention",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct attention_args, kind),
     .help = "which keys a query looks at, for instance window:64; 'help' lists the kinds and what "
             "they show"},
    {.name = "mask",
     .argument = "causal|none|FILE.npy",
     .heading = "Attention",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct attention_args, mask),
     .help = "which keys a query may look at: none after its own position (causal), all (none), or "
             "those where an array [T, S] or [H, T, S] has 1"},
    {.name = "masking",
     .argument = "inf|renormalize|zero",
     .heading = "Attention",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct attention_args, masking),
     .help = "how keys are masked. inf (default): their scores are -inf before the softmax. zero: "
             "their weights are set to 0 after it. renormalize: as zero, and the rest of the row "
             "is divided by its sum"},
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
     .help = "a number that is added to that square root; default: 0"},
    {.name = "similarity",
     .argument = "dot|cosine",
     .heading = "Attention",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct attention_args, similarity),
     .help = "how a query and a key make a score: by their dot product (default) or their cosine"},
    {.name = "algorithm",
     .argument = "auto|dense|blockwise",
     .heading = "Attention",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct attention_args, algorithm),
     .help = "how full attention is computed; blockwise never holds a whole row of the matrix"},
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
     .help = "seed of the choice of dropped weights; default: 0"},
};

const struct option_group attention_options = OPTION_GROUP(attention_rows);

enum { N_DROPOUT_ROW = 2 }; /* the last rows, --dropout and its --seed */

const struct option_group attention_step_options = {
    .rows = attention_rows,
    .n = sizeof(attention_rows) / sizeof(attention_rows[0]) - N_DROPOUT_ROW,
};

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
                              "--seed needs --dropout, whose choice it seeds");
    if (args->eps >= 0 && args->scale == SCALE_OFF)
        return report_problem(
            EXIT_USAGE, NULL,
            "--eps and --scale off do not go together: without a scale nothing is divided");
    if (args->scale >= 0 && attention->kind == ATTN_ATTENTION_LINEAR)
        return report_problem(EXIT_USAGE, NULL,
                              "'%s' cannot have --scale: it does not divide scores by sqrt(d_head)",
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

int attention_read_mask(const char *path, struct attn_mask_array *mask)
{
    struct attn_error err = {0};
    if (attn_mask_array_open(path, mask, &err) != ATTN_OK)
        return report(&err, EXIT_INPUT);
    return EXIT_DONE;
}

/* Marks PART as changed if it IS_GIVEN. Returns IS_GIVEN. */
static bool mark(bool is_given, struct attn_attention_change *change, enum attn_attention_part part)
{
    if (is_given)
        change->parts |= part;
    return is_given;
}

static int change_mask(const struct attention_args *args, struct attn_attention_change *change,
                       struct attn_mask_array *mask)
{
    const char *file = attention_mask_file(args);
    change->to.mask = file                              ? ATTN_MASK_MATRIX
                      : strcmp(args->mask, "none") == 0 ? ATTN_MASK_NONE
                                                        : ATTN_MASK_CAUSAL;
    change->mask = file ? mask : NULL;
    return file ? attention_read_mask(file, mask) : EXIT_DONE;
}

int attention_change(const struct attention_args *args, struct attn_attention_change *change,
                     struct attn_mask_array *mask)
{
    struct attn_attention *to = &change->to;
    if (mark(args->kind, change, ATTN_PART_KIND))
        attn_attention_parse(args->kind, to, NULL);
    if (mark(args->masking >= 0, change, ATTN_PART_MASKING))
        to->masking = (enum attn_masking)args->masking;
    if (mark(args->scale >= 0, change, ATTN_PART_SCALE))
        to->is_scaled = args->scale == SCALE_ON;
    if (mark(args->eps >= 0, change, ATTN_PART_EPS))
        to->eps = args->eps;
    if (mark(args->similarity >= 0, change, ATTN_PART_SIMILARITY))
        to->similarity = (enum attn_similarity)args->similarity;
    if (mark(args->algorithm >= 0, change, ATTN_PART_ALGORITHM))
        to->algorithm = (enum attn_algorithm)args->algorithm;
    if (mark(args->dropout >= 0, change, ATTN_PART_DROPOUT))
        to->dropout = args->dropout;
    if (mark(args->seed >= 0, change, ATTN_PART_DROPOUT_SEED))
        to->dropout_seed = (uint64_t)args->seed;
    if (mark(args->mask, change, ATTN_PART_MASK))
        return change_mask(args, change, mask);
    return EXIT_DONE;
}

/* Sites that depend on the attention, and not on the model. */
static const enum attn_site matrix_sites[] = {ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES,
                                              ATTN_SITE_PATTERN, ATTN_SITE_PATTERN_DROPPED,
                                              ATTN_SITE_PATTERN_LOWRANK};
enum { N_MATRIX_SITE = sizeof(matrix_sites) / sizeof(matrix_sites[0]) };

/* --- Help ------------------------------------------------------------------------------------- */

/* "R random mixtures of all keys; shows pattern_lowrank": sites only where they are not the usual
 * ones. */
static void describe(const struct attn_attention *attention, char *text, size_t size)
{
    const struct attn_attention full = ATTN_ATTENTION_DEFAULT;
    const char *before = "; shows ";
    size_t n = 0;
    attn_fixed_text_append(text, size, &n, "%s", attn_attention_kind_summary(attention->kind));
    if (attn_attention_sites(attention) == attn_attention_sites(&full))
        return;
    for (size_t i = 0; i < N_MATRIX_SITE; i++) {
        enum attn_gives gives = attn_attention_gives(attention, matrix_sites[i]);
        if (gives == ATTN_GIVES_NOT)
            continue;
        attn_fixed_text_append(text, size, &n, "%s%s%s", before, attn_site_name(matrix_sites[i]),
                               gives == ATTN_GIVES_ON_DEMAND ? ", computed for that alone" : "");
        before = ", ";
    }
}

void attention_kinds_print(struct attn_sink *out)
{
    enum { TEXT_COLUMN = 32 };
    print_text(out,
               "The keys that a query looks at; the mask then removes some of them. Numbers are\n"
               "1 or more, and a number as large as that of the keys means all of them.\n"
               "\n");
    for (int i = 0; i < ATTN_N_ATTENTION_KIND; i++) {
        struct attn_attention attention = ATTN_ATTENTION_DEFAULT;
        char text[256];
        attention.kind = attn_attention_kind_order[i];
        describe(&attention, text, sizeof(text));
        help_row(out, attn_attention_kind_written(attention.kind), text, TEXT_COLUMN);
    }
    print_text(out,
               "\n"
               "Each kind has the sites qk, attn_scores and pattern, unless its line says what it\n"
               "shows instead, and z. 'lowrank' needs --mask none.\n");
}
