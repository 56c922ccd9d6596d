/* hash - bytes into 64 bits that tell them from others: FNV-1a (Fowler, Noll, Vo).  No secret and no checksum. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START	0xcbf29ce484222325u

/* The hash of what h is the hash of, and n bytes more. */
uint64_t hash_update(uint64_t h, const void *p, size_t n);

#endif
