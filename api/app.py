"""Creates the FastAPI application, with routes, error handlers and middleware."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from importlib.metadata import version

from fastapi import APIRouter, FastAPI
from starlette.middleware.cors import CORSMiddleware

from api.alerts import routes as alerts_routes
from api.analytics import routes as analytics_routes
from api.api_keys import routes as api_keys_routes
from api.audit_log import routes as audit_routes
from api.cameras import routes as cameras_routes
from api.console import routes as console_routes
from api.container import Services
from api.credits import routes as credits_routes
from api.deliveries import routes as deliveries_routes
from api.docs import routes as docs_routes
from api.erasure import routes as erasure_routes
from api.exports import routes as exports_routes
from api.health import routes as health_routes
from api.health.service import Health
from api.imports import routes as imports_routes
from api.live import routes as live_routes
from api.middleware.error_handlers import install_error_handlers
from api.middleware.guard import permission_table
from api.middleware.process_pages import ProcessPages
from api.middleware.request_context import ApiMetrics, HeadRequests, RequestContext
from api.oidc import routes as oidc_routes
from api.openapi import router as openapi_router
from api.people import routes as people_routes
from api.pictures import routes as pictures_routes
from api.recognitions import correction_routes
from api.recognitions import routes as recognitions_routes
from api.recognize import routes as recognize_routes
from api.sessions import routes as sessions_routes
from api.webhooks import routes as webhooks_routes

ROUTERS: tuple[APIRouter, ...] = (
    recognitions_routes.router,
    correction_routes.router,
    erasure_routes.router,
    live_routes.router,
    exports_routes.router,
    recognize_routes.router,
    recognize_routes.demo_router,
    credits_routes.router,
    cameras_routes.router,
    pictures_routes.router,
    alerts_routes.router,
    imports_routes.router,
    deliveries_routes.alert_router,
    webhooks_routes.router,
    deliveries_routes.webhook_router,
    deliveries_routes.recognition_router,
    api_keys_routes.router,
    sessions_routes.router,
    oidc_routes.router,
    people_routes.router,
    analytics_routes.router,
    audit_routes.router,
    health_routes.router,
    docs_routes.router,
    console_routes.router,
    openapi_router,
)

_SENT_HEADERS = (
    *("Authorization", "Content-Type", "Idempotency-Key", "If-None-Match", "If-Range"),
    *("Last-Event-ID", "Range", "X-Request-Id"),
)
_SHOWN_HEADERS = (
    *("X-Request-Id", "Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"),
    *("ETag", "Content-Range", "X-Frame-Width", "X-Frame-Height"),
)

OpenServices = Callable[[], AbstractAsyncContextManager[Services]]


@asynccontextmanager
async def _no_services() -> AsyncIterator[Services]:
    raise RuntimeError("the application was created without services")
    yield


def create_app(
    open_services: OpenServices = _no_services, cors_origins: Sequence[str] = ()
) -> FastAPI:
    """Return the application. ``open_services`` is entered on startup and exited on shutdown.

    Pages from ``cors_origins`` can call the API with an API key, but not with a session. Without
    services, the OpenAPI description can be generated, but the application cannot be started.

    Raises:
        MisconfiguredError: a route does not declare the access that it requires.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_services() as services:
            app.state.services = services
            app.state.services_by_type = {type(each): each for each in vars(services).values()}
            for collector in (services.owner_limits, services.audit_buffer, services.quiet_cameras):
                app.state.metrics.include(collector)
            app.state.pages.start(partial(_readiness, services.health))
            yield

    app = FastAPI(
        version=version("platestream"),
        lifespan=lifespan,
        # include_router would analyse the parameters of every route again.
        routes=[route for router in ROUTERS for route in router.routes],
        # The service has its own route for this document, with the same checks as other routes.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Traces come from common.telemetry: FastAPI's traces would contain queries, and so plates.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.metrics = ApiMetrics()
    app.state.pages = ProcessPages(app.state.metrics.registry)
    app.state.permissions = permission_table(app.routes)
    install_error_handlers(app)
    app.add_middleware(HeadRequests)
    app.add_middleware(RequestContext, metrics=app.state.metrics)
    if cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(cors_origins),
            allow_methods=["GET", "HEAD", "POST", "PUT", "DELETE"],
            allow_headers=_SENT_HEADERS,
            expose_headers=_SHOWN_HEADERS,
        )
    return app


async def _readiness(health: Health) -> dict[str, object]:
    return health_routes.readiness_body(await health.readiness())
