/*
 * amount - numbers with units: "12.5", "2.73 TiB", "970.90 Mbit/s".
 *
 * Functions with an argument p parse at *p and advance it on success.
 */
#ifndef LOG_AMOUNT_H
#define LOG_AMOUNT_H

#include <stdbool.h>

extern const char *const amount_units[7];	/* "B" to "EiB", powers of 1024 */

const char *amount_skip_blanks(const char *p);	/* returns the first byte that is no blank or tab */
bool	 amount_number(const char **p, double *v);
/* The bytes of the unit at p ("TiB", "MB", "GiB)"), or 0 if there is none. */
double	 amount_unit(const char *p);
/* Gives bytes.  Skips blanks, and a word of two letters before the number. */
bool	 amount_bytes(const char **p, const char *word, double *v);
/* Gives Mbit/s.  Skips blanks. */
bool	 amount_rate(const char **p, double *v);

#endif
