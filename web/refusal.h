/* refusal.h - evhttp answers what it cannot read (no HTTP, lines that are too long, a body over the limit) by itself, with a
 * page of HTML, before there is a request that could be ours; libevent 2.1 has no way to say otherwise. So those pages
 * are known by their form as they come to a connection's output, and become problem+json like every other error. */
#ifndef WEB_REFUSAL_H
#define WEB_REFUSAL_H

struct bufferevent;

/* From now on, for as long as bev lives. */
void refusal_watch(struct bufferevent *bev);

#endif
