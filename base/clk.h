/* clk.h - a clock that tests can set. Every component is given a struct clk and asks only that one
 * for the time, so a test can advance time without sleeping. "Monotonic" time never jumps and
 * serves all intervals and deadlines; wall time is only for showing and storing dates. */
#ifndef BASE_CLK_H
#define BASE_CLK_H

#include <stdint.h>

/* In a manual clock the two numbers are the readings. In a system clock they are offsets that are
 * added to the system's readings; they are 0 until clk_advance (`assay debug clock +60s`). */
struct clk {
    int is_manual;
    int64_t mono_ms, wall_ms;
};

void clk_init_system(struct clk *c);
void clk_init_manual(struct clk *c, int64_t mono_ms, int64_t wall_ms);
void clk_advance(struct clk *c, int64_t ms); /* moves both readings, of either kind of clock */
int64_t clk_now_ms(const struct clk *c);     /* monotonic */
int64_t clk_now_us(const struct clk *c);     /* monotonic */
int64_t clk_wall_ms(const struct clk *c);    /* since 1970, UTC */
/* Processor time of the calling thread: what work costs, whoever else wants the processor. A manual
 * clock gives its monotonic reading. */
int64_t clk_cpu_us(const struct clk *c);

#endif
