# Groups records by a key, and visits the groups in order.
use strict;
use warnings;

my $count = shift;
my (%groups, $state);
$state = 12345;
for my $i (1 .. $count) {
    $state = ($state * 1103515245 + 12345) % 2147483648;
    my $group = $groups{"customer " . ($state % ($count / 3))} //= { orders => [], total => 0 };
    push @{ $group->{orders} }, { number => $i, price => $state % 997 };
    $group->{total} += $state % 997;
}
my $sum = 0;
for my $key (sort keys %groups) {
    my $group = $groups{$key};
    $sum = ($sum * 31 + $group->{total} + $_->{number} % 7) % 1000000007 for @{ $group->{orders} };
}
print scalar(keys %groups), " $sum\n";
