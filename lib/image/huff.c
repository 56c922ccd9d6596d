/* huff - the Huffman codes of a JPEG's only scan, read faster than libjpeg reads them. */
#include "image/huff.h"
#include "image/huff_table.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#define JPEG_INTERNALS
#include <jpegint.h>

#define PAD	512u	/* bytes behind the scan's: more than the codes of a block and a look ahead */

/* What is left of the scan: the next bits, at the left of word, of which at least `have` are there. */
struct bits {
	uint64_t	 word;
	unsigned	 have;
	const uint8_t	*next;
};

struct huff {
	struct huff_table dc[NUM_HUFF_TBLS], ac[NUM_HUFF_TBLS];
	struct buf	 scan;			/* its bytes without stuffing, and PAD zeros */
	const uint8_t	*end;
	struct bits	 in;
	uint32_t	 left;			/* MCUs */
	int		 last[MAX_COMPS_IN_SCAN];
	JBLOCK		 nowhere;		/* for blocks that are not wanted */
};

/* The place of the k-th coefficient; the 0 of a look that ends the block may stand behind the last. */
static const uint8_t natural[DCTSIZE2 + 1] = {
	 0,  1,  8, 16,  9,  2,  3, 10, 17, 24, 32, 25, 18, 11,  4,  5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13,  6,  7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
	63,
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

/* What the next bits begin with. */
ISA_INLINE huff_entry
look(const struct huff_table *t, const struct bits *b)
{
	return t->of[b->word >> (64 - HUFF_LOOK)];
}

/* ------ blocks ------ */

/* The first symbol of an entry, its code taken, and its value. */
ISA_INLINE int
value(struct bits *b, huff_entry e)
{
	skip(b, huff_first_bits(e));
	return huff_kind(e) != HUFF_MORE ? huff_value(e)
	    : huff_extend(take(b, (unsigned)huff_value(e)), (unsigned)huff_value(e));
}

/* Returns whether the codes are good. */
ISA_INLINE bool
first(const struct huff_table *t, struct bits *b, int *last)
{
	huff_entry e = look(t, b);

	if (huff_kind(e) == HUFF_LONG && huff_kind(e = huff_table_find_long(t, b->word >> 48, true)) == HUFF_LONG)
		return false;
	*last += value(b, e);
	return *last == (int16_t)*last;
}

/* A symbol that needs care, and for coefficient *k.  Returns where the next one is, DCTSIZE2 at the end, beyond when it is bad. */
ISA_INLINE uint32_t
careful(const struct huff_table *t, struct bits *b, huff_entry e, JCOEF *block, uint32_t k)
{
	if (huff_kind(e) == HUFF_LONG && huff_kind(e = huff_table_find_long(t, b->word >> 48, false)) == HUFF_LONG)
		return DCTSIZE2 + 1;
	if (huff_kind(e) == HUFF_END) {
		skip(b, huff_first_bits(e));
		return DCTSIZE2;
	}
	k += huff_run(e);
	if (k < DCTSIZE2)
		block[natural[k]] = (JCOEF)value(b, e);
	return k + 1;
}

/* Three looks take no more bits than there are, and leave enough for a long code with its value. */
ISA_INLINE bool
others(const struct huff_table *t, struct bits *b, JCOEF *block)
{
	for (uint32_t k = 1;;) {
		fill(b);
		for (int i = 0; i < 3; i++) {
			huff_entry e = look(t, b);
			uint32_t next = k + huff_step(e);

			if (next >= DCTSIZE2) {
				if ((k = careful(t, b, e, block, k)) >= DCTSIZE2)
					return k == DCTSIZE2;
				break;
			}
			skip(b, huff_bits(e));
			block[natural[k + huff_second(e)]] = huff_second_value(e);
			block[natural[k + huff_run(e)]] = huff_value(e);
			if (huff_ends(e))
				return true;
			k = next;
		}
	}
}

ISA_CLONES(static, bool, decode_mcu, (struct huff *h, const struct jpeg_decompress_struct *d, JBLOCKROW *mcu),
    (h, d, mcu))
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
huff_drain(struct huff *h, struct jpeg_decompress_struct *d)
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
huff_attach(struct huff *h, struct jpeg_decompress_struct *d)
{
	const uint8_t *marker;

	if (!known(d) || (marker = unstuff(h, d->src->next_input_byte, d->src->bytes_in_buffer)) == NULL)
		return false;
	for (int i = 0; i < d->comps_in_scan; i++) {
		const jpeg_component_info *c = d->cur_comp_info[i];

		huff_table_make(&h->dc[c->dc_tbl_no], d->dc_huff_tbl_ptrs[c->dc_tbl_no], true);
		huff_table_make(&h->ac[c->ac_tbl_no], d->ac_huff_tbl_ptrs[c->ac_tbl_no], false);
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
