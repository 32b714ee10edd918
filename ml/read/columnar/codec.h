/* codec.h - unpacks one block whose unpacked length is known. With picture.c the only file of ml/
 * that needs libraries: zlib, libzstd, liblz4 and libsnappy. Called by the Parquet and Arrow
 * readers. */
#ifndef ML_READ_COLUMNAR_CODEC_H
#define ML_READ_COLUMNAR_CODEC_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum codec { CODEC_NONE, CODEC_SNAPPY, CODEC_GZIP, CODEC_ZSTD, CODEC_LZ4, CODEC_LZ4_FRAME };

/* Unpacks n bytes into exactly `size` bytes. Anything else is an error that names the codec. Never
 * writes past `size`, whatever the bytes are. */
int codec_unpack(enum codec codec, const uint8_t *in, size_t n, uint8_t *out, size_t size,
                 struct err *err);
/* The checksum of gzip, which pages of Parquet may carry. */
uint32_t codec_crc(const uint8_t *p, size_t n);

#endif
