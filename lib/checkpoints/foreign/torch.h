/*
 * torch.h - the tensors of the files that torch.save writes: pytorch_model.bin, .pt, .pth.
 *
 * Two forms, told apart by the first bytes. Zip (torch 1.6 and later): members NAME/data.pkl and
 * NAME/data/KEY, stored. Stream (before): pickles of a magic number, of 1001, of the system, of the
 * object, of the list of storage keys; then for each key its number of elements, 8 bytes, and the
 * elements. The object is a dictionary of tensors, or one of a trainer that has it under
 * `state_dict`, `model`, `module` or `model_state_dict`.
 *
 * Tensors whose elements are contiguous stay in the file, mapped or read. Others are gathered, and
 * doubles rounded to float32, when the file is opened.
 */
#pragma once

#include "base/file.h"
#include "base/status.h"
#include "foreign/pickle.h"
#include "formats/tensor_files.h"

/* Whether FILE begins as one of the two forms does. */
bool attn_torch_is_file(const struct attn_file *file);

/* Creates a directory of FILE alone. Takes FILE over, and closes it also on failure. If PICKLE is
 * not NULL, *pickle is its object, which borrows from *out, and *names_order whether a member names
 * the order of bytes, as PyTorch 2.1 of October 2023 and later ones do. ATTN_UNSUPPORTED if a
 * tensor, or the whole object, needs a call. */
enum attn_status attn_torch_take(struct attn_file *file, struct attn_tensor_files **out,
                                 struct attn_pickle **pickle, bool *names_order,
                                 struct attn_error *err);

/* Sorts the tensors of FILES by name. ATTN_FORMAT if two have the same. */
enum attn_status attn_torch_sort(const struct attn_tensor_files *files, struct attn_error *err);
