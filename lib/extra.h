/* extra.h - what libattn has beside attn.h, and what may change with the first two numbers of the
 * version: where models are found, how tensors, tables and pictures are written, attention on
 * arrays, many inputs, questions, and details of runs. It includes attn.h. */
#ifndef ATTN_EXTRA_H
#define ATTN_EXTRA_H

/* In the order to read them. */
/* clang-format off */

#include "attn.h"

/* Models and texts by their names. */
#include "model/builtin.h"
#include "catalog/catalog.h"

/* More about models, sites and attention, also as users write them. */
#include "base/pool.h"
#include "model/weight_arrays.h"
#include "run/run_extra.h"
#include "trace/trace_extra.h"
#include "edits/intervention.h"
#include "edits/edit_texts.h"

/* Arrays and pictures. */
#include "base/dtype.h"
#include "formats/ndarray.h"
#include "input/pixels.h"
#include "input/sound.h"

/* Tensors, tables and pictures as files. */
#include "base/sink.h"
#include "tables/table_order.h"
#include "tables/table_writer.h"
#include "tables/colormap.h"
#include "tensors/figure_kind.h"
#include "tensors/picture.h"
#include "tensors/format.h"
#include "tensors/outputs.h"
#include "pictures/table_view.h"
#include "pictures/table_picture.h"
#include "page/page_live.h"
#include "run/live.h"

/* Many inputs, also from and to files. */
#include "measures/measure.h"
#include "measures/head_cards.h"
#include "run/item.h"
#include "stream/many.h"
#include "stream/items.h"
#include "stream/each.h"
#include "stream/records.h"

/* Questions, each over one input or many items. */
#include "questions/study.h"
#include "questions/ablate.h"
#include "questions/align.h"
#include "questions/attribute.h"
#include "questions/attribute_kinds.h"
#include "questions/attribute_generated.h"
#include "questions/circuit.h"
#include "questions/collect.h"
#include "questions/diff.h"
#include "questions/examples.h"
#include "questions/generate.h"
#include "questions/lens.h"
#include "questions/life.h"
#include "questions/pair.h"
#include "questions/patch.h"
#include "questions/score.h"
#include "questions/questions_extra.h"
#include "questions/sinks.h"
#include "questions/spans.h"
#include "questions/heads.h"
#include "run/attention_args.h"
#include "params/medium.h"
#include "params/param.h"
#include "params/param_rules.h"
#include "questions/question.h"
#include "questions/questions.h"

/* The arithmetic of a row. */
#include "questions/explain.h"

/* clang-format on */

#endif
