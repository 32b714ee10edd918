/* notify.h - what a service tells the program that supervises it, by the protocol of sd_notify(3):
 * one datagram to the Unix socket that NOTIFY_SOCKET names. Without that variable nothing happens.
 *
 * The variables are taken once and removed, so that no child process speaks in our name. Every
 * function is to be called on the thread that calls notify_init. */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H

#include <stdint.h>

/* Reads NOTIFY_SOCKET, and the WATCHDOG_USEC that is meant for this process. Called once, at the
 * start of main. */
void notify_init(void);
/* Sends lines such as "READY=1\nSTATUS=listening on ...". A message that cannot be sent is lost:
 * the supervisor's own time limits say what follows. */
void notify_send(const char *lines);
/* How often WATCHDOG=1 must be sent: half of the time after which the supervisor would kill us. 0 =
 * it does not watch. */
int64_t notify_watchdog_ms(void);

#endif
