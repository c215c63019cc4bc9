"""Why a site makes no release, and what is said once, when a study starts."""

from secure_sapefl.errors import SapeflError


class BudgetExhausted(SapeflError):
    """The round would cost more than is left; the site sits out."""

    exit_code = 2


class PrivacyWarning(UserWarning):
    """The guarantee holds and is weaker than it looks."""
