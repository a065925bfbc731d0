/* quantity.c - see quantity.h. */
#include "base/quantity.h"

#include <inttypes.h>
#include <stdio.h>

enum { N_UNIT = 7 };

const char *attn_quantity_count(uint64_t number, char text[ATTN_QUANTITY_SIZE])
{
    char digits[ATTN_QUANTITY_SIZE];
    int n = snprintf(digits, sizeof(digits), "%" PRIu64, number);
    char *at = text;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return text;
}

/* NUMBER in the largest of UNITS that it reaches, each STEP times the one before. */
static const char *scale(uint64_t number, double step, const char *const units[N_UNIT],
                         char text[ATTN_QUANTITY_SIZE])
{
    double value = (double)number;
    int i = 0;
    while (value >= (i == 0 ? step : step - 0.05) && i < N_UNIT - 1) { /* not "1024.0 KiB" */
        value /= step;
        i++;
    }
    snprintf(text, ATTN_QUANTITY_SIZE, i == 0 ? "%.0f%s" : "%.1f%s", value, units[i]);
    return text;
}

const char *attn_quantity_bytes(uint64_t number, char text[ATTN_QUANTITY_SIZE])
{
    static const char *const units[N_UNIT] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    return scale(number, 1024, units, text);
}

const char *attn_quantity_operations(uint64_t number, char text[ATTN_QUANTITY_SIZE])
{
    static const char *const units[N_UNIT] = {"", " k", " M", " G", " T", " P", " E"};
    return scale(number, 1000, units, text);
}
