/* run_pass.h - the inputs, options and scope of the passes of a run, for rooms that make passes
 * themselves. */
#pragma once

#include "input/before.h"
#include "predict/answer_internal.h"
#include "run/run.h"

/* Returns the numbers of the positions that STACK of RUN reads, by which rotary positions turn: one
 * per row, or three beside a picture. Borrowed from RUN. */
struct attn_position_numbers attn_run_positions(const struct attn_run *run,
                                                enum attn_model_stack stack);

/* Returns the options of a session for RUN: lengths, attention, host and files, without edits and
 * without a trace. */
struct attn_session_options attn_run_session_options(const struct attn_run *run);

/* Return a pass over the text of RUN, and one of what runs before it, with its edits. Borrow from
 * RUN. */
struct attn_pass attn_run_pass(const struct attn_run *run);
struct attn_before_pass attn_run_before(const struct attn_run *run);

/* Returns the unusual spaces of the text and of what is asked about it; borrowed from RUN. */
const struct attn_spaces *attn_run_spaces(const struct attn_run *run);

/* Returns the scope for questions about tokens. Borrows from RUN. */
struct attn_answer_scope attn_run_answer_scope(const struct attn_run *run);
