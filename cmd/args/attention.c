/* attention.c - see attention.h. */
#include "cmd/args/attention.h"

#include "cmd/args/prompt.h"
#include "cmd/line/command.h"
#include "cmd/line/help.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

static const struct option attention_rows[] = {
    OPTION_TEXT("attention", "KIND", struct attention_args, kind,
                "which keys a query looks at, for instance window:64; 'help' lists the kinds and "
                "what they show"),
    OPTION_TEXT("mask", "causal|none|FILE.npy", struct attention_args, mask,
                "which keys a query may look at: none after its own position (causal), all "
                "(none), or those where an array [T, S] or [H, T, S] has 1"),
    OPTION_CHOICE("masking", "inf|renormalize|zero", struct attention_args, masking,
                  "how keys are masked. inf (default): their scores are -inf before the softmax. "
                  "zero: their weights are set to 0 after it. renormalize: as zero, and the rest "
                  "of the row is divided by its sum",
                  .topic = "attention"),
    OPTION_CHOICE("scale", "on|off", struct attention_args, scale,
                  "whether scores are divided by the square root of d_head", .topic = "attention"),
    OPTION_REAL("eps", "E", struct attention_args, eps,
                "a number that is added to that square root; default: 0", .topic = "attention"),
    OPTION_CHOICE("similarity", "dot|cosine", struct attention_args, similarity,
                  "how a query and a key make a score: by their dot product (default) or their "
                  "cosine",
                  .alone = "pairs", .topic = "attention"),
    OPTION_CHOICE("algorithm", "auto|dense|blockwise", struct attention_args, algorithm,
                  "how full attention is computed; blockwise never holds a whole row of the "
                  "matrix",
                  .topic = "attention"),
};

const struct option_group attention_options =
    OPTION_GROUP_WITH(OPTION_SHAPES_TENSORS, "Attention", attention_rows);

static const struct option dropout_rows[] = {
    OPTION_REAL("dropout", "P", struct attention_args, dropout,
                "drop this share of the weights and divide the others by 1-P, as in training",
                .max = 1, .topic = "attention"),
    OPTION_NUMBER("seed", "S", struct attention_args, seed, 0, INT64_MAX,
                  "seed of the choice of dropped weights; default: 0", .topic = "attention"),
};

const struct option_group dropout_options =
    OPTION_GROUP_WITH(OPTION_SHAPES_TENSORS, "Attention", dropout_rows);

const char *attention_mask_file(const struct attention_args *args)
{
    const char *mask = args->mask;

    return mask && strcmp(mask, "causal") != 0 && strcmp(mask, "none") != 0 ? mask : NULL;
}

/* Refuses options without an effect on ATTENTION. */
static enum attn_status check_use(const struct attention_args *args,
                                  const struct attn_attention *attention, struct attn_error *err)
{
    const char *kind = attn_attention_kind_name(attention->kind);

    if (args->seed >= 0 && args->dropout < 0)
        return refuse(err, "a kind has its own seed: random:K:SEED, lowrank:R:SEED",
                      "--seed needs --dropout, whose choice it seeds");
    if (args->eps >= 0 && args->scale == SCALE_OFF)
        return refuse(
            err, NULL,
            "--eps and --scale off do not go together: without a scale nothing is divided");
    if (args->scale >= 0 && attention->kind == ATTN_ATTENTION_LINEAR)
        return refuse(err, NULL,
                      "'%s' cannot have --scale: it does not divide scores by sqrt(d_head)", kind);
    return ATTN_OK;
}

enum attn_status attention_check(const struct attention_args *args, struct attn_error *err)
{
    const char *file = attention_mask_file(args);
    struct attn_attention attention = ATTN_ATTENTION_DEFAULT;

    if (args->kind && attn_attention_parse(args->kind, &attention, err) != ATTN_OK) {
        attn_error_hint(err, "'--attention help' explains the kinds");
        return at_stage(ATTN_STAGE_OPTIONS, err->status, err);
    }
    if (file && !path_has_ending(file, ".npy"))
        return refuse(err, NULL,
                      "'--mask' is '%s', expected causal, none or a file whose name ends in .npy",
                      file);
    return check_use(args, &attention, err);
}

enum attn_status attention_read_mask(const char *path, struct attn_mask_array *mask,
                                     struct attn_error *err)
{
    return at_stage(ATTN_STAGE_INPUT, attn_mask_array_open(path, mask, err), err);
}

/* Marks PART as changed if it IS_GIVEN. Returns IS_GIVEN. */
static bool mark(bool is_given, struct attn_attention_change *change, enum attn_attention_part part)
{
    if (is_given)
        change->parts |= part;
    return is_given;
}

enum attn_status attention_change(const struct attention_args *args,
                                  struct attn_attention_change *change,
                                  struct attn_mask_array *mask, struct attn_error *err)
{
    const char *file = attention_mask_file(args);
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
        to->mask = file                              ? ATTN_MASK_MATRIX
                   : strcmp(args->mask, "none") == 0 ? ATTN_MASK_NONE
                                                     : ATTN_MASK_CAUSAL;
    change->mask = file ? mask : NULL;
    return file ? attention_read_mask(file, mask, err) : ATTN_OK;
}

/* --- Help ------------------------------------------------------------------------------------- */

/* "R random mixtures of all keys; shows pattern_lowrank": sites only where they are not the usual
 * ones. */
static void describe(const struct attn_attention *attention, char *text, size_t size)
{
    /* Those that depend on the attention, and not on the model. */
    static const enum attn_site sites[] = {ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES, ATTN_SITE_PATTERN,
                                           ATTN_SITE_PATTERN_DROPPED, ATTN_SITE_PATTERN_LOWRANK};
    const struct attn_attention full = ATTN_ATTENTION_DEFAULT;
    const char *before = "; shows ";
    size_t n = 0;

    attn_fixed_text_append(text, size, &n, "%s", attn_attention_kind_summary(attention->kind));
    if (attn_attention_sites(attention) == attn_attention_sites(&full))
        return;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        enum attn_gives gives = attn_attention_gives(attention, sites[i]);

        if (gives == ATTN_GIVES_NOT)
            continue;
        attn_fixed_text_append(text, size, &n, "%s%s%s", before, attn_site_name(sites[i]),
                               gives == ATTN_GIVES_ON_DEMAND ? ", computed for that alone" : "");
        before = ", ";
    }
}

void attention_kinds_print(struct attn_sink *out)
{
    enum { TEXT_COLUMN = 32 };
    print_text(out,
               "The keys that a query looks at; the mask then removes some of them. Numbers are\n"
               "1 or more, and a number as large as the number of keys means all keys.\n"
               "\n");
    for (int i = 0; i < ATTN_N_ATTENTION_KIND; i++) {
        struct attn_attention attention = ATTN_ATTENTION_DEFAULT;
        char text[256];

        attention.kind = attn_attention_kind_order[i];
        describe(&attention, text, sizeof text);
        help_row(out, attn_attention_kind_written(attention.kind), text, TEXT_COLUMN);
    }
    print_text(out,
               "\n"
               "Each kind has the sites qk, attn_scores and pattern, unless its line says what it\n"
               "shows instead, and z. 'lowrank' needs --mask none.\n");
}
