/*
 * huff_table - a lookup table for the Huffman codes of a JPEG.  For huff.
 *
 * One lookup of HUFF_LOOK bits finds a symbol with its value, and the following symbol if it fits too.
 */
#ifndef IMAGE_JPEG_HUFF_TABLE_H
#define IMAGE_JPEG_HUFF_TABLE_H

#include "base/isa.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

#define HUFF_LOOK	11	/* bits */

/*
 * An entry describes the symbols at the start of HUFF_LOOK bits.  Its fields, from the low end:
 *
 *	bits	field
 *	0-5	bits to consume for both symbols
 *	6-10	bits to consume for the first symbol
 *	11-14	zero coefficients before the first value
 *	15-19	offset of the second value
 *	20-21	kind of the first symbol
 *	22	whether the block ends after them
 *	24-31	coefficients to advance
 *	32-47	first value
 *	48-63	second value
 *
 * Without a second symbol the second value is a 0 right after the first, which is overwritten later.  Kinds:
 *
 *	FULL	the lookup contains the value's bits
 *	MORE	the first value is how many bits follow the code
 *	END	the block ends
 *	LONG	the code is longer than the lookup, or invalid
 *
 * MORE and LONG advance beyond any block, so that one comparison finds all symbols that need special care.
 */
enum { HUFF_FULL, HUFF_MORE, HUFF_END, HUFF_LONG };

typedef uint64_t huff_entry;

struct huff_table {
	/* libjpeg's table that this was made from; bits[0] is 1 if it is made */
	UINT8		 bits[17], symbol[256];
	huff_entry	 of[1 << HUFF_LOOK];
	int32_t		 beyond[17];	/* by length: the first larger code, left-aligned in 16 bits */
	int32_t		 first[17];	/* by length: number of the first symbol less its code */
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

/* The value that v of size bits encodes: the upper half are positive values, the lower half negative ones. */
ISA_INLINE int
huff_extend(unsigned v, unsigned size)
{
	return v >> (size - 1) != 0 ? (int)v : (int)v - (1 << size) + 1;
}

/* Makes t from a table that libjpeg has checked: no code is longer than 16 bits, and no length has too many codes. */
void	 huff_table_make(struct huff_table *t, const JHUFF_TBL *from, bool dc);
/* The entry of the code, longer than HUFF_LOOK bits, at the start of 16 bits; HUFF_LONG if it is invalid. */
huff_entry huff_table_find_long(const struct huff_table *t, unsigned next, bool dc);

#endif
