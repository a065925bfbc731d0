/* extra.h - what libattn has beside attn.h, and what may change with the first two numbers of the
 * version: where models are found, how tensors, tables and pictures are written, attention on
 * arrays, many inputs, experiments, and details of runs. It includes attn.h. */
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
#include "host/host_extra.h"
#include "model/model_extra.h"
#include "model/weight_arrays.h"
#include "tokenizer/tokenizer_extra.h"
#include "run/run_extra.h"
#include "forward/session_extra.h"
#include "trace/trace_extra.h"
#include "attention/attention_extra.h"
#include "edits/intervention.h"
#include "edits/edit_texts.h"

/* Arrays and pictures. */
#include "base/dtype.h"
#include "formats/ndarray.h"
#include "image/pixels.h"
#include "input/sound.h"
#include "attention/attend.h"

/* Tensors, tables and pictures as files. */
#include "base/sink.h"
#include "tables/table_order.h"
#include "tables/table_writer.h"
#include "encode/colormap.h"
#include "writers/picture.h"
#include "writers/format.h"
#include "writers/outputs.h"
#include "grid/table_view.h"
#include "figures/table_picture.h"
#include "page/page_live.h"
#include "live/live.h"
#include "run/page_request.h"

/* Many inputs, also from and to files. */
#include "analysis/measure.h"
#include "analysis/head_cards.h"
#include "run/item.h"
#include "run/many.h"
#include "records/items.h"
#include "batch/each.h"
#include "batch/records.h"
#include "experiment/batch.h"

/* Experiments, each over one input or many items. */
#include "study/study.h"
#include "analysis/difference.h"
#include "compare/compare.h"
#include "compare/comparison.h"
#include "experiment/ablate.h"
#include "experiment/align.h"
#include "experiment/attribute.h"
#include "experiment/attribute_kinds.h"
#include "experiment/attribute_generated.h"
#include "experiment/collect.h"
#include "experiment/diff.h"
#include "experiment/examples.h"
#include "experiment/generate.h"
#include "experiment/lens.h"
#include "experiment/life.h"
#include "experiment/patch.h"
#include "experiment/score.h"
#include "experiment/similarity.h"
#include "experiment/sinks.h"
#include "experiment/spans.h"
#include "experiment/survey.h"
#include "experiment/link_scores.h"
#include "experiment/token_times.h"
#include "experiment/speech_times.h"
#include "run/attention_args.h"
#include "base/medium.h"
#include "base/param.h"
#include "base/param_rules.h"
#include "run/request_params.h"
#include "study/question.h"
#include "experiment/questions.h"

/* Details: several sequences in a session, the largest keys, the arithmetic of a row, archives. */
#include "forward/session_pack.h"
#include "analysis/edges.h"
#include "explain/explain.h"

/* clang-format on */

#endif
