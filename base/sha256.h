/* sha256.h - computes SHA-256 (FIPS 180-4) of bytes that arrive in pieces. It uses the CPU's SHA
 * instructions if the CPU has them. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_HEX   65 /* 64 hexadecimal digits and the final NUL */

struct sha256 {
    uint32_t h[8];
    uint64_t bytes;
    uint8_t block[64];
    size_t fill;
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *p, size_t n);
void sha256_end(struct sha256 *s, uint8_t out[SHA256_BYTES]);
void sha256_end_hex(struct sha256 *s, char out[SHA256_HEX]);
/* The hash of n bytes at once. */
void sha256_hex(const void *p, size_t n, char out[SHA256_HEX]);

#endif
