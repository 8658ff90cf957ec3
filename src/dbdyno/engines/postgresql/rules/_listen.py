"""Whether other machines can reach the server at all."""

_NEAR = ("", "localhost", "127.0.0.1", "::1")


def is_remote(listen_addresses: str) -> bool:
    return any(word.strip() not in _NEAR for word in listen_addresses.split(","))
