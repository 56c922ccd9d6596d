/*
 * tfevents - writes measurements as event files, which TensorBoard reads.
 *
 * A file is a sequence of TFRecords: the length of the data (64 bits, little-endian), its masked CRC-32C, the data, and
 * their masked CRC-32C.  The data are Event messages in the encoding of Protocol Buffers: wall_time = 1, step = 2,
 * file_version = 3, summary = 5.  Source: tensorflow, core/lib/io/record_writer.h and core/util/event.proto.
 * Threads: no state.
 */
#ifndef LOG_TFEVENTS_H
#define LOG_TFEVENTS_H

#include "log/curve.h"

/*
 * Writes dir/RUN/events.out.tfevents.0.plog for each run, or a file in dir itself for a single run without a name.
 * RUN is the run's name with '_' for slashes and a leading point, numbered if an earlier run's folder has that name.
 * Makes the folders, and replaces older files.  A step is an epoch or step of the log, and the wall time counts the
 * seconds of training and validation from 0.  Rows are means.  Returns 0, ERR_SYS or ERR_NOMEM.
 */
int	 tfevents_write(const struct curve_rows *rows, const char *dir);

#endif
