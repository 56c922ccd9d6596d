/* huff - the Huffman codes of a JPEG's only scan, read faster than libjpeg reads them. */
#include "image/huff.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/isa.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#define JPEG_INTERNALS
#include <jpegint.h>

#define LOOK	11	/* bits of a look into a table */
#define PAD	512u	/* bytes behind the scan's: more than the codes of a block and a look ahead */

/*
 * What the first LOOK bits are the beginning of, in one word: bits 0-4 how many bits to take, 5-6 the kind, 8-11 the
 * coefficients to skip, 16-31 the value:
 *	FULL	its bits were looked at too
 *	MORE	how many bits of it follow the code
 *	END	none, the block ends
 *	LONG	none: the code is longer, or no code
 */
enum { FULL, MORE, END, LONG };

typedef uint32_t entry;

ISA_INLINE entry
entry_make(unsigned kind, unsigned bits, unsigned run, int value)
{
	return (uint32_t)value << 16 | run << 8 | kind << 5 | bits;
}

ISA_INLINE unsigned
bits_of(entry e)
{
	return e & 31;
}

ISA_INLINE unsigned
kind_of(entry e)
{
	return e >> 5 & 3;
}

ISA_INLINE unsigned
run_of(entry e)
{
	return e >> 8 & 15;
}

ISA_INLINE int
value_of(entry e)
{
	return (int16_t)(e >> 16);
}

struct table {
	UINT8		 bits[17], symbol[256];	/* what it was made of, as libjpeg keeps it; bits[0] is 1 once it is made */
	entry		 of[1 << LOOK];
	int32_t		 beyond[17];	/* by length: the first code that is too large, counted from the left of 16 bits ... */
	int32_t		 first[17];	/* ... and symbol number less code */
};

/* What is left of the scan: the next bits, at the left of word, of which at least `have` are there. */
struct bits {
	uint64_t	 word;
	unsigned	 have;
	const uint8_t	*next;
};

struct huff {
	struct table	 dc[NUM_HUFF_TBLS], ac[NUM_HUFF_TBLS];
	struct buf	 scan;			/* its bytes without stuffing, and PAD zeros */
	const uint8_t	*end;
	struct bits	 in;
	uint32_t	 left;			/* MCUs */
	int		 last[MAX_COMPS_IN_SCAN];
	JBLOCK		 nowhere;		/* for blocks that are not wanted */
};

/* The place of the k-th coefficient; a run beyond the last one ends there. */
static const uint8_t natural[64 + 16] = {
	 0,  1,  8, 16,  9,  2,  3, 10, 17, 24, 32, 25, 18, 11,  4,  5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13,  6,  7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
	63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
};

int
huff_new(struct huff **h)
{
	*h = calloc(1, sizeof(**h));
	return *h != NULL ? 0 : err_nomem();
}

void
huff_free(struct huff *h)
{
	if (h == NULL)
		return;
	buf_free(&h->scan);
	free(h);
}

/* ------ tables ------ */

/* v of `size` bits: the upper half are the numbers themselves, the lower half stand for negative ones. */
ISA_INLINE int
extend(unsigned v, unsigned size)
{
	return v >> (size - 1) != 0 ? (int)v : (int)v - (1 << size) + 1;
}

/* The entry of a code of `length` bits that the LOOK bits begin with. */
ISA_INLINE entry
entry_of(unsigned look, unsigned length, unsigned symbol, bool dc)
{
	unsigned size = dc ? symbol : symbol & 15, run = dc ? 0 : symbol >> 4, all = length + size;

	if (size == 0)
		return entry_make(dc || run == 15 ? FULL : END, length, run, 0);
	if (all > LOOK)
		return entry_make(MORE, length, run, (int)size);
	return entry_make(FULL, all, run, extend(look >> (LOOK - all) & ((1u << size) - 1), size));
}

/* The codes were checked by libjpeg: none is longer than 16 bits, and no length has too many. */
static void
make(struct table *t, const JHUFF_TBL *from, bool dc)
{
	unsigned code = 0, n = 0;

	if (t->bits[0] == 1 && memcmp(t->bits + 1, from->bits + 1, 16) == 0 &&
	    memcmp(t->symbol, from->huffval, sizeof(t->symbol)) == 0)
		return;
	memcpy(t->bits, from->bits, sizeof(t->bits));
	memcpy(t->symbol, from->huffval, sizeof(t->symbol));
	t->bits[0] = 1;
	for (unsigned i = 0; i < 1 << LOOK; i++)
		t->of[i] = entry_make(LONG, 0, 0, 0);
	for (unsigned length = 1; length <= 16; length++, code <<= 1) {
		t->first[length] = (int32_t)n - (int32_t)code;
		for (unsigned i = 0; i < from->bits[length]; i++, code++, n++) {
			if (length > LOOK)
				continue;
			for (unsigned look = code << (LOOK - length); look < (code + 1) << (LOOK - length); look++)
				t->of[look] = entry_of(look, length, from->huffval[n], dc);
		}
		t->beyond[length] = (int32_t)(code << (16 - length));
	}
}

/* ------ bits ------ */

ISA_INLINE uint64_t
word_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(v);
}

/* At least 56 bits: enough for a code of 16 and a value of 15, and for a look more. */
ISA_INLINE void
fill(struct bits *b)
{
	b->word |= word_at(b->next) >> b->have;
	b->next += (63 - b->have) >> 3;
	b->have |= 56;
}

ISA_INLINE void
skip(struct bits *b, unsigned n)
{
	b->word <<= n;
	b->have -= n;
}

/* n > 0 */
ISA_INLINE unsigned
take(struct bits *b, unsigned n)
{
	unsigned v = (unsigned)(b->word >> (64 - n));

	skip(b, n);
	return v;
}

/* A code longer than LOOK bits, as MORE or END; LONG when there is none such. */
ISA_INLINE entry
longer(const struct table *t, const struct bits *b, bool dc)
{
	int32_t code = (int32_t)(b->word >> 48);

	for (unsigned length = LOOK + 1; length <= 16; length++)
		if (code < t->beyond[length])
			return entry_of(0, length, t->symbol[((code >> (16 - length)) + t->first[length]) & 255], dc);
	return entry_make(LONG, 0, 0, 0);
}

/* ------ blocks ------ */

/* The value of an entry that has one, whose code was taken. */
ISA_INLINE int
value(struct bits *b, entry e)
{
	return kind_of(e) == FULL ? value_of(e) : extend(take(b, (unsigned)value_of(e)), (unsigned)value_of(e));
}

/* Returns whether the codes are good. */
ISA_INLINE bool
first(const struct table *t, struct bits *b, int *last)
{
	entry e = t->of[b->word >> (64 - LOOK)];

	if (kind_of(e) == LONG && kind_of(e = longer(t, b, true)) == LONG)
		return false;
	skip(b, bits_of(e));
	*last += value(b, e);
	return *last == (int16_t)*last;
}

ISA_INLINE bool
others(const struct table *t, struct bits *b, JCOEF *block)
{
	for (unsigned k = 1; k < DCTSIZE2; k++) {
		entry e;

		fill(b);
		e = t->of[b->word >> (64 - LOOK)];
		/* Two short codes, and what comes behind them, are there without filling up again. */
		for (int i = 0; i < 2 && kind_of(e) == FULL; i++) {
			skip(b, bits_of(e));
			k += run_of(e);
			block[natural[k]] = (JCOEF)value_of(e);
			if (++k >= DCTSIZE2)
				return k == DCTSIZE2;
			e = t->of[b->word >> (64 - LOOK)];
		}
		if (kind_of(e) == LONG && kind_of(e = longer(t, b, false)) == LONG)
			return false;
		skip(b, bits_of(e));
		if (kind_of(e) == END)
			return true;
		k += run_of(e);
		if (k >= DCTSIZE2)
			return false;
		block[natural[k]] = (JCOEF)value(b, e);
	}
	return true;
}

ISA_CLONES static bool
decode_mcu(struct huff *h, const struct jpeg_decompress_struct *d, JBLOCKROW *mcu)
{
	struct bits in = h->in;

	for (int i = 0; i < d->blocks_in_MCU; i++) {
		const jpeg_component_info *c = d->cur_comp_info[d->MCU_membership[i]];
		JCOEF *block = mcu != NULL ? mcu[i][0] : h->nowhere;
		int *last = &h->last[d->MCU_membership[i]];

		fill(&in);
		if (!first(&h->dc[c->dc_tbl_no], &in, last))
			return false;
		block[0] = (JCOEF)*last;
		if (!others(&h->ac[c->ac_tbl_no], &in, block) || in.next > h->end + sizeof(in.word))
			return false;
	}
	h->in = in;
	h->left--;
	return (size_t)(in.next - h->scan.p) * 8 - in.have <= (size_t)(h->end - h->scan.p) * 8;
}

/* ------ libjpeg's side ------ */

static void
next_mcu(struct huff *h, struct jpeg_decompress_struct *d, JBLOCKROW *mcu)
{
	if (h->left > 0 && decode_mcu(h, d, mcu))
		return;
	d->err->msg_code = JERR_BAD_DCT_COEF;
	d->err->error_exit((j_common_ptr)d);
}

static boolean
on_mcu(j_decompress_ptr d, JBLOCKROW *mcu)
{
	next_mcu(d->client_data, d, mcu);
	return TRUE;
}

void
huff_rest(struct huff *h, struct jpeg_decompress_struct *d)
{
	while (h->left > 0)
		next_mcu(h, d, NULL);
}

/* Where the end of the image is, behind codes that are now without stuffing in h->scan; NULL when there is none or no memory. */
static const uint8_t *
unstuff(struct huff *h, const uint8_t *p, size_t n)
{
	const uint8_t *end = p + n, *ff;
	uint8_t *to;

	h->scan.n = 0;
	if (buf_room(&h->scan, n + PAD) < 0)
		return NULL;
	for (to = h->scan.p; (ff = memchr(p, 0xff, (size_t)(end - p))) != NULL && end - ff > 1; p = ff + 2) {
		size_t more = (size_t)(ff - p) + (ff[1] == 0);

		memcpy(to, p, more);
		to += more;
		if (ff[1] == 0xd9) {
			memset(to, 0, PAD);
			h->end = to;
			return ff;
		}
		if (ff[1] != 0)
			break;
	}
	return NULL;
}

/* A lossless one, which libjpeg-turbo 3 reads, says so by Ss and Se; it need not have tables for what we read. */
static bool
known(const struct jpeg_decompress_struct *d)
{
	return !d->progressive_mode && !d->arith_code && d->restart_interval == 0 && d->data_precision == 8 &&
	    d->comps_in_scan == d->num_components && d->Ss == 0 && d->Se == DCTSIZE2 - 1 && d->unread_marker == 0;
}

bool
huff_join(struct huff *h, struct jpeg_decompress_struct *d)
{
	const uint8_t *marker;

	if (!known(d) || (marker = unstuff(h, d->src->next_input_byte, d->src->bytes_in_buffer)) == NULL)
		return false;
	for (int i = 0; i < d->comps_in_scan; i++) {
		const jpeg_component_info *c = d->cur_comp_info[i];

		make(&h->dc[c->dc_tbl_no], d->dc_huff_tbl_ptrs[c->dc_tbl_no], true);
		make(&h->ac[c->ac_tbl_no], d->ac_huff_tbl_ptrs[c->ac_tbl_no], false);
	}
	h->in = (struct bits){ .next = h->scan.p };
	h->left = d->MCUs_per_row * d->MCU_rows_in_scan;
	memset(h->last, 0, sizeof(h->last));
	/* In the library's own, which goes with the picture: how long it is differs between versions, this one's place does not. */
	d->entropy->decode_mcu = on_mcu;
	d->client_data = h;
	d->src->bytes_in_buffer -= (size_t)(marker - d->src->next_input_byte);
	d->src->next_input_byte = marker;
	return true;
}
