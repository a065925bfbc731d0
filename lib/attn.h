/*
 * attn.h - the public interface of libattn: run GPT-style decoders on a CPU and see what their
 * attention does. What may still change is in attn/extra.h: files, pictures, batches, catalogs.
 *
 *     struct attn_request request = ATTN_REQUEST_DEFAULT;
 *     struct attn_result result = {0};
 *     request.input.text = "Once upon a time", request.input.n_text = 16;
 *     attn_host_open("fable", NULL, &host, &err);
 *     attn_run_prepare(host, &request, &run, &err);
 *     attn_capture_create(attn_run_labels(run)->selection, &capture, &err);
 *     attn_run_perform(run, attn_capture_trace(capture), &result, &err);
 *     attn_capture_head(capture, ATTN_SITE_PATTERN, 2, 1);    // float [T, T]
 *
 * The library never prints, never exits, and keeps no global state. Every call that can fail
 * returns an enum attn_status and says more in a struct attn_error (base/status.h).
 *
 * A struct that begins with `size` is set by its initializer ATTN_..._DEFAULT and may get more
 * fields at its end in any version; one that ends with `later`, which is NULL, may get them there.
 * Programs that were compiled before go on working. All other structs, also those in arrays, change
 * only with the first two numbers of the version, which are part of the shared library's name.
 */
#ifndef ATTN_H
#define ATTN_H

/* In the order to read them. */
/* clang-format off */

/* Everywhere: versions, failures, where models come from, threads. */
#include "base/version.h"
#include "base/status.h"
#include "base/note.h"
#include "base/source.h"
#include "base/pool.h"

/* A model runs a text: a host serves requests, one or many, and a capture keeps tensors. */
#include "host/host.h"
#include "input/input.h"
#include "edits/intervention.h"
#include "predict/answer.h"
#include "run/attention_change.h"
#include "image/pixels.h"
#include "run/request.h"
#include "run/run.h"
#include "run/record.h"
#include "run/many.h"
#include "capture/capture.h"
#include "writers/output.h"
#include "base/column.h"
#include "base/table.h"

/* What is watched, changed and computed. */
#include "trace/gradient_site.h"
#include "trace/site.h"
#include "trace/selection.h"
#include "trace/trace.h"
#include "trace/edit.h"
#include "attention/attention.h"
#include "attention/kind.h"
#include "kernels/gemm.h"
#include "kernels/isa.h"

/* Step by step: tokens, models and sessions. */
#include "tokenizer/encoding.h"
#include "tokenizer/tokenizer.h"
#include "model/rope_config.h"
#include "model/image_config.h"
#include "model/config.h"
#include "model/model.h"
#include "forward/session.h"

/* Attention on arrays, and experiments. */
#include "base/dtype.h"
#include "formats/ndarray.h"
#include "attention/attend.h"
#include "analysis/measure.h"
#include "experiment/ablate.h"
#include "experiment/attribute.h"
#include "experiment/diff.h"
#include "experiment/generate.h"
#include "experiment/lens.h"
#include "experiment/patch.h"
#include "experiment/score.h"
#include "experiment/survey.h"

/* clang-format on */

#endif
