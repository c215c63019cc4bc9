"""A tap passes on every byte and remembers it; exchanges are told apart by their bulk; what is in sight is found."""

import socket
import threading
from collections.abc import Iterator

import pytest

from tests.network_tap import BULK, Exchange, Passing, Tap, exchanges, found, histories


def echo(connection: socket.socket) -> None:
    with connection:
        while piece := connection.recv(1 << 16):
            connection.sendall(piece * 2)


@pytest.fixture
def server() -> Iterator[int]:
    """Says everything twice."""
    with socket.create_server(("127.0.0.1", 0)) as ear:

        def listen() -> None:
            while True:
                try:
                    connection, _ = ear.accept()
                except OSError:
                    return
                threading.Thread(target=echo, args=(connection,), daemon=True).start()

        threading.Thread(target=listen, daemon=True).start()
        yield ear.getsockname()[1]
        ear.shutdown(socket.SHUT_RDWR)


def receive(connection: socket.socket, count: int) -> bytes:
    content = b""
    while len(content) < count:
        content += connection.recv(count - len(content))
    return content


def test_every_byte_arrives_and_is_remembered_by_direction(server: int) -> None:
    with Tap("127.0.0.1", server) as tap:
        for word in (b"north", b"x" * 100_000):
            with socket.create_connection(("127.0.0.1", tap.port), timeout=30) as site:
                site.sendall(word)
                assert receive(site, 2 * len(word)) == 2 * word
    by_direction = {upward: sum(p.size for p in tap.passings if p.upward is upward) for upward in (True, False)}
    assert by_direction == {True: 100_005, False: 200_010}
    assert sorted(map(len, tap.streams)) == [5, 10, 100_000, 200_000]
    assert [p.at for p in tap.passings] == sorted(p.at for p in tap.passings)
    assert found(tap.streams, {"name": [b"north"], "other": [b"south"]}) == {"name"}


def test_the_end_of_a_line_is_passed_on(server: int) -> None:
    with Tap("127.0.0.1", server) as tap, socket.create_connection(("127.0.0.1", tap.port), timeout=30) as site:
        site.sendall(b"ab")
        site.shutdown(socket.SHUT_WR)
        assert receive(site, 4) == b"abab"
        assert site.recv(1) == b""


def test_a_server_that_is_not_there_is_not_there_through_a_tap_either() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with Tap("127.0.0.1", port) as tap, socket.create_connection(("127.0.0.1", tap.port), timeout=30) as site:
        assert site.recv(1) == b""
    assert tap.streams == []


def test_a_secret_is_found_across_pieces_and_in_any_stream() -> None:
    streams = [bytearray(b"abc"), bytearray(b"xxsecretxx")]
    assert found(streams, {"kind": [b"nothing", b"secret"], "none": [b"cx"], "empty": []}) == {"kind"}


def passing(at: float, upward: bool, size: int) -> Passing:
    return Passing(at=at, upward=upward, size=size)


def talk(start: float, received: int, worked: float, answered: int) -> list[Passing]:
    """News in two pieces, with an acknowledgement between; silence but for a question; an answer in two pieces."""
    return [
        passing(start, False, received - 1000),
        passing(start + 0.01, True, 40),
        passing(start + 0.02, False, 1000),
        passing(start + 0.02 + worked / 2, True, 300),
        passing(start + 0.02 + worked, True, answered - 3000),
        passing(start + 0.05 + worked, True, 3000),
        passing(start + 0.06 + worked, False, 100),
    ]


def test_exchanges_by_hand() -> None:
    line = [
        passing(0.0, True, 300),
        passing(0.1, False, 2000),
        *talk(1, 50_000, 3.0, 20_000),
        *talk(9, 70_000, 0.5, 40_000),
    ]
    first, second = exchanges(line)
    assert (first.received, first.sent, first.waited) == (50_000, 20_000, pytest.approx(3.0))
    assert (second.received, second.sent, second.waited) == (70_000, 40_000, pytest.approx(0.5))


def test_news_in_several_messages_is_one_exchange_and_what_nobody_answers_is_none() -> None:
    line = [passing(0, False, BULK), passing(5, False, BULK), passing(7, True, BULK), passing(9, False, BULK)]
    assert exchanges(line) == (Exchange(received=2 * BULK, waited=2, sent=BULK),)
    assert exchanges([]) == ()
    assert exchanges([passing(0, False, BULK), passing(1, True, BULK - 1)]) == ()
    assert exchanges([passing(0, True, BULK)]) == (), "an answer to nothing that was seen"


def test_histories_are_by_measure_site_and_exchange() -> None:
    line = [passing(0, False, 50_000), passing(2, True, 60_000), passing(4, False, 70_000), passing(5, True, 80_000)]
    assert histories({"north": line, "south": []}) == {
        "bytes up": {"north": {0: 60_000.0, 1: 80_000.0}, "south": {}},
        "bytes down": {"north": {0: 50_000.0, 1: 70_000.0}, "south": {}},
        "time to answer": {"north": {0: 2.0, 1: 1.0}, "south": {}},
    }
