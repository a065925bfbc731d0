/* tower_reader.h - what reads the configs of encoders of other things beside a decoder of texts. */
#pragma once

#include "model/config_internal.h"
#include "model/family.h"

struct attn_tower_reader {
    /* Returns part number I of those whose towers are read; NULL after the last. */
    const struct attn_decoder_part *(*part_at)(size_t i);
    /* Reads CONFIG->vision from the config of a model of TYPE, whose decoder was read. TEXT is the
     * object of the decoder, or NULL. CONFIG is unchanged if models of that type have no tower. */
    enum attn_status (*read_config)(const struct attn_json *json, const char *type,
                                    const struct attn_node *text, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err);
};

/* lib/parts.c; NULL: none is linked. */
extern const struct attn_tower_reader *const attn_tower_reader;
