"""Every error this package raises on purpose. None of them ever carries key material.

CryptoError
├── ParametersRejected   what was asked would overflow, lose precision or fall under 128 bits
├── ValueRejected        a vector outside the bound, not finite, or of the wrong length; refused before encryption
├── FrameRejected        a message that is malformed, foreign, replayed or badly signed; names sender and round
├── AggregateRejected    the server's sum is not the one it claims, or the claim breaks the site's rules
└── KeyRejected          a key file that is missing, readable by others, damaged, or opened with a wrong passphrase
"""


class CryptoError(Exception):
    exit_code = 2


class ParametersRejected(CryptoError):
    pass


class ValueRejected(CryptoError):
    pass


class FrameRejected(CryptoError):
    pass


class AggregateRejected(CryptoError):
    def __init__(self, check: str, message: str) -> None:
        super().__init__(check, message)  # both, so that the error survives the trip from a worker process
        self.check = check

    def __str__(self) -> str:
        return ": ".join(self.args)


class KeyRejected(CryptoError):
    pass
