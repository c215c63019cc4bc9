"""Whose shares are no good, by what members say who opened them, and how many members are left to open a sum.

A member that cannot open a sender's share cannot help to open a sum with that sender in it. One of the two is at fault,
and nobody can see which. So members who complain are done without as long as enough others do not; a sender goes only
where too few would be left.
"""

from collections import Counter
from collections.abc import Mapping

from secure_sapefl.protocol.messages import SiteId

Complaints = Mapping[SiteId, frozenset[SiteId]]
"""By member: the senders whose shares it could not use. A member that has not been heard of is not here."""


def able(complaints: Complaints, left_out: frozenset[SiteId]) -> tuple[SiteId, ...]:
    """Members that hold a share of every sender that is left."""
    return tuple(member for member, senders in complaints.items() if senders <= left_out)


def senders_to_leave_out(complaints: Complaints, needed: int) -> frozenset[SiteId]:
    """Those of whom most members complain, one by one, until ``needed`` members are able; nobody where so many have not
    been heard of at all."""
    out: frozenset[SiteId] = frozenset()
    while len(able(complaints, out)) < needed <= len(complaints):
        counted = Counter(sender for senders in complaints.values() for sender in senders - out)
        out |= {max(sorted(counted), key=lambda sender: counted[sender])}
    return out
