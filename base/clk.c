/* clk.c - system and manual clocks. One thread owns a struct clk and may call clk_advance. Another
 * thread may read a system clock; at worst it sees an offset that has just changed a little
 * late. */
#include "base/clk.h"

#include <string.h>
#include <time.h>

void clk_init_system(struct clk *c)
{
    memset(c, 0, sizeof *c);
}

void clk_init_manual(struct clk *c, int64_t mono_ms, int64_t wall_ms)
{
    c->is_manual = 1;
    c->mono_ms = mono_ms;
    c->wall_ms = wall_ms;
}

void clk_advance(struct clk *c, int64_t ms)
{
    c->mono_ms += ms;
    c->wall_ms += ms;
}

static int64_t system_us(clockid_t id)
{
    struct timespec ts = { 0 };

    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t clk_now_us(const struct clk *c)
{
    return c->mono_ms * 1000 + (c->is_manual ? 0 : system_us(CLOCK_MONOTONIC));
}

int64_t clk_now_ms(const struct clk *c)
{
    return c->mono_ms + (c->is_manual ? 0 : system_us(CLOCK_MONOTONIC) / 1000);
}

int64_t clk_cpu_us(const struct clk *c)
{
    return c->is_manual ? c->mono_ms * 1000 : system_us(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clk_wall_ms(const struct clk *c)
{
    return c->wall_ms + (c->is_manual ? 0 : system_us(CLOCK_REALTIME) / 1000);
}
