"""A round begins and ends at once, or by a committee's legs; either way there are invitations and an outcome."""

from collections.abc import Callable

import pytest

from secure_sapefl.config import Config
from secure_sapefl.engine.assembly import assemble
from secure_sapefl.engine.rounds import CommitteeRounds, LegTraffic, PlainRounds
from secure_sapefl.engine.simulator import Simulation
from secure_sapefl.protocol.joint.messages import Endorsement
from secure_sapefl.protocol.joint.site import SiteLegs

Make = Callable[..., Config]


def rounds_of(config: Config) -> PlainRounds | CommitteeRounds:
    assembly = assemble(config)
    rounds = assembly.protection().rounds(assembly.blueprint.study, {})
    assert isinstance(rounds, (PlainRounds, CommitteeRounds))
    return rounds


def test_plain_rounds_have_no_leg(tiny: Make) -> None:
    rounds = rounds_of(tiny(protection="ckks", participation=1.0))
    assert len(rounds.open(0, ())) == 4
    assert rounds.close(()).aggregate is None, "nobody sent anything"
    assert rounds.traffic == LegTraffic()


def test_a_committee_announces_its_keys_before_anybody_is_invited(tiny: Make) -> None:
    rounds = rounds_of(tiny(protection="ckks", keys="joint", participation=0.75))
    invitations = rounds.open(0, ())
    assert len(invitations) == 3
    assert all(len(invitation.keys) == 4 for invitation in invitations), "who is not invited is a member all the same"
    assert rounds.traffic == LegTraffic(up=4 * 96, down=0)
    assert rounds.close(()).aggregate is None


def test_a_member_that_signs_something_else_is_named_and_done_without(
    tiny: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, liar = SiteLegs.perform, "client-00"

    def lie(legs: SiteLegs, duty: object) -> object:
        deed = honest(legs, duty)  # type: ignore[arg-type]
        return (
            Endorsement(site=liar, signature=bytes(64)) if isinstance(deed, Endorsement) and deed.site == liar else deed
        )

    monkeypatch.setattr(SiteLegs, "perform", lie)
    simulation = Simulation(
        assemble(tiny(protection="ckks", keys="joint", participation=1.0, rounds=1, method="fedavg"))
    )
    liar = simulation.assembly.sites.names[1]
    (record,) = simulation.run().rounds
    assert record.changed
    assert [refusal.site for refusal in record.refusals] == [liar]
    assert "does not hold for this joint claim" in record.refusals[0].reason


def test_a_committee_that_does_not_sign_leaves_the_sum_closed(tiny: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = SiteLegs.perform

    def refuse(legs: SiteLegs, duty: object) -> object:
        deed = honest(legs, duty)  # type: ignore[arg-type]
        return Endorsement(site=deed.site, declined="no") if isinstance(deed, Endorsement) else deed

    monkeypatch.setattr(SiteLegs, "perform", refuse)
    simulation = Simulation(assemble(tiny(protection="ckks", keys="joint", participation=1.0, rounds=1)))
    before = simulation.key_holders.theta_global.clone()
    result = simulation.run()
    assert result.skipped_rounds == [0]
    *members, server = [one["reason"] for one in result.summary()["refused"]]
    assert members == ["declined as a member of the committee: no"] * 4
    assert "0 of 4 members of the committee signed the claim, 3 are needed" in server
    assert simulation.key_holders.theta_global.equal(before)
