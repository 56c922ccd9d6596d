# strangers.pl KIND NUMBER FILE ADDRESS PORT...: connects to the ports as those do who have no key.  KIND is
#	hold	NUMBER connections that say nothing, until standard input ends
#	slow	NUMBER connections that send the bytes of FILE, one a second, until standard input ends
#	close	NUMBER connections, each closed at once
#	scan	a connection to each port from 1 to NUMBER, closed at once
#	random	NUMBER connections with random bytes, each for a second
#	send	NUMBER connections with the bytes of FILE, likewise
# hold and slow print "held".  random and send print how many connections were answered, and the seconds they took.
# RATE in the environment is the most connections a second.
#
# strangers.pl pass 1 FILE ADDRESS PORT: passes one connection on to the port, prints its own port, and keeps the bytes
# of the client: the first that it sends in FILE.hello, all in FILE.all.
use strict;
use warnings;
use IO::Poll;
use Socket;
use Time::HiRes 'time';

my ($kind, $number, $file, $address, @ports) = @ARGV;
my ($n, $start) = (0, time);
my $rate = $ENV{RATE} || 1e9;
my $host = inet_aton($address);
$| = 1;
$SIG{PIPE} = 'IGNORE';

sub dial {
	my $port = shift;
	my $wait = $n++ / $rate - (time - $start);
	select undef, undef, undef, $wait if $wait > 0;
	socket my $s, PF_INET, SOCK_STREAM, 0 or die "socket: $!";
	$s->blocking(0) if $kind ne 'pass';
	connect $s, pack_sockaddr_in($port, $host) or $!{EINPROGRESS} or return;
	return $s;
}

sub content {
	open my $f, '<:raw', shift or die "$file: $!";
	local $/;
	return <$f>;
}

sub pass {
	socket my $l, PF_INET, SOCK_STREAM, 0 or die "socket: $!";
	bind $l, pack_sockaddr_in(0, $host) and listen $l, 1 or die "listen: $!";
	print +(unpack_sockaddr_in(getsockname $l))[0], "\n";
	close STDOUT;
	accept my $client, $l or die "accept: $!";
	my $server = dial($ports[0]) or die "connect: $!";
	open my $all, '>:raw', "$file.all" or die "$file.all: $!";
	$all->autoflush(1);
	my $poll = IO::Poll->new;
	$poll->mask($_ => IO::Poll::POLLIN()) for $client, $server;
	while ($poll->poll > 0) {
		for my $from ($poll->handles(IO::Poll::POLLIN() | IO::Poll::POLLHUP() | IO::Poll::POLLERR())) {
			my $to = $from == $client ? $server : $client;
			sysread $from, my $bytes, 65536 or exit;
			if ($from == $client) {
				open my $hello, '>:raw', "$file.part" or die "$file.part: $!" if !-e "$file.hello";
				print $hello $bytes and close $hello and rename "$file.part", "$file.hello" if $hello;
				print $all $bytes;
			}
			for (my $at = 0; $at < length $bytes;) {
				$at += syswrite $to, $bytes, length($bytes) - $at, $at or exit;
			}
		}
	}
}

# Sends on each connection, and waits a second for the answer.
sub send_all {
	my $bytes = $kind eq 'send' ? content($file) : '';
	my ($poll, $answered, %open) = (IO::Poll->new, 0);
	while ($n < $number || %open) {
		while ($n < $number && $n / $rate <= time - $start) {
			my $s = dial($ports[$n % @ports]) or next;
			$open{$s} = { s => $s, at => time };
			$poll->mask($s => IO::Poll::POLLOUT());
		}
		$poll->poll(0.01);
		for my $c (values %open) {
			my $over = time - $c->{at} > 1;
			if (!$poll->events($c->{s})) {
			} elsif (!$c->{sent}++) {
				my $text = $kind eq 'send' ? $bytes : join '', map { chr rand 256 } 0 .. rand 400;
				$over = 1 if !defined send $c->{s}, $text, 0;
				$poll->mask($c->{s} => IO::Poll::POLLIN());
			} else {
				my $got = recv $c->{s}, my $answer, 65536, 0;
				$answered++ if defined $got && length $answer;
				$over = 1;
			}
			$poll->remove($c->{s}), delete $open{$c->{s}} if $over;
		}
	}
	printf "%d answered in %.1f s\n", $answered, time - $start;
}

if ($kind eq 'pass') {
	pass();
} elsif ($kind eq 'random' || $kind eq 'send') {
	send_all();
} elsif ($kind eq 'hold' || $kind eq 'slow') {
	my $bytes = $kind eq 'slow' ? content($file) : '';
	my @held = map { dial($ports[$_ % @ports]) } 1 .. $number;
	my $in = IO::Poll->new;
	$in->mask(*STDIN => IO::Poll::POLLIN() | IO::Poll::POLLHUP());
	print "held\n";
	for (my $at = 0; $in->poll(1) == 0; $at++) {
		send $_, substr($bytes, $at, 1), 0 for grep { defined && $at < length $bytes } @held;
	}
} else {
	dial($kind eq 'scan' ? $_ : $ports[$_ % @ports]) for 1 .. $number;
}
