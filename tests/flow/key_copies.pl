# key_copies.pl PID...: takes the job's key from the locked pages of the first process, a server or a worker, and prints
# each copy of it in the memory of all: the command, the form, and whether the pages are locked and left out of core
# dumps.
use strict;
use warnings;
no warnings 'portable';

# Calls back with the text and the flags of each mapping that can be read.
sub mappings {
	my ($pid, $call) = @_;
	my ($from, $to);
	open my $maps, '<', "/proc/$pid/smaps" or die "$pid: smaps: $!";
	open my $mem, '<:raw', "/proc/$pid/mem" or die "$pid: mem: $!";
	while (<$maps>) {
		($from, $to) = $3 eq 'r' && $4 !~ /^\[v/ ? (hex $1, hex $2) : () if /^(\w+)-(\w+) (.)\S+ \S+ \S+ \S+\s*(.*)/;
		next unless s/^VmFlags:// && defined $from;
		sysseek $mem, $from, 0 and sysread $mem, my $text, $to - $from or next;
		$call->($text, " $_");
	}
}

my %form;
mappings($ARGV[0], sub {
	my ($text, $flags) = @_;
	$form{raw} = substr $text, 0, 32 if $flags =~ / dd / && length $text == 4096 && substr($text, 64) !~ /[^\0]/ &&
	    substr($text, 0, 32) =~ /[^\0]/;
});
die "no key\n" if !$form{raw};
$form{digits} = unpack 'H*', $form{raw};
for my $pid (@ARGV) {
	open my $comm, '<', "/proc/$pid/comm" or next;
	chomp(my $name = <$comm>);
	mappings($pid, sub {
		my ($text, $flags) = @_;
		for my $form (sort keys %form) {
			for (my $at = -1; ($at = index $text, $form{$form}, $at + 1) >= 0;) {
				print "$name $form", $flags =~ / lo / ? ' locked' : '', $flags =~ / dd / ? ' undumped' : '', "\n";
			}
		}
	});
}
