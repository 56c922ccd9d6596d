/*
 * huff - the Huffman codes of a JPEG's only scan, read faster than libjpeg reads them.
 *
 * It takes the place of libjpeg's entropy decoder, whose interface jpegint.h declares: what becomes of the coefficients
 * is libjpeg's own work, so that pixels are the same to the last bit.  More than half of the time of a decoder goes into
 * these codes.  Three things make it fast: the scan's bytes are freed of their stuffing first, so that the bits are
 * filled up eight bytes at a time without a look at them; one look into a table gives runs, values and length of one
 * or two codes with the bits behind them; and tables are kept from picture to picture as long as the pictures have the same.
 * Source: ITU-T T.81, annex F.2.2.
 *
 * Threads: each its own.
 */
#ifndef IMAGE_HUFF_H
#define IMAGE_HUFF_H

#include <stdbool.h>
#include <stdio.h>

#include <jpeglib.h>

struct huff;

/* Returns 0 or ERR_NOMEM. */
int	 huff_new(struct huff **h);
void	 huff_free(struct huff *h);	/* NULL is fine */

/*
 * Takes over the codes of d, which reads from memory and has just been through jpeg_start_decompress().  Returns false,
 * and has changed nothing, where they are not a baseline picture's whole and only scan, without restarts, with the end of
 * the image behind it, or where memory is short.  d's client_data is h's from then on.
 *
 * Where codes turn out to be bad or too few it calls d's error_exit with msg_code JERR_BAD_DCT_COEF.  h is used until d
 * has ended.
 */
bool	 huff_attach(struct huff *h, struct jpeg_decompress_struct *d);
/* Reads the codes that d has not asked for, to the same end. */
void	 huff_drain(struct huff *h, struct jpeg_decompress_struct *d);

#endif
