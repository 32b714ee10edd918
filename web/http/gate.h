/* gate.h - who may be inside a door, as numbers only: no sockets, no clock, no HTTP. Each door has a gate of
 * its own, so that what fills one door never closes the other. A guest is one connection. It enters as a
 * stranger, is known once a request of it has shown a valid token (at a Unix socket: from the start), and
 * may fall back. Strangers share a small part of the door, and fewer places still for each address; whoever
 * goes over a limit pushes out the oldest stranger that takes most, so that a newcomer always gets in and
 * pays for nobody else. When the bytes of unfinished requests go over their budget, the guest that holds
 * most of them is shown out, not the one that comes next.
 *
 * The caller asks gate_excess after each gate_enter and gate_bytes, and shows out whom it names. */
#ifndef WEB_HTTP_GATE_H
#define WEB_HTTP_GATE_H

#include <stdbool.h>
#include <stdint.h>

struct gate_limits {
    int64_t guests;    /* connections */
    int64_t strangers; /* connections without a valid token, of all addresses */
    int64_t strangers_per_address;
    int64_t bytes;   /* of unfinished requests, all guests together */
    int64_t leaving; /* shown out, but still hearing why */
};

enum guest_kind { GUEST_OUTSIDE, GUEST_STRANGER, GUEST_KNOWN, GUEST_LEAVING, GUEST_KINDS };

/* Made by gate_enter; its place must not move before gate_leave. */
struct guest {
    uint64_t address; /* gate_address; 0 = the Unix socket */
    int64_t since_ms; /* when it entered */
    int64_t bytes;    /* of its unfinished request */
    int64_t peers;    /* strangers of its address, this one too; kept while it is a stranger */
    enum guest_kind kind;
    struct guest *prev, *next; /* oldest first, in the list of its kind */
};

struct guest_list {
    struct guest *first, *last;
    int64_t n;
};

struct gate {
    struct gate_limits limits;
    struct guest_list lists[GUEST_KINDS]; /* by kind; nobody is in the first */
    int64_t bytes;
};

enum gate_reason { GATE_BYTES, GATE_STRANGERS, GATE_ADDRESS, GATE_REASONS };
extern const char *const gate_reason_text[GATE_REASONS];

void gate_init(struct gate *g, const struct gate_limits *limits);
/* Sets the whole guest; address as gate_address gives it. */
void gate_enter(struct gate *g, struct guest *guest, uint64_t address, bool is_known,
                int64_t now_ms);
void gate_leave(struct gate *g, struct guest *guest); /* legal twice */
/* It takes no place any more, and no bytes. False = no room even for that: it must leave at once. */
bool gate_part(struct gate *g, struct guest *guest);
void gate_know(struct gate *g, struct guest *guest, bool is_known);
void gate_bytes(struct gate *g, struct guest *guest, int64_t bytes); /* it holds that many now */
/* Who must leave next, and why; NULL when all limits are kept. */
struct guest *gate_excess(const struct gate *g, int64_t now_ms, enum gate_reason *why);
/* True when only known guests are inside and there are enough of them: stop accepting. */
bool gate_is_full(const struct gate *g);
int64_t gate_count(const struct gate *g); /* all but those leaving */

struct sockaddr;
/* One number for all addresses that one party can easily have: an IPv4 address, an IPv6 /64. */
uint64_t gate_address(const struct sockaddr *sa);

#endif
