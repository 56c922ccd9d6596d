/*
 * huff_table - the codes of a JPEG's Huffman table in, what the next bits mean out: serves huff.
 *
 * One look at LOOK bits finds a symbol with its value, and the symbol behind it where that fits in, too.
 */
#ifndef IMAGE_HUFF_TABLE_H
#define IMAGE_HUFF_TABLE_H

#include "base/isa.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

#define HUFF_LOOK	11	/* bits */

/*
 * What the first bits are the beginning of.  From the right: 6 bits how many bits to take; 5 how many the first symbol
 * takes; 4 how many coefficients it skips; 5 the place of the second; 2 the kind of the first; 1 whether the block ends
 * behind them; 8, at 24, how many coefficients to go on; 16 and 16 the values.  Without a second symbol there is a 0
 * behind the first, where nothing is yet.  Kinds:
 *	FULL	its bits were looked at too
 *	MORE	its value is how many bits of it follow the code
 *	END	none, the block ends
 *	LONG	none: the code is longer, or no code
 * Behind MORE and LONG it goes on beyond any block, so that one comparison finds all that needs care.
 */
enum { HUFF_FULL, HUFF_MORE, HUFF_END, HUFF_LONG };

typedef uint64_t huff_entry;

struct huff_table {
	UINT8		 bits[17], symbol[256];	/* what it was made of, as libjpeg keeps it; bits[0] is 1 once it is made */
	huff_entry	 of[1 << HUFF_LOOK];
	int32_t		 beyond[17];	/* by length: the first code that is too large, counted from the left of 16 bits ... */
	int32_t		 first[17];	/* ... and symbol number less code */
};

ISA_INLINE unsigned
huff_bits(huff_entry e)
{
	return e & 63;
}

ISA_INLINE unsigned
huff_run(huff_entry e)
{
	return e >> 11 & 15;
}

ISA_INLINE unsigned
huff_first_bits(huff_entry e)
{
	return e >> 6 & 31;
}

ISA_INLINE unsigned
huff_second(huff_entry e)
{
	return e >> 15 & 31;
}

ISA_INLINE unsigned
huff_kind(huff_entry e)
{
	return e >> 20 & 3;
}

ISA_INLINE bool
huff_ends(huff_entry e)
{
	return (e >> 22 & 1) != 0;
}

ISA_INLINE unsigned
huff_step(huff_entry e)
{
	return e >> 24 & 255;
}

ISA_INLINE int16_t
huff_value(huff_entry e)
{
	return (int16_t)(e >> 32);
}

ISA_INLINE int16_t
huff_second_value(huff_entry e)
{
	return (int16_t)(e >> 48);
}

/* v of `size` bits: the upper half are the numbers themselves, the lower half stand for negative ones. */
ISA_INLINE int
huff_extend(unsigned v, unsigned size)
{
	return v >> (size - 1) != 0 ? (int)v : (int)v - (1 << size) + 1;
}

/* The codes were checked by libjpeg: none is longer than 16 bits, and no length has too many. */
void	 huff_table_make(struct huff_table *t, const JHUFF_TBL *from, bool dc);
/* The code, longer than HUFF_LOOK bits, that 16 bits begin with; HUFF_LONG when there is none such. */
huff_entry huff_table_find_long(const struct huff_table *t, unsigned next, bool dc);

#endif
