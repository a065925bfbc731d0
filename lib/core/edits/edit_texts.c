#include "edits/edit_texts.h"

#include "base/memory.h"
#include "base/text/given.h"
#include "base/text/list.h"
#include "edits/edits_internal.h"

#include <string.h>

#define ROW(type, name, argument, field, ...)                                                      \
    ATTN_PARAM(type, name, argument, struct attn_edit_texts, field, __VA_ARGS__,                   \
               .traits = ATTN_PARAM_SHAPES_TENSORS)
#define NUMBER_OF(field) .second = offsetof(struct attn_edit_texts, field)

static const struct attn_param rows[] = {
    ROW(LIST, "ablate", "[mean:|uniform:]HEADS,...", ablate,
        "set the context vectors of these heads to zero: 0.3,1.*; or other tensors: "
        "mlp_out:2,v:0.3. An item that begins with mean: sets them to their mean over the "
        "positions of the text, mean:2.5; with uniform: it gives every key that the head sees the "
        "same weight"),
    ROW(TEXTS, "knockout", "QUERIES>KEYS[@HEADS]", knockouts,
        "keep these queries from looking at these keys, in all heads or in HEADS: 'it>cat@2.*'. "
        "Queries and keys are positions or words of the text; in cross-attention layers keys are "
        "in the source. May be given several times",
        NUMBER_OF(n_knockout)),
    ROW(TEXTS, "patch", "SITE:LAYER[.HEAD][@POS]=FILE.npz", patches,
        "replace a tensor by the one of another run, from its archive: the whole tensor, one head "
        "of it, or some positions, as in 'z:2.5@-1=clean.npz'. May be given several times",
        NUMBER_OF(n_patch)),
    ROW(TEXTS, "steer", "SITE:LAYERS[.HEAD][@POS]=FILE[*FACTOR]", steers,
        "add the vector of FILE, times FACTOR, to a tensor of LAYERS, 1, 0-5 or all: at all "
        "positions, those made after the text too, or at POS, as in 'resid_pre:2@-1=v.npy*1.5'. "
        "FILE "
        "may hold a row for each of the positions, or be a control vector of llama.cpp: "
        "resid_post:all=FILE.gguf. May be given several times",
        NUMBER_OF(n_steer)),
    ROW(TEXTS, "project", "SITE:LAYERS[.HEAD][@POS]=FILE[*K[+C]]", projects,
        "take the part along the vector of FILE out of a tensor, K times (default: 1), and set it "
        "to C, after `steer`: 'resid_post:all=v.npy', and *1-4 sets it to -4. May be given several "
        "times",
        NUMBER_OF(n_project)),
    ROW(TEXTS, "rescale", "SITE:LAYERS[.HEAD][@POS]=FACTOR", rescales,
        "multiply a tensor, or one head of it, by FACTOR: 'z:2.5=0.5'. May be given several times",
        NUMBER_OF(n_rescale)),
};

const struct attn_param_list attn_edit_params = ATTN_PARAM_LIST("Interventions", rows);

static void release_interventions(struct attn_edit_texts *texts)
{
    for (size_t i = 0; i < texts->n_intervention; i++)
        attn_intervention_release(&texts->interventions[i]);
    attn_free(texts->interventions);
    texts->interventions = NULL;
    texts->n_intervention = 0;
}

/* Reads the items of `ablate`, which commas separate. */
static enum attn_status read_ablations(struct attn_edit_texts *texts,
                                       const struct attn_model *model, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    for (struct attn_list_item item = {.rest = texts->ablate};
         status == ATTN_OK && attn_list_next(&item);) {
        char *text = attn_strndup(item.text, item.size, err);

        status = !text ? ATTN_NO_MEMORY
                       : attn_intervention_read(ATTN_EDIT_ZERO, text, model,
                                                &texts->interventions[texts->n_intervention], err);
        texts->n_intervention += status == ATTN_OK;
        attn_free(text);
    }
    return status;
}

enum attn_status attn_edit_texts_read(struct attn_edit_texts *texts, const struct attn_model *model,
                                      struct attn_request_edits *edits, struct attn_error *err)
{
    ATTN_NEED(err, texts, edits);

    const struct {
        enum attn_edit_op op;
        const char *const *items;
        size_t n;
    } lists[] = {{ATTN_EDIT_MASK, texts->knockouts, texts->n_knockout},
                 {ATTN_EDIT_REPLACE, texts->patches, texts->n_patch},
                 {ATTN_EDIT_ADD, texts->steers, texts->n_steer},
                 {ATTN_EDIT_PROJECT, texts->projects, texts->n_project},
                 {ATTN_EDIT_SCALE, texts->rescales, texts->n_rescale}};
    size_t *n = &texts->n_intervention, n_ablation = 0;

    release_interventions(texts);
    for (struct attn_list_item item = {.rest = texts->ablate}; attn_list_next(&item);)
        n_ablation++;
    ATTN_TRY(ATTN_ALLOC(texts->interventions,
                        n_ablation + texts->n_knockout + texts->n_patch + texts->n_steer +
                            texts->n_project + texts->n_rescale + 1,
                        err));
    ATTN_TRY(read_ablations(texts, model, err));
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        for (size_t i = 0; i < lists[k].n; i++, (*n)++)
            ATTN_TRY(attn_intervention_read(lists[k].op, lists[k].items[i], model,
                                            &texts->interventions[*n], err));
    edits->interventions = texts->interventions;
    edits->n_intervention = *n;
    return ATTN_OK;
}

void attn_edit_texts_release(struct attn_edit_texts *texts)
{
    if (texts)
        release_interventions(texts);
}
