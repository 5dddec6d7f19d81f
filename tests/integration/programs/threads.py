# Programs for test_documentation.py, after the library reference on threads and processes.
# %% threads once
import threading
import time

total, lock = 0, threading.Lock()


def add(n):
    global total
    for _ in range(n):
        with lock:
            total += 1


threads = [threading.Thread(target=add, args=(1000,), name=f"adder-{n}") for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(total, [t.name for t in threads], any(t.is_alive() for t in threads), threading.active_count())
ready, seen = threading.Event(), []


class Worker(threading.Thread):
    def run(self):
        ready.wait()
        seen.append(threading.current_thread().name)


worker = Worker(name="waits", daemon=True)
worker.start()
print(worker.is_alive(), worker.daemon, seen)
ready.set()
worker.join()
print(seen, worker.is_alive(), ready.is_set())
local = threading.local()
local.x = 1


def other():
    seen.append(hasattr(local, "x"))
    local.x = 2


one = threading.Thread(target=other)
one.start()
one.join()
print(seen, local.x, threading.main_thread() is threading.current_thread(), threading.get_ident() == threading.main_thread().ident)
barrier = threading.Barrier(3, action=lambda: seen.append("all here"))
three = [threading.Thread(target=barrier.wait) for _ in range(2)]
for thread in three:
    thread.start()
barrier.wait()
print(seen[-1], barrier.n_waiting <= 2, barrier.broken)
condition, items = threading.Condition(), []


def consume():
    with condition:
        condition.wait_for(lambda: len(items) == 3)
        seen.append(list(items))


consumer = threading.Thread(target=consume)
consumer.start()
for n in range(3):
    with condition:
        items.append(n)
        condition.notify()
consumer.join()
print(seen[-1])
semaphore = threading.BoundedSemaphore(2)
print(semaphore.acquire(), semaphore.acquire(blocking=False), semaphore.acquire(blocking=False))
semaphore.release()
print(semaphore.acquire(timeout=1))
timer = threading.Timer(0.01, seen.append, ["rang"])
timer.start()
timer.join()
print(seen[-1])
threading.Timer(100, print, ["never"]).cancel()
reentrant = threading.RLock()
with reentrant, reentrant:
    print("twice", lock.locked())
threading.excepthook = lambda args: seen.append((args.exc_type.__name__, args.thread.name))
failing = threading.Thread(target=lambda: 1 / 0, name="fails")
failing.start()
failing.join()
print(seen[-1], threading.stack_size())
stop = threading.Event()
ticks = []


def tick():
    while not stop.wait(0.001):
        ticks.append(1)


ticker = threading.Thread(target=tick)
ticker.start()
while len(ticks) < 3:
    time.sleep(0.001)
stop.set()
ticker.join()
print("ticked", len(ticks) >= 3)
# %% queues once
import queue
import threading
from concurrent.futures import ThreadPoolExecutor

work, results = queue.Queue(maxsize=3), queue.SimpleQueue()


def worker():
    while (item := work.get()) is not None:
        results.put(item ** 2)
        work.task_done()
    work.task_done()


threads = [threading.Thread(target=worker) for _ in range(2)]
for thread in threads:
    thread.start()
for item in range(10):
    work.put(item)
work.join()
print(sorted(results.get() for _ in range(10)), work.empty(), results.empty())
for thread in threads:
    work.put(None)
for thread in threads:
    thread.join()
print([thread.is_alive() for thread in threads])
small = queue.Queue(1)
small.put("one")
for wrong in lambda: small.put_nowait("two"), lambda: small.put("two", timeout=0.01), lambda: results.get(block=False):
    try:
        wrong()
    except (queue.Full, queue.Empty) as problem:
        print(type(problem).__name__)
first = queue.PriorityQueue()
for thing in (3, "c"), (1, "a"), (2, "b"):
    first.put(thing)
stack = queue.LifoQueue()
stack.put(1)
stack.put(2)
print([first.get()[1] for _ in range(first.qsize())], stack.get(), small.full())
pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="crew")
future = pool.submit(pow, 2, 10)
print(future.result(), future.done(), future.exception())
print(list(pool.map(str.upper, "abc")))
later = pool.submit(results.get)
results.put("given")
print(later.result(timeout=30))
failed = pool.submit(int, "x")
print(repr(failed.exception()), failed.cancel())
failed.add_done_callback(lambda f: print("called", f is failed))
pool.shutdown()
try:
    pool.submit(print)
except RuntimeError as problem:
    print(problem)
# %% futures once
import concurrent.futures
import os
import threading
from concurrent.futures import FIRST_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, as_completed, wait

gate = threading.Event()


def slow(n):
    gate.wait()
    return n


def quick(n):
    if n == 3:
        raise ValueError(f"no {n}")
    return n * 10


with ThreadPoolExecutor(4) as pool:
    asked = {pool.submit(quick, n): n for n in range(5)}
    got = []
    for future in as_completed(asked):
        try:
            got.append(future.result())
        except ValueError as problem:
            got.append(str(problem))
    print(sorted(map(str, got)))
    held = pool.submit(slow, 7)
    done, not_done = wait([held, pool.submit(quick, 1)], return_when=FIRST_COMPLETED)
    print(len(done), len(not_done), held.done())
    try:
        held.result(timeout=0.01)
    except TimeoutError as problem:
        print(type(problem).__name__, concurrent.futures.TimeoutError is TimeoutError)
    gate.set()
    print(held.result(), [f.result() for f in wait([held]).done])
made = Future()
made.set_result("by hand")
print(made.result(), made.cancelled())


def square(n):
    return n * n


def initial(value):
    global base
    base = value


def with_base(n):
    return base + n


processes = concurrent.futures.ProcessPoolExecutor(2, initializer=initial, initargs=(100,))
print(list(processes.map(square, range(6), chunksize=2)), processes.submit(with_base, 5).result())
print(processes.submit(os.getpid).result() != os.getpid(), list(processes.map(with_base, [1, 2])))
try:
    processes.submit(square, "x").result()
except TypeError as problem:
    print(problem, type(problem.__cause__).__name__)
processes.shutdown()
with ThreadPoolExecutor(1) as one:
    blocked = threading.Event()
    first, second = one.submit(blocked.wait), one.submit(print, "never")
    print(second.cancel(), second.cancelled())
    blocked.set()
print(first.result(), wait([first, second], return_when=FIRST_EXCEPTION).not_done)
# %% processes once
# a process ends with the step that has started it, so one statement has it from its start to its end
import multiprocessing
import os
from multiprocessing import Array, Event, Lock, Manager, Pipe, Pool, Process, Queue, Value, shared_memory


def square(n):
    return n * n


def say(queue, word):
    queue.put((word, multiprocessing.current_process().name, os.getppid() == parent))


def count(value, lock, array, n):
    for _ in range(100):
        with lock:
            value.value += 1
    array[n] = n * 1.5


def echo(end):
    while (word := end.recv()) != "stop":
        end.send(word.upper())
    end.close()


def wrong():
    raise SystemExit(3)


if __name__ == "__main__":
    parent = os.getpid()
    queue = Queue()
    child = Process(target=say, args=(queue, "hello"), name="speaker")
    child.start()
    print(queue.get())
    child.join()
    print(child.exitcode, child.is_alive())
    value, lock, array = Value("i", 0), Lock(), Array("d", 3)
    children = [Process(target=count, args=(value, lock, array, n)) for n in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    print(value.value, array[:])


def talk():
    ours, theirs = Pipe()
    talker = Process(target=echo, args=(theirs,), daemon=True)
    talker.start()
    ours.send("ahoy")
    print(ours.recv(), ours.poll())
    ours.send("stop")
    talker.join()
    print(talker.exitcode, multiprocessing.active_children())


talk()
with Pool(2) as pool:
    print(pool.map(square, range(5)), pool.apply_async(square, (9,)).get(timeout=60))
    print(list(pool.imap(square, [3, 2])), sorted(pool.imap_unordered(square, [1, 2, 3])), pool.starmap(pow, [(2, 3)]))
pool = Pool(2)
print(pool.map(square, [4]))
print(pool.apply(square, [5]))
pool.close()
pool.join()
failing = Process(target=wrong)
failing.start(), failing.join()
print(failing.exitcode)
block = shared_memory.SharedMemory(create=True, size=16)
block.buf[:4] = b"rope"
again = shared_memory.SharedMemory(block.name)
print(bytes(again.buf[:4]), block.size >= 16)
again.close()
block.close()
block.unlink()
listed = shared_memory.ShareableList([1, "two", None, 2.5])
listed[1] = "2"
print(list(listed), listed.index(2.5))
listed.shm.close()
listed.shm.unlink()
stop = Event()
waiting = Process(target=stop.wait)
if not stop.is_set():
    waiting.start()
    print(waiting.is_alive())
    stop.set()
    waiting.join()
print(waiting.exitcode)
with Manager() as manager:
    shared = manager.dict(a=1)
    numbers = manager.list([3, 1])
    other = Process(target=numbers.append, args=(2,))
    other.start()
    other.join()
    shared["b"] = 2
    print(dict(shared), sorted(numbers))
looping = Process(target=iter, args=(iter, None))
print(multiprocessing.get_start_method(), multiprocessing.parent_process(), looping.exitcode, looping.pid)
