/* hash - a 64-bit hash: FNV-1a (Fowler, Noll, Vo).  It is neither a checksum nor secure against an attacker. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START	0xcbf29ce484222325u

/* Extends the hash h by n bytes.  A new hash starts from HASH_START. */
uint64_t hash_update(uint64_t h, const void *p, size_t n);

#endif
