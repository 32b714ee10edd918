/* params.h - what may stand in an address and in a request's headers, as schemas of the API's
 * description. */
#ifndef WEB_API_PARAMS_H
#define WEB_API_PARAMS_H

#include "web/request/route.h"

/* OpenAPI's list of parameters of a route: path, query, headers. */
json_t *params_new(const struct web_route *route);

#endif
