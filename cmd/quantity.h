/* quantity.h - numbers as people read them. */
#ifndef CMD_QUANTITY_H
#define CMD_QUANTITY_H

#include <stdint.h>

enum { QUANTITY_SIZE = 32 };

/* Each writes NUMBER into TEXT, terminated, and returns TEXT. */
const char *quantity_count(uint64_t number, char text[QUANTITY_SIZE]);      /* "1,234,567" */
const char *quantity_bytes(uint64_t number, char text[QUANTITY_SIZE]);      /* "1.2 MiB" */
const char *quantity_operations(uint64_t number, char text[QUANTITY_SIZE]); /* "1.2 M" */

#endif
