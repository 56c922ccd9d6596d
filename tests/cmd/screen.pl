# screen - a terminal that keeps what it shows.
#
#	screen.pl COLUMNS <bytes	what stands there in the end, a line a line
#	screen.pl COLUMNS erased <bytes	what was taken away again, in its order
#
# It knows carriage return, new line, up (CSI n A), erase to the end (CSI J), erase to the line's end (CSI K) and colours
# (CSI m), and breaks lines that are too long.  Anything else behind an escape ends it with a fault.
use strict;
use warnings;

my ($cols, $erased) = @ARGV;
my ($x, $y, @rows, @gone) = (0, 0, '');
local $/;
my $in = <STDIN>;
sub down { $rows[++$y] //= '' }
while ($in =~ /\G(\r|\n|\e\[(\d*)([AJKm])|[^\r\n\e])/gc) {
	if ($1 eq "\r") {
		$x = 0;
	} elsif ($1 eq "\n") {
		down();
	} elsif (!defined $3) {
		($x = 0, down()) if $x == $cols;
		$rows[$y] .= ' ' x ($x - length $rows[$y]) if length $rows[$y] < $x;
		substr($rows[$y], $x++, 1) = $1;
	} elsif ($3 eq 'A') {
		$y -= $2 || 1;
		die "above the first line" if $y < 0;
	} elsif ($3 ne 'm') {
		push @gone, grep { $_ ne '' } substr($rows[$y], $x < length $rows[$y] ? $x : length $rows[$y]);
		$rows[$y] = substr($rows[$y], 0, $x);
		push @gone, grep { $_ ne '' } splice @rows, $y + 1 if $3 eq 'J';
	}
}
die "unknown bytes: " . sprintf('%vd', substr($in, pos($in) // 0, 8)) if (pos($in) // 0) < length $in;
print map { "$_\n" } $erased ? @gone : grep { $_ ne '' } @rows;
