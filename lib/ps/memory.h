/*
 * memory - storage that outlives a process: a file or memfd.
 *
 * A memory is private, or a file, or a memfd that another process keeps.  A process that dies leaves in a file or memfd
 * what it had stored, in the order of its stores.  A file has one user at a time, by flock(2).
 *
 * memory_resize() allocates all pages, so that a full disk is an error there and not SIGBUS later.  It seals a memfd,
 * so that nobody can change its size.  Other files cannot be sealed: if another program truncates one, or its disk
 * fails, the next access ends this process with SIGBUS.
 *
 * What must change atomically is stored twice, in two halves (struct memory_word).  A writer fills the half that is not
 * valid, and memory_publish() makes it valid.  memory_report_change() follows each change; a test may end the process
 * there.
 *
 * Threads: one thread at a time.
 */
#ifndef PS_MEMORY_H
#define PS_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_LINE	64u	/* bytes of a cache line, on which each part of a memory begins */

struct memory {
	int	 fd;		/* owned; -1: private */
	void	*base;		/* NULL: it has no size yet */
	size_t	 size;
	bool	 limited;	/* a memfd for which RLIMIT_FSIZE left no room: declined, and the memory is private */
	void	(*stored)(void *arg, void *p, size_t n);	/* called after each change of n bytes; NULL: not */
	void	*arg;
};

/* Which of two halves is valid. */
struct memory_word {
	_Atomic uint64_t half;	/* 1 + its number; 0: neither */
};

/*
 * Opens the memory that a file holds; an empty file has no size yet.  Sets all members.  Returns 0, ERR_SYS, or ERR_ARG
 * if another process uses the file.  The line names it.
 */
int	 memory_open(const char *path, struct memory *m);
/*
 * Makes a private memory, which can be lent to other processes (wire/path/loan.h) if the system allows it.  Sets all
 * members.
 */
void	 memory_make(struct memory *m);
/*
 * Gives a memory without size this size, filled with zeros.  Returns 0, also if it has this size already or is
 * limited, ERR_SYS, ERR_NOMEM, or ERR_FORMAT if it has another size.  What does not fit is refused before any is taken.
 */
int	 memory_resize(struct memory *m, size_t size);
/* Returns 0 if the machine has so many bytes left, or ERR_NOMEM.  It does not look for what is small. */
int	 memory_fits(uint64_t bytes);
/* Unmaps it and closes the descriptor; leaves a private memory without size. */
void	 memory_close(struct memory *m);
/*
 * Closes the memory of a file and removes the file.  A file that stays, as in a folder that is read-only, is empty.  A
 * memfd is left to its owner.
 */
void	 memory_remove(struct memory *m, const char *path);
/* Whether the memory of a file or memfd is in use: it has a size, and its first word is not 0. */
bool	 memory_used(int fd);
/* Says in a memfd that it will not be used: the process needs no successor.  Other files stay as they are. */
void	 memory_decline(const char *path);
bool	 memory_declined(int fd);
/* Whether a memory has neither been used nor declined yet. */
bool	 memory_untouched(int fd);

/* Reserves n bytes of a layout: returns base + *at, or NULL if base is NULL, and advances *at by whole lines. */
void	*memory_place(void *base, size_t *at, size_t n);

/* Reports that the n bytes at p have changed. */
void	 memory_report_change(const struct memory *m, void *p, size_t n);
/* The half that is valid, or -1 for neither.  Damaged bytes still give 0, 1 or -1. */
int	 memory_half(const struct memory_word *w);
/* The half to write next. */
unsigned memory_other(const struct memory_word *w);
/* Makes a half valid, after all stores before. */
void	 memory_publish(const struct memory *m, struct memory_word *w, unsigned half);
/* Stores a number in one piece, after all stores before and before all that follow. */
void	 memory_store_number(const struct memory *m, _Atomic uint64_t *to, uint64_t v);

#endif
