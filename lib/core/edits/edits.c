#include "edits/edits_internal.h"

#include "attention/attention_internal.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/given.h"
#include "forward/session_internal.h"
#include "model/model_internal.h"
#include "trace/trace_internal.h"

#include <stdio.h>
#include <string.h>

/* --- The parts of a request ------------------------------------------------------------------- */

/* Returns the option that GIVEN belongs to. */
static enum attn_edit_option option_of_given(const struct attn_intervention *given)
{
    return given->op == ATTN_EDIT_ZERO      ? ATTN_EDIT_OPTION_ABLATE
           : given->op == ATTN_EDIT_UNIFORM ? ATTN_EDIT_OPTION_ABLATE_UNIFORM
           : given->op == ATTN_EDIT_MEAN    ? ATTN_EDIT_OPTION_ABLATE_MEAN
           : given->op == ATTN_EDIT_MASK    ? ATTN_EDIT_OPTION_KNOCKOUT
           : given->op == ATTN_EDIT_REPLACE ? ATTN_EDIT_OPTION_PATCH
           : given->op == ATTN_EDIT_ADD     ? ATTN_EDIT_OPTION_STEER
           : given->op == ATTN_EDIT_PROJECT ? ATTN_EDIT_OPTION_PROJECT
                                            : ATTN_EDIT_OPTION_RESCALE;
}

/* Appends those of the interventions that belong to the options FIRST to LAST to PARTS [*n]. */
static void add_interventions(const struct attn_request_edits *edits, enum attn_edit_option first,
                              enum attn_edit_option last, struct attn_edit_part *parts, size_t *n)
{
    for (size_t i = 0; i < edits->n_intervention; i++) {
        const struct attn_intervention *given = &edits->interventions[i];
        const enum attn_edit_option option = option_of_given(given);

        if (option >= first && option <= last)
            parts[(*n)++] = (struct attn_edit_part){
                .option = option, .text = attn_intervention_name(given), .given = given};
    }
}

static size_t count_parts(const struct attn_request_edits *edits)
{
    return edits->n + edits->n_intervention;
}

bool attn_edits_are_given(const struct attn_request_edits *edits)
{
    return count_parts(edits) > 0;
}

bool attn_edits_need_means(const struct attn_request_edits *edits)
{
    bool has_mean = false;

    for (size_t i = 0; i < edits->n_intervention; i++)
        has_mean = has_mean || edits->interventions[i].op == ATTN_EDIT_MEAN;
    return has_mean;
}

bool attn_edits_name_tower(const struct attn_request_edits *edits)
{
    bool names_it = false;

    for (size_t i = 0; i < edits->n; i++)
        names_it |= edits->items[i].at.stack == ATTN_STACK_TOWER;
    for (size_t i = 0; i < edits->n_intervention; i++) {
        const struct attn_head_list *heads = &edits->interventions[i].heads;

        names_it |= edits->interventions[i].at.stack == ATTN_STACK_TOWER ||
                    (heads->n == 0 && attn_list_names_stack(heads->text, ATTN_STACK_TOWER));
        for (size_t k = 0; k < heads->n; k++)
            names_it |= heads->items[k].stack == ATTN_STACK_TOWER;
    }
    return names_it;
}

enum attn_status attn_edits_refuse_functions(const struct attn_request_edits *edits,
                                             const char *what, struct attn_error *err)
{
    for (size_t i = 0; i < edits->n; i++)
        if (edits->items && edits->items[i].op == ATTN_EDIT_FUNCTION)
            return attn_refuse(err, ATTN_STAGE_OPTIONS,
                               "the edit of '%s' is a function, and %s runs the model many times, "
                               "side by side: expected an edit by values",
                               attn_site_name(edits->items[i].at.site), what);
    return ATTN_OK;
}

bool attn_edits_name_positions(const struct attn_request_edits *edits)
{
    bool has_named = false;

    for (size_t i = 0; i < edits->n_intervention; i++)
        has_named = has_named || attn_number_list_is_given(&edits->interventions[i].positions);
    return has_named;
}

/* Checks that no field of GIVEN is set that its operation ignores. */
static enum attn_status check_ignored(const struct attn_intervention *given, struct attn_error *err)
{
    const bool ablates = attn_edit_op_ablates(given->op), masks = given->op == ATTN_EDIT_MASK;
    const char *ignored = NULL;

    if (ablates && attn_number_list_is_given(&given->positions))
        ignored = "positions";
    else if (!masks && attn_number_list_is_given(&given->keys))
        ignored = "keys";
    else if (!masks && !ablates && attn_head_list_is_given(&given->heads))
        ignored = "heads";
    return !ignored ? ATTN_OK
                    : attn_refuse(err, ATTN_STAGE_OPTIONS, "%s: `%s` has no effect on '%s'",
                                  attn_intervention_field(given), ignored,
                                  attn_quote_string(attn_intervention_name(given)).text);
}

enum attn_status attn_edits_check_given(const struct attn_request_edits *edits,
                                        struct attn_error *err)
{
    if (!ATTN_IS_KNOWN(edits->later, "edits", err) ||
        !attn_is_given(edits->n == 0 || edits->items, "edits", err) ||
        !attn_is_given(edits->n_intervention == 0 || edits->interventions, "interventions", err))
        return ATTN_INVALID;
    for (size_t i = 0; i < edits->n_intervention; i++) {
        const struct attn_intervention *given = &edits->interventions[i];
        const bool is_knockout = given->op == ATTN_EDIT_MASK;

        if (!ATTN_IS_KNOWN(given->later, "interventions", err) ||
            !attn_intervention_has_op(given->op, err) ||
            !attn_is_choice(given->at.site, ATTN_N_SITE, "site", err) ||
            !attn_is_choice(given->at.stack, ATTN_STACK_TOWER + 1, "stack", err) ||
            !attn_is_given(given->heads.n == 0 || given->heads.items, "heads", err) ||
            !attn_is_given(is_knockout ? attn_number_list_is_given(&given->positions) &&
                                             attn_number_list_is_given(&given->keys)
                                       : !attn_edit_op_has_data(given->op) || given->values.data,
                           attn_intervention_field(given), err))
            return ATTN_INVALID;
        ATTN_TRY(check_ignored(given, err));
    }
    return ATTN_OK;
}

enum attn_status attn_edit_parts_create(const struct attn_request_edits *edits,
                                        struct attn_edit_part **parts, size_t *n,
                                        struct attn_error *err)
{
    struct attn_edit_part *made;

    *n = 0;
    if (!attn_edits_are_given(edits))
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(made, count_parts(edits), err));
    add_interventions(edits, ATTN_EDIT_OPTION_ABLATE, ATTN_EDIT_OPTION_ABLATE, made, n);
    add_interventions(edits, ATTN_EDIT_OPTION_ABLATE_UNIFORM, ATTN_EDIT_OPTION_ABLATE_UNIFORM, made,
                      n);
    for (size_t i = 0; i < edits->n; i++)
        made[(*n)++] =
            (struct attn_edit_part){.option = ATTN_EDIT_OPTION_ITEMS, .given = &edits->items[i]};
    add_interventions(edits, ATTN_EDIT_OPTION_ABLATE_MEAN, ATTN_EDIT_OPTION_ABLATE_MEAN, made, n);
    add_interventions(edits, ATTN_EDIT_OPTION_KNOCKOUT, ATTN_EDIT_OPTION_KNOCKOUT, made, n);
    add_interventions(edits, ATTN_EDIT_OPTION_PATCH, ATTN_EDIT_OPTION_PATCH, made, n);
    add_interventions(edits, ATTN_EDIT_OPTION_STEER, ATTN_EDIT_OPTION_RESCALE, made, n);
    *parts = made;
    return ATTN_OK;
}

/* --- The list --------------------------------------------------------------------------------- */

/* An attn_edit_add_fn for edits that a request gives as struct attn_edit: appends them unchanged.
 */
static enum attn_status add_given(const struct attn_edit_scope *scope, struct attn_edit_list *list,
                                  struct attn_edit_range range, struct attn_error *err)
{
    (void)scope;
    for (size_t i = range.first; i < range.end; i++)
        ATTN_TRY(attn_edits_append(list, list->parts[i].given, i, err));
    return ATTN_OK;
}

enum attn_status attn_edits_find(const struct attn_edit_scope *scope, struct attn_edit_list *list,
                                 struct attn_error *err)
{
    static attn_edit_add_fn *const add[ATTN_N_EDIT_OPTION] = {
        [ATTN_EDIT_OPTION_ABLATE] = attn_edits_add_ablations,
        [ATTN_EDIT_OPTION_ABLATE_UNIFORM] = attn_edits_add_ablations,
        [ATTN_EDIT_OPTION_ITEMS] = add_given,
        [ATTN_EDIT_OPTION_ABLATE_MEAN] = attn_edits_add_means,
        [ATTN_EDIT_OPTION_KNOCKOUT] = attn_edits_add_knockouts,
        [ATTN_EDIT_OPTION_PATCH] = attn_edits_add_values,
        [ATTN_EDIT_OPTION_STEER] = attn_edits_add_values,
        [ATTN_EDIT_OPTION_PROJECT] = attn_edits_add_values,
        [ATTN_EDIT_OPTION_RESCALE] = attn_edits_add_values,
    };
    struct attn_edit_range range = {0, 0};

    ATTN_TRY(attn_edit_parts_create(scope->edits, &list->parts, &list->n_part, err));
    for (; range.first < list->n_part; range.first = range.end) {
        const enum attn_edit_option option = list->parts[range.first].option;

        while (range.end < list->n_part && list->parts[range.end].option == option)
            range.end++;
        ATTN_TRY(add[option](scope, list, range, err));
        attn_edit_parts_note_hidden(scope->notes, list->parts + range.first,
                                    range.end - range.first, 0);
    }
    return attn_edits_split(scope->before, list, err);
}

/* Whether SELECTION has heads besides those of the encoder. */
static bool has_own_heads(const struct attn_selection *selection)
{
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};

    return attn_selection_next_head(selection, &at);
}

/* Appends an edit that stands for PART, number I of the list, when only the model is known and no
 * text is. */
static enum attn_status add_sketch(const struct attn_edit_scope *scope, struct attn_edit_list *list,
                                   size_t i, struct attn_error *err)
{
    const struct attn_edit_part *part = &list->parts[i];
    const struct attn_intervention *given = part->given;
    struct attn_edit edit = ATTN_EDIT_DEFAULT;
    struct attn_selection *heads = NULL;

    if (part->option < ATTN_EDIT_OPTION_KNOCKOUT) {
        const struct attn_edit_range one = {i, i + 1};

        return part->option == ATTN_EDIT_OPTION_ITEMS
                   ? add_given(scope, list, one, err)
                   : attn_edits_add_ablations(scope, list, one, err);
    }
    if (given->op == ATTN_EDIT_MASK) {
        edit.op = ATTN_EDIT_MASK;
        edit.at.site = ATTN_SITE_ATTN_SCORES;
        if (attn_head_list_is_given(&given->heads))
            ATTN_TRY(attn_error_in(attn_select_heads(&given->heads, scope->dims, &heads, err),
                                   "knockouts", err));
        if (heads && !has_own_heads(heads))
            edit.at.stack = attn_dims_own_stack(scope->dims->encoder);
        attn_selection_free(heads);
    } else {
        return attn_edits_sketch_values(scope, list, i, err);
    }
    return attn_edits_append(list, &edit, i, err);
}

/* Lets the edits of LIST concern all rows and columns, and need no data: both depend on the text.
 */
static void drop_text(struct attn_edit_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        struct attn_edit *edit = &list->items[i];

        edit->row0 = edit->col0 = 0;
        edit->row1 = edit->col1 = SIZE_MAX;
        if (attn_edit_op_has_data(edit->op))
            edit->op = ATTN_EDIT_ZERO;
    }
}

/* Checks the edits of LIST against both stacks of the model of SCOPE. LAYERS is the attention of
 * the decoder, or of the only stack. */
static enum attn_status check_sketches(const struct attn_edit_scope *scope,
                                       const struct attn_attention *layers,
                                       struct attn_edit_list *list, struct attn_error *err)
{
    const struct attn_before *before = scope->before;

    drop_text(list);
    ATTN_TRY(attn_edits_split(scope->before, list, err));
    ATTN_TRY(attn_session_check_edits(layers, scope->dims, list->items, list->n, err));
    if (before->n_edit == 0)
        return ATTN_OK;
    return attn_session_check_edits(attn_model_config(before->model)->attention,
                                    scope->dims->encoder, before->edits, before->n_edit, err);
}

enum attn_status attn_edits_check_model(const struct attn_request_edits *edits,
                                        const struct attn_model *model,
                                        const struct attn_attention *layers, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(model);
    struct attn_before before = {.model = attn_model_before(model)};
    struct attn_dims dims = attn_config_dims(config, 1);
    const struct attn_edit_scope scope = {
        .edits = edits, .model = model, .dims = &dims, .before = &before};
    struct attn_edit_list list = {0};
    enum attn_status status = attn_edits_check_given(edits, err);

    layers = layers ? layers : config->attention;
    attn_attention_set_dims(layers, &dims);
    if (before.model) {
        before.dims = attn_config_dims(attn_model_config(before.model), 1);
        attn_attention_set_dims(attn_model_config(before.model)->attention, &before.dims);
        dims.encoder = &before.dims;
    }
    ATTN_THEN(status, attn_edit_parts_create(edits, &list.parts, &list.n_part, err));
    for (size_t i = 0; status == ATTN_OK && i < list.n_part; i++)
        status = add_sketch(&scope, &list, i, err);
    ATTN_THEN(status, check_sketches(&scope, layers, &list, err));
    attn_edits_release(&list);
    attn_before_release(&before);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

void attn_edits_release(struct attn_edit_list *list)
{
    attn_free(list->items);
    attn_free(list->parts);
    attn_free(list->links);
    attn_edit_means_release(&list->means);
    *list = (struct attn_edit_list){0};
}

void attn_edits_find_effects(const struct attn_edit_list *list, const struct attn_session *session,
                             size_t sequence)
{
    for (size_t i = 0; i < list->n_part; i++)
        list->parts[i].n_idle = !list->parts[i].n_hidden;
    for (size_t i = 0; i < list->n_link; i++) {
        const size_t edit = list->links[i].edit;

        if (edit < list->n ? attn_session_edit_has_effect(session, sequence, edit)
                           : list->before->has_effect[edit - list->n])
            list->parts[list->links[i].part].n_idle = 0;
    }
}

/* --- Notes ------------------------------------------------------------------------------------ */

/* Returns the option whose field contains PART. */
static enum attn_edit_option option_of(const struct attn_edit_part *part)
{
    return part->option == ATTN_EDIT_OPTION_ABLATE_UNIFORM ||
                   part->option == ATTN_EDIT_OPTION_ABLATE_MEAN
               ? ATTN_EDIT_OPTION_ABLATE
               : part->option;
}

/* How messages name the field of a request that holds the parts of each option. */
static const char *const fields[ATTN_N_EDIT_OPTION] = {
    [ATTN_EDIT_OPTION_ABLATE] = "`ablate`",      [ATTN_EDIT_OPTION_ITEMS] = "the edit",
    [ATTN_EDIT_OPTION_KNOCKOUT] = "`knockouts`", [ATTN_EDIT_OPTION_PATCH] = "`patches`",
    [ATTN_EDIT_OPTION_STEER] = "`steer`",        [ATTN_EDIT_OPTION_PROJECT] = "`project`",
    [ATTN_EDIT_OPTION_RESCALE] = "`rescale`",
};

/* Appends the name of PART to NAMES, after a comma unless it is the first. */
static void append_name(char *names, size_t *used, const struct attn_edit_part *part)
{
    const char *comma = *used > 0 ? "," : "";
    const struct attn_edit *edit = part->given;
    char layer[24] = "", head[24] = "";

    if (part->text) {
        attn_fixed_text_append(names, ATTN_QUOTE_SIZE, used, "%s%s", comma, part->text);
        return;
    }
    if (attn_site_is_in_layer(edit->at.site))
        snprintf(layer, sizeof layer, edit->at.layer == ATTN_ALL_LAYERS ? ":*" : ":%d",
                 edit->at.layer);
    if (attn_site_is_in_layer(edit->at.site) && edit->at.head != ATTN_ALL_HEADS)
        snprintf(head, sizeof head, ".%d", edit->at.head);
    attn_fixed_text_append(names, ATTN_QUOTE_SIZE, used, "%s%s%s%s", comma,
                           attn_site_name(edit->at.site), layer, head);
}

/* Whether parts A and B are named in one note: both are ablations, or both edits, and changed
 * nothing in equally many records. */
static bool is_named_with(const struct attn_edit_part *a, const struct attn_edit_part *b)
{
    return option_of(a) == option_of(b) && a->option < ATTN_EDIT_OPTION_KNOCKOUT &&
           a->n_idle == b->n_idle;
}

void attn_edit_parts_note_hidden(struct attn_notes notes, const struct attn_edit_part *parts,
                                 size_t n, size_t n_record)
{
    char subject[2 * ATTN_QUOTE_SIZE];

    for (size_t i = 0; i < n; i++) {
        const struct attn_counted_note note = {
            ATTN_NOTE_EDIT_MASKED, subject,  "none of its queries can look at one of its keys",
            parts[i].n_hidden,     n_record, {NULL}};

        if (parts[i].n_hidden == 0)
            continue;
        snprintf(subject, sizeof subject, "`knockouts` '%s' changes nothing",
                 attn_quote_string(parts[i].text).text);
        attn_note_counted(notes, &note);
    }
}

void attn_edit_parts_note_idle(struct attn_notes notes, const struct attn_edit_part *parts,
                               size_t n, size_t n_record)
{
    char subject[2 * ATTN_QUOTE_SIZE];

    for (size_t i = 0; i < n; i++) {
        const struct attn_counted_note note = {
            ATTN_NOTE_EDIT_IDLE,
            subject,
            "what it names has these values already, or comes after every tensor that is wanted",
            parts[i].n_idle,
            n_record,
            {NULL}};
        char text[ATTN_QUOTE_SIZE] = "";
        size_t used = 0, before = 0;

        while (before < i && !is_named_with(&parts[before], &parts[i]))
            before++;
        /* The part changed something, or an earlier note names it. */
        if (parts[i].n_idle == 0 || before < i)
            continue;
        append_name(text, &used, &parts[i]);
        for (size_t k = i + 1; k < n; k++)
            if (is_named_with(&parts[i], &parts[k]))
                append_name(text, &used, &parts[k]);
        snprintf(subject, sizeof subject, "%s '%s' changed nothing that is shown",
                 fields[option_of(&parts[i])], attn_quote_string(text).text);
        attn_note_counted(notes, &note);
    }
}

void attn_edits_note(const struct attn_edit_list *list, struct attn_notes notes, size_t n_row)
{
    unsigned had_effect = 0; /* bit i: a part of option i changed something */
    char text[ATTN_QUOTE_SIZE] = "";
    size_t used = 0;

    for (size_t i = 0; i < list->n_part; i++)
        if (list->parts[i].n_idle + list->parts[i].n_hidden == 0)
            had_effect |= 1U << option_of(&list->parts[i]);
    attn_edit_parts_note_idle(notes, list->parts, list->n_part, 0);
    if (had_effect == 0 || n_row == 0)
        return;
    for (int option = 0; option < ATTN_N_EDIT_OPTION; option++) {
        const unsigned before = had_effect & ((1U << option) - 1), after = had_effect >> option;

        if ((after & 1) != 0)
            attn_fixed_text_append(text, sizeof text, &used, "%s%s",
                                   before == 0  ? ""
                                   : after == 1 ? " and "
                                                : ", ",
                                   fields[option]);
    }
    attn_note(notes.on_note, notes.user, ATTN_NOTE_EDIT_ROWS, "%s changed %zu row%s", text, n_row,
              n_row == 1 ? "" : "s");
}
