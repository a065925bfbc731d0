/* view.c - see view.h. Each event becomes sparse rows: the remaining cells, with their keys. */
#include "tensors/view.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "tensors/token_text.h"
#include "trace/model_stack.h"
#include "trace/trace_internal.h"

#include <string.h>

/* The words of the text, or of a source. */
struct view_words {
    const size_t *of_token; /* [n_token] word of each token; NULL: tokens are not merged */
    size_t n_token;
    const char *const *tokens; /* [n_token], or NULL */
    const size_t *token_sizes; /* [n_token] */
    const char *piece;         /* as in struct attn_labels, or NULL */
    size_t n;                  /* number of words, or of tokens if they are not merged */
    const char **texts; /* [n] tokens joined, without the prefix of those that continue; or NULL */
    size_t *sizes;      /* [n] */
    size_t *n_row;      /* [n] for each word, the number of its tokens whose rows are selected */
};

/* A row of one head that is being averaged over the tokens of a word. */
struct word_row {
    size_t n_row;  /* rows added so far; 0: no word is in progress */
    double *sums;  /* [n_key] */
    bool *is_seen; /* [n_key] true if the cell has a value */
};

struct attn_view {
    const struct attn_labels *given;
    struct attn_view_options options;
    attn_trace_fn on_event;
    void *user;
    struct attn_labels labels;        /* labels of the emitted events */
    struct attn_store *store;         /* owns; has the arrays of words */
    struct attn_selection *selection; /* owns; selection with words as positions, or NULL */
    struct attn_dims encoder;         /* sizes with words, used by the selection */
    struct view_words positions, source;
    size_t *begin, *end;   /* [positions.n] begin and end of each word in the text, or NULL */
    size_t mask;           /* the word that is the only mask token of an encoder */
    bool *parks;           /* [positions.n] of words, or NULL */
    unsigned char *region; /* [positions.n] the region in which each word begins, or NULL */
    /* [n_open] rows in progress, for each site, layer and head; NULL if words are not
     * merged */
    struct word_row *open;
    size_t n_open;
    float *values;  /* owns; the rows of one event */
    int32_t *keys;  /* owns; the columns of these rows */
    size_t *n_kept; /* owns; [rows] number of cells per row */
    size_t cell_capacity, key_capacity, row_capacity;
};

struct attn_view_options attn_view_of(const struct attn_picture_options *picture)
{
    return picture && attn_picture_settings ? attn_picture_settings->view(picture)
                                            : (struct attn_view_options){0};
}

bool attn_view_is_wanted(struct attn_view_options options)
{
    return options.merges_words || attn_view_hides(options) || options.renormalizes;
}

const char *attn_view_name(struct attn_view_options options)
{
    return options.merges_words ? "merge_words" : options.hides != 0 ? "hide" : "renormalize";
}

bool attn_view_hides(struct attn_view_options options)
{
    return options.hides != ATTN_HIDDEN_NONE;
}

bool attn_view_hides_key(struct attn_view_options options, const struct attn_labels *labels,
                         const struct attn_location *at, size_t key)
{
    const struct attn_dims *dims = attn_selection_dims(labels->selection);

    if (!attn_view_hides(options) || !attn_site_has_first_key(at->site))
        return false;
    if (options.hides != ATTN_HIDDEN_PARKS)
        return key == 0;
    return (dims->encoder && attn_stack_is_encoder(at->stack)) || attn_location_is_cross(dims, at)
               ? key == 0 || key + 1 == dims->n_source
               : labels->parks[key];
}

bool attn_view_divides(struct attn_view_options options, enum attn_site site)
{
    return options.renormalizes && attn_site_range(site) != ATTN_RANGE_SIGNED;
}

/* Makes the words of the tokens; their texts only if those of the tokens are given. */
static enum attn_status make_words(struct view_words *words, struct attn_store **store,
                                   struct attn_error *err)
{
    const size_t n = words->n_token, *of_token = words->of_token;
    size_t n_byte = 0;
    char *end;

    words->n = of_token && n > 0 ? of_token[n - 1] + 1 : n;
    if (!of_token || n == 0 || !words->tokens)
        return ATTN_OK;
    ATTN_TRY(ATTN_STORE_ALLOC(store, words->texts, words->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(store, words->sizes, words->n, err));
    for (size_t i = 0; i < n; i++)
        n_byte += words->token_sizes[i];
    ATTN_TRY(ATTN_NEW(end, attn_store_take(store, n_byte, err)));
    for (size_t i = 0; i < n; i++) {
        const bool is_first = i == 0 || of_token[i] != of_token[i - 1];
        const char *token = words->tokens[i];
        const size_t n_piece =
            is_first ? 0 : attn_word_piece_size(token, words->token_sizes[i], words->piece);
        const size_t size = words->token_sizes[i] - n_piece;

        if (is_first)
            words->texts[of_token[i]] = end;
        end = (char *)memcpy(end, token + n_piece, size) + size;
        words->sizes[of_token[i]] += size;
    }
    return ATTN_OK;
}

static size_t word_of(const struct view_words *words, size_t token)
{
    return words->of_token ? words->of_token[token] : token;
}

/* Computes how many selected rows each word has, and where the word is in the text. */
static enum attn_status find_rows(struct attn_view *view, struct attn_error *err)
{
    const struct attn_labels *given = view->given;
    size_t last = SIZE_MAX;

    ATTN_TRY(ATTN_STORE_ALLOC(&view->store, view->positions.n_row, view->positions.n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&view->store, view->source.n_row, view->source.n, err));
    for (size_t i = 0; i < view->positions.n_token; i++)
        view->positions.n_row[word_of(&view->positions, i)] +=
            attn_selection_has_query(given->selection, ATTN_STACK_ONLY, i);
    for (size_t i = 0; i < view->source.n_token; i++)
        view->source.n_row[word_of(&view->source, i)] +=
            attn_selection_has_query(given->selection, ATTN_STACK_ENCODER, i);
    if (!given->begin)
        return ATTN_OK;
    ATTN_TRY(ATTN_STORE_ALLOC(&view->store, view->begin, view->positions.n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&view->store, view->end, view->positions.n, err));
    for (size_t i = 0; i < view->positions.n_token; i++) {
        const size_t word = word_of(&view->positions, i);

        if (word != last)
            view->begin[word] = given->begin[i];
        view->end[word] = given->end[i];
        last = word;
    }
    view->labels.begin = view->begin;
    view->labels.end = view->end;
    return ATTN_OK;
}

/* Selects those queries of STACK, whose positions are WORDS, whose tokens are selected. */
static enum attn_status select_queries(struct attn_selection *selection,
                                       enum attn_model_stack stack, const struct view_words *words,
                                       struct attn_error *err)
{
    for (size_t word = 0; word < words->n; word++)
        if (words->n_row[word] > 0)
            ATTN_TRY(attn_selection_add_queries(selection, stack, word, 1, err));
    return ATTN_OK;
}

/* Creates the selection for words that corresponds to the given one. */
static enum attn_status select_words(struct attn_view *view, struct attn_error *err)
{
    const struct attn_selection *given = view->given->selection;
    struct attn_dims dims = *attn_selection_dims(given);

    dims.n_position = view->positions.n;
    dims.n_source = view->source.n;
    if (dims.encoder) {
        view->encoder = *dims.encoder;
        view->encoder.n_position = view->source.n;
        dims.encoder = &view->encoder;
    }
    ATTN_TRY(attn_selection_copy_heads(given, &dims, &view->selection, err));
    ATTN_TRY(select_queries(view->selection, ATTN_STACK_ONLY, &view->positions, err));
    return dims.encoder ? select_queries(view->selection, ATTN_STACK_ENCODER, &view->source, err)
                        : ATTN_OK;
}

static enum attn_status check_words(const struct attn_labels *labels, struct attn_error *err)
{
    const struct attn_site_set patterns = attn_sites_join(
        ATTN_SITES(ATTN_SITE_PATTERN, ATTN_SITE_PATTERN_DROPPED), attn_sites_derived());
    const struct attn_site_set gradients =
        attn_sites_join(attn_sites_gradients_of(attn_sites_all()), ATTN_SITES(ATTN_SITE_CONTACTS));
    const struct attn_site_set chosen = attn_selection_sites(labels->selection);
    const struct attn_site_set sites =
        attn_sites_without(chosen, attn_sites_without(patterns, gradients));
    struct attn_selection_walk at = {0};
    bool has_words = false; /* maps over a options, which stay as they are, are not all */

    for (int site = 0; site < ATTN_N_SITE; site++)
        has_words |= attn_sites_have(chosen, site) && !attn_site_has_own_rows((enum attn_site)site);
    for (int site = 0; site < ATTN_N_SITE; site++)
        if (attn_sites_have(has_words ? sites : chosen, site)) {
            attn_error_set(err, ATTN_INVALID,
                           "`merge_words` joins rows and columns of patterns, and '%s' is chosen",
                           attn_site_name((enum attn_site)site));
            return attn_error_hint(err, "`sites pattern`");
        }
    while (attn_selection_next(labels->selection, &at))
        if (at.at.stack == ATTN_STACK_TOWER) {
            attn_error_set(err, ATTN_INVALID,
                           "`merge_words` joins tokens, and patches of the tower are chosen");
            return attn_error_hint(err, "`sites pattern`");
        }
    if (labels->words)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "`merge_words` joins tokens, and %s",
                   labels->axes ? "the arrays have no labels" : "the ids have no text");
    if (labels->axes)
        attn_error_hint(err, "`query_labels FILE` and `key_labels FILE` give them");
    return ATTN_INVALID;
}

/* Gives each word the part of a prompt with a picture in which it begins. */
static enum attn_status join_regions(struct attn_view *view, struct attn_error *err)
{
    if (!view->given->region)
        return ATTN_OK;
    ATTN_TRY(ATTN_STORE_ALLOC(&view->store, view->region, view->positions.n, err));
    for (size_t i = view->positions.n_token; i-- > 0;)
        view->region[word_of(&view->positions, i)] = view->given->region[i];
    view->labels.region = view->region;
    return ATTN_OK;
}

/* Finds the words that hold a park. */
static enum attn_status join_parks(struct attn_view *view, struct attn_error *err)
{
    if (!view->given->parks)
        return ATTN_OK;
    ATTN_TRY(ATTN_STORE_ALLOC(&view->store, view->parks, view->positions.n, err));
    for (size_t i = 0; i < view->positions.n_token; i++)
        view->parks[word_of(&view->positions, i)] |= view->given->parks[i];
    view->labels.parks = view->parks;
    return ATTN_OK;
}

static enum attn_status merge(struct attn_view *view, struct attn_error *err)
{
    const struct attn_labels *given = view->given;
    const struct attn_dims *dims = attn_selection_dims(given->selection);
    const size_t n_head = attn_dims_most_heads(dims);
    const size_t n_encoder_head = dims->encoder ? dims->encoder->n_head : 0;
    const enum attn_status status = check_words(given, err);

    if (status != ATTN_OK)
        return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
    view->positions = (struct view_words){.of_token = given->words,
                                          .n_token = dims->n_position,
                                          .tokens = given->tokens,
                                          .token_sizes = given->token_sizes,
                                          .piece = given->piece};
    view->source = (struct view_words){.of_token = given->source_words,
                                       .n_token = dims->n_source,
                                       .tokens = given->source_tokens,
                                       .token_sizes = given->source_token_sizes};
    ATTN_TRY(make_words(&view->positions, &view->store, err));
    ATTN_TRY(make_words(&view->source, &view->store, err));
    ATTN_TRY(find_rows(view, err));
    ATTN_TRY(select_words(view, err));
    view->labels.selection = view->selection;
    view->labels.ids = view->labels.source_ids = view->labels.types = NULL;
    view->labels.texts = NULL;
    view->labels.tokens = view->positions.texts;
    view->labels.token_sizes = view->positions.sizes;
    view->labels.words = view->labels.source_words = NULL;
    ATTN_TRY(join_regions(view, err));
    ATTN_TRY(join_parks(view, err));
    view->labels.seen = NULL;
    if (given->mask)
        view->mask = word_of(&view->positions, *given->mask);
    view->labels.mask = given->mask ? &view->mask : NULL;
    if (view->source.texts) {
        view->labels.source_tokens = view->source.texts;
        view->labels.source_token_sizes = view->source.sizes;
    }
    view->n_open = ATTN_N_SITE * attn_selection_n_slot(given->selection) *
                   (n_head > n_encoder_head ? n_head : n_encoder_head);
    return ATTN_STORE_ALLOC(&view->store, view->open, view->n_open, err);
}

/* Returns an error if a change in OPTIONS affects none of the tensors that LABELS select. */
static enum attn_status check_keys(const struct attn_labels *labels,
                                   struct attn_view_options options, struct attn_error *err)
{
    for (int i = 0; i < ATTN_N_SITE; i++) {
        const enum attn_site site = (enum attn_site)i;
        const bool has_keys = attn_site_has_keys(site);
        const bool is_divided = attn_view_divides(options, site) &&
                                (has_keys || attn_site_layout(site) == ATTN_LAYOUT_RANK);

        if (attn_sites_have(attn_selection_sites(labels->selection), site) &&
            (attn_view_hides(options) ? has_keys : is_divided))
            return ATTN_OK;
    }
    return attn_refuse(err, ATTN_STAGE_OPTIONS,
                       "`%s` changes patterns, and no chosen tensor is one",
                       attn_view_name(options));
}

enum attn_status attn_view_create(const struct attn_labels *labels,
                                  struct attn_view_options options, attn_trace_fn on_event,
                                  void *user, struct attn_view **view, struct attn_error *err)
{
    struct attn_view *made;

    if (!options.merges_words)
        ATTN_TRY(check_keys(labels, options, err));
    if (options.hides == ATTN_HIDDEN_PARKS && !labels->parks)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`hide sinks` needs the run of a model over a text or a picture");
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->given = labels;
    made->options = options;
    made->on_event = on_event;
    made->user = user;
    made->labels = *labels;
    ATTN_RETURN_MADE(options.merges_words ? merge(made, err) : ATTN_OK, view, made, attn_view_free);
}

const struct attn_labels *attn_view_labels(const struct attn_view *view)
{
    return &view->labels;
}

/* Allocates memory for N_ROW rows of N_KEY cells. */
static enum attn_status reserve(struct attn_view *view, size_t n_row, size_t n_key,
                                struct attn_error *err)
{
    size_t n;

    if (!attn_checked_mul(n_row, n_key, &n))
        return attn_error_no_memory(err);
    ATTN_TRY(ATTN_GROW(view->values, view->cell_capacity, n, err));
    ATTN_TRY(ATTN_GROW(view->keys, view->key_capacity, n, err));
    return ATTN_GROW(view->n_kept, view->row_capacity, n_row, err);
}

/* Leaves hidden keys out of a row of AT with N cells at VALUES and KEYS, and divides it by its sum.
 * Returns the number of remaining cells. */
static size_t narrow(const struct attn_view *view, const struct attn_location *at, float *values,
                     int32_t *keys, size_t n)
{
    const size_t n_cell = n;
    double sum = 0;

    n = 0;
    for (size_t i = 0; i < n_cell; i++) {
        values[n] = values[i];
        keys[n] = keys[i];
        n += !attn_view_hides_key(view->options, &view->labels, at, (size_t)keys[i]);
    }
    if (!attn_view_divides(view->options, at->site))
        return n;
    for (size_t i = 0; i < n; i++)
        sum += (double)values[i];
    if (sum == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        values[i] = (float)((double)values[i] / sum);
    return n;
}

/* Emits the first N_ROW rows that were made for EVENT. For projected sites all keys count. */
static enum attn_status emit(struct attn_view *view, struct attn_trace_event *event, size_t n_row,
                             size_t n_key, struct attn_error *err)
{
    const bool has_keys = attn_site_has_keys(event->at.site);

    if (n_row == 0)
        return ATTN_OK;
    event->n_row = n_row;
    event->n_col = event->ld = n_key;
    event->data = view->values;
    event->keys = has_keys ? view->keys : NULL;
    event->n_kept = has_keys ? view->n_kept : NULL;
    return view->on_event(view->user, event, err);
}

static enum attn_status emit_narrowed(struct attn_view *view, const struct attn_trace_event *event,
                                      struct attn_error *err)
{
    struct attn_trace_event narrowed = *event;
    const size_t ld = event->n_col;

    ATTN_TRY(reserve(view, event->n_row, ld, err));
    for (size_t r = 0; r < event->n_row; r++) {
        float *values = view->values + r * ld;
        int32_t *keys = view->keys + r * ld;
        struct attn_row row = attn_event_row(event, r);
        struct attn_cells cells;
        size_t n = 0;

        while (attn_row_next(&row, &cells))
            for (size_t i = 0; i < cells.n; i++) {
                values[n] = cells.values[i];
                keys[n++] = (int32_t)(cells.first + i);
            }
        view->n_kept[r] = narrow(view, &event->at, values, keys, n);
    }
    return emit(view, &narrowed, event->n_row, ld, err);
}

static void add_row(struct word_row *open, const struct view_words *keys,
                    const struct attn_trace_event *event, size_t r)
{
    struct attn_row row = attn_event_row(event, r);
    struct attn_cells cells;

    while (attn_row_next(&row, &cells))
        for (size_t i = 0; i < cells.n; i++) {
            const size_t word = word_of(keys, cells.first + i);

            open->sums[word] += (double)cells.values[i];
            open->is_seen[word] = true;
        }
    open->n_row++;
}

/* Converts the averaged row to cells, and clears it. Returns the number of cells. */
static size_t close_row(struct word_row *open, size_t n_key, float *values, int32_t *keys)
{
    size_t n = 0;

    for (size_t key = 0; key < n_key; key++) {
        if (!open->is_seen[key])
            continue;
        values[n] = (float)(open->sums[key] / (double)open->n_row);
        keys[n++] = (int32_t)key;
    }
    memset(open->sums, 0, n_key * sizeof *open->sums);
    memset(open->is_seen, 0, n_key * sizeof *open->is_seen);
    open->n_row = 0;
    return n;
}

static enum attn_status emit_words(struct attn_view *view, const struct attn_trace_event *event,
                                   struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(view->given->selection);
    const bool is_encoder = dims->encoder && attn_stack_is_encoder(event->at.stack);
    const bool is_cross = is_encoder || attn_location_is_cross(dims, &event->at);
    const struct view_words *rows = is_encoder ? &view->source : &view->positions;
    const struct view_words *keys = is_cross ? &view->source : &view->positions;
    const size_t n_layer = attn_selection_n_slot(view->given->selection);
    const size_t n_head = view->n_open / (ATTN_N_SITE * n_layer);
    const size_t head = attn_site_has_heads(event->at.site) ? (size_t)event->at.head : 0;
    struct word_row *open =
        &view->open[((size_t)event->at.site * n_layer +
                     (size_t)attn_selection_slot(view->given->selection, &event->at)) *
                        n_head +
                    head];
    struct attn_trace_event merged = *event;
    size_t n = 0;

    if (!open->sums) {
        ATTN_TRY(ATTN_STORE_ALLOC(&view->store, open->sums, keys->n, err));
        ATTN_TRY(ATTN_STORE_ALLOC(&view->store, open->is_seen, keys->n, err));
    }
    ATTN_TRY(reserve(view, event->n_row, keys->n, err));
    for (size_t r = 0; r < event->n_row; r++) {
        const size_t word = word_of(rows, event->row0 + r);
        float *values = view->values + n * keys->n;
        int32_t *kept = view->keys + n * keys->n;

        add_row(open, keys, event, r);
        if (open->n_row < rows->n_row[word])
            continue;
        if (n == 0)
            merged.row0 = word;
        view->n_kept[n++] =
            narrow(view, &event->at, values, kept, close_row(open, keys->n, values, kept));
    }
    return emit(view, &merged, n, keys->n, err);
}

enum attn_status attn_view_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    struct attn_view *view = user;

    if (view->options.merges_words && !attn_site_has_own_rows(event->at.site))
        return emit_words(view, event, err);
    if (attn_site_has_keys(event->at.site) || attn_site_layout(event->at.site) == ATTN_LAYOUT_RANK)
        return emit_narrowed(view, event, err);
    return view->on_event(view->user, event, err);
}

size_t attn_view_position(const struct attn_view *view, size_t position)
{
    return word_of(&view->positions, position);
}

void attn_view_free(struct attn_view *view)
{
    if (!view)
        return;
    attn_selection_free(view->selection);
    attn_store_release(&view->store);
    attn_free(view->values);
    attn_free(view->keys);
    attn_free(view->n_kept);
    attn_free(view);
}
