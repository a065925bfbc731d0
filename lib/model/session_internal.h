/* session_internal.h - what a session owns, and what was fed to it. For session.c and its tests. */
#ifndef ATTN_MODEL_SESSION_INTERNAL_H
#define ATTN_MODEL_SESSION_INTERNAL_H

#include "base/arena.h"
#include "model/forward.h"
#include "model/session.h"

struct attn_session {
    struct attn_forward forward;      /* borrows what follows */
    struct attn_edit *edits;          /* owns; [forward.n_edit] */
    struct attn_attention *attention; /* owns; [n_layer] */
    struct attn_arena arena;          /* owns the buffers of `forward` */
    size_t n_position;                /* fed so far */
    bool is_broken;                   /* a feed failed: only a reset helps */
    bool has_last_logits;             /* forward.last_logits are those of the last position */
};

#endif
