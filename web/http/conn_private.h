/* conn_private.h - the inside of a connection, for conn.c and conn_write.c only. conn.c reads: it
 * owns the life of a connection, its requests and its time limits. conn_write.c writes: answers,
 * refusals and streams. */
#ifndef WEB_HTTP_CONN_PRIVATE_H
#define WEB_HTTP_CONN_PRIVATE_H

#include "web/http/body.h"
#include "web/http/conn.h"

struct bufferevent;
struct event;
struct evbuffer;
struct ssl_st;

enum conn_state {
    CONN_HEAD,   /* reading a head, or idle before one */
    CONN_BODY,   /* reading a body */
    CONN_BUSY,   /* the owner handles the request */
    CONN_ANSWER, /* an answer is being written */
    CONN_STREAM, /* an answer without an end is being written */
    CONN_LINGER, /* has answered, and throws away what still arrives */
};

struct conn {
    struct guest guest; /* must be the first member: see conn_of_guest */
    struct conn_group *group;
    struct bufferevent *bev;
    struct ssl_st *ssl; /* owned by bev; NULL = the connection is not encrypted */
    enum conn_state state;
    bool is_closing; /* the connection ends after this answer */
    bool is_read;    /* the whole body of the answered request has arrived */
    char *text;      /* the bytes of the head; `head` points into them. NULL between requests */
    struct head head;
    size_t seen; /* how many input bytes were already searched for the end of the head */
    struct body body;
    struct evbuffer *content; /* the part of the body that has arrived */
    void *request;            /* what the owner attached; NULL before that and after the answer */
    struct event *watch;
    int64_t since_ms; /* when the first byte of this request arrived; 0 = none has arrived */
    int64_t moved_ms; /* when it became idle, or when the kernel last took bytes of the answer */
    int64_t added;    /* bytes of answers that were put into the output */
    int64_t taken;    /* bytes of answers that the kernel took */
    int64_t dropped;  /* bytes thrown away while lingering */
};

struct evbuffer *conn_input(const struct conn *c);
struct evbuffer *conn_output(const struct conn *c);
int64_t conn_now_ms(const struct conn_group *g);
/* Ends conn_watch and takes the owner's request off the connection; NULL if there is none. */
void *conn_detach(struct conn *c);

/* Writes as much of the output as the kernel takes at once. */
void conn_write_now(struct conn *c);
/* Refuses a request before the owner has heard of it, or while its body is still arriving. The
 * connection closes after the answer. */
void conn_refuse(struct conn *c, int status, const char *why);

#endif
