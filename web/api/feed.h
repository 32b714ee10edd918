/* feed.h - live events for many readers. The text of an event is made once, however many readers
 * there are, and serving them is divided into short pieces so that no turn of the loop becomes
 * long. events.c begins a stream; from then on it is fed here. */
#ifndef WEB_API_FEED_H
#define WEB_API_FEED_H

#include "web/request/req.h"

struct feed;

struct feed_reader {
    struct web_req *r;
    int64_t study;     /* 0 = all */
    int64_t seq;       /* the last one sent */
    bool is_brief;     /* told at most once a second what changed, not how */
    bool wants_replay; /* has not caught up with the journal yet */
    bool is_overflowed;
    int64_t at;      /* the next frame to look at */
    int64_t told_ms; /* brief: when it was told last */
};

/* Takes a stream that has begun; its seq is where it stands, -1 = now. The reader lives until
 * feed_leave. */
void feed_join(struct feed_reader *reader);
void feed_leave(struct feed_reader *reader);
void feed_drained(struct feed_reader *reader); /* the client has read what there was */

void feed_free(struct feed *feed); /* NULL is legal */

#endif
