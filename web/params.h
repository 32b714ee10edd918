/* params.h - what may stand in an address and in a request's headers, as schemas of the API's description. */
#ifndef WEB_PARAMS_H
#define WEB_PARAMS_H

#include "web/route.h"

/* OpenAPI's list of parameters of a route: path, query, headers. */
json_t *params_new(const struct web_route *route);

#endif
