#!/usr/bin/env perl
# relay.pl - passes connections on, each byte so much later: a network with a delay.
#
#	relay.pl SECONDS HOST:PORT
#
# It listens on a free port of 127.0.0.1, and prints that address when it does.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use Time::HiRes qw(time);

my ($delay, $target) = @ARGV;
my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 16) or die "relay: $@\n";
my (%other, %queue);	# of a socket: its partner, and what is to be written to it: [time, bytes], "" for the end
$SIG{PIPE} = 'IGNORE';
$| = 1;
print '127.0.0.1:', $listener->sockport, "\n";

sub hang_up {
	for my $s ($_[0], delete $other{$_[0]}) {
		next unless defined $s;
		delete $queue{$s};
		delete $other{$s};
		close $s;
	}
}

my $reading = IO::Select->new($listener);
while (1) {
	my ($now, $next, $writing) = (time, undef, IO::Select->new);
	for my $s (map { $other{$_} } keys %other) {
		my $first = $queue{$s}[0] or next;
		if ($first->[0] <= $now) { $writing->add($s) }
		elsif (!defined $next || $first->[0] < $next) { $next = $first->[0] }
	}
	my ($in, $out) = IO::Select->select($reading, $writing, undef, defined $next ? $next - $now : undef);
	for my $s (@{$in || []}) {
		if ($s == $listener) {
			my $near = $listener->accept or next;
			my $far = IO::Socket::INET->new(PeerAddr => $target);
			if (!$far) { close $near; next }
			for my $end ($near, $far) { $end->blocking(0); $queue{$end} = []; $reading->add($end) }
			($other{$near}, $other{$far}) = ($far, $near);
			next;
		}
		my $to = $other{$s} or next;
		my $n = sysread $s, my $bytes, 1 << 18;
		next if !defined $n && $!{EAGAIN};
		$reading->remove($s) unless $n;
		push @{$queue{$to}}, [time + $delay, $n ? $bytes : ''];
	}
	for my $s (@{$out || []}) {
		my $first = ($queue{$s} || next)->[0];
		my $n = syswrite $s, $first->[1];
		if ($first->[1] eq '' || (!defined $n && !$!{EAGAIN})) {
			$reading->remove($s, $other{$s});
			hang_up($s);
		} elsif (defined $n) {
			substr($first->[1], 0, $n) = '';
			shift @{$queue{$s}} if $first->[1] eq '';
		}
	}
}
