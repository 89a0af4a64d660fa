"""Who holds a thread: also when many threads of a fresh process come for it at once."""

import subprocess
import sys

SCRIPT = """
import threading, time
from clew.checkpoint.memory import InMemorySaver
from clew.errors import ThreadBusyError
from clew.func import entrypoint, task

@task
def pay(n):
    ran.append(n)
    time.sleep(0.05)
    return len(ran)

@entrypoint(checkpointer=InMemorySaver())
def order(n):
    return pay(n).result()

ran, done = [], []
gate = threading.Barrier(20)

def go():
    gate.wait()
    try:
        done.append(order.invoke(9, {"configurable": {"thread_id": "t", "idempotency_key": "k"}}))
    except BaseException as error:
        done.append(repr(error))

workers = [threading.Thread(target=go) for _ in range(20)]
for one in workers:
    one.start()
for one in workers:
    one.join()
print(ran, set(done), len(done))
"""


def test_the_first_runs_of_a_process_do_not_take_each_other_for_dead():
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120)
        assert done.stdout.strip() == "[9] {1} 20", done.stdout + done.stderr
