/* core_parts.c - lib/parts.c of a program that has lib/core alone (`make core`): the kinds of
 * attention of models, and formats of tensors that are not drawn. */
#include "attention/attention_internal.h"
#include "edits/edits_internal.h"
#include "formats/bundle.h"
#include "formats/opener.h"
#include "input/reader.h"
#include "model/model_internal.h"
#include "model/tower_reader.h"
#include "run/maker.h"
#include "run/run_internal.h"
#include "run/watcher.h"
#include "tensors/view.h"
#include "tensors/writer.h"
#include "tokenizer/chat_form.h"
#include "tokenizer/tokenizer_class.h"

const struct attn_opener *const attn_openers[] = {NULL};
const struct attn_bundle_reader *const attn_bundles = NULL;
const struct attn_adapter_reader *const attn_adapters = NULL;
attn_unpack_fn *const attn_unpack = NULL;
attn_directions_fn *const attn_directions = NULL;
attn_rename_fn *const attn_rename_tensors = NULL;
const struct attn_sentence_reader *const attn_sentences = NULL;
const struct attn_vocabulary_reader *const attn_vocabularies = NULL;
const struct attn_talker *const attn_talker = NULL;

const struct attn_kind *const attn_kinds[ATTN_N_ATTENTION_KIND] = {
    [ATTN_ATTENTION_FULL] = &attn_kind_full, [ATTN_ATTENTION_WINDOW] = &attn_kind_window};

/* The families of the models that are built in. */
ATTN_FAMILY_DECLARE(attn)
ATTN_FAMILY_DECLARE(gpt2)
const struct attn_family *const attn_families[] = {&attn_family_gpt2, &attn_family_attn, NULL};
const struct attn_strangers *const attn_strangers = NULL;
const struct attn_tower_reader *const attn_tower_reader = NULL;

const struct attn_format *const attn_formats[] = {&attn_csv_format,
                                                  &attn_tidy_format,
                                                  &attn_npy_format,
                                                  &attn_npz_format,
                                                  &attn_safetensors_format,
                                                  &attn_json_format,
                                                  NULL};
const struct attn_picture_settings *const attn_picture_settings = NULL;

const struct attn_estimate *const attn_estimates = NULL;
const struct attn_maker *const attn_makers[] = {NULL};
const struct attn_watcher *const attn_watcher = NULL;
const struct attn_image_input *const attn_image_input = NULL;
const struct attn_sound_input *const attn_sound_input = NULL;
const struct attn_speech_reader *const attn_speech_reader = NULL;
