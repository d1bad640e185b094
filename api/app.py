"""The application: routes, gate, errors and what surrounds them."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

from api import docs_page, operations
from api.alerts import delivery_routes as notification_routes
from api.alerts import insight_routes
from api.alerts import routes as alerts_routes
from api.analytics import routes as analytics_routes
from api.api_keys import routes as api_keys_routes
from api.cameras import routes as cameras_routes
from api.credits import routes as credits_routes
from api.demo import routes as demo_routes
from api.error_handlers import install_error_handlers
from api.head_requests import HeadRequests
from api.live import routes as live_routes
from api.metrics import ApiMetrics
from api.openapi import install_openapi
from api.recognitions import routes as recognitions_routes
from api.recognize import routes as recognize_routes
from api.request_context import RequestContext
from api.services import Services
from api.sessions import routes as sessions_routes
from api.webhooks import delivery_routes
from api.webhooks import routes as webhooks_routes

ROUTERS: tuple[APIRouter, ...] = (
    recognitions_routes.router,
    live_routes.router,
    recognize_routes.router,
    demo_routes.router,
    credits_routes.router,
    cameras_routes.router,
    alerts_routes.router,
    insight_routes.router,
    notification_routes.router,
    webhooks_routes.router,
    delivery_routes.router,
    api_keys_routes.router,
    sessions_routes.router,
    analytics_routes.router,
    operations.router,
    docs_page.router,
)

OpenServices = Callable[[], AbstractAsyncContextManager[Services]]


def create_app(open_services: OpenServices) -> FastAPI:
    """Return the application; ``open_services`` is entered when it starts, left when it stops."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_services() as services:
            app.state.services = services
            yield

    app = FastAPI(
        version=version("platestream"),
        lifespan=lifespan,
        # Served by a route of ours, behind the same gate as the others.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
    )
    app.state.metrics = ApiMetrics()
    for router in ROUTERS:
        app.include_router(router)
    install_openapi(app)
    install_error_handlers(app)
    app.add_middleware(HeadRequests)
    app.add_middleware(RequestContext, metrics=app.state.metrics)
    return app


def _operation_id(route: APIRoute) -> str:
    return route.name
