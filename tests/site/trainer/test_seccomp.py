"""System calls are given up for good, all but those that training needs."""

from secure_sapefl.site.trainer import seccomp
from tests.site.trainer.apart import told


def test_other_calls_are_not_permitted_and_threads_go_on() -> None:
    program = """
        import threading
        from secure_sapefl.site.trainer import limits, seccomp
        limits.no_new_privileges()
        before = tried(lambda: socket.socket().close())
        seccomp.leave_only_these()
        seen = []
        thread = threading.Thread(target=lambda: seen.append(tried(socket.socket)))
        thread.start()
        thread.join()
        print(before, tried(lambda: open(os.devnull).close()), *seen, *[
            tried(lambda: socket.socket(kind)) for kind in (socket.AF_UNIX, socket.AF_INET, socket.AF_NETLINK)
        ], tried(os.fork), tried(lambda: os.kill(os.getppid(), 0)), tried(lambda: os.kill(os.getpid(), 0)))
    """
    denied = "PermissionError"
    assert told(program) == f"done done {denied} {denied} {denied} {denied} {denied} {denied} done"


def test_threads_that_were_there_before_are_bound_too() -> None:
    program = """
        import threading
        from secure_sapefl.site.trainer import limits, seccomp
        go, seen = threading.Event(), []
        def later():
            go.wait()
            seen.append(tried(socket.socket))
        thread = threading.Thread(target=later)
        thread.start()
        limits.no_new_privileges()
        seccomp.leave_only_these()
        go.set()
        thread.join()
        print(*seen)
    """
    assert told(program) == "PermissionError"


def test_a_machine_without_the_library_is_told_apart() -> None:
    assert seccomp.is_here()
    program = """
        from secure_sapefl.site.trainer import seccomp
        seccomp._NAME_OF_LIBRARY = "libnothing.so.9"
        print(seccomp.is_here())
    """
    assert told(program) == "False"
