/*
 * huff - a fast decoder of the Huffman codes of a JPEG with a single baseline scan.
 *
 * It replaces libjpeg's entropy decoder through the interface of jpegint.h.  libjpeg still computes pixels from the
 * coefficients, so they are equal to the last bit.  A decoder spends more than half of its time in these codes.
 *
 * Three things make it fast.  It removes the scan's byte stuffing first, so that it can load eight bytes at a time
 * unchecked.  One table lookup gives the runs, values and length of one or two symbols with their extra bits.  Tables
 * are kept from image to image while these have the same.
 * Source: ITU-T T.81, annex F.2.2.
 *
 * Threads: one struct for each.
 */
#ifndef IMAGE_JPEG_HUFF_H
#define IMAGE_JPEG_HUFF_H

#include <stdbool.h>
#include <stdio.h>

#include <jpeglib.h>

struct huff;

/* Returns 0 or ERR_NOMEM. */
int	 huff_new(struct huff **h);
void	 huff_free(struct huff *h);	/* NULL is fine */

/*
 * Takes over the codes of d, which reads from memory and has just returned from jpeg_start_decompress().  Refuses an
 * image that is not baseline or has several scans, restarts or no end-of-image marker after its scan, and fails if
 * memory is short: it then returns false and has changed nothing.  Otherwise h owns d's client_data, and must live
 * until d has ended.
 *
 * On bad or missing codes it calls d's error_exit with msg_code JERR_BAD_DCT_COEF.
 */
bool	 huff_attach(struct huff *h, struct jpeg_decompress_struct *d);
/* Checks the codes that d has not read yet, and fails in the same way. */
void	 huff_drain(struct huff *h, struct jpeg_decompress_struct *d);

#endif
