/* client_open.c - finds the controller that a client speaks to, and the token that it shows.
 *
 * Both are looked for in this order: the options of the command, the environment (ASSAY_URL,
 * ASSAY_TOKEN), the user's configuration file, the socket of a controller in this folder, the socket
 * of this machine's service. How the
 * controller is known (ASSAY_TLS_PIN, ASSAY_TLS_CA) is found in the same way; a pin of the
 * configuration file belongs to the server of that file. */
#include "cli/client_private.h"

#include "base/buf.h"
#include "base/conf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the packaged service (configs/systemd/assayd.socket). */
#define SERVICE_SOCKET "/run/assay/sock"

enum { TOKEN_FILE_MAX = 4096, BUSY_PATIENCE_MS = 15000 };

/* Reads ~/.config/assay/config.yaml, which may hold "server: ...", "token: ..." and how that server
 * is known. It need not be there. */
struct client_file {
    char *server, *token, *tls_pin, *tls_ca;
    bool insecure;
};
static const struct conf_opt file_opts[] = {
    { "server", CONF_STR, offsetof(struct client_file, server), NULL, 0, 0, "controller to ask" },
    { "token", CONF_STR, offsetof(struct client_file, token), NULL, 0, 0, "access token" },
    { "tls_pin", CONF_STR, offsetof(struct client_file, tls_pin), NULL, 0, 0, "hash of its key" },
    { "tls_ca", CONF_PATH, offsetof(struct client_file, tls_ca), NULL, 0, 0, "authority, PEM" },
    { "insecure", CONF_BOOL, offsetof(struct client_file, insecure), "false", 0, 0,
      "send the token in clear text" },
};

static int read_config(struct client_file *cf, struct err *err)
{
    char path[512];
    const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");

    if (xdg && xdg[0])
        snprintf(path, sizeof(path), "%s/assay/config.yaml", xdg);
    else
        snprintf(path, sizeof(path), "%s/.config/assay/config.yaml", home ? home : "");
    if (io_file_bytes(path) < 0)
        return 0;
    return conf_file(cf, file_opts, ARRAY_LEN(file_opts), path, err);
}

static int pick_server(struct client *c, const char *server, struct err *err)
{
    if (!server) /* `assay serve` in this folder, or this machine's service */
        server = access("assay-data/sock", F_OK) != 0 && access(SERVICE_SOCKET, F_OK) == 0
                     ? "unix:" SERVICE_SOCKET
                     : "unix:assay-data/sock";
    c->server = mem_strdup(server);
    if (str_starts(server, "unix:")) {
        c->socket = mem_strdup(server + 5);
        c->base = mem_strdup("http://localhost");
        return 0;
    }
    if (!str_starts(server, "http://") && !str_starts(server, "https://"))
        return err_at(err, "--server or ASSAY_URL",
                      "\"%s\" is no address: write unix:PATH or http://host:port", server);
    c->base = mem_strdup(server);
    for (size_t n = strlen(c->base); n > 0 && c->base[n - 1] == '/'; n--)
        c->base[n - 1] = '\0';
    return 0;
}

/* A variable that is set to an empty text counts as not set. */
static const char *env(const char *name)
{
    const char *v = getenv(name);

    return v && v[0] ? v : NULL;
}

/* A token is sent in a header line, so it may hold visible characters only. White space around
 * it is removed, because editors add a line end to files. */
static int pick_token(struct client *c, const char *token, struct err *err)
{
    if (!token)
        return 0;
    token += strspn(token, " \t\r\n");
    c->token = mem_strdup(token);
    size_t n = strlen(c->token);
    while (n > 0 && strchr(" \t\r\n", c->token[n - 1]))
        c->token[--n] = '\0';
    for (const char *p = c->token; *p; p++) {
        if (*p <= ' ' || *p > '~')
            return err_at(err, "token", "holds a space or another character that no token has");
    }
    return 0;
}

static const char *first_of(const char *option, const char *variable, const char *other)
{
    if (option && option[0])
        return option;
    return env(variable) ? env(variable) : other;
}

static struct client *open_with(const struct cli_common *o, const char *token, struct err *err)
{
    struct client *c = mem_zalloc(sizeof(*c));
    struct client_file cf = { 0 };
    const char *server = first_of(o->server, "ASSAY_URL", NULL);
    bool is_by_file = false;

    curl_global_init(CURL_GLOBAL_DEFAULT);
    token = first_of(token, "ASSAY_TOKEN", NULL);
    if ((!server || !token) && read_config(&cf, err) < 0)
        goto fail;
    is_by_file = !server;
    if (pick_server(c, server ? server : cf.server, err) < 0 ||
        pick_token(c, token ? token : cf.token, err) < 0)
        goto fail;
    c->tls_pin = mem_strdup(first_of(o->tls_pin, "ASSAY_TLS_PIN", is_by_file ? cf.tls_pin : NULL));
    c->tls_ca = mem_strdup(first_of(o->tls_ca, "ASSAY_TLS_CA", is_by_file ? cf.tls_ca : NULL));
    c->peer = (struct peer){ .url = c->server,
                             .pin = c->tls_pin,
                             .ca = c->tls_ca,
                             .has_token = c->token,
                             .is_clear = o->insecure || (is_by_file && cf.insecure) };
    if (peer_check(&c->peer, err) < 0)
        goto fail;
    c->curl = curl_easy_init();
    CHECK(c->curl);
    conf_fini(&cf, file_opts, ARRAY_LEN(file_opts));
    return c;
fail:
    conf_fini(&cf, file_opts, ARRAY_LEN(file_opts));
    client_free(c);
    return NULL;
}

struct client *client_new(const char *server, const char *token, struct err *err)
{
    return open_with(&(struct cli_common){ .server = (char *)(uintptr_t)server }, token, err);
}

static struct client *open_with_file(const struct cli_common *common, struct err *err)
{
    struct client *c = NULL;
    struct buf text = { 0 };

    if (io_read_file(common->token_file, TOKEN_FILE_MAX, &text, err) == 0) {
        if (text.len > 0)
            c = open_with(common, text.data, err);
        else
            err_set(err, ERR_ARG, "%s: the file is empty", common->token_file);
    }
    buf_fini(&text);
    return c;
}

struct client *client_of(const struct cli_common *common, struct err *err)
{
    struct client *c = common->token || !common->token_file ? open_with(common, common->token, err)
                                                            : open_with_file(common, err);

    if (c)
        client_patience(c, BUSY_PATIENCE_MS);
    return c;
}

void client_free(struct client *c)
{
    if (!c)
        return;
    if (c->curl)
        curl_easy_cleanup(c->curl);
    mem_free(c->server);
    mem_free(c->socket);
    mem_free(c->base);
    mem_free(c->token);
    mem_free(c->tls_pin);
    mem_free(c->tls_ca);
    mem_free(c);
}
