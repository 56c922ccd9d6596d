/*
 * front_wait - says for which pipe or process a tool waits before it can go on.
 *
 * Standard input that has no bytes, and a named pipe that nobody else has opened, block the tool.  After 3 seconds it
 * prints "waiting for PATH", once.  Files that cannot block are not waited for.
 *
 * Threads: all calls from one.  For a named pipe a thread of its own prints the line.
 */
#ifndef CMD_FRONT_WAIT_H
#define CMD_FRONT_WAIT_H

/*
 * Before path is opened for reading.  "-" is standard input: returns when that has bytes or has ended.  Call it before
 * signals are handled, so that they end the tool.
 */
void	 front_wait_read(const char *path);
/* Before path is opened for writing. */
void	 front_wait_write(const char *path);
/* Before a call that waits for something else, named by both texts, which are lent. */
void	 front_wait_for(const char *prefix, const char *name);
/* After the call that opens path, or that waits.  Does nothing if none is waited for. */
void	 front_wait_end(void);

#endif
