/* web_rig.h - a web server on a loop of the test's own, and a raw HTTP client that takes turns with it: no
 * threads, no sleeps; waiting means running the loop. The controller is whatever the test links. */
#ifndef TESTS_WEB_WEB_RIG_H
#define TESTS_WEB_WEB_RIG_H

#include "base/clk.h"
#include "base/loop.h"
#include "controller/api.h"
#include "web/server.h"

#include <stdbool.h>
#include <stddef.h>

struct web_rig {
    char dir[200], socket_path[240];
    struct clk clk;
    struct loop *loop;
    struct ctl *ctl;
    struct web *web;
};

struct web_reply {
    int status;
    char head[8192]; /* status line and headers */
    char *body;      /* NUL-terminated, heap; decoded when chunked */
    size_t len;
};

/* make_ctl: fake_ctl_new, or a real controller. conf NULL = both doors, defaults. */
struct web_rig *web_rig_new(struct ctl *(*make_ctl)(struct loop *loop, const char *dir),
                            const struct web_conf *conf);
void web_rig_free(struct web_rig *rig, void (*free_ctl)(struct ctl *ctl));
int web_rig_connect(struct web_rig *rig, bool is_local); /* a descriptor, non-blocking */
void web_rig_pump(struct web_rig *rig, int turns);
void web_rig_write(struct web_rig *rig, int fd, const void *p, size_t n);
/* Runs the loop until a whole answer has come: 1; the peer closed first: 0 (status 0 when nothing came). */
int web_rig_read(struct web_rig *rig, int fd, bool is_head, struct web_reply *out);
/* What has come so far of an answer without an end, raw; runs the loop until `want` is in it (NULL = a few turns). */
char *web_rig_read_raw(struct web_rig *rig, int fd, const char *want);
/* One request on a connection of its own. headers: "A: b\r\n..." or NULL. Host is added unless headers has one. */
struct web_reply web_rig_call(struct web_rig *rig, bool is_local, const char *method,
                              const char *path, const char *headers, const char *body);
const char *web_reply_header(const struct web_reply *r,
                             const char *name); /* static buffer, NULL = absent */
void web_reply_free(struct web_reply *r);

#endif
