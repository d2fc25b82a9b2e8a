"""The other side of bench-chat-restore: CPython's json on stdin and stdout.

    chat_loads.py DOCUMENT

Says its version first, a line. Then each line that comes in is one call of
json.loads() with the bytes of the document, and one line goes out: nanoseconds it
took, nanoseconds on the core, how often the core was taken away meanwhile, and
messages of the history that was read. What was read is released before the next
call, which is not timed.
"""
import json
import resource
import sys
import time


def preemptions():
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def main():
    with open(sys.argv[1], "rb") as file:
        document = file.read()
    print("python " + ".".join(map(str, sys.version_info[:3])), flush=True)
    for _ in sys.stdin:
        before, used = preemptions(), time.process_time_ns()
        begin = time.perf_counter_ns()
        read = json.loads(document)
        taken = time.perf_counter_ns() - begin
        used = time.process_time_ns() - used
        print(taken, used, preemptions() - before, len(read["History"]),
              flush=True)
        del read


if __name__ == "__main__":
    main()
