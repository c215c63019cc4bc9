"""Parts inside a Flower message: each part one raw array, which Flower cuts into pieces of 5 MiB and stores by digest.

As `ConfigRecord` bytes the same parts took three to four times the time and the memory.
"""

from typing import Final

from flwr.app import Array, ArrayRecord, Message, RecordDict

from secure_sapefl.storage.parts import Parts

_RECORD: Final = "letter"
MESSAGE_TYPE: Final = "query"


def content_of(parts: Parts) -> RecordDict:
    raw = [Array(dtype="uint8", shape=(len(part),), stype="raw.bytes", data=part) for part in parts]
    arrays = {f"{number:05d}": array for number, array in enumerate(raw)}
    return RecordDict({_RECORD: ArrayRecord(arrays)})


def parts_of(message: Message) -> Parts | None:
    """None where the message brings an error, or nothing of ours."""
    if message.has_error() or _RECORD not in message.content.array_records:
        return None
    return tuple(array.data for _, array in sorted(message.content.array_records[_RECORD].items()))
