/* many.c - see many.h. A worker computes one batch of texts at a time: short texts together in
 * packs, others alone, and long ones with all threads. Or it asks about one item at a time. */
#include "stream/many.h"

#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "run/host_internal.h"
#include "run/run_internal.h"
#include "stream/items_internal.h"
#include "stream/many_item.h"
#include "stream/window.h"
#include "tables/table_internal.h"

enum {
    DEFAULT_WINDOW = 1024,
    DEFAULT_WINDOW_BYTES = 64 << 20,
    ASKED_WINDOW = 16 /* items per thread in the window while ASK computes them */
};

struct many {
    const struct attn_many_task *task;
    const struct attn_item_calls *calls;
    struct attn_many_pack **packs; /* [n_worker] owns; the session of each worker */
    struct attn_item *half;        /* an item whose next text or window is next; or NULL */
    struct attn_many_part part;    /* where the next window of `half` begins; owns its text */
    size_t n_run;                  /* number of texts handed out that did not fail */
    struct attn_edit_part *parts;  /* [n_part] owns; the parts of the request's edits, each with the
                                      number of records in which it changed nothing; or NULL */
    size_t n_part;
    uint64_t noted; /* bit set of the codes of notes that were given for an earlier text */

    /* The current item, while answers are found: */
    struct attn_table *rows;   /* owns; or NULL */
    double *beside;            /* owns; the numbers beside its rows; or NULL */
    struct attn_error failure; /* failure of its first text; or {0} */
};

/* A batch of texts, with the worker's session. */
struct batch {
    struct many *many;
    struct attn_window *window;
    struct attn_many_pack *pack;
};

/* --- Reading and handing out ----------------------------------------------------------------- */

/* Makes ITEM the next window of its text. */
static enum attn_status read_window(struct many *many, struct attn_many_item *item,
                                    struct attn_error *err)
{
    struct attn_many_part *part = &many->part;

    item->part = *part;
    ATTN_TRY(attn_many_whole_cut(many->task, item, err));
    part->from = part->shift + item->part.input.n_id;
    part->shift += many->task->options.stride;
    if (item->is_last)
        *part = (struct attn_many_part){0};
    return ATTN_OK;
}

/* The approximate size in bytes of the texts and the arrays of ITEM. */
static size_t count_bytes(const struct attn_item *item)
{
    const struct attn_input *inputs[] = {&item->input, &item->other, &item->source};
    size_t n_byte = item->n_id + item->words.n * item->n_row_label * sizeof *item->row_labels;

    for (size_t i = 0; i < 3; i++)
        n_byte += inputs[i]->n_text + inputs[i]->n_pair +
                  (inputs[i]->n_id + inputs[i]->n_type + inputs[i]->n_key_mask) * sizeof(int32_t);
    for (size_t i = 0; i < item->n_next; i++)
        n_byte += strlen(item->next[i]);
    return n_byte;
}

/* Reads the next text into SLOT. Implements `read` of struct attn_window_form. */
static enum attn_status read_text(void *user, void *slot, size_t *n_byte, bool *is_over,
                                  struct attn_error *err)
{
    struct many *many = user;
    struct attn_many_item *item = slot;

    item->given = many->half;
    item->is_second = many->half && !many->part.whole;
    item->is_last = true;
    many->half = NULL;
    if (!item->given)
        ATTN_TRY(
            attn_call_status(many->calls->next(many->calls->user, &item->given, err), "next", err));
    *is_over = !item->given;
    if (*is_over)
        return ATTN_OK;
    item->is_last = many->calls->ask || item->is_second || item->given->pair == ATTN_ITEM_SINGLE ||
                    item->given->failure != ATTN_REASON_NONE;
    if (many->task && !many->part.whole)
        ATTN_TRY(attn_many_whole_read(many->task, item->given, &many->part.whole, err));
    if (many->part.whole)
        ATTN_TRY(read_window(many, item, err));
    many->half = item->is_last ? NULL : item->given;
    *n_byte = sizeof *item + sizeof *item->given + count_bytes(item->given);
    return ATTN_OK;
}

/* Estimates the number of positions of the text in SLOT. */
static size_t guess_rows(const void *slot)
{
    enum { BYTES_A_TOKEN = 4, PICTURE_ROWS = 256 };
    const struct attn_many_item *item = slot;
    const struct attn_input *input = attn_many_item_input(item);

    if (item->given->failure != ATTN_REASON_NONE)
        return 0;
    if (input->image)
        return PICTURE_ROWS;
    return 1 + (input->ids ? input->n_id : (input->n_text + input->n_pair) / BYTES_A_TOKEN);
}

static void release_item(void *user, void *slot)
{
    const struct many *many = user;
    struct attn_many_item *item = slot;
    struct attn_item *given = item->is_last ? item->given : NULL;

    attn_many_item_release(item);
    if (given && many->calls->release)
        many->calls->release(given);
}

/* Passes on the first note of each code (attn_note_fn; USER is the struct many). */
static void note_first(void *user, enum attn_note code, const char *message)
{
    struct many *many = user;
    const struct attn_request *request = many->task->options.request;

    if (request && (many->noted >> code & 1) == 0)
        attn_note(request->on_note, request->user, code, "%s", message);
    many->noted |= UINT64_C(1) << code;
}

/* Counts the edits that change nothing in ITEM. Notes the first item with missing or superfluous
 * spaces, the first with letters that are not residues, and the first with a second BOS. */
static void note_oddities(struct many *many, const struct attn_many_item *item)
{
    char message[ATTN_SPACES_MESSAGE_SIZE];

    if (!item->run)
        return;
    many->n_run++;
    if (!many->task->options.is_only && attn_spaces_describe(&item->run->asked.spaces, message))
        note_first(many, ATTN_NOTE_SPACES, message);
    if (many->task->options.is_only && attn_run_describe_letters(item->run, message))
        note_first(many, ATTN_NOTE_RESIDUES, message);
    else if (attn_run_describe_letters(item->run, message))
        attn_note(note_first, many, ATTN_NOTE_RESIDUES, "record %zu: %s", item->given->number,
                  message);
    attn_sequence_note(&item->run->text, item->run->tokenizer,
                       (struct attn_notes){note_first, many, NULL});
    for (size_t i = 0; i < many->n_part && !item->part.whole; i++) { /* windows differ in it */
        many->parts[i].n_idle += item->run->edits.parts[i].n_idle;
        many->parts[i].n_hidden += item->run->edits.parts[i].n_hidden;
    }
}

/* Returns true if STATUS with ERR is a failure of a single item. */
static bool is_of_item(enum attn_status status, const struct attn_error *err)
{
    /* ATTN_IO: the item's picture cannot be read */
    return (status == ATTN_INVALID || status == ATTN_FORMAT || status == ATTN_UNSUPPORTED ||
            (status == ATTN_IO && err->stage == ATTN_STAGE_INPUT)) &&
           err->stage != ATTN_STAGE_MODEL && err->stage != ATTN_STAGE_OUTPUT &&
           err->stage != ATTN_STAGE_CHECK;
}

/* Adds the numbers of ITEM, a window, to those of its text; after the last window RESULT has these.
 */
static enum attn_status join_window(const struct many *many, const struct attn_many_item *item,
                                    struct attn_item_result *result, struct attn_error *err)
{
    struct attn_many_whole *whole = item->part.whole;
    const struct attn_token_reader *reader = many->task->options.tokens;
    const size_t n_number = reader ? reader->n_number : 0, n = whole->text.n;

    if (!whole->surprisal) {
        ATTN_TRY(ATTN_ALLOC(whole->surprisal, n, err));
        if (reader)
            ATTN_TRY(ATTN_ALLOC(whole->numbers, attn_size_mul(n, n_number), err));
    }
    for (size_t i = item->part.from - item->part.shift; i < item->n_row; i++) {
        whole->surprisal[item->part.shift + i] = result->surprisal[i];
        if (reader)
            memcpy(whole->numbers + (item->part.shift + i) * n_number,
                   result->numbers + i * n_number, n_number * sizeof *whole->numbers);
    }
    if (many->task->request.on_progress)
        many->task->request.on_progress(many->task->request.user, item->part.shift + item->n_row,
                                        n);
    result->text = &whole->text;
    result->n_token = n;
    result->labels = NULL;
    result->surprisal = whole->surprisal;
    result->numbers = whole->numbers;
    return ATTN_OK;
}

/* Adds the answer to the result of a text, unless an earlier text of the item failed. */
static enum attn_status find(struct many *many, const struct attn_many_item *item,
                             struct attn_item_result *result, struct attn_error *err)
{
    struct attn_error why = many->failure;
    const bool is_part = item->part.whole && !item->is_last;

    many->failure = (struct attn_error){.status = ATTN_OK};
    if (item->part.whole && why.status == ATTN_OK && result->failure == ATTN_REASON_NONE)
        ATTN_TRY(join_window(many, item, result, err));
    if (!is_part && why.status == ATTN_OK && result->failure == ATTN_REASON_NONE) {
        result->answer.rows = many->rows;
        result->answer.beside = many->beside;
        why.status = attn_error_at(many->calls->find(many->calls->user, result, &why),
                                   ATTN_STAGE_INPUT, &why);
        many->rows = result->answer.rows;
        many->beside = result->answer.beside;
        if (why.status != ATTN_OK && !is_of_item(why.status, &why))
            return attn_error_copy(err, &why);
    }
    if (why.status != ATTN_OK) {
        result->failure = attn_item_reason(&why);
        result->err = why;
    }
    if (!result->is_last && result->failure != ATTN_REASON_NONE)
        many->failure = result->err;
    return ATTN_OK;
}

/* Passes RESULT to the caller; of a pair with an answer, only the second. */
static enum attn_status hand_out(struct many *many, const struct attn_many_item *item,
                                 struct attn_item_result *result, struct attn_error *err)
{
    enum attn_status status;

    if (many->calls->find) {
        ATTN_TRY(find(many, item, result, err));
        if (!result->is_last)
            return ATTN_OK;
    }
    status = attn_call_status(many->calls->done(many->calls->user, result, err), "done", err);
    if (many->rows)
        attn_table_reset(many->rows);
    return status;
}

/* Passes the result of the item in SLOT to the caller. Implements `take` of struct
 * attn_window_form. */
static enum attn_status hand_out_result(void *user, void *slot, bool is_followed,
                                        struct attn_error *err)
{
    struct many *many = user;
    struct attn_many_item *item = slot;
    struct attn_spaces spaces = {0};
    struct attn_item_result result;
    enum attn_status status;

    if (item->answer)
        result = item->answer->result;
    else
        attn_many_item_report(many->task, item, &result);
    if (result.answer.is_general)
        return attn_error_copy(err, &result.err);
    result.is_followed = is_followed;
    if (many->calls->find)
        result.spaces = &spaces;
    status = hand_out(many, item, &result, err);
    note_oddities(many, item);
    return status;
}

static void on_end(void *user)
{
    const struct many *many = user;

    if (many->calls->on_end)
        many->calls->on_end(many->calls->user);
}

/* Returns a window without workers that reads and hands out the items of MANY. */
static struct attn_window_form window_form(struct many *many)
{
    return (struct attn_window_form){
        .slot_size = sizeof(struct attn_many_item),
        .read = read_text,
        .take = hand_out_result,
        .release = release_item,
        .on_end = on_end,
        .user = many,
    };
}

/* --- Computing ------------------------------------------------------------------------------- */

/* Computes N texts from FIRST on together in one pack. */
static enum attn_status compute_pack(const struct batch *batch, size_t first, size_t n,
                                     struct attn_error *err)
{
    struct attn_many_item *items[ATTN_MANY_PACK_ROWS];
    size_t n_byte = 0;
    enum attn_status status;

    if (n == 0)
        return ATTN_OK;
    for (size_t i = 0; i < n; i++) {
        items[i] = attn_window_slot(batch->window, first + i);
        n_byte += items[i]->n_byte;
    }
    if (!attn_window_begin(batch->window, first, n_byte, false))
        return ATTN_OK;
    status = attn_many_pack_run(batch->pack, items, n, err);
    attn_window_end(batch->window);
    if (status == ATTN_OK)
        attn_window_finish(batch->window, first, n);
    return status;
}

/* Computes text NUMBER in a separate session. */
static enum attn_status compute_alone(const struct batch *batch, size_t number,
                                      struct attn_error *err)
{
    struct attn_many_item *item = attn_window_slot(batch->window, number);
    const bool is_long = item->n_row > ATTN_MANY_MOST_ROWS;

    if (item->failure == ATTN_REASON_NONE) {
        enum attn_status status;

        if (!attn_window_begin(batch->window, number, item->n_byte, is_long))
            return ATTN_OK;
        status = attn_many_item_compute(batch->many->task, item, is_long, err);
        attn_window_end(batch->window);
        ATTN_TRY(status);
    }
    attn_window_finish(batch->window, number, 1);
    return ATTN_OK;
}

/* Computes N texts from FIRST on, in their order. Implements `compute` of struct
 * attn_window_form. */
static enum attn_status compute(void *user, struct attn_window *window, int worker, size_t first,
                                size_t n, struct attn_error *err)
{
    struct many *many = user;
    const struct batch batch = {many, window, many->packs[worker]};
    size_t pack = first, n_row = 0; /* the start and the rows of the current pack */

    for (size_t i = first; i < first + n; i++) {
        struct attn_many_item *item = attn_window_slot(window, i);
        size_t n_more;

        ATTN_TRY(attn_many_item_prepare(many->task, item, err));
        n_more = item->can_pack ? item->n_row : 0;
        if (n_more > 0 && n_row + n_more <= ATTN_MANY_PACK_ROWS &&
            i - pack < many->task->n_most_packed) {
            n_row += n_more;
            continue;
        }
        ATTN_TRY(compute_pack(&batch, pack, i - pack, err));
        pack = i;
        n_row = n_more;
        if (n_more == 0) {
            ATTN_TRY(compute_alone(&batch, i, err));
            pack = i + 1;
        }
    }
    return compute_pack(&batch, pack, first + n - pack, err);
}

/* --- Asking ---------------------------------------------------------------------------------- */

/* Computes the answer about item NUMBER. Implements `compute` of struct attn_window_form. A failure
 * is stored until all items before it are handed out. */
static enum attn_status answer(void *user, struct attn_window *window, int worker, size_t number,
                               size_t n, struct attn_error *err)
{
    const struct many *many = user;
    struct attn_many_item *item = attn_window_slot(window, number);
    struct attn_item_result *result;

    (void)worker;
    ATTN_TRY(ATTN_ALLOC(item->answer, 1, err));
    result = &item->answer->result;
    *result = (struct attn_item_result){.item = item->given,
                                        .is_last = true,
                                        .failure = item->given->failure,
                                        .spaces = &item->answer->spaces,
                                        .err = item->given->err};
    if (result->failure == ATTN_REASON_NONE) {
        struct attn_error why = {0};

        why.status = many->calls->ask(many->calls->user, result, &why);
        result->err = why;
        if (why.status != ATTN_OK)
            result->failure = attn_item_reason(&why);
        result->answer.is_general =
            why.status != ATTN_OK && (result->answer.is_general || !is_of_item(why.status, &why));
    }
    attn_window_finish(window, number, n);
    return ATTN_OK;
}

/* Asks about all items. */
static enum attn_status ask_all(struct many *many, struct attn_host *host, bool is_serial,
                                struct attn_error *err)
{
    const int n = attn_host_n_thread(host);
    const bool is_locked = !is_serial && attn_pool_lock(host->pool);
    struct attn_window_form form = window_form(many);
    enum attn_status status;

    form.n_slot = ASKED_WINDOW * (size_t)n;
    form.n_worker = is_serial ? 0 : n;
    form.compute = answer;
    status = attn_window_run(&form, host, err);
    if (is_locked)
        attn_pool_unlock(host->pool);
    return status;
}

/* --- The whole run ---------------------------------------------------------------------------- */

/* Writes the notes about edits without an effect, once for all records. */
static void note_idle(const struct many *many)
{
    const struct attn_request *request = many->task->options.request;
    const size_t n = request && !request->on_counted && many->n_run == 1 ? 0 : many->n_run;

    if (!request)
        return;
    attn_edit_parts_note_hidden(attn_request_notes(request), many->parts, many->n_part, n);
    attn_edit_parts_note_idle(attn_request_notes(request), many->parts, many->n_part, n);
}

/* Runs all records with N workers. The caller releases the task and the packs. */
static enum attn_status run(struct many *many, int n, struct attn_error *err)
{
    const struct attn_many_options *options = &many->task->options;
    struct attn_window_form form = window_form(many);

    form.n_slot = options->n_window > 0 ? options->n_window : DEFAULT_WINDOW;
    form.most_bytes = options->n_window_byte > 0 ? options->n_window_byte : DEFAULT_WINDOW_BYTES;
    form.n_row = ATTN_MANY_PACK_ROWS;
    form.n_worker = n;
    form.guess_rows = guess_rows;
    form.compute = compute;
    ATTN_TRY(attn_edit_parts_create(&many->task->request.edits, &many->parts, &many->n_part, err));
    for (int i = 0; i < n; i++)
        ATTN_TRY(attn_many_pack_create(many->task, &many->packs[i], err));
    ATTN_TRY(attn_window_run(&form, many->task->host, err));
    note_idle(many);
    return ATTN_OK;
}

/* Runs all records with the request and the options GIVEN. */
static enum attn_status run_texts(struct many *many, struct attn_host *host,
                                  const struct attn_many_options *given, struct attn_error *err)
{
    const int n = attn_host_n_thread(host);
    struct attn_many_task task;
    enum attn_status status;

    ATTN_TRY(ATTN_NEW(many->packs, attn_alloc((size_t)n, sizeof(struct attn_many_pack *), err)));
    many->task = &task;
    status = attn_many_task_init(&task, host, given, err);
    ATTN_THEN(status, run(many, n, err));
    for (int i = 0; i < n; i++)
        attn_many_pack_free(many->packs[i]);
    attn_free(many->packs);
    attn_free(many->parts);
    attn_many_task_release(&task);
    many->task = NULL;
    return status;
}

enum attn_status attn_run_many(struct attn_host *host, const struct attn_many_options *options,
                               const struct attn_item_calls *calls, struct attn_error *err)
{
    struct many many = {.calls = calls};
    enum attn_status status;

    if (!attn_is_given(host, "host", err) || !attn_is_given(calls, "calls", err) ||
        !attn_is_given(calls->next, "next", err) || !attn_is_given(calls->done, "done", err))
        return ATTN_INVALID;
    status = calls->ask ? ask_all(&many, host, options && options->is_serial, err)
                        : run_texts(&many, host, options, err);
    if (many.half && calls->release)
        calls->release(many.half);
    attn_many_whole_free(many.part.whole);
    attn_table_free(many.rows);
    attn_free(many.beside);
    return status;
}
