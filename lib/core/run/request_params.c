#include "run/run_internal.h"

#include "predict/answer_internal.h"
#include "run/input_params.h"
#include "run/request.h"
#include "tensors/view.h"

#include <string.h>

#define ROW(type, name, argument, field, ...)                                                      \
    ATTN_PARAM(type, name, argument, struct attn_request, field, __VA_ARGS__,                      \
               .home = ATTN_PARAM_OF_REQUEST)

enum { SHAPES = ATTN_PARAM_SHAPES_TENSORS };

/* The outputs whose content a selection changes: all except those named. */
#define BUT_ANSWERS .media = ~(unsigned)ATTN_MEDIA_ANSWERS
#define BUT_EXPLANATIONS .media = ~(unsigned)(ATTN_MEDIA_ANSWERS | ATTN_MEDIUM_EXPLANATION)
#define BUT_CONTINUATIONS .media = ~(unsigned)ATTN_MEDIUM_CONTINUATION

static const struct attn_param selection[] = {
    ROW(LIST, "layers", "SPEC", selection.layers,
        "layers to keep, counted from 0: 0,2-4 or 0-11+2; -1 is the last", .traits = SHAPES,
        BUT_ANSWERS),
    ROW(LIST, "heads", "SPEC", selection.heads,
        "heads to keep: 0,3 in every layer, 5.1 or L5H1 head 1 of layer 5, 9.* all of layer 9",
        .traits = SHAPES, BUT_ANSWERS),
    ROW(LIST, "queries", "SPEC", selection.queries,
        "queries to keep: positions, or words of the text: it; ' it' with its space; it#2, its "
        "second time. A word that looks like a number or holds , - or # stands in double quotes. "
        "In a picture: [CLS], and 3,4 for the patch in row 3, column 4",
        .second = offsetof(struct attn_request, selection.queries.n), .traits = SHAPES,
        BUT_CONTINUATIONS),
    ROW(LIST, "sites", "LIST", selection.sites,
        "tensors to keep, names or globs (resid_*); 'help' lists them; default: pattern,z; of a "
        "picture beside a text also picture_map*",
        .traits = SHAPES | ATTN_PARAM_NOT_EXPLAINED, BUT_EXPLANATIONS),
    ROW(LIST, "tiles", "LIST", selection.tiles,
        "of a picture beside a text: the tiles whose sites of the tower (tower:pattern) are kept "
        "(default: 0), and that edits of the tower change (default: all), row by row from 0; -1 is "
        "the whole picture",
        .second = offsetof(struct attn_request, selection.tiles.n),
        .traits = ATTN_PARAM_NOT_EXPLAINED),
};

const struct attn_param_list attn_selection_params = ATTN_PARAM_LIST("Selection", selection);

/* What shows maps over a picture: all but the first screen. */
#define MAPS ~(unsigned)ATTN_MEDIUM_SCREEN

static const struct attn_param maps[] = {
    ROW(TEXT, "neutral", "TEXT", maps.neutral,
        "beside a picture: take away the maps of this question at its last position, "
        "as in 'Write a general description of the image.'",
        .traits = SHAPES, .media = MAPS),
    ROW(CHOICE, "neutral_by", "HOW", maps.neutral_by,
        "how `neutral` is taken away: difference, or ratio (default: difference)",
        .words = "difference|ratio", .traits = SHAPES, .media = MAPS),
};

static const struct attn_param sinks[] = {
    ROW(REAL, "drop_sinks", "X", maps.drop_sinks,
        "leave out the cells of a picture on which the stream into a layer has a peak of X times "
        "its root mean square: heads look there when nothing else fits; try 20",
        .traits = SHAPES | ATTN_PARAM_IS_OPEN, .media = MAPS),
};

const struct attn_param_list attn_map_params = ATTN_PARAM_LIST("Selection", maps);
const struct attn_param_list attn_sink_params = ATTN_PARAM_LIST("Selection", sinks);

static const struct attn_param array_selection[] = {
    ROW(LIST, "heads", "SPEC", selection.heads,
        "heads to keep, in every batch: 0,2-4 or 0-11+2; -1 is the last", .traits = SHAPES,
        BUT_ANSWERS),
    ROW(LIST, "queries", "SPEC", selection.queries, "queries to keep", .traits = SHAPES,
        BUT_CONTINUATIONS),
    ROW(LIST, "sites", "LIST", selection.sites,
        "what to show, names or globs: qk, attn_scores, pattern, pattern_dropped, "
        "pattern_lowrank, z; default pattern,z",
        .traits = SHAPES | ATTN_PARAM_NOT_EXPLAINED, BUT_EXPLANATIONS),
};

const struct attn_param_list attn_array_selection_params =
    ATTN_PARAM_LIST("Selection", array_selection);

static const struct attn_param prediction[] = {
    ROW(COUNT, "top", "K", predict.top,
        "print the K most probable next tokens: probability, id, token. With `queries`, print them "
        "after each of these positions; the first column is the position. An encoder predicts the "
        "tokens at its masks, or at `queries`; a classifier predicts labels or spans",
        .least = 1, .most = INT32_MAX),
    ROW(TEXTS, "next", "TEXT", predict.next,
        "print ln p of TEXT as what comes next, or stands at the mask of an encoder; "
        "with `queries` as for `top`. May be repeated",
        .second = offsetof(struct attn_request, predict.n_next)),
    ROW(ID_LISTS, "next_ids", "LIST", predict.next_ids, NULL, .of = "next",
        .prefix = "ids:", .traits = ATTN_PARAM_NO_KEYWORD,
        .second = offsetof(struct attn_request, predict.n_next_ids)),
};

const struct attn_param_list attn_prediction_params = ATTN_PARAM_LIST("Prediction", prediction);

static const struct attn_param gradients[] = {
    ROW(FLAG, "grad", NULL, selection.has_gradients,
        "with each tensor of `sites` its gradient: how fast the metric changes with each of its "
        "numbers; pattern_grad beside pattern",
        .traits = ATTN_PARAM_SHAPES_GRADIENTS),
};

const struct attn_param_list attn_gradient_params = ATTN_PARAM_LIST("Answer", gradients);

const struct attn_param_list *attn_request_params_find(const char *name)
{
    static const struct {
        const char *name;
        const struct attn_param_list *list;
    } lists[] = {
        {"array_dropout", &attn_array_dropout_params},
        {"array_selection", &attn_array_selection_params},
        {"at", &attn_at_params},
        {"attention", &attn_attention_params},
        {"dropout", &attn_dropout_params},
        {"foil", &attn_foil_params},
        {"gradients", &attn_gradient_params},
        {"interventions", &attn_edit_params},
        {"maps", &attn_map_params},
        {"metric", &attn_metric_params},
        {"picture_prompt", &attn_picture_prompt_params},
        {"chat", &attn_chat_params},
        {"places", &attn_place_params},
        {"prediction", &attn_prediction_params},
        {"reading", &attn_reading_params},
        {"selection", &attn_selection_params},
        {"sinks", &attn_sink_params},
        {"target", &attn_target_params},
    };

    for (size_t i = 0; name && i < sizeof lists / sizeof *lists; i++)
        if (strcmp(lists[i].name, name) == 0)
            return lists[i].list;
    if (!name || !attn_picture_settings)
        return NULL;
    return strcmp(name, "picture") == 0 ? attn_picture_settings->params
           : strcmp(name, "view") == 0  ? attn_picture_settings->view_params
                                        : NULL;
}
