#!/usr/bin/perl
# words - find what the tree's rules on words, names and lengths forbid: a line a finding, file:line: what
#
# usage: words.pl private LIST FILE...     words of LIST, a file of words, and what begins with one
#        words.pl comments FILE...         comments that begin with three dots; those on a member that only continue its name
#        words.pl statics MAX FILE...      static functions or variables of one name in more than MAX files
#        words.pl single FILE...           static functions whose name has no verb and object
#        words.pl columns MAX FILE...      lines of more than MAX columns, tabs being 8 wide
#        words.pl folders MAX FILE...      folders that hold more than MAX of the files
#        words.pl modules MAX FILE...      folders that hold more than MAX modules: a file, or a source with its header
#        words.pl outs FILE...            functions of several parameters that begin with an out-parameter: a struct **, void **
#        words.pl claims FILE...           names of tests that are no claims: without a subject, with dots for one, or "is told"
#        words.pl sentences MAX FILE...    sentences of more than MAX words: pages in mdoc, Markdown, comments in C
use strict;
use warnings;
use open qw(:std :utf8);

my $mode = shift // die "words: no mode\n";
my $what = $mode =~ /^(private|statics|columns|folders|modules|sentences)$/ ? shift : undef;
my @files = @ARGV;

sub lines_of {
	my ($file) = @_;
	open(my $h, '<', $file) or die "words: $file: $!\n";
	local $/;
	my $text = <$h> // '';
	return split /\n/, $text, -1;
}

sub find_private {
	my $private = join '|', map { split } grep { !/^#/ } lines_of($what);
	for my $file (@files) {
		my $n = 0;
		for (lines_of($file)) {
			$n++;
			my %seen;
			my @found = grep { /^(?:$private)/ && !$seen{$_}++ } map { lc } /[A-Za-z]+/g;
			print "$file:$n: private word: @found\n" if @found;
		}
	}
}

sub find_comments {
	for my $file (@files) {
		my $n = 0;
		for (lines_of($file)) {
			$n++;
			print "$file:$n: a comment begins with \"...\"\n" if m{(?:/\*+!?|//+!?|^\s*\*)\s*(?:\.\.|\x{2026})};
			print "$file:$n: a comment only continues the name before it\n"
			    if m{^[^()=]*[;,]\s*/\*+\s*(?:\[[^]]*\]\s*)?(?:of|that|or|and|for|(?:by|in|on) which|as of)\s};
		}
	}
}

# The functions that a file defines for itself, and with $all its variables, too: [name, line].
sub statics_of {
	my ($file, $all) = @_;
	my $text = join("\n", lines_of($file));
	my @names;
	$text =~ s{/\*.*?\*/}{$& =~ tr/\n//cdr}ges;
	$text =~ s{//.*|\b__attribute__\s*\(\(.*?\)\)}{}g;
	my $kind = qr/(?:int|void|bool|char|double|float|unsigned|\w+_t)\b/;
	while ($text =~ /^(?=\w)((?:\w+\b|\*|\s)+?)\(?\s*\**\s*\b(?!$kind)(\w+)\)?\s*([(\[=;])/mg) {
		my ($type, $name, $end, $n) = ($1, $2, $3, 1 + substr($text, 0, $-[2]) =~ tr/\n//);
		next if $type !~ /\b(?:static|ISA_INLINE|ISA_CLONES|KERNEL_BODY)\b/;
		push @names, [$name, $n] if $end eq '(' || $all;
	}
	return @names;
}

sub find_statics {
	my %in;
	for my $file (@files) {
		$in{$_->[0]}{$file} //= $_->[1] for statics_of($file, 1);
	}
	for my $name (sort keys %in) {
		my @where = sort keys %{ $in{$name} };
		print "static $name in ", scalar @where, ' files: ', join(' ', @where), "\n" if @where > $what;
	}
}

sub find_single {
	for my $file (@files) {
		for (statics_of($file)) {
			my ($name, $n) = @$_;
			next if $name =~ /_/ || $name eq 'OF';	# OF() puts a name together
			print "$file:$n: static function of one word: $name\n" if $name ne 'main';
		}
	}
}

sub find_columns {
	for my $file (@files) {
		my $n = 0;
		for (lines_of($file)) {
			$n++;
			my $line = $_;
			1 while $line =~ s/^([^\t]*)\t/$1 . ' ' x (8 - length($1) % 8)/e;
			print "$file:$n: ", length($line), " columns\n" if length($line) > $what;
		}
	}
}

sub find_folders {
	my %count;
	for my $file (@files) {
		(my $folder = $file) =~ s,/[^/]*$,,;
		$count{$folder}++;
	}
	for my $folder (sort keys %count) {
		print "$folder: $count{$folder} files\n" if $count{$folder} > $what;
	}
}

sub find_modules {
	my (%stems, %count);
	$stems{s/\.[^.\/]*$//r} = 1 for @files;
	$count{s/\/[^\/]*$//r}++ for keys %stems;
	for my $folder (sort keys %count) {
		print "$folder: $count{$folder} modules\n" if $count{$folder} > $what;
	}
}

# A function of one parameter may begin with it, as may one that goes on with dots.
sub find_outs {
	for my $file (@files) {
		my $text = join("\n", lines_of($file));
		$text =~ s{/\*.*?\*/}{$& =~ tr/\n//cdr}ges;
		while ($text =~ /(\w+)\)?\(\s*(?:const\s+)?(?:struct\s+\w+|void)\s*\*\*\s*\w*,([^;{]*)/g) {
			my ($name, $rest, $n) = ($1, $2, 1 + substr($text, 0, $-[0]) =~ tr/\n//);
			print "$file:$n: an out-parameter comes first: $name\n" if $rest !~ /\.\.\.\s*\)/;
		}
	}
}

# A name that begins with dots, or in the middle of a sentence, leaves its subject to the test before it; "is told" leaves
# out who reports what.  The name of a test is the last text of a call in C, and the first or the last one in a script.
my $continues = 'and|also|so|it|its|with|of|to|for|in|nor|or|then|which';

sub find_claims {
	for my $file (@files) {
		my $n = 0;
		for (lines_of($file)) {
			$n++;
			print "$file:$n: a test's name begins with \"...\"\n" if /(?<!\\)"(?:%s: )*\.\.\. /;
			print "$file:$n: a test's name hides who reports\n" if /"[^"]*\bis told\b[^"]*"/;
			print "$file:$n: a test's name has no subject\n" if
			    m{(?:,\s*|^\s+)"(?:%s: )?(?:$continues) [^"]*"[^"]*\);$} && $file =~ /[ch]$/ ||
			    m{^\s*(?:ok|skip|(?:status|ended) \d+) "(?:$continues) | "(?:$continues) [^"]*"$} && $file =~ /t$/;
			print "$file:$n: a test's name ends with dots\n" if m{[a-z] ?\.\.\."(?:\)|, err|, e\.|$)};
		}
	}
}

# Sentences: words are collected until one ends a sentence, or a paragraph ends.
my ($sentence_file, $sentence_line, @sentence);

sub end_sentence {
	if (@sentence > $what) {
		my $n = @sentence;
		print "$sentence_file:$sentence_line: a sentence of $n words: @sentence[0 .. 7] ...\n";
	}
	@sentence = ();
}

sub add_word {
	my ($file, $line, $word) = @_;
	if ($word =~ /[[:alnum:]]/) {
		($sentence_file, $sentence_line) = ($file, $line) unless @sentence;
		push @sentence, $word;
	}
	return unless $word =~ /[.!?]["')\]]*$/;
	my $bare = $word =~ s/^["'(\[]+//r;
	return if $bare =~ /^(?:e\.g|i\.e|etc|vs|cf|al|Fig|No|pp?|[A-Z])\.$/ || $bare =~ /^\.+$/ && !@sentence;
	end_sentence();
}

my $callable = 'Ac|Ad|An|Ao|Ap|Aq|Ar|At|Bc|Bo|Bq|Brc|Bro|Brq|Bsx|Bx|Cd|Cm|Dc|Do|Dq|Dv|Em|Er|Ev|Fa|Fl|Fn|Ft|Fx|Ic|' .
    'In|Li|Lk|Ms|Mt|No|Oc|Oo|Op|Ox|Pa|Pc|Pf|Po|Pq|Ql|Qo|Qq|Qc|Sc|So|Sq|St|Sx|Sy|Tn|Va|Vt|Xc|Xo|Ns|Nm|Xr|Ta';

# The words of a line of macros, as a reader sees them.
sub mdoc_words {
	my ($line, $name) = @_;
	my (@words, $glue);
	my @tokens = $line =~ /"[^"]*"|\S+/g;
	for (my $i = 0; $i < @tokens; $i++) {
		my $t = $tokens[$i];
		if ($t =~ /^(?:$callable)$/) {
			$glue = 1 if $t eq 'Ns' || $t eq 'Ap';
			my $next = $tokens[$i + 1] // '';
			if ($t eq 'Xr' && ($tokens[$i + 2] // '') =~ /^\d/) {
				splice(@tokens, $i + 1, 2, "$next($tokens[$i + 2])");
			} elsif ($t eq 'Nm' && $next =~ /^(?:[[:punct:]]|$callable|)$/) {
				splice(@tokens, $i + 1, 0, $name);
			}
			next;
		}
		$t =~ s/^"(.*)"$/$1/;
		$t =~ s/\\&//g;
		if (@words && ($glue || $t =~ /^[.,:;!?)\]]+$/)) {
			$words[-1] .= $t;
		} else {
			push @words, split ' ', $t;
		}
		$glue = 0;
	}
	return @words;
}

sub mdoc_sentences {
	my ($file) = @_;
	my ($n, $literal, $reference, $section, $name, @lists) = (0, 0, 0, '', '');
	for (lines_of($file)) {
		$n++;
		next if /^\.\\"/;	# what the source says to its reader
		if (/^\.Ed/) { $literal = 0; next }
		next if $literal;
		if (/^\.Bd\b.*-(?:literal|unfilled)/) { end_sentence(); $literal = 1; next }
		if (/^\.Rs/) { end_sentence(); $reference = 1; next }
		if (/^\.Re/) { $reference = 0; next }
		next if $reference;
		if (/^\.Bl\b/) { end_sentence(); push @lists, /-column/ ? 1 : 0; next }
		if (/^\.El\b/) { end_sentence(); pop @lists; next }
		if (/^\.S([hs])\s+(.*)/) { end_sentence(); $section = $2 if $1 eq 'h'; next }
		if (/^\.Nm\s+(\S+)/ && $section eq 'NAME') { $name = $1; next }
		next if $section =~ /^(?:NAME|SYNOPSIS|SEE ALSO|)$/ || grep { $_ } @lists;
		if (/^\.It\s+(.*)/) {
			end_sentence();
			add_word($file, $n, $_) for mdoc_words($1, $name);
			end_sentence();
			next;
		}
		if (/^\.(?:Pp|It|Dl|D1|Lk|Bd|Dd|Dt|Os)/) { end_sentence(); next }
		my @words = /^\.\s*(.*)/ ? mdoc_words($1, $name) : split ' ', s/\\&//gr;
		add_word($file, $n, $_) for @words;
	}
	end_sentence();
}

sub markdown_sentences {
	my ($file) = @_;
	my ($n, $literal, $list) = (0, 0, 0);
	for (lines_of($file)) {
		$n++;
		if (/^\s*```/) { end_sentence(); $literal = !$literal; next }
		if ($literal || /^(?:    |\t)/ && !$list || /^\||^#|^\s*$/) {
			end_sentence();
			$list = 0 if !$literal && !/^\s*$/;
			next;
		}
		my $line = $_;
		if ($line =~ s/^\s*(?:[-*+]|\d+\.)\s+//) { end_sentence(); $list = 1 }
		$line =~ s/`[^`]*`/x/g;
		$line =~ s/!?\[([^]]*)\]\([^)]*\)/$1/g;
		$line =~ s/<[^>]*>//g;
		add_word($file, $n, $_) for split ' ', $line;
	}
	end_sentence();
}

# Comments: each block is a paragraph, as is each line of it that begins a list or stands apart; tables and formulas
# that are indented by more than a blank are none.
sub comment_sentences {
	my ($file) = @_;
	my ($n, $inside) = (0, 0);
	for (lines_of($file)) {
		$n++;
		my $line = $_;
		if (!$inside) {
			if ($line =~ s{^.*?/\*}{}) { end_sentence(); $inside = 1 }
			elsif ($line =~ s{^\s*//}{}) { }
			else { end_sentence(); next }
		} else {
			$line =~ s/^\s*\*(?!\/)//;
		}
		my $ends = $inside && $line =~ s{\*/.*$}{};
		if ($line =~ /^\s*$/ || $line =~ /^(?:\s{3,}|\t)/ || $line =~ /^\s*(?:-|\d+\.)\s/) { end_sentence() }
		$line =~ s/^\s*(?:-|\d+\.)\s+//;
		if ($line !~ /^(?: {3,}| ?\t)/ || $n == 1) { add_word($file, $n, $_) for split ' ', $line }
		if ($ends) { end_sentence(); $inside = 0 }
	}
	end_sentence();
}

sub find_sentences {
	for my $file (@files) {
		if ($file =~ /\.[1-9]$/) { mdoc_sentences($file) }
		elsif ($file =~ /\.md$/) { markdown_sentences($file) }
		else { comment_sentences($file) }
	}
}

my %modes = (private => \&find_private, comments => \&find_comments, statics => \&find_statics, single => \&find_single,
	columns => \&find_columns, folders => \&find_folders, modules => \&find_modules, outs => \&find_outs,
	claims => \&find_claims, sentences => \&find_sentences);
($modes{$mode} // die "words: no such mode: $mode\n")->();
