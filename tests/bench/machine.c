/*
 * machine.c - is the machine calm enough to measure on?
 */
#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_STOLEN 0.05 /* of the time of all cores, while a block counts */
#define SYNCS       9

/* user nice system idle iowait irq softirq steal, in ticks of all cores. */
static void read_stat(double *stolen, double *total)
{
    double ticks[8] = {0};
    FILE *file = fopen("/proc/stat", "r");

    if (file == NULL)
        bench_fail("/proc/stat: %s", strerror(errno));
    if (fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &ticks[0],
               &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6],
               &ticks[7]) != 8)
        bench_fail("/proc/stat: not as expected");
    fclose(file);
    *stolen = ticks[7];
    *total = 0;
    for (size_t i = 0; i < 8; i++)
        *total += ticks[i];
}

double machine_sync_us(void)
{
    static char page[4096];
    char path[512];
    double us[SYNCS];

    bench_path(path, sizeof(path), "machine.sync");
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        bench_fail("%s: %s", path, strerror(errno));
    for (int i = 0; i < SYNCS; i++) {
        uint64_t begin = bench_now_ns();
        if (write(fd, page, sizeof(page)) != (ssize_t)sizeof(page) ||
            fdatasync(fd) != 0)
            bench_fail("%s: %s", path, strerror(errno));
        us[i] = (double)(bench_now_ns() - begin) / 1e3;
    }
    (void)close(fd);
    (void)unlink(path);
    return bench_median(us, SYNCS);
}

void machine_begin(struct machine *machine)
{
    read_stat(&machine->stolen, &machine->total);
}

bool machine_end(struct machine *machine)
{
    double stolen = 0, total = 0;

    read_stat(&stolen, &total);
    total -= machine->total;
    double share = total > 0 ? (stolen - machine->stolen) / total : 0;
    if (share > MOST_STOLEN && !bench_is_quick()) {
        machine->left_out++;
        return false;
    }
    machine->syncs_us[machine->counted] = machine_sync_us();
    machine->shares[machine->counted++] = share;
    return true;
}

bool machine_is_done(const struct machine *machine, size_t rounds)
{
    if (machine->counted >= rounds)
        return true;
    if (machine->counted + machine->left_out < 2 * rounds)
        return false;
    if (machine->counted == 0)
        bench_fail("other machines took more than %.0f %% of the time, in each "
                   "of %zu blocks: measure when they are calm",
                   100 * MOST_STOLEN, machine->left_out);
    return true;
}

void machine_note(struct machine *machine)
{
    bench_note_number("fdatasync_us",
                      bench_median(machine->syncs_us, machine->counted));
    bench_note_number("stolen",
                      bench_median(machine->shares, machine->counted));
    bench_note_number("stolen_max", machine->shares[machine->counted - 1]);
    bench_note_number("blocks_left_out", (double)machine->left_out);
}
