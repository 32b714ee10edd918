/* action.c - the list of actions. */
#include "controller/decide/action.h"

#include "base/mem.h"

struct action *action_add(struct actions *a, enum action_kind kind, int64_t number)
{
    CHECK(number >= 0);
    MEM_GROW(a->list, a->n, a->cap);
    a->list[a->n] = (struct action){ .kind = kind, .number = number, .vstart = -1, .vcost = -1 };
    return &a->list[a->n++];
}

void actions_fini(struct actions *a)
{
    mem_free(a->list);
    *a = (struct actions){ 0 };
}
