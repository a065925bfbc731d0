/* gguf_layers.h - layers of several kinds and sizes in GGUF files, for gguf_config.c. */
#pragma once

#include "gguf/gguf_keys.h"

/* Reads the numbers of layers, heads and components of MLPs; the last two may be lists (struct
 * attn_gguf_form). The caller releases the lists (attn_gguf_release_layers), also after a failure.
 */
void attn_gguf_read_layers(struct attn_gguf_writing *w);
void attn_gguf_release_layers(struct attn_gguf_writing *w);

/* Reads the widths of heads: D_HEAD in layers with a window, if they may differ, D_WIDE in the
 * others. */
void attn_gguf_read_widths(struct attn_gguf_writing *w);

/* Writes which layers mix tokens without attention, the sizes of these, and those of layers that
 * differ. */
void attn_gguf_put_layers(struct attn_gguf_writing *w);
