"""Defines the recognitions resource."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

import httpx

from platestream_client.calls import (
    PAGE,
    Call,
    Id,
    Pages,
    Picture,
    Resource,
    Way,
    call,
    field_of,
    follow,
    nothing,
    page_of,
    pages,
    path,
    picture,
    query,
    whole,
)
from platestream_client.models import (
    CorrectedBody,
    CorrectionBody,
    ErasureBody,
    ExplainedAlert,
    ExportFormat,
    MatchMode,
    RecognitionBody,
    RecognitionDeliveryBody,
    RecognizeAnswer,
    Separator,
    WrittenCorrection,
)
from platestream_client.stream import Follow

_EXPORT_PAGE = 100_000


@dataclass(frozen=True)
class ExportPart:
    """A complete file of an export. ``next_key`` is the cursor of the next file, or None."""

    content: bytes
    next_key: str | None


class Recognitions(Resource[Way]):
    """Methods for recognitions, corrections, erasures and image calls."""

    @pages
    def search(
        self,
        *,
        plate: str | None = None,
        match: MatchMode | None = None,
        camera_id: Id | None = None,
        min_confidence: float | None = None,
        from_: datetime | str | None = None,
        to: datetime | str | None = None,
        corrected: bool | None = None,
        page_size: int = PAGE,
    ) -> Pages[RecognitionBody]:
        """Return all matching recognitions, newest first."""
        given = query(
            plate=plate,
            match=match,
            cameraId=camera_id,
            minConfidence=min_confidence,
            from_=from_,
            to=to,
            corrected=corrected,
            limit=page_size,
        )
        return Pages(Call("GET", "/api/recognitions", page_of("recognitions"), given))

    @follow
    def stream(
        self,
        *,
        plate: str | None = None,
        match: MatchMode | None = None,
        camera_id: Id | None = None,
        min_confidence: float | None = None,
        on_gap: Callable[[str], object] | None = None,
    ) -> Follow:
        """Return new recognitions as they arrive.

        A broken connection is resumed without loss or repetition. If the service no longer has all
        recognitions in memory, ``on_gap`` is called with the time from which to search for the
        missing recognitions. Without ``on_gap``, StreamGapError is raised.
        """
        given = query(plate=plate, match=match, cameraId=camera_id, minConfidence=min_confidence)
        return Follow(given, on_gap)

    @pages
    def export(
        self,
        *,
        format: ExportFormat = "csv",
        plate: str | None = None,
        match: MatchMode | None = None,
        camera_id: Id | None = None,
        min_confidence: float | None = None,
        from_: datetime | str | None = None,
        to: datetime | str | None = None,
        excel: bool | None = None,
        separator: Separator | None = None,
        rows: int = _EXPORT_PAGE,
        last_key: str | None = None,
    ) -> Pages[ExportPart]:
        """Return files of up to ``rows`` recognitions, newest first. One file is usually enough."""
        given = query(
            format=format,
            plate=plate,
            match=match,
            cameraId=camera_id,
            minConfidence=min_confidence,
            from_=from_,
            to=to,
            excel=excel,
            separator=separator,
            limit=rows,
            lastKey=last_key,
        )
        return Pages(Call("GET", "/api/recognitions/export", _export_part, given))

    @call
    def get(self, id: Id) -> Call[RecognitionBody]:
        """Return a recognition. Image fields are URLs valid for one hour."""
        return Call("GET", path("/api/recognitions/{}", id), field_of("recognition"))

    @call
    def photo(self, id: Id, *, width: int | None = None) -> Call[Picture]:
        """Return the photo of a recognition, or a thumbnail of the given width."""
        return Call("GET", path("/api/recognitions/{}/photo", id), picture, query(width=width))

    @call
    def crop(self, id: Id, *, width: int | None = None) -> Call[Picture]:
        """Return the plate crop of a recognition."""
        return Call("GET", path("/api/recognitions/{}/crop", id), picture, query(width=width))

    @call
    def alerts(self, id: Id) -> Call[list[ExplainedAlert]]:
        """Return for each alert whether it triggered for a recognition, and if not, why."""
        return Call("GET", path("/api/recognitions/{}/alerts", id), field_of("alerts"))

    @call
    def deliveries(
        self, id: Id, *, limit: int | None = None
    ) -> Call[list[RecognitionDeliveryBody]]:
        """Return the deliveries for a recognition and for the alerts that it triggered."""
        take = field_of("deliveries")
        return Call("GET", path("/api/recognitions/{}/deliveries", id), take, query(limit=limit))

    @call
    def correct(self, id: Id, correction: WrittenCorrection) -> Call[CorrectionBody]:
        """Store and return a correction of a recognition. The original reading is not changed."""
        take = field_of("correction")
        return Call("PUT", path("/api/recognitions/{}/correction", id), take, body={**correction})

    @call
    def take_correction_back(self, id: Id) -> Call[None]:
        """Delete the correction of a recognition."""
        return Call("DELETE", path("/api/recognitions/{}/correction", id), nothing)

    @pages
    def corrections(
        self, *, plate: str | None = None, page_size: int = PAGE
    ) -> Pages[CorrectedBody]:
        """Return all corrections, newest recognition first."""
        given = query(plate=plate, limit=page_size)
        return Pages(Call("GET", "/api/corrections", page_of("corrections"), given))

    @call
    def erase(self, plate: str) -> Call[ErasureBody]:
        """Start to permanently erase all existing data of a plate. Return the erasure."""
        return Call("POST", "/api/erasures", field_of("erasure"), body={"plate": plate})

    @pages
    def erasures(self) -> Pages[ErasureBody]:
        """Return the erasures of the last 90 days, and all that are not completed, newest first."""
        return Pages(Call("GET", "/api/erasures", page_of("erasures"), query(limit=PAGE)))

    @call
    def erasure(self, id: Id) -> Call[ErasureBody]:
        """Return the state of an erasure."""
        return Call("GET", path("/api/erasures/{}", id), field_of("erasure"))

    @call
    def recognize(
        self, image: bytes, *, store: bool = False, idempotency_key: str | None = None
    ) -> Call[RecognizeAnswer]:
        """Read the plates in a JPEG or PNG image, and return the results. This costs one credit.

        An idempotency key is generated, so that retries are not charged again. Pass your own key if
        retries must work after a restart of your program.
        """
        key = idempotency_key or str(uuid4())
        given = query(store=store or None)
        return Call("POST", "/api/recognize", whole, given, bytes(image), key)


def _export_part(answer: httpx.Response) -> tuple[tuple[ExportPart], str | None]:
    key = answer.headers.get("X-Next-Key")
    return (ExportPart(answer.content, key),), key
