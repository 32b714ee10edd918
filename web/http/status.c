/* status.c - see status.h. The table holds the codes that this server sends, and a few that proxies
 * add. */
#include "web/http/status.h"

#include "base/base.h"

#include <stddef.h>

const char *http_status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } list[] = {
        { 200, "OK" },
        { 201, "Created" },
        { 202, "Accepted" },
        { 204, "No Content" },
        { 206, "Partial Content" },
        { 302, "Found" },
        { 303, "See Other" },
        { 304, "Not Modified" },
        { 307, "Temporary Redirect" },
        { 400, "Bad Request" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 408, "Request Timeout" },
        { 409, "Conflict" },
        { 412, "Precondition Failed" },
        { 413, "Content Too Large" },
        { 415, "Unsupported Media Type" },
        { 416, "Range Not Satisfiable" },
        { 417, "Expectation Failed" },
        { 422, "Unprocessable Content" },
        { 426, "Upgrade Required" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 501, "Not Implemented" },
        { 502, "Bad Gateway" },
        { 503, "Service Unavailable" },
        { 504, "Gateway Timeout" },
        { 505, "HTTP Version Not Supported" },
        { 507, "Insufficient Storage" },
    };

    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        if (list[i].status == status)
            return list[i].text;
    }
    return "Status";
}
