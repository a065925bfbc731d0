/* received.h - the maker of `received`, the weight that each key gets from the chosen queries. */
#ifndef ATTN_SITES_RECEIVED_H
#define ATTN_SITES_RECEIVED_H

#include "run/maker.h"

extern const struct attn_maker attn_received_maker;

#endif
