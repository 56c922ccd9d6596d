/*
 * amount - numbers as people write them, with or without a unit: "12.5", "2.73 TiB", "970.90 Mbit/s".
 *
 * Each begins at *p, which moves behind it; blanks and tabs before it, but for a bare number's, are passed over.
 */
#ifndef LOG_AMOUNT_H
#define LOG_AMOUNT_H

#include <stdbool.h>

bool	 amount_number(const char **p, double *v);
/* The bytes of a unit at p: "TiB", "MB", "GiB)"; 0 when it is none. */
double	 amount_unit(const char *p);
/* Bytes, perhaps behind a word of two letters. */
bool	 amount_bytes(const char **p, const char *word, double *v);
/* Mbit/s. */
bool	 amount_rate(const char **p, double *v);

#endif
