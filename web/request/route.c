/* route.c - see route.h. */
#include "web/request/route.h"

#include <string.h>

const struct web_route *web_route_at(const struct web_tables *all, size_t i)
{
    for (size_t t = 0; t < all->n; t++) {
        if (i < all->tables[t]->n)
            return &all->tables[t]->routes[i];
        i -= all->tables[t]->n;
    }
    return NULL;
}

/* ---- matching ---- */

static bool pattern_fits(const char *pattern, const struct args_path *path,
                         const char *vars[WEB_VARS_MAX])
{
    int n_vars = 0, seg = 0;

    for (const char *p = pattern + 1; *p; seg++) {
        size_t n = strcspn(p, "/");

        if (seg == path->n)
            return false;
        if (*p == '{') {
            CHECK(n_vars < WEB_VARS_MAX);
            vars[n_vars++] = path->segments[seg];
        } else if (strlen(path->segments[seg]) != n || memcmp(path->segments[seg], p, n) != 0) {
            return false;
        }
        p += n + (p[n] == '/');
    }
    return seg == path->n;
}

int web_route_find(const struct web_tables *all, const struct web_asked *asked,
                   const struct web_route **out, const char *vars[WEB_VARS_MAX], unsigned *others)
{
    const struct web_route *route = NULL;

    *others = 0;
    for (size_t i = 0; (route = web_route_at(all, i)); i++) {
        if ((route->flags & WEB_DEV && !asked->is_dev) ||
            !pattern_fits(route->pattern, asked->path, vars))
            continue;
        *others |= 1U << route->method;
        if (route->method == asked->method ||
            (route->method == WEB_GET && asked->method == WEB_HEAD)) {
            *out = route;
            return 1;
        }
    }
    return 0;
}
