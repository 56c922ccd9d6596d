# plog_tensorboard.t - event files, read back by the published format alone.
. "$TOP/tests/tap.sh"
. "$TOP/tests/plog.sh"
cd "$T" || exit 1

{
	echo '# tally 0.1 tool=pworker rank=0'
	echo "$head"
	row 10 epoch 0 1000 2.0 0.3 200
	row 12 validation 0 100 1.5 0.4 50
	row 22 epoch 300 1000 0.25 0.625 250
	row 24 validation 300 100 nan 0.75 100
} >a.tsv

# read.pl FILE: an event a line: wall time, step, version, tags and values.  It checks each length, checksum and wire type.
cat >read.pl <<'END'
use strict;
use warnings;
sub crc32c {
	my $c = 0xffffffff;
	for my $byte (unpack 'C*', $_[0]) {
		$c ^= $byte;
		$c = $c & 1 ? ($c >> 1) ^ 0x82f63b78 : $c >> 1 for 1 .. 8;
	}
	return $c ^ 0xffffffff;
}
# The check value of CRC-32C.
crc32c('123456789') == 0xe3069283 or die "crc32c\n";
sub masked { my $c = crc32c($_[0]); return ((($c >> 15) | ($c << 17)) + 0xa282ead8) & 0xffffffff }
sub varint {
	my ($text) = @_;
	my ($v, $shift) = (0, 0);
	while (1) {
		$$text =~ s/^(.)//s or die "a varint ends early\n";
		$v |= (ord($1) & 0x7f) << $shift;
		return $v unless ord($1) & 0x80;
		$shift += 7;
	}
}
# The fields of a message as [number, type, value].
sub fields {
	my ($text) = @_;
	my @fields;
	while (length $text) {
		my $key = varint(\$text);
		my ($field, $type) = ($key >> 3, $key & 7);
		my $n = $type == 0 ? 0 : $type == 1 ? 8 : $type == 2 ? varint(\$text) : $type == 5 ? 4 : die "wire type $type\n";
		length $text >= $n or die "a field ends early\n";
		push @fields, [$field, $type, $type == 0 ? varint(\$text) : substr($text, 0, $n, '')];
	}
	return @fields;
}
open(my $in, '<:raw', $ARGV[0]) or die "$ARGV[0]: $!\n";
local $/;
my $file = <$in>;
while (length $file) {
	length $file >= 16 or die "a record ends early\n";
	my ($length, $length_crc) = unpack 'Q< L<', substr($file, 0, 12, '');
	masked(pack 'Q<', $length) == $length_crc or die "checksum of a length\n";
	length $file >= $length + 4 or die "data end early\n";
	my $data = substr($file, 0, $length, '');
	masked($data) == unpack('L<', substr($file, 0, 4, '')) or die "checksum of data\n";
	my @line;
	for (fields($data)) {
		my ($field, $type, $v) = @$_;
		if ($field == 1 && $type == 1) { push @line, 'wall=' . unpack('d<', $v) }
		elsif ($field == 2 && $type == 0) { push @line, "step=$v" }
		elsif ($field == 3 && $type == 2) { push @line, "version=$v" }
		elsif ($field == 5 && $type == 2) {
			for (fields($v)) {
				$_->[0] == 1 && $_->[1] == 2 or die "a field of a summary\n";
				my %value = map { ("$_->[0] $_->[1]" => $_->[2]) } fields($_->[2]);
				my $number = unpack('f<', $value{'2 5'});
				push @line, $value{'1 2'} . '=' . ($number == $number ? $number : 'nan');
			}
		} else { die "field $field of type $type\n" }
	}
	print "@line\n";
}
END

status 0 "plog --tensorboard writes a run" plog --tensorboard events a.tsv
is "$(cd events && find . -type f)" "./events.out.tfevents.0.plog" "a run without a name has a file in the folder"
ok "the lengths, checksums and wire types are valid" perl read.pl events/events.out.tfevents.0.plog
is "$(perl read.pl events/events.out.tfevents.0.plog)" \
	"wall=0 version=brain.Event:2
wall=7 step=0 accuracy/train=0.300000011920929 loss/train=2 accuracy/validation=0.400000005960464 loss/validation=1.5 seconds/train=5 \
speed/samples_per_s=200 seconds/validation=2
wall=12 step=300 accuracy/train=0.625 loss/train=0.25 accuracy/validation=0.75 loss/validation=nan seconds/train=4 \
speed/samples_per_s=250 seconds/validation=1" "the events have the epochs and measures of the log"
is "$(wc -l <out)" 3 "the table is printed, too"
cp events/events.out.tfevents.0.plog before
status 0 "plog --tensorboard into the same folder" plog --tensorboard events a.tsv
ok "the same log gives the same bytes in place of the old ones" cmp before events/events.out.tfevents.0.plog
perl -e 'local $/; $_ = <>; substr($_, 30, 1) ^= "\1"; print' before >broken
ok "a changed byte fails the checksum" sh -c '! perl read.pl broken'

sed 's/0\.75/0.5/' a.tsv >b.tsv
mkdir other && cp b.tsv other/a.tsv
status 0 "plog --compare --tensorboard" plog -c --tensorboard runs a.tsv b.tsv other/a.tsv
is "$(cd runs && find . -type f | sort | tr '\n' ' ')" "./a.tsv-3/events.out.tfevents.0.plog ./a.tsv/events.out.tfevents.0.plog \
./b.tsv/events.out.tfevents.0.plog " "each run has a folder of its own"
like <(perl read.pl runs/b.tsv/events.out.tfevents.0.plog) 'step=300 .* accuracy/validation=0\.5 ' "a run has its measures"
for i in 100 200 400; do
	echo "After $i training steps ($i global steps), loss on training batch is 0.5, accuracy is 0.75. (0.25 sec/batch)"
done >steps.log
status 0 "plog --tensorboard of a log by steps" plog --tensorboard steps steps.log
is "$(perl read.pl steps/events.out.tfevents.0.plog | grep -o '^wall=.* step=[0-9]*' | tr '\n' ' ')" \
	"wall=25 step=100 wall=50 step=200 wall=100 step=400 " "the wall time of a log by steps counts all steps"
mkdir names other/names
cp a.tsv names/x && cp a.tsv names/x-3 && cp b.tsv other/names/x
status 0 "plog --tensorboard of a name that equals a numbered one" plog -c --tensorboard twice names/x names/x-3 other/names/x
is "$(cd twice && find . -type f | sort | tr '\n' ' ')" "./x-3/events.out.tfevents.0.plog ./x-4/events.out.tfevents.0.plog \
./x/events.out.tfevents.0.plog " "no two of three runs have the same folder"
like <(perl read.pl twice/x-4/events.out.tfevents.0.plog) 'step=300 .* accuracy/validation=0\.5 ' \
	"the numbered folder has the run of its place"
for name in a/b a_b; do
	printf '### %s\n- x\n\n| epoch | accuracy |\n| --- | --- |\n| 1 | 0.5 |\n' $name
done >slash.md
status 0 "plog --tensorboard of two names that differ in a slash" plog --tensorboard slash slash.md
is "$(cd slash && find . -type f | sort | tr '\n' ' ')" "./a_b: x-2/events.out.tfevents.0.plog \
./a_b: x/events.out.tfevents.0.plog " "names that differ only in a slash have two folders"
printf '### ../up/and away\n- x\n\n| epoch | accuracy |\n| --- | --- |\n| 1 | 0.5 |\n' >doc.md
status 0 "plog --tensorboard of a run whose name is a path" plog --tensorboard named doc.md
is "$(find named -type f)" "named/_._up_and away: x/events.out.tfevents.0.plog" "slashes and a leading point are replaced"
: >file
status 1 "a folder that cannot be made has status 1" plog --tensorboard file/events a.tsv
is "$(cat err)" "plog: file/events: mkdir file/events: Not a directory" "the message names the folder"
if python3 -c 'import tensorboard' 2>/dev/null; then
	is "$(python3 - 2>/dev/null <<'END'
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
a = EventAccumulator("events").Reload()
print([(e.step, round(e.value, 6)) for e in a.Scalars("accuracy/validation")])
END
)" "[(0, 0.4), (300, 0.75)]" "TensorBoard reads the events"
else
	skip "TensorBoard reads the events" "no tensorboard here"
fi
done_testing
