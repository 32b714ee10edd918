/* gate.h - how many connections may stay inside a door. It works with numbers only: no sockets, no
 * clock, no HTTP. Each door has a gate of its own, so what fills one door never closes the other.
 *
 * A guest is one connection. It enters as a *stranger*, and is *known* once one of its requests has
 * shown a valid token; at the Unix socket every guest is known from the start. A wrong token makes
 * it a stranger again. Strangers have few places of their own, and each address a still smaller
 * share of them. When a limit is exceeded, the oldest stranger of the address with most strangers
 * must leave. A newcomer therefore always gets in, and may ask what needs no token.
 *
 * When all places of known guests are taken, a guest with a valid token stays a stranger, and its
 * request is refused with the reason.
 *
 * The bytes of unfinished requests have a budget. When it is exceeded, the guest that holds most of
 * them must leave, not the one that came last.
 *
 * The caller asks gate_excess after each gate_enter and gate_bytes, and closes the connection that
 * is named. */
#ifndef WEB_HTTP_GATE_H
#define WEB_HTTP_GATE_H

#include <stdbool.h>
#include <stdint.h>

struct gate_limits {
    int64_t guests;    /* connections that have shown a valid token */
    int64_t strangers; /* those that have not, of all addresses together */
    int64_t strangers_per_address;
    int64_t bytes;   /* of unfinished requests, of all guests together */
    int64_t leaving; /* connections that were refused, and still read the reason */
};

enum guest_kind { GUEST_OUTSIDE, GUEST_STRANGER, GUEST_KNOWN, GUEST_LEAVING, GUEST_KINDS };

/* gate_enter fills it in. It must not be moved before gate_leave, because lists point to it. */
struct guest {
    uint64_t address; /* gate_address; 0 = the Unix socket */
    int64_t since_ms; /* when it entered */
    int64_t bytes;    /* of its unfinished request */
    int64_t peers;    /* number of strangers of its address, itself included; valid while it is a
                         stranger */
    enum guest_kind kind;
    struct guest *prev, *next; /* oldest first, in the list of its kind */
};

struct guest_list {
    struct guest *first, *last;
    int64_t n;
};

struct gate {
    struct gate_limits limits;
    struct guest_list lists[GUEST_KINDS]; /* by kind; the list of GUEST_OUTSIDE stays empty */
    int64_t bytes;
};

/* GATE_FULL: all places of known guests are taken. gate_excess never gives it. */
enum gate_reason { GATE_BYTES, GATE_STRANGERS, GATE_ADDRESS, GATE_FULL, GATE_REASONS };
extern const char *const gate_reason_text[GATE_REASONS];

void gate_init(struct gate *g, const struct gate_limits *limits);
/* Fills in the guest. address: as gate_address gives it. */
void gate_enter(struct gate *g, struct guest *guest, uint64_t address, bool is_known,
                int64_t now_ms);
void gate_leave(struct gate *g, struct guest *guest); /* may be called twice */
/* The guest was refused: it no longer counts for places and bytes, but may read the reason. False =
 * too many do that already: the connection must be closed at once. */
bool gate_part(struct gate *g, struct guest *guest);
/* False = it has a token, but there is no place for it. */
bool gate_know(struct gate *g, struct guest *guest, bool is_known);
/* The guest's unfinished request holds so many bytes now. */
void gate_bytes(struct gate *g, struct guest *guest, int64_t bytes);
/* The guest that must leave next, and why; NULL when all limits are kept. */
struct guest *gate_excess(const struct gate *g, int64_t now_ms, enum gate_reason *why);
/* True when known guests have taken all their places. */
bool gate_is_full(const struct gate *g);
int64_t gate_count(const struct gate *g); /* without those that were refused */

struct sockaddr;
/* One number for all addresses that one party can easily have: an IPv4 address, or an IPv6 /64
 * network. */
uint64_t gate_address(const struct sockaddr *sa);

#endif
