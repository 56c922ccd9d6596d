/* huff - a fast decoder of the Huffman codes of a JPEG with a single baseline scan. */
#include "image/jpeg/huff.h"
#include "image/jpeg/huff_table.h"
#include "base/buf.h"
#include "base/err.h"

#include <endian.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#define JPEG_INTERNALS
#include <jpegint.h>

#define PAD	512u	/* zero bytes after the scan: more than the codes of a block and a lookup take */

/* The reading position.  word holds the next bits, from its top; at least `have` of them are valid. */
struct bits {
	uint64_t	 word;
	unsigned	 have;
	const uint8_t	*next;
};

struct huff {
	struct huff_table dc[NUM_HUFF_TBLS], ac[NUM_HUFF_TBLS];
	struct buf	 scan;			/* the scan without stuffing, then PAD zeros */
	const uint8_t	*end;
	struct bits	 in;
	uint32_t	 mcus_left;
	int		 last[MAX_COMPS_IN_SCAN];	/* DC of the previous block, by component */
	JBLOCK		 discarded;		/* receives blocks that libjpeg does not want */
};

/* The position of the k-th coefficient.  At the end of a block a lookup may store a zero as number 64. */
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
load_word(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

/* Fills up to at least 56 bits: enough for a code of 16, a value of 15 and another lookup. */
ISA_INLINE void
fill_bits(struct bits *b)
{
	b->word |= load_word(b->next) >> b->have;
	b->next += (63 - b->have) >> 3;
	b->have |= 56;
}

ISA_INLINE void
skip_bits(struct bits *b, unsigned n)
{
	b->word <<= n;
	b->have -= n;
}

/* n > 0 */
ISA_INLINE unsigned
read_bits(struct bits *b, unsigned n)
{
	unsigned v = (unsigned)(b->word >> (64 - n));

	skip_bits(b, n);
	return v;
}

ISA_INLINE huff_entry
look_up(const struct huff_table *t, const struct bits *b)
{
	return t->of[b->word >> (64 - HUFF_LOOK)];
}

/* ------ blocks ------ */

/* Consumes the first symbol of an entry and returns its value. */
ISA_INLINE int
read_value(struct bits *b, huff_entry e)
{
	skip_bits(b, huff_first_bits(e));
	return huff_kind(e) != HUFF_MORE ? huff_value(e)
	    : huff_extend(read_bits(b, (unsigned)huff_value(e)), (unsigned)huff_value(e));
}

/* Returns whether the code is valid. */
ISA_INLINE bool
decode_dc(const struct huff_table *t, struct bits *b, int *last)
{
	huff_entry e = look_up(t, b);

	if (huff_kind(e) == HUFF_LONG && huff_kind(e = huff_table_find_long(t, b->word >> 48, true)) == HUFF_LONG)
		return false;
	*last += read_value(b, e);
	return *last == (int16_t)*last;
}

/*
 * Decodes a symbol at coefficient k that is long, ends the block, or may pass its end.  Returns the next coefficient,
 * DCTSIZE2 at the end of the block, or more if the code is invalid.
 */
ISA_INLINE uint32_t
decode_special_ac(const struct huff_table *t, struct bits *b, huff_entry e, JCOEF *block, uint32_t k)
{
	if (huff_kind(e) == HUFF_LONG && huff_kind(e = huff_table_find_long(t, b->word >> 48, false)) == HUFF_LONG)
		return DCTSIZE2 + 1;
	if (huff_kind(e) == HUFF_END) {
		skip_bits(b, huff_first_bits(e));
		return DCTSIZE2;
	}
	k += huff_run(e);
	if (k < DCTSIZE2)
		block[natural[k]] = (JCOEF)read_value(b, e);
	return k + 1;
}

/* Three lookups take no more bits than fill_bits() provides, and leave enough for a long code with its value. */
ISA_INLINE bool
decode_ac(const struct huff_table *t, struct bits *b, JCOEF *block)
{
	for (uint32_t k = 1;;) {
		fill_bits(b);
		for (int i = 0; i < 3; i++) {
			huff_entry e = look_up(t, b);
			uint32_t next = k + huff_step(e);

			if (next >= DCTSIZE2) {
				if ((k = decode_special_ac(t, b, e, block, k)) >= DCTSIZE2)
					return k == DCTSIZE2;
				break;
			}
			skip_bits(b, huff_bits(e));
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
		JCOEF *block = mcu != NULL ? mcu[i][0] : h->discarded;
		int *last = &h->last[d->MCU_membership[i]];

		fill_bits(&in);
		if (!decode_dc(&h->dc[c->dc_tbl_no], &in, last))
			return false;
		block[0] = (JCOEF)*last;
		if (!decode_ac(&h->ac[c->ac_tbl_no], &in, block) || in.next > h->end + sizeof(in.word))
			return false;
	}
	h->in = in;
	h->mcus_left--;
	return (size_t)(in.next - h->scan.p) * 8 - in.have <= (size_t)(h->end - h->scan.p) * 8;
}

/* ------ libjpeg's side ------ */

static void
read_mcu(struct huff *h, struct jpeg_decompress_struct *d, JBLOCKROW *mcu)
{
	if (h->mcus_left > 0 && decode_mcu(h, d, mcu))
		return;
	d->err->msg_code = JERR_BAD_DCT_COEF;
	d->err->error_exit((j_common_ptr)d);
}

static boolean
on_mcu(j_decompress_ptr d, JBLOCKROW *mcu)
{
	read_mcu(d->client_data, d, mcu);
	return TRUE;
}

void
huff_drain(struct huff *h, struct jpeg_decompress_struct *d)
{
	while (h->mcus_left > 0)
		read_mcu(h, d, NULL);
}

/*
 * Copies the scan without stuffing to h->scan.  Returns the end-of-image marker, or NULL if there is none or no
 * memory.
 */
static const uint8_t *
remove_stuffing(struct huff *h, const uint8_t *p, size_t n)
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

/* Ss and Se exclude lossless JPEG, which libjpeg-turbo 3 reads and which need not have these tables. */
static bool
is_scan_supported(const struct jpeg_decompress_struct *d)
{
	return !d->progressive_mode && !d->arith_code && d->restart_interval == 0 && d->data_precision == 8 &&
	    d->comps_in_scan == d->num_components && d->Ss == 0 && d->Se == DCTSIZE2 - 1 && d->unread_marker == 0;
}

bool
huff_attach(struct huff *h, struct jpeg_decompress_struct *d)
{
	const uint8_t *marker;

	if (!is_scan_supported(d) ||
	    (marker = remove_stuffing(h, d->src->next_input_byte, d->src->bytes_in_buffer)) == NULL)
		return false;
	for (int i = 0; i < d->comps_in_scan; i++) {
		const jpeg_component_info *c = d->cur_comp_info[i];

		huff_table_make(&h->dc[c->dc_tbl_no], d->dc_huff_tbl_ptrs[c->dc_tbl_no], true);
		huff_table_make(&h->ac[c->ac_tbl_no], d->ac_huff_tbl_ptrs[c->ac_tbl_no], false);
	}
	h->in = (struct bits){ .next = h->scan.p };
	h->mcus_left = d->MCUs_per_row * d->MCU_rows_in_scan;
	memset(h->last, 0, sizeof(h->last));
	/*
	 * Changes libjpeg's own decoder object: its size differs between versions, the offset of decode_mcu does not.
	 */
	d->entropy->decode_mcu = on_mcu;
	d->client_data = h;
	d->src->bytes_in_buffer -= (size_t)(marker - d->src->next_input_byte);
	d->src->next_input_byte = marker;
	return true;
}
