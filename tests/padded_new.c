/*
 * padded_new - C++'s new with room after each object, for programs built with the address sanitizer.
 *
 * While oneDNN 2 generates kernels for AMX, it reads one element past the end of a vector, and does not use it
 * (jit_brgemm_amx_uker.cpp, bdb_loop).  The sanitizer's allocator can have no memory there, so that the read ends the
 * process.  glibc's allocator always has memory there.
 *
 * new[] and aligned new stay the sanitizer's: no read past the end of these is known.
 */
#include <stdint.h>
#include <stdlib.h>

#define ROOM	sizeof(uint64_t)	/* an element */

/* The names that the ABI of C++ gives new and delete, and both with nothrow. */
void *padded_new(size_t n) __asm__("_Znwm");
void *padded_new_nothrow(size_t n, const void *nothrow) __asm__("_ZnwmRKSt9nothrow_t");
void padded_delete(void *p) __asm__("_ZdlPv");
void padded_delete_sized(void *p, size_t n) __asm__("_ZdlPvm");
void padded_delete_nothrow(void *p, const void *nothrow) __asm__("_ZdlPvRKSt9nothrow_t");

void *
padded_new_nothrow(size_t n, const void *nothrow)
{
	(void)nothrow;
	return n <= SIZE_MAX - ROOM ? malloc(n + ROOM) : NULL;
}

void *
padded_new(size_t n)
{
	void *p = padded_new_nothrow(n, NULL);

	/* new must not return NULL, and C has no exceptions. */
	if (p == NULL)
		abort();
	return p;
}

void
padded_delete(void *p)
{
	free(p);
}

void
padded_delete_sized(void *p, size_t n)
{
	(void)n;
	free(p);
}

void
padded_delete_nothrow(void *p, const void *nothrow)
{
	(void)nothrow;
	free(p);
}
