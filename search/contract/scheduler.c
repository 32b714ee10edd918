/* scheduler.c - closing a scheduler of any kind. */
#include "search/contract/scheduler.h"

void scheduler_close(struct scheduler *s)
{
    if (s)
        s->ops->close(s);
}
