#include "run/run_pass.h"

#include "run/run_internal.h"

static struct attn_feed_progress progress_of(const struct attn_run *run)
{
    return (struct attn_feed_progress){.on_part = run->request.on_part, .user = run->request.user};
}

struct attn_position_numbers attn_run_positions(const struct attn_run *run,
                                                enum attn_model_stack stack)
{
    if (stack == ATTN_STACK_ENCODER)
        return attn_before_input(&run->before)->numbers;
    return run->text.numbers.n > 0
               ? run->text.numbers
               : (struct attn_position_numbers){run->text.seen.positions,
                                                run->text.seen.positions ? run->text.n : 0,
                                                run->text.seen.next_position};
}

struct attn_session_options attn_run_session_options(const struct attn_run *run)
{
    const struct attn_host_options *host = &run->host->options;
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;

    options.n_max = run->text.n;
    options.n_source = run->source.n;
    options.attention = run->attention.layers;
    options.cancel = host->cancel;
    options.isa = host->isa;
    options.gemm = host->gemm;
    options.key_mask = run->text.key_mask;
    options.n_key_mask = run->text.n;
    options.source_mask = run->source.key_mask;
    options.n_source_mask = run->source.n;
    options.positions = attn_run_positions(run, ATTN_STACK_ONLY);
    options.embeddings_name = run->text.name;
    options.source_name = run->source.name;
    return options;
}

struct attn_pass attn_run_pass(const struct attn_run *run)
{
    struct attn_pass pass = {.model = run->model,
                             .text = &run->text,
                             .source = &run->source,
                             .is_early = run->before.is_due,
                             .progress = progress_of(run),
                             .options = attn_run_session_options(run)};

    pass.options.edits = run->edits.items;
    pass.options.n_edit = run->edits.n;
    return pass;
}

struct attn_before_pass attn_run_before(const struct attn_run *run)
{
    struct attn_session_options options = attn_run_session_options(run);
    struct attn_before_pass pass;

    /* The weights serve all inputs. */
    options.reads_once = run->before.own && run->before.n == 1 && !run->host->options.reuse;
    pass = attn_before_pass_of(&run->before, &options);
    pass.progress = progress_of(run);
    return pass;
}

struct attn_answer_scope attn_run_answer_scope(const struct attn_run *run)
{
    return (struct attn_answer_scope){.model = run->model,
                                      .tokenizer = run->tokenizer,
                                      .no_tokenizer = &run->host->tokenizer_failure,
                                      .text = &run->text,
                                      .dims = run->selection ? attn_selection_dims(run->selection)
                                                             : NULL,
                                      .special = run->request.reading.special};
}

const struct attn_spaces *attn_run_spaces(const struct attn_run *run)
{
    return &run->asked.spaces;
}
