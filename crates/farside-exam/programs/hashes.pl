# Nested hashes and long strings.
use strict;
use warnings;

my $count = shift;
my %table;
my $state = 12345;
for my $i (1 .. $count) {
    $state = ($state * 1103515245 + 12345) % 2147483648;
    my $key = "key " . ($state % ($count / 2));
    push @{ $table{$key}{list} }, $i;
    $table{$key}{text} .= "$i,";
}
my $sum = 0;
for my $key (sort keys %table) {
    $sum = ($sum * 31 + length($table{$key}{text}) + @{ $table{$key}{list} }) % 1000000007;
}
print scalar(keys %table), " $sum\n";
my $long = join(' ', map { $table{$_}{text} } sort keys %table);
my $words = () = $long =~ /\d+/g;
print length($long), " $words\n";
