#!/usr/bin/env perl
# Writes lib/tokenizer/unicode/tables/properties.bin and property_ranges.bin: the properties that
# patterns of tokenizers may name, from a perl whose Unicode is that of the tokenizer's other tables.
#
#     perl tests/tools/make_unicode_properties.pl      # perl 5.36, of Debian 12
use strict;
use warnings;
use Unicode::UCD qw(prop_invlist prop_values prop_value_aliases);

Unicode::UCD::UnicodeVersion() eq '14.0.0' or die "perl has Unicode ", Unicode::UCD::UnicodeVersion(), ", expected 14.0.0\n";

sub loose { my $name = lc shift; $name =~ tr/_ \-//d; return $name }

my %named; # loose name => what perl calls it
for my $value (prop_values('gc')) {
    $named{loose($_)} = "gc=$value" for grep { length($_) <= 2 } prop_value_aliases('gc', $value);
}
for my $name (qw(any alpha alphabetic upper uppercase lower lowercase space whitespace ascii emoji
    extendedpictographic)) {
    $named{$name} = $name;
}
for my $value (prop_values('sc')) {
    $named{loose($_)} //= "sc=$value" for prop_value_aliases('sc', $value);
}

# [first, last] without surrogates, which no text has.
sub ranges {
    my @list = prop_invlist(shift);
    my @found;
    push @list, 0x110000 if @list % 2;
    while (my ($first, $end) = splice @list, 0, 2) {
        push @found, [$first, $end - 1 < 0xd7ff ? $end - 1 : 0xd7ff] if $first < 0xd800;
        push @found, [$first > 0xe000 ? $first : 0xe000, $end - 1] if $end > 0xe000;
    }
    return @found;
}

my $folder = 'lib/tokenizer/unicode/tables';
open my $index, '>:raw', "$folder/properties.bin" or die;
open my $table, '>:raw', "$folder/property_ranges.bin" or die;
my ($n, %place) = (0);
for my $name (sort keys %named) {
    my $property = $named{$name};
    if (!$place{$property}) {
        my @ranges = $property eq 'any' ? ([0, 0xd7ff], [0xe000, 0x10ffff]) : ranges($property);
        print $table pack 'VV', @$_ for @ranges;
        $place{$property} = [$n, $n + @ranges];
        $n += @ranges;
    }
    length $name < 24 or die "$name is too long";
    print $index pack 'a24VVV', $name, @{ $place{$property} }, $property =~ /^sc=/ ? 1 : 0;
}
