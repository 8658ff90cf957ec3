"""What kind of disk the data lies on, as far as it can be believed."""

from dbdyno.model.facts import Facts, MissingFact


def rotating(facts: Facts) -> bool:
    """Raises `MissingFact` for a virtual disk that calls itself rotating: most do, whatever is under them."""
    rotates, virtual = facts.flag("host.disk_rotational"), facts.flag("host.virtualised")
    if rotates and virtual:
        raise MissingFact("host.disk_rotational", "a virtual disk calls itself rotating whatever is under it")
    return rotates
