/* blob.h - answers that are the bytes of a stored file. */
#ifndef WEB_API_BLOB_H
#define WEB_API_BLOB_H

#include "web/request/req.h"

/* The bytes of a blob. Its file is checked against its hash first, so the answer may come later. */
int web_blob(struct web_req *r, const char *sha256, struct err *err);
/* The same for a model file, under a name that a person keeps. */
int web_artifact(struct web_req *r, const char *sha256, const char *file_name, struct err *err);

#endif
