/* order.c - see order.h. */
#include "base/order.h"

#include <math.h>

int attn_compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return !!isnan(a) - !!isnan(b);
    return (a > b) - (a < b);
}
