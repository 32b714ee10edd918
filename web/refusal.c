/* refusal.c - see refusal.h. evhttp writes its page (evhttp_send_error) in several pieces, the body last and in one, and nothing
 * else waits in the output then: it reads the next request when an answer is sent. What does not look just like its page
 * stays as it is. */
#include "web/refusal.h"

#include "web/server.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_MAX = 600 };

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);

    return n >= k && strcmp(text + n - k, end) == 0;
}

static const char *detail_of(int status)
{
    static char unreadable[160];

    if (status == 413)
        return "the body is over the limit, or its chunks are no chunks";
    if (status == 417)
        return "Expect may ask for 100-continue only";
    (void)snprintf(unreadable, sizeof unreadable,
                   "this is no HTTP/1.1 request, or its first line and headers are over %d bytes",
                   WEB_HEADER_MAX);
    return unreadable;
}

/* "HTTP/1.1 400 Bad Request": status and title, which is cut off the page. false = another form. */
static bool status_parse(char *page, int *status, char **title)
{
    char *end = strstr(page, "\r\n"), *rest = NULL;

    if (strncmp(page, "HTTP/1.", 7) != 0 || !end || end - page < 13 || page[8] != ' ')
        return false;
    *end = '\0';
    *status = (int)strtol(page + 9, &rest, 10);
    *title = rest + 1;
    return *status >= 400 && *status <= 599 && *rest == ' ' && !strpbrk(*title, "\"\\");
}

/* The page in the buffer, if it is one, becomes a problem. */
static void page_replace(struct evbuffer *buf, size_t n)
{
    char page[PAGE_MAX + 1], body[PAGE_MAX];
    char *title = NULL;
    int status = 0;

    if (evbuffer_copyout(buf, page, n) != (ev_ssize_t)n)
        return;
    page[n] = '\0';
    if (!ends_with(page, "</H1>\n</BODY></HTML>\n") ||
        !strstr(page, "\r\nContent-Type: text/html\r\n") || !status_parse(page, &status, &title))
        return;
    int len =
        snprintf(body, sizeof body,
                 "{\"detail\":\"%s\",\"status\":%d,\"title\":\"%.60s\",\"type\":\"about:blank\"}",
                 detail_of(status), status, title);
    evbuffer_drain(buf, n);
    evbuffer_add_printf(buf,
                        "%s\r\nContent-Type: application/problem+json\r\n"
                        "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
                        "Connection: close\r\nContent-Length: %d\r\n\r\n%s",
                        page, len, body);
}

static void on_output(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
    size_t n = evbuffer_get_length(buf);
    char first = 0;

    (void)arg;
    if (info->n_added == 0 || n == 0 || n > PAGE_MAX)
        return;
    /* A socket's output is frozen at its front but while it is being written. */
    bool is_frozen = evbuffer_copyout(buf, &first, 1) < 0;
    if (is_frozen)
        evbuffer_unfreeze(buf, 1);
    page_replace(buf, n);
    if (is_frozen)
        evbuffer_freeze(buf, 1);
}

void refusal_watch(struct bufferevent *bev)
{
    (void)evbuffer_add_cb(bufferevent_get_output(bev), on_output, NULL);
}
