/*
 * dataset_msg - messages between a dataset server and its readers, on top of wire/msg.h.
 *
 * lib/dataset reads records of another host.  Read it in this order: dataset_msg (the messages); dataset_server
 * (connections of im2rec --serve) with dataset_sender (one reader's requests) and dataset_read_pool (threads that
 * read); dataset_client (a struct recs over a connection) with dataset_reader (its requests and answers).
 *
 *	reader			server
 *	OPEN			CLASSES samples: length of the names; slice: offset of the payload
 *				HOLDS   step: number of records; payload: u64 their id (record/recid.h)
 *	ASK  u64 number[n]	RECORD  step: number of the record; samples: its length; slice: offset of the payload
 *
 * The server answers OPEN with the names of the classes, one a line in the order of their numbers, or one empty CLASSES
 * if there are none, and then HOLDS.  Names are UTF-8 without control characters.  The server sends records in the
 * order of the requests.  Names and records come in parts of at most DATASET_MSG_PART bytes.  For a record that cannot
 * be read the server sends a RECORD with the flag MSG_EMPTY and one line of text.  A reader has at most
 * DATASET_MSG_ASKED requests without an answer.
 */
#ifndef DATASET_DATASET_MSG_H
#define DATASET_DATASET_MSG_H

#include "base/buf.h"
#include "wire/msg.h"

#define DATASET_MSG_PART	(1u << 18)	/* most bytes of a part */
#define DATASET_MSG_ASKED	4096u
#define DATASET_MSG_LONGEST	(1u << 28)	/* most bytes of a record */
#define DATASET_MSG_COUNT	UINT32_MAX	/* most records */

/* Each function checks and reads a message of one type.  Returns 0, ERR_FORMAT or ERR_LIMIT. */
int	 dataset_msg_holds(const struct msg *m, uint64_t *count, uint64_t *id);
/* Checks an ASK: *n numbers, all below count. */
int	 dataset_msg_ask(const struct msg *m, uint64_t count, uint32_t *n);
/* The k-th number of a valid ASK. */
uint64_t dataset_msg_asked(const struct msg *m, uint32_t k);
/* Checks a RECORD without MSG_EMPTY. */
int	 dataset_msg_part(const struct msg *m);
/*
 * Appends a CLASSES to text, which is empty before the first part.  Returns 1 after the last one, when classes_parse()
 * accepts the text; 0 before it; ERR_FORMAT, ERR_LIMIT or ERR_NOMEM.
 */
int	 dataset_msg_classes(const struct msg *m, struct buf *text);

#endif
