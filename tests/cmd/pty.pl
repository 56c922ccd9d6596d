# pty - runs a command on a terminal of its own: what it writes there comes to standard output, to the last byte.
#
#	pty.pl COLUMNS ROWS COMMAND [ARGUMENT ...]
#
# The status is the command's.  script(1) waits ten milliseconds for a last word, which the kernel hands on when it has time.
use strict;
use warnings;
use POSIX ();

my ($cols, $rows, @command) = @ARGV;
$| = 1;
my ($lock, $number) = (pack('i', 0), pack('i', 0));
open(my $ours, '+<', '/dev/ptmx') or die "/dev/ptmx: $!";
ioctl($ours, 0x40045431, $lock) or die "TIOCSPTLCK: $!";
ioctl($ours, 0x80045430, $number) or die "TIOCGPTN: $!";
my $name = '/dev/pts/' . unpack('i', $number);
# Held open until the command has it.
sysopen(my $held, $name, POSIX::O_RDWR() | POSIX::O_NOCTTY()) or die "$name: $!";
defined(my $pid = fork) or die "fork: $!";
if ($pid == 0) {
	POSIX::setsid();
	open(my $terminal, '+<', $name) or die "$name: $!";	# which is from now on the session's
	my $size = pack('S4', $rows, $cols, 0, 0);
	ioctl($terminal, 0x5414, $size) or die "TIOCSWINSZ: $!";
	POSIX::dup2(fileno $terminal, $_) for 0 .. 2;
	exec(@command) or die "$command[0]: $!";
}
close $held;
# The end is an error, EIO, when all that had it open have closed it, and nothing is left to be read.
while (1) {
	my $n = sysread($ours, my $bytes, 65536);
	print $bytes if $n;
	last unless $n || (!defined $n && $!{EINTR});
}
waitpid($pid, 0);
exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
