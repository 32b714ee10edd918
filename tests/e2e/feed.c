/* feed.c - server-sent events over libcurl: lines are put together here, one event ends at an empty line. */
#include "tests/e2e/feed.h"

#include "base/buf.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/e2e/service.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { OVERLAP = 40, LINE_MAX_BYTES = 1 << 20 };

struct feed {
    struct ledger *ledger;
    char socket[128];
    pthread_t thread;
    atomic_bool stop;
    struct buf line;
    int64_t seq;
    char event[64];
    char *data;
};

static void event_end(struct feed *f)
{
    if (str_eq(f->event, "resync")) {
        ledger_fail(f->ledger,
                    "the event stream began anew: events up to %" PRId64
                    " had been told, it said %s",
                    ledger_last_event(f->ledger), f->data ? f->data : "");
    } else if (f->seq > 0 && f->data && f->event[0] && !str_eq(f->event, "hello")) {
        json_t *row = jsonx_load(f->data, strlen(f->data), "event", NULL);

        if (!row)
            ledger_fail(f->ledger, "event %" PRId64 " is no JSON: %.200s", f->seq, f->data);
        else
            ledger_event(f->ledger, f->seq, f->event, row);
        json_decref(row);
    }
    mem_free(f->data);
    f->data = NULL;
    f->event[0] = '\0';
    f->seq = 0;
}

static void line_end(struct feed *f)
{
    const char *s = f->line.data ? f->line.data : "";

    if (s[0] == '\0')
        event_end(f);
    else if (str_starts(s, "id: "))
        (void)str_i64(s + 4, 0, INT64_MAX, &f->seq, NULL);
    else if (str_starts(s, "event: "))
        str_copy(f->event, sizeof f->event, s + 7);
    else if (str_starts(s, "data: ")) {
        mem_free(f->data);
        f->data = mem_strdup(s + 6);
    }
    buf_clear(&f->line);
}

static size_t on_bytes(char *p, size_t size, size_t n, void *arg)
{
    struct feed *f = arg;

    for (size_t i = 0; i < size * n; i++) {
        if (p[i] == '\n')
            line_end(f);
        else if (buf_add(&f->line, &p[i], 1, NULL) < 0)
            return 0;
    }
    return size * n;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct feed *f = arg;

    (void)a, (void)b, (void)c, (void)d;
    return atomic_load(&f->stop);
}

static void read_once(struct feed *f)
{
    int64_t last = ledger_last_event(f->ledger);
    char url[120];
    CURL *curl = curl_easy_init();

    (void)!snprintf(url, sizeof url, "http://localhost/api/v1/events?after=%" PRId64,
                    last > OVERLAP ? last - OVERLAP : 0);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, f->socket);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, f);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, f);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    (void)curl_easy_perform(curl); /* it ends with the controller, again and again */
    curl_easy_cleanup(curl);
    /* The last event may have been cut in the middle: half of it is no event. */
    buf_clear(&f->line);
    mem_free(f->data);
    f->data = NULL;
    f->event[0] = '\0';
    f->seq = 0;
}

static void *run(void *arg)
{
    struct feed *f = arg;

    while (!atomic_load(&f->stop)) {
        read_once(f);
        pause_ms(5);
    }
    return NULL;
}

struct feed *feed_start(const char *socket_path, struct ledger *ledger)
{
    struct feed *f = mem_zalloc(sizeof *f);

    f->ledger = ledger;
    str_copy(f->socket, sizeof f->socket, socket_path);
    buf_init(&f->line, LINE_MAX_BYTES);
    atomic_init(&f->stop, false);
    CHECK(pthread_create(&f->thread, NULL, run, f) == 0);
    return f;
}

void feed_stop(struct feed *f)
{
    if (!f)
        return;
    atomic_store(&f->stop, true);
    pthread_join(f->thread, NULL);
    buf_fini(&f->line);
    mem_free(f);
}
