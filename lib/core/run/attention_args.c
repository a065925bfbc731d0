#include "run/attention_args.h"

#include "attention/attention_internal.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "base/text/number.h"
#include "params/param_internal.h"
#include "run/run_internal.h"

#include <string.h>

#define TO(field) offsetof(struct attn_attention_args, change.to.field)
#define ROW(kind, word, field, part, ...)                                                          \
    {                                                                                              \
        .name = (word), .type = ATTN_PARAM_##kind, .offset = TO(field), .mark = (part),            \
        .marks = offsetof(struct attn_attention_args, change.parts),                               \
        .traits = ATTN_PARAM_SHAPES_TENSORS, .of = "attention", .help = __VA_ARGS__                \
    }

/* "P" or "P:SEED". */
static enum attn_status read_dropout(const struct attn_param *param, void *home, const char *label,
                                     const char *text, struct attn_error *err)
{
    struct attn_attention_args *args = home;
    const char *colon = strchr(text, ':');
    const size_t size = colon ? (size_t)(colon - text) : strlen(text);
    double share;
    int64_t seed = 0;

    (void)param;
    if (!attn_parse_double(text, size, &share) || share < 0 || share >= 1 ||
        (colon && !attn_parse_int(colon + 1, strlen(colon + 1), 0, INT64_MAX, &seed)))
        return attn_param_refuse(err, label, text,
                                 "P or P:SEED, P from 0 to less than 1, SEED from 0");
    args->change.to.dropout = share;
    args->change.parts |= ATTN_PART_DROPOUT;
    if (colon) {
        args->change.to.dropout_seed = (uint64_t)seed;
        args->change.parts |= ATTN_PART_DROPOUT_SEED;
    }
    return ATTN_OK;
}

static const int scales[] = {true, false};

static const struct attn_param rows[] = {
    ATTN_PARAM(TEXT, "attention", "KIND", struct attn_attention_args, kind,
               "which keys a query looks at, for instance window:64; 'help' lists the kinds and "
               "what they show",
               .traits = ATTN_PARAM_SHAPES_TENSORS),
    ATTN_PARAM(MASK, "mask", "causal|none|FILE.npy", struct attn_attention_args, change.mask,
               "which keys a query may look at: none after its own position (causal), all (none), "
               "or those where an array [T, S] or [H, T, S] has 1. Beside it, a key mask takes "
               "single keys "
               "away, and `masking` says how keys are masked",
               .words = "causal|none", .second = offsetof(struct attn_attention_args, mask),
               .traits = ATTN_PARAM_SHAPES_TENSORS),
    ROW(CHOICE, "masking", masking, ATTN_PART_MASKING,
        "how keys are masked. inf (default): their scores are -inf before the softmax. zero: their "
        "weights are set to 0 after it. renormalize: as zero, and the rest of the row is divided "
        "by its sum. `mask` and a key mask say which keys",
        .words = "inf|renormalize|zero"),
    ROW(SWITCH, "scale", is_scaled, ATTN_PART_SCALE,
        "whether scores are divided by the square root of d_head", .words = "on|off",
        .values = scales),
    ROW(REAL, "eps", eps, ATTN_PART_EPS, "a number that is added to that square root; default: 0",
        .argument = "E"),
    ROW(CHOICE, "similarity", similarity, ATTN_PART_SIMILARITY,
        "how a query and a key make a score: by their dot product (default) or their cosine",
        .words = "dot|cosine"),
    ROW(CHOICE, "algorithm", algorithm, ATTN_PART_ALGORITHM,
        "how full attention is computed; blockwise never holds a whole row of the matrix",
        .words = "auto|dense|blockwise"),
};

const struct attn_param_list attn_attention_params = ATTN_PARAM_LIST("Attention", rows);

static const struct attn_param dropout_rows[] = {
    ROW(REAL, "dropout", dropout, ATTN_PART_DROPOUT,
        "drop this share of the weights and divide the others by 1-P, as in training; SEED, from "
        "which the choice follows, is 0 by default",
        .argument = "P[:SEED]", .read = read_dropout, .most = 1),
    {
        .name = "seed",
        .argument = "S",
        .type = ATTN_PARAM_SEED,
        .offset = TO(dropout_seed),
        .mark = ATTN_PART_DROPOUT_SEED,
        .marks = offsetof(struct attn_attention_args, change.parts),
        .traits = ATTN_PARAM_SHAPES_TENSORS | ATTN_PARAM_NO_OPTION,
        .help = "seed of the choice of dropped weights; default: 0",
    },
};

const struct attn_param_list attn_dropout_params = ATTN_PARAM_LIST("Attention", dropout_rows);

static const struct attn_param array_dropout_rows[] = {
    ATTN_PARAM(MASK, "dropout_mask", "FILE.npy", struct attn_attention_args, change.keep,
               "which weights `dropout` keeps (1) and which it drops (0), instead of drawing "
               "them; an array with the axes of the scores",
               .option = "keep", .second = offsetof(struct attn_attention_args, keep)),
};

const struct attn_param_list attn_array_dropout_params =
    ATTN_PARAM_LIST("Input", array_dropout_rows);

static const char *mask_file(const struct attn_attention_args *args)
{
    const char *mask = args ? args->mask : NULL;

    return mask && strcmp(mask, "causal") != 0 && strcmp(mask, "none") != 0 ? mask : NULL;
}

/* Copies the mask, as a kind of mask or as a file, to the change. */
static void read_mask(struct attn_attention_args *args)
{
    struct attn_attention_change *change = &args->change;

    if (!args->mask && !change->mask)
        return;
    change->parts |= ATTN_PART_MASK;
    change->to.mask = !args->mask || mask_file(args)    ? ATTN_MASK_MATRIX
                      : strcmp(args->mask, "none") == 0 ? ATTN_MASK_NONE
                                                        : ATTN_MASK_CAUSAL;
}

enum attn_status attn_attention_args_check(struct attn_attention_args *args, struct attn_error *err)
{
    struct attn_attention *to;
    unsigned parts;

    ATTN_NEED(err, args);
    to = &args->change.to;
    if (args->kind && attn_attention_parse(args->kind, to, err) != ATTN_OK) {
        attn_error_hint(err, "'`attention help`' explains the kinds");
        return attn_error_at(attn_error_of(ATTN_INVALID, "attention", err), ATTN_STAGE_OPTIONS,
                             err);
    }
    args->change.parts |= args->kind ? ATTN_PART_KIND : 0U;
    read_mask(args);
    parts = args->change.parts;
    if ((parts & ATTN_PART_DROPOUT_SEED) && !(parts & ATTN_PART_DROPOUT)) {
        attn_refuse(err, ATTN_STAGE_OPTIONS, "`seed` needs `dropout`, whose choice it seeds");
        return attn_error_hint(err, "a kind has its own seed: random:K:SEED, lowrank:R:SEED");
    }
    if ((parts & ATTN_PART_EPS) && (parts & ATTN_PART_SCALE) && !to->is_scaled)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`eps` and `scale off` do not go together: without a scale nothing is "
                           "divided");
    if ((parts & ATTN_PART_SCALE) && to->kind == ATTN_ATTENTION_LINEAR)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "'%s' cannot have `scale`: it does not divide scores by sqrt(d_head)",
                           attn_attention_kind_name(to->kind));
    return ATTN_OK;
}

/* Reads the file PATH into CELLS and points *given to CELLS. Does nothing if PATH is NULL. */
static enum attn_status open_mask(const char *path, struct attn_mask_array *cells,
                                  const struct attn_mask_array **given, struct attn_error *err)
{
    if (!path)
        return ATTN_OK;
    *given = cells;
    return attn_error_at(attn_mask_array_open(path, cells, err), ATTN_STAGE_INPUT, err);
}

enum attn_status attn_attention_args_open(struct attn_attention_args *args, struct attn_error *err)
{
    ATTN_NEED(err, args);
    ATTN_TRY(open_mask(mask_file(args), &args->cells, &args->change.mask, err));
    return open_mask(args->keep, &args->kept, &args->change.keep, err);
}

void attn_attention_args_release(struct attn_attention_args *args)
{
    if (!args)
        return;
    attn_mask_array_release(&args->cells);
    attn_mask_array_release(&args->kept);
}
