#include "frame/asked.h"

#include "base/status_internal.h"
#include "input/position.h"
#include "means/rows.h"
#include "run/run_internal.h"
#include "trace/trace_internal.h"

struct attn_host *attn_asked_host(const struct attn_run *run)
{
    return run->host;
}

const struct attn_model *attn_asked_model(const struct attn_run *run)
{
    return run->model;
}

const struct attn_tokenizer *attn_asked_tokenizer(const struct attn_run *run)
{
    return run->tokenizer;
}

const struct attn_tokenizer *attn_asked_source_tokenizer(const struct attn_run *run)
{
    return run->source_tokenizer;
}

const struct attn_selection *attn_asked_selection(const struct attn_run *run)
{
    return run->selection;
}

const struct attn_request *attn_asked_request(const struct attn_run *run)
{
    return &run->request;
}

const struct attn_sequence *attn_asked_text(const struct attn_run *run)
{
    return &run->text;
}

const struct attn_sequence *attn_asked_source(const struct attn_run *run)
{
    return &run->source;
}

size_t attn_asked_n(const struct attn_run *run)
{
    return run->text.n;
}

struct attn_cell attn_asked_token(const struct attn_run *run, size_t position)
{
    return attn_cell_position(&run->text.tokens, position);
}

const struct attn_dims *attn_asked_dims(const struct attn_run *run)
{
    return attn_selection_dims(run->selection);
}

const struct attn_dims *attn_asked_stack_dims(const struct attn_run *run,
                                              enum attn_model_stack stack)
{
    return stack == ATTN_STACK_TOWER || stack == ATTN_STACK_ENCODER ? &run->before.dims
                                                                    : attn_asked_dims(run);
}

const struct attn_chat_text *attn_asked_chat(const struct attn_run *run)
{
    return &run->chat;
}

enum attn_status attn_asked_positions(const struct attn_run *run,
                                      const struct attn_number_list *list, const char *label,
                                      unsigned char *flags, struct attn_error *err)
{
    const struct attn_sequence *text = &run->text;

    if (attn_number_list_is_given(list))
        return attn_error_in(attn_positions_find(text, list, flags, err), label, err);
    for (size_t i = 0; i < text->n; i++)
        flags[i] = text->encoding.n == 0 || text->encoding.texts[i] != ATTN_TEXT_NONE;
    return ATTN_OK;
}

bool attn_asked_is_changed(const struct attn_run *run, const struct attn_location *at)
{
    return attn_edits_touch(run->edits.items, run->edits.n, at);
}

bool attn_asked_has(const struct attn_dims *dims, const struct attn_location *at)
{
    return attn_sites_have(dims->sites, at->site) && !attn_location_is_lacking(dims, at);
}
