"""Input that nobody expects: a plain mutator of good input, and hypothesis."""

from collections.abc import Callable
from random import Random

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

# fmt: off
TOKENS = (
    b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\x1b[31m", "\u202e".encode(), b"\r\n", b"\t", b'"', b"'", b"\\",
    b"1" * 400, b"1" * 5000, b"1e999", b"NaN", b"-inf", b"[" * 500, b"{" * 50, b"&a *a", b"<", b">", b"^-1",
    b"n" * 300, b"%", b"../..", b"=1+1", b"!!python/object:os.system x", b",", b"|", b";", b" <- ", b"(X,Y)",
    b"@", b"*", b"...", b"-1", b"0", b"\x0b\x0c", b"\xe2\x80\xa8", b"null", b"true", b"\xc2\x85",
)
# fmt: on
BATCH = 200  # inputs that hypothesis makes at a time


def mutated(data: bytes, random: Random) -> bytes:
    """A few random changes."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 4)):
        place, kind = random.randrange(len(changed) + 1), random.randrange(6)
        if kind == 0 and place < len(changed):
            changed[place] ^= 1 << random.randrange(8)
        elif kind == 1:
            changed[place:place] = random.choice(TOKENS)
        elif kind == 2:
            del changed[place : place + random.randint(1, 20)]
        elif kind == 3:
            end = place + random.randint(1, 40)
            changed[place:place] = changed[place:end]
        elif kind == 4:
            changed[place : place + random.randint(1, 5)] = random.choice(TOKENS)
        elif random.random() < 0.3:
            del changed[place:]
    return bytes(changed)


def _inputs(good: bytes) -> st.SearchStrategy[bytes]:
    """Bytes of all kinds; among them pieces of good input and tokens in any order."""
    pieces = sorted({*good.split(), *good.splitlines(keepends=True)}) or [b"x"]
    joined = st.lists(
        st.sampled_from(pieces) | st.sampled_from(TOKENS) | st.sampled_from([b"\n", b" ", b"\t"])
    )
    return st.binary(max_size=200) | st.text(max_size=100).map(_encoded) | joined.map(b"".join)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def batch(good: bytes, random: Random, check: Callable[[bytes], None]) -> None:
    """Have hypothesis make many inputs."""

    @seed(random.getrandbits(32))
    @settings(
        max_examples=BATCH,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_inputs(good))
    def run(data: bytes) -> None:
        check(data)

    run()
