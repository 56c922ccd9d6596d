/*
 * mutate - structure-aware changes of a fuzz target's inputs: libFuzzer's custom mutator, for inputs made of parts.
 *
 * An input is a head of fixed size and parts one after the other: turns, messages, members, lines.  The target says
 * where each part ends, how one is made, and how one changes and stays a part.  What depends on the other parts
 * (lengths, counts, checksums) it seals at the end.  Parts are doubled, moved, left out, made and changed; now and
 * then bytes change anywhere, as libFuzzer does by itself, so that malformed inputs stay among them.
 *
 * Each target defines LLVMFuzzerCustomMutator() by mutate_parts(), or by the numbers and lists below if its input is
 * the text of a struct.  tests/fuzz/replay.c runs it without libFuzzer.  One thread.
 */
#ifndef TESTS_FUZZ_MUTATE_H
#define TESTS_FUZZ_MUTATE_H

#include "base/rng.h"

#include <stddef.h>
#include <stdint.h>

#define MUTATE_PARTS	512u	/* parts of an input that are told apart; the last has all that follows */

struct mutate_format {
	size_t	  head;		/* bytes before the parts, which change as bytes do */
	/* Bytes of the part at p, at most n; n > 0.  0: what is here is no part, and nothing after it. */
	size_t	(*part)(const uint8_t *p, size_t n);
	/* Makes a part at p and returns its size, 0 if it needs more than `room`. */
	size_t	(*make)(struct rng *r, uint8_t *p, size_t room);
	/* Changes a part of n bytes, which has room for `room`, and returns its size.  NULL: libFuzzer does. */
	size_t	(*change)(struct rng *r, uint8_t *p, size_t n, size_t room);
	/* Makes the input of n bytes consistent, in room for `room`, and returns its size.  NULL: nothing depends. */
	size_t	(*seal)(uint8_t *p, size_t n, size_t room);
};

/* Changes an input of n bytes in room for `room`, and returns its size. */
size_t	 mutate_parts(const struct mutate_format *f, uint8_t *p, size_t n, size_t room, unsigned seed);
/* A few bytes of a part or input, as libFuzzer changes them.  Returns the size. */
size_t	 mutate_bytes(uint8_t *p, size_t n, size_t room);

/* A number that resembles v, or one at which something overflows, or a small one. */
uint64_t mutate_number(struct rng *r, uint64_t v);
/* Doubles, moves or removes an element of a list with room for `most`. */
void	 mutate_list(struct rng *r, void *list, size_t size, uint32_t *n, uint32_t most);

/* libFuzzer's entries; those of a target. */
size_t	 LLVMFuzzerMutate(uint8_t *p, size_t n, size_t room);
size_t	 LLVMFuzzerCustomMutator(uint8_t *p, size_t n, size_t room, unsigned seed);
int	 LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#endif
