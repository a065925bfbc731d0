/* parts.c - the one list of what is linked. The rooms above see only these rows; a program that
 * lacks a row refuses its files. */
#include "parts.h"

#include "attention/attention_internal.h"
#include "edits/edits_internal.h"
#include "families/families.h"
#include "foreign/tensor_names.h"
#include "formats/bundle.h"
#include "formats/opener.h"
#include "frame/questions_internal.h"
#include "gradient/gradient.h"
#include "input/reader.h"
#include "model/model_internal.h"
#include "quantized/quantized.h"
#include "run/run_internal.h"
#include "run/watcher.h"
#include "sites/derived.h"
#include "tensors/view.h"
#include "tensors/writer.h"
#include "tokenizer/chat_form.h"
#include "tokenizer/tokenizer_class.h"
#include "towers/families/gguf_projector.h"
#include "towers/families/vision_family.h"

/* Files of other programs. */
extern const struct attn_opener attn_opener_small_vocabulary, attn_opener_checkpoint,
    attn_opener_torch;
extern const struct attn_adapter_reader attn_adapter_of_peft;

const struct attn_opener *const attn_openers[] = {
    &attn_opener_small_vocabulary, &attn_opener_checkpoint, &attn_opener_torch, NULL};
extern const struct attn_bundle_reader attn_bundle_of_gguf;

const struct attn_bundle_reader *const attn_bundles = &attn_bundle_of_gguf;
const struct attn_adapter_reader *const attn_adapters = &attn_adapter_of_peft;
attn_unpack_fn *const attn_unpack = attn_quantized_unpack;

extern attn_directions_fn attn_directions_of_gguf;
attn_directions_fn *const attn_directions = attn_directions_of_gguf;
attn_rename_fn *const attn_rename_tensors = attn_tensor_names_read;

extern const struct attn_sentence_reader attn_sentences_of_modules;
const struct attn_sentence_reader *const attn_sentences = &attn_sentences_of_modules;

extern const struct attn_vocabulary_reader attn_vocabulary_files;

const struct attn_vocabulary_reader *const attn_vocabularies = &attn_vocabulary_files;

/* Conversations. */
extern const struct attn_talker attn_talker_by_template;

const struct attn_talker *const attn_talker = &attn_talker_by_template;

/* Kinds of attention. */
#define KIND_ROW(id, number, name, written) [ATTN_ATTENTION_##id] = &attn_kind_##name,
const struct attn_kind *const attn_kinds[ATTN_N_ATTENTION_KIND] = {
    ATTN_ATTENTION_KIND_MAP(KIND_ROW)};

/* Families of models: of texts, of pictures, and of training programs. */
#define OTHER_FAMILY_MAP(X)                                                                        \
    X(llms_from_scratch) X(nanochat) X(transformer_lens) X(hooked_transformer)
#define FAMILY_ROW(name) &attn_family_##name,
OTHER_FAMILY_MAP(ATTN_FAMILY_DECLARE)
const struct attn_family *const attn_families[] = {ATTN_FAMILY_MAP(
    FAMILY_ROW) ATTN_PICTURE_FAMILY_MAP(FAMILY_ROW) OTHER_FAMILY_MAP(FAMILY_ROW) NULL};

extern const struct attn_strangers attn_strangers_of_families;

const struct attn_strangers *const attn_strangers = &attn_strangers_of_families;

const struct attn_tower_reader *const attn_tower_reader = &attn_picture_towers;
const struct attn_projector_reader *const attn_projectors = &attn_picture_projectors;

/* Formats of tensors. */
#define FORMAT_ROW(name) &attn_##name##_format,
const struct attn_format *const attn_formats[] = {ATTN_FORMAT_MAP(FORMAT_ROW) NULL};

extern const struct attn_picture_settings attn_settings_of_pictures;

const struct attn_picture_settings *const attn_picture_settings = &attn_settings_of_pictures;

/* The time of a run. */
extern const struct attn_estimate attn_estimate_of_cost;

const struct attn_estimate *const attn_estimates = &attn_estimate_of_cost;

extern const struct attn_maker attn_picture_maker;

const struct attn_maker *const attn_makers[] = {&attn_gradient_maker, &attn_derived_maker,
                                                &attn_received_maker, &attn_picture_maker, NULL};

extern const struct attn_watcher attn_head_watcher;

const struct attn_watcher *const attn_watcher = &attn_head_watcher;

/* Inputs other than texts. */
extern const struct attn_image_input attn_image_input_row;
extern const struct attn_sound_input attn_sound_input_row;

const struct attn_image_input *const attn_image_input = &attn_image_input_row;
const struct attn_sound_input *const attn_sound_input = &attn_sound_input_row;

extern const struct attn_speech_reader attn_speech_of_whisper;

const struct attn_speech_reader *const attn_speech_reader = &attn_speech_of_whisper;

/* Questions. */
#define QUESTION_ADDRESS(name) &attn_question_##name,
const struct attn_question *const attn_questions[] = {ATTN_QUESTION_MAP(QUESTION_ADDRESS) NULL};
