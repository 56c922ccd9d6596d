# talk - a peer for tests of traffic: TCP or UDP on loopback, so many connections of so many bytes.
#
#	talk.pl serve PORTFILE [ADDRESS]	takes connections, answers each byte read with nothing but a last "ok"; ends when its
#					standard input does, with the bytes that it got on standard output
#	talk.pl send PORT COUNT BYTES [PROCESSES [ADDRESS]]
#					COUNT connections, one after another, each BYTES long; the bytes that went twice or more are told
#					in a line of the file that $TALK_AGAIN names
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;

my $what = shift;
if ($what eq 'serve') {
	my ($file, $at) = (@ARGV, '127.0.0.1');
	my $listen = IO::Socket::INET->new(Listen => 128, LocalAddr => $at, ReuseAddr => 1) or die "listen: $!";
	open(my $h, '>', "$file.new") or die;
	print $h $listen->sockport, "\n";
	close $h;
	rename("$file.new", $file);
	my ($sum, $s) = (0, IO::Select->new($listen, \*STDIN));
	LOOP: while (1) {
		for my $r ($s->can_read) {
			if ($r == $listen) {
				$s->add($listen->accept);
			} else {
				my $n = sysread($r, my $bytes, 1 << 20);
				last LOOP if $r == \*STDIN;
				$sum += $n // 0;
				next if $n;
				syswrite($r, 'ok');
				$s->remove($r);
				close $r;
			}
		}
	}
	print "$sum\n";
} else {
	my ($port, $count, $bytes, $processes, $at) = @ARGV;
	my $piece = 'x' x ($bytes < 1 << 20 ? $bytes : 1 << 20);
	for (2 .. $processes // 1) { last unless fork }
	my $again = 0;
	for (1 .. $count) {
		my $c = IO::Socket::INET->new(PeerAddr => $at // '127.0.0.1', PeerPort => $port) or die "connect: $!";
		for (my $left = $bytes; $left > 0;) {
			my $n = syswrite($c, $piece, $left < length $piece ? $left : length $piece) // die "send: $!";
			$left -= $n;
		}
		shutdown($c, 1);
		sysread($c, my $ok, 10) == 2 or die "no answer";
		my $info = getsockopt($c, 6, 11) // ''; # TCP_INFO; tcpi_bytes_retrans stands at 208
		$again += unpack('x208 Q', $info) if length $info >= 216;
	}
	if ($ENV{TALK_AGAIN}) {
		open(my $h, '>>', $ENV{TALK_AGAIN}) or die;
		syswrite($h, "$again\n");
	}
	1 while wait > 0;
}
