/* open_data - what --data, --val and --mean name into records and a mean image; errors end the process. */
#ifndef CMD_PWORKER_OPEN_DATA_H
#define CMD_PWORKER_OPEN_DATA_H

#include "record/recs.h"
#include "train/train.h"

/*
 * Files as record/recs.h names them, or HOST:PORT, a host that holds the records; key is that host's, NULL where none
 * was given.  Returns NULL for a pipe, whose records have no numbers.
 */
struct recs *worker_open_records(const char *path, const uint8_t *key);
/*
 * The mean image [c,h,w] of the net's input; made from the training records where the file is not
 * there.  To be freed.
 */
float	*worker_open_mean(const char *path, const struct train_opt *t, const struct graph *g);

#endif
