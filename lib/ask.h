/* ask.h - what a question is written with: the run that it asks, places of tensors, rows of a
 * trace, the host. It includes extra.h, and changes as that does: with the first two numbers of the
 * version. Unlike those of attn.h and extra.h, its functions check no pointer: the frame gives
 * them. */
#ifndef ATTN_ASK_H
#define ATTN_ASK_H

#include "extra.h"

/* What it sees */
#include "frame/asked.h"
#include "model/model_extra.h"
#include "run/host_extra.h"
#include "run/item_extra.h"
#include "run/prepared_extra.h"
#include "tokenizer/tokenizer_extra.h"

/* Places, sites and rows */
#include "trace/location_extra.h"
#include "trace/places_extra.h"
#include "trace/rows_extra.h"
#include "trace/selection_extra.h"
#include "trace/site_extra.h"
#include "trace/site_set.h"

/* Inputs, edits, feeds and answers */
#include "edits/intervention_extra.h"
#include "forward/session_extra.h"
#include "input/input_extra.h"
#include "predict/answer_extra.h"
#include "predict/logits.h"

#endif
