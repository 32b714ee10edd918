/* gate.c - see gate.h. The lists are searched from end to end, which is cheap: there are a few
 * hundred strangers at most, and the long list of known guests is only searched when the budget of
 * bytes is exceeded. */
#include "web/http/gate.h"

#include "base/base.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* A connection this young may be about to send its token. The share of its address does not count
 * against it yet; the share of all strangers does. */
enum { GRACE_MS = 1000 };

const char *const gate_reason_text[GATE_REASONS] = {
    [GATE_BYTES] = "unfinished bodies over the budget",
    [GATE_STRANGERS] = "connections without a token",
    [GATE_ADDRESS] = "connections without a token of one address",
    [GATE_FULL] = "all places are taken: raise max_connections, or the limit of open files",
};

static void list_add(struct guest_list *list, struct guest *guest)
{
    guest->next = NULL;
    guest->prev = list->last;
    if (list->last)
        list->last->next = guest;
    else
        list->first = guest;
    list->last = guest;
    list->n++;
}

static void list_cut(struct guest_list *list, struct guest *guest)
{
    if (guest->prev)
        guest->prev->next = guest->next;
    else
        list->first = guest->next;
    if (guest->next)
        guest->next->prev = guest->prev;
    else
        list->last = guest->prev;
    list->n--;
}

/* Moves a guest to another list. This is the only place where somebody becomes a stranger or ceases
 * to be one, so `peers` is kept here for all strangers of the address. */
static void kind_set(struct gate *g, struct guest *guest, enum guest_kind kind)
{
    int64_t others = 0;

    if (guest->kind != GUEST_OUTSIDE)
        list_cut(&g->lists[guest->kind], guest);
    if ((guest->kind == GUEST_STRANGER) != (kind == GUEST_STRANGER)) {
        int64_t step = kind == GUEST_STRANGER ? 1 : -1;

        for (struct guest *s = g->lists[GUEST_STRANGER].first; s; s = s->next) {
            if (s->address == guest->address)
                s->peers += step, others++;
        }
    }
    guest->peers = others + 1;
    guest->kind = kind;
    if (kind != GUEST_OUTSIDE)
        list_add(&g->lists[kind], guest);
}

void gate_init(struct gate *g, const struct gate_limits *limits)
{
    memset(g, 0, sizeof *g);
    g->limits = *limits;
    CHECK(limits->guests > 0 && limits->strangers > 0 && limits->strangers_per_address > 0 &&
          limits->bytes > 0);
}

void gate_enter(struct gate *g, struct guest *guest, uint64_t address, bool is_known,
                int64_t now_ms)
{
    CHECK(guest->kind == GUEST_OUTSIDE);
    *guest = (struct guest){ .address = address, .since_ms = now_ms };
    kind_set(g, guest, is_known && !gate_is_full(g) ? GUEST_KNOWN : GUEST_STRANGER);
}

void gate_leave(struct gate *g, struct guest *guest)
{
    if (guest->kind == GUEST_OUTSIDE)
        return;
    gate_bytes(g, guest, 0);
    kind_set(g, guest, GUEST_OUTSIDE);
}

bool gate_part(struct gate *g, struct guest *guest)
{
    if (guest->kind == GUEST_LEAVING)
        return true;
    gate_bytes(g, guest, 0);
    kind_set(g, guest, GUEST_LEAVING);
    return g->lists[GUEST_LEAVING].n <= g->limits.leaving;
}

bool gate_know(struct gate *g, struct guest *guest, bool is_known)
{
    enum guest_kind kind = is_known ? GUEST_KNOWN : GUEST_STRANGER;

    if (guest->kind == kind || (guest->kind != GUEST_KNOWN && guest->kind != GUEST_STRANGER))
        return true;
    if (is_known && gate_is_full(g))
        return false;
    kind_set(g, guest, kind);
    return true;
}

void gate_bytes(struct gate *g, struct guest *guest, int64_t bytes)
{
    if (guest->kind == GUEST_OUTSIDE || guest->kind == GUEST_LEAVING)
        return;
    g->bytes += bytes - guest->bytes;
    guest->bytes = bytes;
    CHECK(g->bytes >= 0 && bytes >= 0);
}

static struct guest *largest_of(const struct guest_list *list, struct guest *best)
{
    for (struct guest *s = list->first; s; s = s->next) {
        if (!best || s->bytes > best->bytes)
            best = s;
    }
    return best;
}

/* The oldest stranger of the address that has most strangers. */
static struct guest *oldest_of_most(const struct gate *g)
{
    struct guest *best = g->lists[GUEST_STRANGER].first;

    for (struct guest *s = best; s; s = s->next) {
        if (s->peers > best->peers)
            best = s;
    }
    return best;
}

static struct guest *over_address(const struct gate *g, int64_t now_ms)
{
    for (struct guest *s = g->lists[GUEST_STRANGER].first; s; s = s->next) {
        if (now_ms - s->since_ms >= GRACE_MS && s->peers > g->limits.strangers_per_address)
            return s;
    }
    return NULL;
}

struct guest *gate_excess(const struct gate *g, int64_t now_ms, enum gate_reason *why)
{
    struct guest *guest = NULL;

    if (g->bytes > g->limits.bytes) {
        *why = GATE_BYTES;
        return largest_of(&g->lists[GUEST_KNOWN], largest_of(&g->lists[GUEST_STRANGER], NULL));
    }
    *why = GATE_STRANGERS;
    if (g->lists[GUEST_STRANGER].n > g->limits.strangers)
        return oldest_of_most(g);
    guest = over_address(g, now_ms);
    *why = GATE_ADDRESS;
    return guest;
}

bool gate_is_full(const struct gate *g)
{
    return g->lists[GUEST_KNOWN].n >= g->limits.guests;
}

int64_t gate_count(const struct gate *g)
{
    return g->lists[GUEST_KNOWN].n + g->lists[GUEST_STRANGER].n;
}

uint64_t gate_address(const struct sockaddr *sa)
{
    uint64_t key = 0;

    if (sa->sa_family == AF_INET) {
        key = ((const struct sockaddr_in *)(const void *)sa)->sin_addr.s_addr;
        return key << 1 | 1;
    }
    if (sa->sa_family == AF_INET6) {
        const struct in6_addr *a = &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr;

        if (IN6_IS_ADDR_V4MAPPED(a)) {
            uint32_t v4 = 0;

            memcpy(&v4, a->s6_addr + 12, sizeof v4);
            return (uint64_t)v4 << 1 | 1;
        }
        memcpy(&key, a->s6_addr, sizeof key);
        return key << 1 | 1; /* the bit that is shifted out is the same for all routed addresses */
    }
    return 0;
}
