/* quantity.h - numbers as people read them. */
#ifndef ATTN_BASE_QUANTITY_H
#define ATTN_BASE_QUANTITY_H

#include <stdint.h>

enum { ATTN_QUANTITY_SIZE = 32 };

/* Each writes NUMBER into TEXT, terminated, and returns TEXT. */
const char *attn_quantity_count(uint64_t number, char text[ATTN_QUANTITY_SIZE]); /* "1,234,567" */
const char *attn_quantity_bytes(uint64_t number, char text[ATTN_QUANTITY_SIZE]); /* "1.2 MiB" */
const char *attn_quantity_operations(uint64_t number, char text[ATTN_QUANTITY_SIZE]); /* "1.2 M" */

#endif
