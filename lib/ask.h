/* ask.h - what a question is written with: the run that it asks, places of tensors, rows of a
 * trace, the host. It includes extra.h, and changes as that does: with the first two numbers of the
 * version. Unlike those of attn.h and extra.h, its functions check no pointer: the frame gives
 * them. */
#ifndef ATTN_ASK_H
#define ATTN_ASK_H

#include "extra.h"

/* What it sees */
#include "frame/asked.h"
#include "run/host_extra.h"
#include "run/item_extra.h"
#include "trace/location_extra.h"
#include "trace/places_extra.h"
#include "trace/rows_extra.h"

#endif
