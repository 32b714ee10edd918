/* clk.h - time that tests can set. Every component is given a clock; nobody calls time(). */
#ifndef BASE_CLK_H
#define BASE_CLK_H

#include <stdint.h>

struct clk {
    int is_manual;
    int64_t mono_ms,
        wall_ms; /* of a manual clock; of a system clock: mono_ms is an offset added (debug clock +60s) */
};

void clk_init_system(struct clk *c);
void clk_init_manual(struct clk *c, int64_t mono_ms, int64_t wall_ms);
void clk_advance(struct clk *c, int64_t ms); /* both readings, on either kind */
int64_t clk_now_ms(const struct clk *c);     /* monotonic */
int64_t clk_now_us(const struct clk *c);     /* monotonic */
int64_t clk_wall_ms(const struct clk *c);    /* since 1970 UTC */

#endif
