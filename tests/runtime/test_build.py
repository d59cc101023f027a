"""Several configurations judged together: who is skipped, who is an error."""

from collections.abc import Callable
from dataclasses import replace

from phobos_core.language.diagnostic import Diagnostic
from phobos_core.report.source import Source
from phobos_core.runtime.build import build
from phobos_core.runtime.compiler import Compiled, Request
from phobos_core.runtime.frontend import Placed
from tests.runtime import programs as make

SOURCE = Source("k.ph", b"kernel k() {}\n")
PLACED = Placed(0, make.kernel(), {})
OVER = Diagnostic("over-shared-limit", "error", 7, 8, "`k` needs 65,536 bytes:\n  t  64x64")
OTHER = Diagnostic("nothing-pipelined", "error", 7, 8, "nothing is pipelined")


def request(tile: int, target: str = "sm_80") -> Request:
    return Request(SOURCE, PLACED, target, {"TILE": tile}, 64)


def compiled(limit: int) -> Callable[[Request], Compiled]:
    def one(asked: Request) -> Compiled:
        return Compiled(asked, None, (OVER,) if asked.config["TILE"] > limit else ())

    return one


def test_what_does_not_fit_is_skipped_with_one_warning() -> None:
    built = build([request(tile) for tile in (32, 64, 128, 256, 512, 1024)], compiled(32))
    assert [result.failed for result in built.results] == [False] * 6
    [finding] = built.findings
    assert (finding.diagnostic.severity, finding.diagnostic.code) == ("warning", "configuration-skipped")
    assert finding.diagnostic.message == (
        "5 of the 6 configurations of `k` were skipped, over a limit of sm_80: TILE=64; TILE=128; TILE=256; and 2 more"
    )


def test_alone_it_is_an_error() -> None:
    built = build([request(64)], compiled(32))
    assert [finding.diagnostic for finding in built.findings] == [OVER]
    assert built.results[0].failed


def test_that_none_fits_is_one_error_with_the_first_ones_tiles() -> None:
    built = build([request(64), request(128)], compiled(32))
    [finding] = built.findings
    assert (finding.diagnostic.severity, finding.diagnostic.code) == ("error", "no-configuration-fits")
    assert finding.diagnostic.message == (
        "none of the 2 configurations of `k` fits sm_80; TILE=64: `k` needs 65,536 bytes:\n  t  64x64"
    )


def test_targets_are_judged_apart() -> None:
    requests = [request(tile, target) for target in ("sm_75", "sm_80") for tile in (32, 64)]

    def one(asked: Request) -> Compiled:
        over = asked.target == "sm_75" or asked.config["TILE"] > 32
        return Compiled(asked, None, (OVER,) if over else ())

    codes = [finding.diagnostic.code for finding in build(requests, one).findings]
    assert codes == ["no-configuration-fits", "configuration-skipped"]


def test_another_error_is_never_skipped() -> None:
    def one(asked: Request) -> Compiled:
        return Compiled(asked, None, (OTHER,) if asked.config["TILE"] > 32 else ())

    built = build([request(32), request(64)], one)
    assert [finding.diagnostic for finding in built.findings] == [OTHER]


def test_one_finding_of_several_configurations_is_given_once() -> None:
    warning = replace(OTHER, severity="warning")
    built = build([request(32), request(64)], lambda asked: Compiled(asked, None, (warning,)))
    assert len(built.findings) == 1
