"""What server and site write to each other: messages, signed, as parts a transport carries without reading.

A message is one small signed head and, behind it, the large pieces it speaks of (ciphertexts, sealed models): see
signed_parts.py. The transport sees parts of bytes; equal pieces for several sites stay equal bytes, which a transport
may store once.

The signature covers the study's digest, the round, the direction and, through the digests, every piece. A message to a
site names that site and a nonce; the answer repeats the nonce, so an old answer fits no later question.
"""

from dataclasses import dataclass
from typing import Final

from sapefl_crypto.errors import FrameRejected
from sapefl_crypto.keys.identity import SiteIdentity, SitePublicKeys
from sapefl_crypto.keys.signing import Roster
from secure_sapefl.plain_text import sentence
from secure_sapefl.protocol.joint.consents import Call, Said
from secure_sapefl.protocol.joint.messages import Deed, Duty
from secure_sapefl.protocol.messages import Invitation, RoundOutcome, RoundUpload, SiteId
from secure_sapefl.storage.parts import LARGEST, Parts
from secure_sapefl.transport.heads.consents import call_head, read_call, read_said, said_head
from secure_sapefl.transport.heads.joint import deed_head, duty_head, read_deed, read_duty
from secure_sapefl.transport.heads.rounds import (
    invitation_head,
    outcome_head,
    read_invitation,
    read_outcome,
    read_upload,
    upload_head,
)
from secure_sapefl.transport.heads.values import (
    behind_the_head,
    bytes_as_text,
    read_bytes,
    read_count,
    read_name,
    read_nonce,
    read_total,
    read_words,
)
from secure_sapefl.transport.signed_parts import Strict, signed, verified

_TO_SITE: Final = "server to site"
_TO_SERVER: Final = "site to server"
_LARGEST_ANSWER: Final = 1 << 16  # bytes of an answer's head, which holds no piece


@dataclass(frozen=True, slots=True, kw_only=True)
class ToSite:
    """Server to site: the outcomes it lacks, an invitation to the round that is open, or just a question.

    Where the study is ``over``, an invitation is to a round of the site's own: for a site that came too late for any
    other. Nothing of it is sent.
    """

    site: SiteId | None  # None asks whoever is there for its name
    round_index: int
    nonce: str
    outcomes: tuple[RoundOutcome, ...] = ()
    invitation: Invitation | None = None
    duty: Duty | None = None  # as a member of the committee of the round that is open
    call: Call | None = None  # before the first round, where committees are drawn
    over: bool = False  # the study has ended, and the site has all of it
    results: bytes | None = None  # the encrypted sum of test results, where the study asks for one


@dataclass(frozen=True, slots=True, kw_only=True)
class ToServer:
    """Site to server: how far it is, and what it has to say to the invitation."""

    site: SiteId
    round_index: int
    nonce: str
    absorbed: int  # outcomes taken in, from round 0 on
    untrained: bool = False  # it keeps a model of its own, and has taken part in no round yet
    upload: RoundUpload | None = None
    declined: str | None = None  # why there is none
    deed: Deed | None = None  # the answer to a duty
    said: Said | None = None  # the answer to a call
    rejected: str | None = None  # the last aggregate this site would not use, and why
    halted: bool = False  # it takes part no more, until its owner says otherwise
    reports: tuple[bytes, ...] = ()  # on every sum it found wrong (reports.py)
    unjudged: tuple[int, ...] = ()  # rounds whose sums its own rules kept it from looking into
    results: bytes | None = None  # its test results after the last round, encrypted for a sum (protocol/results.py)
    total: tuple[int, ...] | None = None  # that sum, as this site opened it
    table: bytes | None = None  # the Table 1 it opened, small cells left out, where its owner lets it leave


def write_to_site(message: ToSite, coordinator: SiteIdentity, study: str) -> Parts:
    pieces: list[bytes] = []
    head = {
        "site": message.site,
        "round": message.round_index,
        "nonce": message.nonce,
        "over": message.over,
        "outcomes": [outcome_head(outcome, pieces) for outcome in message.outcomes],
        "invitation": None if message.invitation is None else invitation_head(message.invitation, pieces),
        "duty": None if message.duty is None else duty_head(message.duty, pieces),
        "call": None if message.call is None else call_head(message.call),
        "results": behind_the_head(message.results, pieces),
    }
    return signed(head, pieces, coordinator, study, _TO_SITE)


def read_to_site(parts: Parts, coordinator: SitePublicKeys, study: str) -> ToSite:
    """The message, if the study's coordinator wrote it for this study; else `FrameRejected`."""
    _, head, pieces = verified(parts, {coordinator.name: coordinator}, study, _TO_SITE, LARGEST)
    with_pieces = iter(pieces)
    with Strict(parts):
        return ToSite(
            site=None if head["site"] is None else read_name(head["site"]),
            round_index=read_count(head["round"]),
            nonce=read_nonce(head["nonce"]),
            over=bool(head["over"]),
            outcomes=tuple(read_outcome(fields, with_pieces) for fields in head["outcomes"]),
            invitation=None if head["invitation"] is None else read_invitation(head, with_pieces),
            duty=None if head["duty"] is None else read_duty(head["duty"], with_pieces),
            call=None if head["call"] is None else read_call(head["call"]),
            results=next(with_pieces) if head["results"] else None,
        )


def is_to_site(parts: Parts, coordinator: SitePublicKeys, study: str) -> bool:
    """Whether the coordinator wrote this in the study of that name."""
    try:
        read_to_site(parts, coordinator, study)
    except FrameRejected:
        return False
    return True


def write_to_server(message: ToServer, site: SiteIdentity, study: str) -> Parts:
    pieces: list[bytes] = []
    head = {
        "site": message.site,
        "round": message.round_index,
        "nonce": message.nonce,
        "absorbed": message.absorbed,
        "untrained": message.untrained,
        "upload": None if message.upload is None else upload_head(message.upload, pieces),
        "declined": message.declined,
        "deed": None if message.deed is None else deed_head(message.deed, pieces),
        "said": None if message.said is None else said_head(message.said),
        "rejected": message.rejected,
        "halted": message.halted,
        "reports": [bytes_as_text(report) for report in message.reports],
        "unjudged": list(message.unjudged),
        "results": behind_the_head(message.results, pieces),
        "total": None if message.total is None else list(message.total),
        "table": behind_the_head(message.table, pieces),
    }
    return signed(head, pieces, site, study, _TO_SERVER)


def read_to_server(parts: Parts, roster: Roster, study: str) -> ToServer:
    """The message, if a site of the roster wrote it, under its own name, for this study; else `FrameRejected`."""
    signer, head, pieces = verified(parts, roster, study, _TO_SERVER, _LARGEST_ANSWER)
    with_pieces = iter(pieces)
    with Strict(parts):
        if head["site"] != signer:
            raise FrameRejected(
                f"Site {signer!r}: signed a message in the name of {sentence(head['site'], 60)!r}; leave it out."
            )
        return ToServer(
            site=signer,
            round_index=read_count(head["round"]),
            nonce=read_nonce(head["nonce"]),
            absorbed=read_count(head["absorbed"]),
            untrained=bool(head["untrained"]),
            upload=None if head["upload"] is None else read_upload(head["upload"], with_pieces, signer),
            declined=read_words(head["declined"]),
            deed=None if head["deed"] is None else read_deed(head["deed"], with_pieces, signer),
            said=None if head["said"] is None else read_said(head["said"], signer),
            rejected=read_words(head["rejected"]),
            halted=bool(head["halted"]),
            reports=tuple(read_bytes(report) for report in head["reports"]),
            unjudged=tuple(read_count(index) for index in head["unjudged"]),
            results=next(with_pieces) if head["results"] else None,
            total=None if head["total"] is None else tuple(map(read_total, head["total"])),
            table=next(with_pieces) if head["table"] else None,
        )
