/* shm_in - what the files of shm share: the memory as both processes see it. */
#ifndef WIRE_PATH_SHM_IN_H
#define WIRE_PATH_SHM_IN_H

#include "wire/path/loan.h"
#include "wire/path/shm.h"

#include <stdatomic.h>
#include <sys/types.h>

#define SHM_LINE	64	/* bytes of a cache line */

/* Counts of one direction.  A line of cache belongs to the process that writes it. */
struct shm_ring {
	_Alignas(SHM_LINE) _Atomic uint64_t written;	/* bytes so far */
	_Atomic uint64_t room_at;	/* the writer waits until so many bytes are read; 0: not yet */
	_Alignas(SHM_LINE) _Atomic uint64_t read;	/* bytes so far */
	_Atomic uint64_t bytes_at;	/* the reader waits until so many bytes are written; 0: not yet */
};

#define SHM_HEAD	4096	/* bytes before those of the rings, for whole pages */

struct shm_memory {
	struct shm_ring	 ring[2];	/* to the end that accepted the connection; to the end that connected */
};

_Static_assert(sizeof(struct shm_memory) <= SHM_HEAD, "the counts fit before the rings");

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "processes share counts without a lock");

struct shm {
	struct shm_memory *memory;
	size_t	 ring;			/* bytes of a ring */
	int	 sock;			/* socket to the peer, for signals */
	int	 epoll;			/* watches sock and the caller's socket; -1: none yet */
	struct shm_ring *in, *out;
	uint8_t	*in_bytes, *out_bytes;
	uint64_t read, written;		/* own counts of `in` and `out`; those in the memory may be anything */
	uint64_t room_told, bytes_told;	/* the peer's waits that were signalled */
	size_t	 allow;			/* bytes that may still be read */
	bool	 waits;			/* the ring was empty, and the peer signals when it is not */
	bool	 at_once;		/* shm_fd() is readable in any case */
	bool	 signalled, closed;
	int	 passed;		/* the descriptor of a memory that the peer lends, not taken yet; -1: none */
	struct loan theirs;		/* the memory of `passed`, mapped */
};

/* shm_meet.c: sends n bytes with a descriptor.  Returns 0 or ERR_SYS. */
int	 shm_pass(int sock, const void *p, size_t n, int fd);
/*
 * Receives up to n bytes and at most one descriptor with them, *fd, or -1.  Returns the number of bytes, 0 at the end,
 * ERR_AGAIN if there are none yet, ERR_FORMAT if there was more than one descriptor, or ERR_SYS.
 */
ssize_t	 shm_receive(int sock, void *p, size_t n, int *fd);

#endif
