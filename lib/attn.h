/*
 * attn.h - the public interface of libattn: run GPT-style decoders on a CPU and see what their
 * attention does. What may still change is in attn/extra.h: files, pictures, batches, catalogs.
 *
 *     struct attn_request request = ATTN_REQUEST_DEFAULT;
 *     struct attn_result result = {0};
 *     request.input.text = "Once upon a time", request.input.n_text = 16;
 *     attn_host_open("fable", NULL, &host, &err);
 *     attn_run_capture(host, &request, &capture, &result, &err);
 *     struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = 2, .head = 1};
 *     attn_capture_head(capture, &at);    // float [T, T]
 *
 * The library never prints, never exits, and keeps no global state. Every call that can fail
 * returns an enum attn_status and says more in a struct attn_error (base/status.h).
 *
 * A program works with every later library of the ATTN_ABI that it was compiled with, which is part
 * of the shared library's name (base/version.h). While that number stays, versions of this header
 * - add functions and numbers of enums, and change or remove none;
 * - add fields at the end of a struct that begins with `size`, which NAME_init sets, the function
 *   behind ATTN_..._DEFAULT;
 * - add fields in the room of a struct that ends with `later`, which is NULL;
 * - leave all other structs as they are.
 * extra.h promises all this only while the first two numbers of the version stay.
 */
#ifndef ATTN_H
#define ATTN_H

/* In the order to read them. */
/* clang-format off */

/* Everywhere: versions, failures, where models come from. */
#include "base/version.h"
#include "base/status.h"
#include "base/note.h"
#include "base/source.h"

/* A model runs a text: a host serves requests, and a capture keeps tensors. */
#include "run/host.h"
#include "catalog/host_open.h"
#include "input/input.h"
#include "predict/answer.h"
#include "run/attention_change.h"
#include "run/request.h"
#include "run/run.h"
#include "trace/capture.h"
#include "tensors/output.h"
#include "tables/column.h"
#include "tables/table.h"

/* What is watched, changed and computed. */
#include "trace/dims.h"
#include "trace/model_stack.h"
#include "trace/gradient_site.h"
#include "trace/output_site.h"
#include "trace/site.h"
#include "trace/location.h"
#include "trace/lists.h"
#include "trace/selection.h"
#include "trace/trace.h"
#include "trace/edit.h"
#include "attention/attention.h"
#include "attention/kind.h"
#include "kernels/gemm.h"

/* Step by step: tokens, models and sessions. */
#include "tokenizer/encoding.h"
#include "tokenizer/tokenizer.h"
#include "model/config.h"
#include "model/model.h"
#include "forward/session.h"

/* clang-format on */

#endif
