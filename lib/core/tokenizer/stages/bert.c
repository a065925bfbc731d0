/* bert.c - the stages of BERT's normalizer. */
#include "tokenizer/stages/stages_internal.h"

#include "base/text/utf8.h"
#include "tokenizer/unicode/unicode_internal.h"

/* What happens to the characters of a class. */
enum change { LEFT_OUT, BLANK, SET_APART };

/* Appends the replacement of the character at AT of the slice, which has LENGTH bytes. */
static void put(struct attn_layer *layer, enum change change, size_t at, size_t length)
{
    if (change == LEFT_OUT)
        return;
    attn_layer_put(layer, " ", 1, at, length);
    if (change == BLANK)
        return;
    attn_layer_put(layer, layer->under->text + layer->base + at, length, at, length);
    attn_layer_put(layer, " ", 1, at, length);
}

static enum attn_status run_change(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                   enum attn_character_class character_class, enum change change,
                                   struct attn_error *err)
{
    struct attn_layer *layer = walk->scratch[at];
    const char *text = attn_slice_text(slice);
    const size_t size = attn_slice_size(slice);
    size_t kept = 0;
    bool is_changed = false;

    attn_layer_begin(layer, slice);
    for (size_t i = 0, length; i < size; i += length) {
        uint32_t code_point;

        length = attn_utf8_decode(text + i, size - i, &code_point);
        if (length == 0 || text[i] == ' ' || !attn_character_is(code_point, character_class)) {
            length = length > 0 ? length : 1;
            continue;
        }
        attn_layer_keep(layer, kept, i - kept);
        put(layer, change, i, length);
        kept = i + length;
        is_changed = true;
    }
    if (!is_changed)
        return attn_walk_next(walk, at, slice, err);
    attn_layer_keep(layer, kept, size - kept);
    return attn_walk_next_layer(walk, at, layer, err);
}

#define STAGE(linkage, name, character_class, change)                                              \
    static enum attn_status run_##name(struct attn_walk *walk, size_t at, struct attn_slice slice, \
                                       struct attn_error *err)                                     \
    {                                                                                              \
        return run_change(walk, at, slice, character_class, change, err);                          \
    }                                                                                              \
    linkage struct attn_text_stage_kind attn_bert_##name = {.run = run_##name, .makes_layer = true}

STAGE(static const, clean, ATTN_CLASS_CONTROL, LEFT_OUT);
STAGE(static const, blank, ATTN_CLASS_WHITE_SPACE, BLANK);
STAGE(static const, set_apart, ATTN_CLASS_IDEOGRAPH, SET_APART);
STAGE(static const, strip_accents, ATTN_CLASS_ACCENT, LEFT_OUT);
STAGE(const, strip_marks, ATTN_CLASS_MARK, LEFT_OUT);
STAGE(const, nmt_clean, ATTN_CLASS_NMT_CONTROL, LEFT_OUT);
STAGE(const, nmt_blank, ATTN_CLASS_NMT_BLANK, BLANK);

enum attn_status attn_bert_add_normalizer(struct attn_pipeline *pipeline,
                                          const struct attn_bert_normalizer *normalizer,
                                          struct attn_error *err)
{
    const struct {
        bool is_wanted;
        const struct attn_text_stage_kind *kind;
    } steps[] = {
        {normalizer->cleans, &attn_bert_clean},
        {normalizer->cleans, &attn_bert_blank},
        {normalizer->sets_apart, &attn_bert_set_apart},
        {normalizer->strips_accents, &attn_change_nfd},
        {normalizer->strips_accents, &attn_bert_strip_accents},
        {normalizer->lowers, &attn_change_lowercase},
    };

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i].is_wanted)
            ATTN_TRY(attn_pipeline_add(pipeline, steps[i].kind, NULL, err));
    return ATTN_OK;
}
