/* status.h - the reason phrases of HTTP's status codes. */
#ifndef WEB_HTTP_STATUS_H
#define WEB_HTTP_STATUS_H

/* "Not Found" for 404; "Status" for a number that is not in the table. */
const char *http_status_text(int status);

#endif
