/* address.h - the address by which other machines probably reach this one: the one that its
 * packets to the controller come from. Called once at start, by main.c. */
#ifndef TRIAL_RUNNER_AGENT_ADDRESS_H
#define TRIAL_RUNNER_AGENT_ADDRESS_H

/* controller: unix:PATH or http(s)://HOST[:PORT]. The address as text on the heap; NULL = unknown.
 * A controller on this machine gives the loopback address. Looks the name up, sends nothing. */
char *address_towards(const char *controller);

#endif
