/* choice.c - the third stage of a run: the selection of its tensors, from the texts of the request.
 */
#include "run/run_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/list.h"
#include "input/position.h"
#include "model/model_internal.h"
#include "predict/answer_internal.h"
#include "predict/class_label.h"
#include "run/maker.h"
#include "tensors/format_internal.h"
#include "tokenizer/words.h"
#include "trace/trace_internal.h"

#include <string.h>

/* Checks that STACK can have those of SITES that are made, but for those of a metric. */
static enum attn_status check_made(const struct attn_run *run, enum attn_model_stack stack,
                                   struct attn_site_set sites, struct attn_error *err)
{
    const struct attn_model *encoder = run->model ? run->model->encoder : NULL;

    sites = attn_sites_without(sites, attn_sites_of_metric());
    return attn_error_of(stack == ATTN_STACK_ENCODER && encoder
                             ? attn_makers_check(encoder, encoder->config.attention, sites, err)
                             : attn_makers_check(run->model, run->attention.layers, sites, err),
                         "sites", err);
}

/* Selects the sites of LIST. Items may name a stack. A glob selects the sites that the model has; a
 * name is an error if the model lacks that site, even if other sites of the list exist. */
static enum attn_status set_sites(const struct attn_run *run, const char *list,
                                  struct attn_error *err)
{
    struct attn_selection *selection = run->chosen;
    const struct attn_dims *dims = attn_selection_dims(selection);
    const bool has_stacks = attn_dims_has_stacks(dims) || dims->encoder;
    enum attn_status status = ATTN_OK;
    struct attn_site_set all;

    ATTN_TRY(attn_error_in(attn_sites_parse(list, &all, err), "sites", err));
    attn_selection_clear_sites(selection);
    for (struct attn_list_item item = {.rest = list}; status == ATTN_OK && attn_list_next(&item);) {
        size_t n_stack;
        const enum attn_model_stack stack = attn_model_stack_find(item.text, &n_stack);
        const struct attn_site_set sites =
            attn_sites_match(item.text + n_stack, item.size - n_stack);

        status = check_made(run, stack, sites, err);
        if (status == ATTN_OK &&
            (has_stacks || n_stack > 0 || strcspn(item.text, "*?,") == item.size))
            status =
                attn_error_in(attn_selection_add_sites(selection, stack, sites, err), "sites", err);
    }
    if (status == ATTN_OK && !has_stacks)
        status = attn_error_in(attn_selection_set_sites(selection, all, err), "sites", err);
    return status;
}

/* Restricts the heads to those of SPEC, which counts the heads of one batch, in every batch. */
static enum attn_status keep_in_batches(struct attn_selection *selection, const char *spec,
                                        size_t n_batch, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    struct attn_dims one_batch = *dims;
    struct attn_selection *heads;
    enum attn_status status = ATTN_OK;

    one_batch.n_head /= n_batch;
    one_batch.n_kv_head /= n_batch;
    ATTN_TRY(attn_select_heads(&(struct attn_head_list){.text = spec}, &one_batch, &heads, err));
    for (size_t head = 0; status == ATTN_OK && head < dims->n_head; head++) {
        const struct attn_location at = {.head = (int)head},
                                   of_batch = {.head = (int)(head % one_batch.n_head)};

        if (attn_selection_has_head(heads, &of_batch))
            status = attn_selection_add_head(selection, &at, err);
    }
    attn_selection_free(heads);
    return status;
}

/* Removes sites without a selected tensor. Fails if no site is left. */
static enum attn_status narrow(struct attn_selection *selection,
                               const struct attn_request_selection *given, struct attn_error *err)
{
    attn_selection_drop_sites(selection);
    if (!attn_sites_are_empty(attn_selection_sites(selection)))
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "layers '%s', heads '%s' and the chosen sites have nothing in common",
                   given->layers ? attn_quote_string(given->layers).text : "all",
                   given->heads ? attn_quote_string(given->heads).text : "all");
    return attn_error_of(ATTN_INVALID, "layers|heads|sites", err);
}

/* Returns the sites that SELECTION lists. A malformed list gives none; the error is reported when
 * the list is parsed. */
static struct attn_site_set listed_sites(const struct attn_request_selection *selection)
{
    struct attn_error unknown = {0};
    struct attn_site_set sites = {0};

    if (selection->given)
        return attn_selection_sites(selection->given);
    if (selection->sites)
        attn_sites_parse(selection->sites, &sites, &unknown); /* SITES stays empty if it fails */
    return sites;
}

static enum attn_status check_gradients(const struct attn_run *run, struct attn_site_set sites,
                                        struct attn_error *err)
{
    if (!run->model)
        return attn_error_set(err, ATTN_INVALID,
                              "gradients are those of logits, and arrays have none");
    if (!run->request.selection.gradients_of && !attn_model_has_one_label(run->model))
        return attn_error_set(err, ATTN_INVALID,
                              "gradients are those of a metric: they need `target`, and `foil` "
                              "for the difference of two logits");
    if (run->request.selection.has_gradients && attn_sites_have(sites, ATTN_SITE_CONTACTS))
        return attn_error_set(err, ATTN_INVALID, "'contacts' has no gradient");
    return attn_makers_check(run->model, run->attention.layers,
                             attn_sites_join(sites, attn_sites_gradients_of(attn_sites_all())),
                             err);
}

/* Sets whether the request needs gradients, checks that its run can compute them, and adds their
 * sites to DIMS. */
static enum attn_status find_gradients(struct attn_run *run, struct attn_dims *dims,
                                       struct attn_error *err)
{
    const struct attn_request_selection *selection = &run->request.selection;
    const struct attn_site_set sites = listed_sites(selection);
    struct attn_site_set of_before;

    run->asked.has_goal =
        selection->has_gradients || attn_sites_meet(sites, attn_sites_of_metric());
    if (!run->asked.has_goal)
        return ATTN_OK;
    attn_sites_extend(&dims->sites, attn_sites_of_metric_in(dims->sites));
    of_before = attn_sites_of_metric_in(run->before.dims.sites);
    if (run->before.own) /* relevance is followed through the layers of the decoder */
        of_before = attn_sites_without(of_before,
                                       ATTN_SITES(ATTN_SITE_RELEVANCE, ATTN_SITE_RELEVANCE_NORM));
    attn_sites_extend(&run->before.dims.sites, of_before);
    return check_gradients(run, sites, err);
}

/* Uses the caller's selection, after a check that it was made for these sizes. */
static enum attn_status use_given_selection(struct attn_run *run, const struct attn_dims *dims,
                                            struct attn_error *err)
{
    const struct attn_dims *own = attn_selection_dims(run->request.selection.given);

    run->selection = run->request.selection.given;
    if (own->n_position == dims->n_position && own->n_source == dims->n_source &&
        own->n_layer == dims->n_layer && own->n_head == dims->n_head &&
        attn_sites_are_equal(attn_sites_without(own->sites, attn_sites_derived()),
                             attn_sites_without(dims->sites, attn_sites_derived())) &&
        attn_sites_are_empty(attn_sites_without(attn_selection_sites(run->selection), dims->sites)))
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_INVALID,
        "the selection is for %zu positions, %zu layers and %zu heads, the run has %zu, "
        "%zu and %zu, or other sites",
        own->n_position, own->n_layer, own->n_head, dims->n_position, dims->n_layer, dims->n_head);
}

static bool merges_words(const struct attn_run *run)
{
    return attn_view_of(run->request.outputs.picture).merges_words;
}

/* How tokens are grouped into words, for options that merge words: as attn_words_mark does
 * (tokenizer/words.h). Tokens that the tokenizer adds are words by themselves, and so is the first
 * one of a second text. In word-level vocabularies each token is a word. */

/* Groups labels into words of SEQUENCE in the same way, and numbers these from 0. */
static enum attn_status group_labels(const struct attn_label_list *labels,
                                     struct attn_sequence *sequence, struct attn_error *err)
{
    size_t *words;
    bool *begins;

    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, words, labels->n, err));
    ATTN_TRY(ATTN_ALLOC(begins, labels->n, err));
    attn_words_mark_texts(labels->items, labels->sizes, labels->n, begins);
    for (size_t i = 1; i < labels->n; i++)
        words[i] = words[i - 1] + begins[i];
    attn_free(begins);
    sequence->words = words;
    return ATTN_OK;
}

/* Numbers the words of SEQUENCE from 0. words[i] is the word of token i. The tokens must have
 * texts. TOKENIZER, which knows the special tokens, may be NULL. */
static enum attn_status group_tokens(const struct attn_tokenizer *tokenizer,
                                     struct attn_sequence *sequence, struct attn_error *err)
{
    const struct attn_encoding *encoding = &sequence->encoding;
    size_t *words;
    bool *begins;

    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, words, sequence->n, err));
    ATTN_TRY(ATTN_ALLOC(begins, sequence->n, err));
    if (tokenizer && sequence->ids)
        attn_words_mark(tokenizer, sequence->ids, sequence->n, begins);
    else
        attn_words_mark_texts((const char *const *)sequence->tokens.bytes, sequence->tokens.sizes,
                              sequence->n, begins);
    for (size_t i = 1; i < sequence->n; i++) {
        const bool is_added = encoding->n > 0 && (encoding->texts[i] == ATTN_TEXT_NONE ||
                                                  encoding->texts[i] != encoding->texts[i - 1]);

        words[i] = words[i - 1] + (sequence->is_word_level || is_added || begins[i]);
    }
    attn_free(begins);
    sequence->words = words;
    return ATTN_OK;
}

/* Numbers the words of the tokens, if tokens have texts. If words are merged and no sites are
 * listed, selects the pattern, because only patterns can be merged. */
static enum attn_status find_words(struct attn_run *run, struct attn_error *err)
{
    const struct attn_request_reading *reading = &run->request.reading;

    if (merges_words(run) && !run->request.selection.sites)
        run->request.selection.sites = attn_site_name(ATTN_SITE_PATTERN);
    if (!run->model && reading->query_labels.items)
        ATTN_TRY(group_labels(&reading->query_labels, &run->text, err));
    if (!run->model && reading->key_labels.items)
        ATTN_TRY(group_labels(&reading->key_labels, &run->source, err));
    if (run->text.tokens.bytes && !run->text.pixels) /* positions of a picture are not words */
        ATTN_TRY(group_tokens(run->tokenizer, &run->text, err));
    if (run->source.tokens.bytes)
        ATTN_TRY(group_tokens(run->source_tokenizer, &run->source, err));
    return ATTN_OK;
}

/* Stores the position of the only mask token as the list of queries. */
static enum attn_status use_mask_as_query(struct attn_run *run, struct attn_error *err)
{
    const struct attn_answer_scope scope = attn_run_answer_scope(run);
    size_t position;

    ATTN_TRY(attn_mask_find(&scope, "queries", &position, err));
    ATTN_TRY(ATTN_ALLOC(run->query_numbers, 1, err));
    *run->query_numbers = (int64_t)position;
    run->request.selection.queries = (struct attn_number_list){.items = run->query_numbers, .n = 1};
    return ATTN_OK;
}

/* Resolves words in `queries` to positions of TEXT. */
static enum attn_status resolve_queries(struct attn_run *run, const struct attn_sequence *text,
                                        struct attn_error *err)
{
    struct attn_number_list *queries = &run->request.selection.queries;

    if (run->text.reader && run->text.reader->choose_rows)
        ATTN_TRY(run->text.reader->choose_rows(run, err));
    if (!attn_number_list_is_given(queries))
        return run->request.selection.at_mask ? use_mask_as_query(run, err) : ATTN_OK;
    if (queries->n > 0)
        return ATTN_OK;
    ATTN_TRY(attn_error_in(attn_positions_number(text, queries->text, &run->queries, err),
                           "queries", err));
    queries->text = run->queries;
    return ATTN_OK;
}

/* Creates the selection of the request, with all queries. */
static enum attn_status make_selection(struct attn_run *run, const struct attn_dims *dims,
                                       size_t n_batch, struct attn_error *err)
{
    const struct attn_request_selection *given = &run->request.selection;
    struct attn_selection *made;
    enum attn_status status = ATTN_OK;

    ATTN_TRY(attn_selection_create(dims, &run->chosen, err));
    run->selection = made = run->chosen;
    if (given->sites)
        ATTN_TRY(set_sites(run, given->sites, err));
    if (given->layers)
        ATTN_TRY(attn_error_in(attn_selection_set_layers(made, given->layers, err), "layers", err));
    if (given->heads)
        status = n_batch > 1 ? keep_in_batches(made, given->heads, n_batch, err)
                             : attn_selection_set_heads(made, given->heads, err);
    ATTN_TRY(attn_error_in(status, "heads", err));
    return narrow(made, given, err);
}

/* Extends the queries of STACK to all tokens of each word that has a selected token. words[i] is
 * the word of token i. */
static enum attn_status widen_to_words(const size_t *words, struct attn_selection *selection,
                                       enum attn_model_stack stack, struct attn_error *err)
{
    const size_t n = attn_dims_of(attn_selection_dims(selection), stack)->n_position;

    if (attn_selection_is_all_queries(selection, stack))
        return ATTN_OK;
    for (size_t first = 0, end; first < n; first = end) {
        bool is_chosen = false;

        for (end = first; end < n && words[end] == words[first]; end++)
            is_chosen = is_chosen || attn_selection_has_query(selection, stack, end);
        if (is_chosen)
            ATTN_TRY(attn_selection_add_queries(selection, stack, first, end - first, err));
    }
    return ATTN_OK;
}

/* Selects the queries. If only the encoder is selected and nothing is predicted, they are rows of
 * the encoder. */
static enum attn_status choose_queries(struct attn_run *run, struct attn_error *err)
{
    struct attn_request_selection *asked = &run->request.selection;
    const struct attn_request_outputs *outputs = &run->request.outputs;
    const bool is_before =
        !attn_predict_is_asked(&run->request.predict) && attn_selection_is_of_encoder(run->chosen);
    const struct attn_sequence *text = is_before ? attn_before_input(&run->before) : &run->text;
    const enum attn_model_stack stack = is_before ? ATTN_STACK_ENCODER : ATTN_STACK_ONLY;
    const bool has_queries = is_before && attn_number_list_is_given(&asked->queries);

    for (size_t i = 0; has_queries && i < outputs->n; i++)
        if (outputs->items[i].format->holds_stacks)
            return attn_error_set(err, ATTN_INVALID,
                                  "`%s` holds all rows of the encoder, and `queries` chooses some",
                                  outputs->items[i].format->name);
    if (run->model)
        ATTN_TRY(resolve_queries(run, text, err));
    if (attn_number_list_is_given(&asked->queries)) {
        ATTN_TRY(
            attn_error_in(attn_selection_choose_queries(run->chosen, stack, &asked->queries, err),
                          "queries", err));
        ATTN_TRY(narrow(run->chosen, asked, err));
    }
    if (is_before)
        asked->queries = (struct attn_number_list){0}; /* selects all rows of the decoder */
    return merges_words(run) && text->words ? widen_to_words(text->words, run->chosen, stack, err)
                                            : ATTN_OK;
}

enum attn_status attn_run_choose_before(struct attn_run *run, struct attn_error *err)
{
    const struct attn_request_selection *asked = &run->request.selection;
    const struct attn_request_outputs *outputs = &run->request.outputs;
    struct attn_before *before = &run->before;
    const bool is_watched = attn_list_names_stack(asked->sites, ATTN_STACK_TOWER);
    const bool is_named =
        is_watched || (run->model->tower && attn_edits_name_tower(&run->request.edits));

    if (is_named && run->text.seen.n_picture == 0)
        return attn_error_set(err, ATTN_INVALID, "'tower:' encodes a picture beside a text, and %s",
                              run->model->tower ? "none was given" : "the model has no such tower");
    const bool has_tiles = attn_number_list_is_given(&asked->tiles);

    if (has_tiles && !is_named)
        return attn_error_set(err, ATTN_INVALID,
                              "`tiles` chooses pictures of the tower, and neither `sites` nor an "
                              "edit names 'tower:'");
    if (!is_named)
        return ATTN_OK;
    ATTN_TRY(attn_error_in(run->text.reader->choose(run, err), "tiles", err));
    before->n_shown = !is_watched ? 0 : has_tiles ? before->n_chosen : 1;
    for (size_t i = 0; before->n_shown > 1 && i < outputs->n; i++)
        if (!outputs->items[i].format->holds_arrays)
            return attn_error_set(err, ATTN_INVALID,
                                  "`%s` shows one picture of the tower, and `tiles` chooses %zu",
                                  outputs->items[i].format->name, before->n_shown);
    return ATTN_OK;
}

enum attn_status attn_run_choose(struct attn_run *run, struct attn_dims *dims, size_t n_batch,
                                 struct attn_error *err)
{
    const struct attn_request *request = &run->request;

    ATTN_TRY(find_gradients(run, dims, err));
    ATTN_TRY(attn_layer_attention_check_sites(
        &run->attention.layers[0], request->selection.sites,
        request->outputs.n > 0 ? attn_request_notes(request) : (struct attn_notes){0}, err));
    ATTN_TRY(find_words(run, err));
    if (request->selection.given) {
        if (run->model)
            ATTN_TRY(resolve_queries(run, &run->text, err));
        return use_given_selection(run, dims, err);
    }
    ATTN_TRY(make_selection(run, dims, n_batch, err));
    ATTN_TRY(choose_queries(run, err));
    if (request->selection.has_gradients)
        attn_selection_add_gradients(run->chosen);
    return ATTN_OK;
}
