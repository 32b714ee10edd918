/* ctl.c - small things that every room needs of the controller: its clocks, and marking what a
 * request changed. Requests and turns themselves are begun and ended in serve/turn.c.
 *
 * To mark something, the numbers of the present turn and request are stored with it. If that
 * request is undone, or that turn's commit fails, turn.c reads everything again that has its
 * number. */
#include "controller/state/ctl.h"

#include "base/mem.h"

int64_t ctl_now(const struct ctl *ctl)
{
    return clk_now_ms(ctl->clk);
}

int64_t ctl_wall(const struct ctl *ctl)
{
    return clk_wall_ms(ctl->clk);
}

struct loop *ctl_loop(struct ctl *ctl)
{
    return ctl->loop;
}

const char *ctl_data_dir(const struct ctl *ctl)
{
    return ctl->conf.data_dir;
}

void ctl_touch_tasks(struct ctl *ctl)
{
    CHECK(ctl->in_request);
    ctl->tasks_turn = ctl->turn_no;
    ctl->tasks_request = ctl->request_no;
    ctl->has_news = true;
}

void ctl_touch_runners(struct ctl *ctl)
{
    CHECK(ctl->in_request);
    ctl->runners_turn = ctl->turn_no;
    ctl->runners_request = ctl->request_no;
    ctl->has_news = true;
}

/* The timer is set to zero here, because the loop may be asleep and no turn may come by itself. */
void ctl_tick_soon(struct ctl *ctl)
{
    ctl->is_tick_due = true;
    if (ctl->timer)
        loop_timer_again(ctl->timer, 0);
}
