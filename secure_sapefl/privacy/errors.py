"""Why a site makes no release.

PrivacyError (SapeflError)
└── BudgetExhausted   the round would cost more than is left; the site sits out

`PrivacyWarning` is said once, when a study starts.
"""

from secure_sapefl.errors import SapeflError


class PrivacyError(SapeflError):
    exit_code = 2


class BudgetExhausted(PrivacyError):
    pass


class PrivacyWarning(UserWarning):
    """The guarantee holds and is weaker than it looks."""
