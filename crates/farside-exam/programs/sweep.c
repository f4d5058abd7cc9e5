// Goes through an array of so many MiB so many times: `sweep MEBIBYTES TIMES`. Prints a sum.
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    size_t words = strtoul(arguments[1], NULL, 10) << 17, sum = 0;
    size_t *array = malloc(words * sizeof *array);
    for (int time = atoi(arguments[2]); time > 0; time--)
        for (size_t i = 0; i < words; i++)
            sum += array[i] = time + i;
    printf("%zu\n", sum);
}
