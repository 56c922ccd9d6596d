/* huff_table - a lookup table for the Huffman codes of a JPEG.  For huff. */
#include "image/jpeg/huff_table.h"

#include <string.h>

#define LOOK	HUFF_LOOK
#define BEYOND	64u	/* an advance that ends any block */

static huff_entry
make_entry(unsigned kind, unsigned bits, unsigned run, int value)
{
	unsigned step = kind == HUFF_FULL ? run + 1 : kind == HUFF_END ? 0 : BEYOND, ends = kind == HUFF_END;

	return (huff_entry)(uint16_t)value << 32 | step << 24 | ends << 22 | kind << 20 | (run + 1) << 15 | run << 11 |
	    bits << 6 | bits;
}

static huff_entry
join_entries(huff_entry a, huff_entry b)
{
	unsigned at = huff_run(a) + 1 + huff_run(b), step = huff_step(a) + huff_step(b);

	return (huff_entry)(uint16_t)huff_value(b) << 48 | (huff_entry)(uint16_t)huff_value(a) << 32 | step << 24 |
	    (unsigned)huff_ends(b) << 22 | huff_kind(a) << 20 | at << 15 | huff_run(a) << 11 | huff_bits(a) << 6 |
	    (huff_bits(a) + huff_bits(b));
}

/*
 * The entry of a code of length bits at the start of a lookup.  A run without a value ends the block, unless it is of
 * 15.
 */
static huff_entry
make_symbol_entry(unsigned look, unsigned length, unsigned symbol, bool dc)
{
	unsigned size = dc ? symbol : symbol & 15, run = dc ? 0 : symbol >> 4, all = length + size;

	if (size == 0)
		return dc || run == 15 ? make_entry(HUFF_FULL, length, run, 0) : make_entry(HUFF_END, length, 0, 0);
	if (all > LOOK)
		return make_entry(HUFF_MORE, length, run, (int)size);
	return make_entry(HUFF_FULL, all, run, huff_extend(look >> (LOOK - all) & ((1u << size) - 1), size));
}

/*
 * Fills the entries of all lookups, from index at on, that start with a code and its values.  Lookups that differ
 * only after the value have equal entries.  Returns the next index.
 */
static unsigned
put_entries(struct huff_table *t, unsigned at, unsigned length, unsigned symbol, bool dc)
{
	unsigned end = at + (1u << (LOOK - length)), all = length + (dc ? symbol : symbol & 15);
	unsigned step = all <= LOOK ? 1u << (LOOK - all) : end - at;

	for (; at < end; at += step) {
		huff_entry e = make_symbol_entry(at, length, symbol, dc);

		for (unsigned i = 0; i < step; i++)
			t->of[at + i] = e;
	}
	return at;
}

/* Extends entries whose remaining bits hold another whole symbol. */
static void
join_symbols(struct huff_table *t)
{
	huff_entry alone[1 << LOOK];

	memcpy(alone, t->of, sizeof(alone));
	for (unsigned look = 0; look < 1 << LOOK; look++) {
		huff_entry a = alone[look], b = alone[look << huff_bits(a) & ((1 << LOOK) - 1)];

		if (huff_kind(a) == HUFF_FULL && (huff_kind(b) == HUFF_FULL || huff_kind(b) == HUFF_END) &&
		    huff_bits(a) + huff_bits(b) <= LOOK)
			t->of[look] = join_entries(a, b);
	}
}

void
huff_table_make(struct huff_table *t, const JHUFF_TBL *from, bool dc)
{
	unsigned code = 0, n = 0, at = 0;

	if (t->bits[0] == 1 && memcmp(t->bits + 1, from->bits + 1, 16) == 0 &&
	    memcmp(t->symbol, from->huffval, sizeof(t->symbol)) == 0)
		return;
	memcpy(t->bits, from->bits, sizeof(t->bits));
	memcpy(t->symbol, from->huffval, sizeof(t->symbol));
	t->bits[0] = 1;
	for (unsigned length = 1; length <= 16; length++, code <<= 1) {
		t->first[length] = (int32_t)n - (int32_t)code;
		for (unsigned i = 0; i < from->bits[length]; i++, code++, n++)
			if (length <= LOOK)
				at = put_entries(t, at, length, from->huffval[n], dc);
		t->beyond[length] = (int32_t)(code << (16 - length));
	}
	for (; at < 1 << LOOK; at++)
		t->of[at] = make_entry(HUFF_LONG, 0, 0, 0);
	if (!dc)
		join_symbols(t);
}

huff_entry
huff_table_find_long(const struct huff_table *t, unsigned next, bool dc)
{
	int32_t code = (int32_t)next;

	for (unsigned length = LOOK + 1; length <= 16; length++)
		if (code < t->beyond[length])
			return make_symbol_entry(0, length,
			    t->symbol[((code >> (16 - length)) + t->first[length]) & 255], dc);
	return make_entry(HUFF_LONG, 0, 0, 0);
}
