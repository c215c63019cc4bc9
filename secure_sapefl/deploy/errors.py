"""Why a study, a site or a ledger is not used. Each is a sentence for its owner.

SapeflError
├── BadInput (2)
│   ├── StudyRejected    a study file that is not what its coordinator signed, or not one this release can run
│   └── HomeRejected     a site's folder that is missing, incomplete or open to others
├── LedgerRejected (2)   the site's ledger was altered, cut or is in use; nothing may leave
└── PolicyConflict (3)   the study asks for more than the site's policy allows
"""

from secure_sapefl.errors import BadInput, SapeflError


class StudyRejected(BadInput):
    pass


class HomeRejected(BadInput):
    pass


class LedgerRejected(SapeflError):
    exit_code = 2


class PolicyConflict(SapeflError):
    exit_code = 3
